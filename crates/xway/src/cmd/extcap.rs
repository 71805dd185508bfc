//! `extcap`: `capture` as an interface in the menu of Wireshark.
//!
//! Rule: standard output has what Wireshark's extcap protocol defines and nothing else; an error
//! goes to standard error, which Wireshark shows.

use anyhow::{Context as _, Result};
use control::capture::{check_expression, interfaces};

use super::{Context, Exit, capture};
use crate::args::{CaptureArgs, ExtcapArgs};
use crate::view::{self, extcap};

pub fn run(args: &ExtcapArgs, context: &Context) -> Result<Exit> {
    let filter = args.extcap_capture_filter.as_deref().unwrap_or_default();
    let text = if args.extcap_interfaces {
        extcap::interfaces(&interfaces()?)
    } else if args.capture {
        capture::capture(&asked(args)?, context)?;
        return Ok(Exit::Done);
    } else if args.extcap_config {
        extcap::CONFIG.to_owned()
    } else if args.extcap_dlts {
        extcap::LINK_TYPE.to_owned()
    } else {
        // Any text means that it is not valid.
        check_expression(filter).err().map_or_else(String::new, |error| format!("{error}\n"))
    };
    view::print(&text).context("cannot write to standard output")?;
    Ok(Exit::Done)
}

/// The arguments of `capture`.
fn asked(args: &ExtcapArgs) -> Result<CaptureArgs> {
    let name = args.extcap_interface.as_deref().unwrap_or_default();
    let iface = extcap::interface(name);
    let iface = iface.with_context(|| format!("`{name}` is not an interface of xway extcap"))?;
    let mut selection = args.selection.clone();
    // Wireshark passes an empty text for none.
    selection.reason.take_if(|reason| reason.is_empty());
    Ok(CaptureArgs {
        iface: iface.to_owned(),
        expression: args.extcap_capture_filter.clone().into_iter().collect(),
        write: args.fifo.clone(),
        selection,
        ..CaptureArgs::default()
    })
}

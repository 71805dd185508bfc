//! A dry run without an interface reads and writes files only: it gives up its rights first.

use std::path::Path;

use anyhow::Result;

use crate::args::generate::{Action, GenArgs, Load, SendArgs};
use crate::cmd::confine;

/// Confines this process if nothing is sent and no interface is queried.
pub fn begin_dry_run(args: &GenArgs) -> Result<()> {
    let Some((run, input)) = files(args) else { return Ok(()) };
    if !run.dry_run || run.dev.is_some() {
        return Ok(());
    }
    let mut named = confine::begin()?;
    input.into_iter().for_each(|path| named.input(path));
    run.write.iter().for_each(|path| named.output(path));
    named.end()
}

/// What the frames come from, if that is a file, with the options of sending them.
fn files(args: &GenArgs) -> Option<(&SendArgs, Option<&Path>)> {
    match &args.action {
        None => Some((&args.run, args.streams.as_deref())),
        Some(Action::Load(Load::File(file))) => Some((&file.run, Some(&file.streams))),
        Some(Action::Load(load)) => Some((super::load::run(load), None)),
        Some(Action::Pcap(pcap)) => Some((&pcap.run, Some(&pcap.capture))),
        Some(Action::Inject(_) | Action::Tcp(_) | Action::Ndr(_)) => None,
    }
}

//! `filter explain`: for each packet of a capture, the rule that decides and why earlier rules do
//! not.
//!
//! Rule: the result is the model's, which the program must agree with; no privilege is needed if
//! rules come from a file. State is not known: no limit is exceeded and no source is banned. Not
//! here: packets as they arrive (`live`).

mod live;

use std::fs;

use anyhow::{Context as _, Result, bail};
use control::filter::active::ActiveFilter;
use control::filter::explanation::Explanation;
use control::filter::source::read;
use filter::{Frame, Model, Ruleset};
use pcap::{LinkType, Packet, Reader};
use sys::net::Netlink;

use crate::args::FilterExplainArgs;
use crate::cmd::{Context, Exit, confine};
use crate::view::say;

pub fn run(args: &FilterExplainArgs, context: &Context) -> Result<Exit> {
    if args.live {
        return live::run(args, context);
    }
    let links = interfaces();
    let rules = match &args.rules {
        Some(_) => None,
        None => Some(active_rules(args, context)?),
    };
    confine(args)?;
    let rules = match (&args.rules, rules) {
        (Some(path), _) => read(path)?.ruleset,
        (None, rules) => rules.context("the rules were read before")?,
    };
    let name = args.what.display();
    let file = fs::File::open(&args.what).with_context(|| format!("cannot open {name}"))?;
    let mut reader = Reader::new(file).with_context(|| name.to_string())?;
    let ifindex = |name: &str| links.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
    let mut model = Model::new(&rules, ifindex);
    let mut packet = Packet::default();
    let mut n = 0;
    loop {
        match reader.next_into(&mut packet) {
            Ok(true) => n += 1,
            Ok(false) => break,
            // Packets before the damage are used, as `xway run` does.
            Err(error) if n > 0 => {
                say(&format!("xway: {name}: after packet {n}: {error}"));
                break;
            }
            Err(error) => return Err(error).with_context(|| name.to_string()),
        }
        let interface = &reader.interfaces()[packet.interface];
        if interface.link_type != LinkType::ETHERNET {
            bail!("{name}: packet {n} is not from an Ethernet; capture on an Ethernet interface");
        }
        let arrived = args.iface.as_deref().or(interface.name.as_deref());
        let frame = Frame {
            bytes: &packet.data,
            ifindex: arrived.and_then(ifindex).unwrap_or_default(),
            queue: packet.queue.unwrap_or_default(),
        };
        let judgement = model.judge(&frame, packet.timestamp_ns);
        if !context.show_next(&Explanation::new(n, &judgement, &rules))? {
            break;
        }
    }
    Ok(Exit::Done)
}

/// Confines the process to reading the rules and the capture.
fn confine(args: &FilterExplainArgs) -> Result<()> {
    let mut named = confine::begin()?;
    named.input(&args.what);
    args.rules.iter().for_each(|rules| named.rules(rules));
    named.end()
}

/// The active rules of the named interface, or of the only one with a filter.
fn active_rules(args: &FilterExplainArgs, context: &Context) -> Result<Ruleset> {
    let active = match &args.iface {
        Some(interface) => ActiveFilter::open(&context.control, interface)?,
        None => ActiveFilter::open_only(&context.control)?,
    };
    Ok(active.unexpired()?.ruleset)
}

/// Names and indices of all interfaces; empty if they cannot be listed.
fn interfaces() -> Vec<(String, u32)> {
    let links = Netlink::open().and_then(|mut netlink| netlink.links()).unwrap_or_default();
    links.into_iter().map(|link| (link.name, link.ifindex.0)).collect()
}

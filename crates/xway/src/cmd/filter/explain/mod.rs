//! `filter explain`: for each packet of a capture, the rule that decides and why earlier rules do
//! not.
//!
//! Rule: the result is the model's, which the program must agree with; no privilege is needed if
//! rules come from a file. State is not known: no limit is exceeded and no source is banned. Not
//! here: packets as they arrive (`live`).

mod live;

use anyhow::{Context as _, Result, bail};
use control::filter::active::ActiveFilter;
use control::filter::explanation::Explanation;
use control::filter::source::read;
use filter::{Frame, Model, Ruleset};
use pcap::{Framer, Framing, Interface, Packet, Reader, Unframed};
use sys::net::Netlink;
use sys::stdio::open_input;

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
    let file = open_input(&args.what).with_context(|| format!("cannot open {name}"))?;
    let mut reader = Reader::new(file).with_context(|| name.to_string())?;
    let ifindex = |name: &str| links.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
    let mut model = Model::new(&rules, ifindex);
    let mut packet = Packet::default();
    let mut framer = Framer::new(args.link.into(), Framing::default());
    let (mut n, mut left_out) = (0, 0);
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
        let Some((bytes, framed)) = frame(&mut framer, interface, &packet)
            .with_context(|| format!("{name}: packet {n}"))?
        else {
            left_out += 1;
            continue;
        };
        if framed == Some(1) {
            say(&format!("xway: {name}: {}", framer.framing().notice(interface.link_type)));
        }
        let arrived = args.iface.as_deref().or(interface.name.as_deref());
        let frame = Frame {
            bytes: &bytes,
            ifindex: arrived.and_then(ifindex).unwrap_or_default(),
            queue: packet.queue.unwrap_or_default(),
        };
        let judgement = model.judge(&frame, packet.timestamp_ns);
        let framed = framed.map(|_| interface.link_type.to_string());
        let explanation = Explanation { framed, ..Explanation::new(n, &judgement, &rules) };
        if !context.show_next(&explanation)? {
            break;
        }
    }
    if left_out > 0 {
        say(&format!("xway: {name}: {left_out} packets of protocols that Ethernet does not carry"));
    }
    Ok(Exit::Done)
}

/// The packet as an Ethernet frame, and the number of packets of its link type that got a header so
/// far; `None` if Ethernet does not carry it.
fn frame(
    framer: &mut Framer,
    interface: &Interface,
    packet: &Packet,
) -> Result<Option<(Vec<u8>, Option<u64>)>> {
    let mut frame = Vec::new();
    match framer.frame(interface.link_type, &packet.data, &mut frame) {
        Ok(added) => Ok(Some((frame, added))),
        Err(Unframed::Protocol | Unframed::Short) => Ok(None),
        Err(why) => bail!("{why}; {}", why.remedy()),
    }
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

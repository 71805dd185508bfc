//! `filter explain`: for each packet of a capture the rule that decides, and why not those before.
//!
//! Rule: the answer is the model's, which the program is held to; no privilege is needed when rules
//! come from a file. State is not known: no limit is exceeded, nobody is banned. Not here: packets
//! that arrive now (`live`).

mod live;

use std::fs;

use anyhow::{Context as _, Result, bail};
use control::filter::active::ActiveFilter;
use control::filter::source::read;
use filter::model::Judged;
use filter::{Frame, Judgement, Model, Ruleset};
use pcap::{LinkType, Packet, Reader};
use sys::net::Netlink;

use crate::args::FilterExplainArgs;
use crate::cmd::{Context, Exit, confine};
use crate::view::filter::explain::{Before, Explained, Layer};
use crate::view::say;

pub fn run(args: &FilterExplainArgs, context: &Context) -> Result<Exit> {
    if args.live {
        return live::run(args, context);
    }
    let links = interfaces();
    let rules = match &args.rules {
        Some(_) => None,
        None => Some(in_force(args, context)?),
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
            // What is whole before the damage is used, as `xway run` does.
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
        if !context.show_next(&explained(n, &judgement, &rules))? {
            break;
        }
    }
    Ok(Exit::Done)
}

/// From here on, only the rules and the capture are read.
fn confine(args: &FilterExplainArgs) -> Result<()> {
    let mut named = confine::begin()?;
    named.input(&args.what);
    args.rules.iter().for_each(|rules| named.rules(rules));
    named.end()
}

/// Of the interface that was named, or of the only one that has any.
fn in_force(args: &FilterExplainArgs, context: &Context) -> Result<Ruleset> {
    if let Some(interface) = &args.iface {
        return Ok(ActiveFilter::open(&context.control, interface)?.unexpired()?.ruleset);
    }
    let links = interfaces().into_iter();
    let lives = links.filter_map(|(name, _)| {
        ActiveFilter::open(&context.control, &name).ok().map(|one| (name, one))
    });
    match &lives.collect::<Vec<_>>()[..] {
        [(_, live)] => Ok(live.unexpired()?.ruleset),
        [] => bail!("no interface runs a filter: say which rules with --rules FILE"),
        several => {
            let names: Vec<_> = several.iter().map(|(name, _)| name.as_str()).collect();
            bail!("{} run filters: say which one with --iface", names.join(", "))
        }
    }
}

/// Names and indices; none where they cannot be asked for.
fn interfaces() -> Vec<(String, u32)> {
    let links = Netlink::open().and_then(|mut netlink| netlink.links()).unwrap_or_default();
    links.into_iter().map(|link| (link.name, link.ifindex.0)).collect()
}

fn explained(n: u64, judgement: &Judgement, rules: &Ruleset) -> Explained {
    let name = |rule: usize| rules.rules[rule].name.clone();
    Explained {
        n,
        verdict: judgement.verdict.name(),
        rule: judgement.rule.map(name),
        reason: judgement.reason.label(),
        layers: judgement.layers.iter().map(|judged| layer(judged, rules)).collect(),
        decided: judgement.decided,
    }
}

fn layer(judged: &Judged, rules: &Ruleset) -> Layer {
    let name = |rule: &usize| rules.rules[*rule].name.clone();
    Layer {
        packet: judged.layer.words(),
        odd: judged.layer.oddities.iter().map(|oddity| oddity.label()).collect(),
        rule: judged.rule.as_ref().map(name),
        matched: judged.effects.iter().map(name).collect(),
        before: judged
            .misses
            .iter()
            .map(|miss| Before { rule: name(&miss.rule), why: miss.words(rules, judged) })
            .collect(),
    }
}

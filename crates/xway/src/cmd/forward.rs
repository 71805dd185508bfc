//! `forward`: the built-in router with destination NAT, on all its interfaces or on none.

use anyhow::Result;
use control::forward::{ForwardOptions, configure};
use functions::route::{Config, Nat};

use super::{Context, Exit};
use crate::args::ForwardArgs;

pub fn run(args: &ForwardArgs, context: &Context) -> Result<Exit> {
    let options = ForwardOptions {
        config: config(args)?,
        ignore_stripped_tags: args.ignore_stripped_tags,
        placement: args.placement.clone().into(),
    };
    context.show(&configure(&context.control, &args.ifaces, &options)?)?;
    Ok(Exit::Done)
}

fn config(args: &ForwardArgs) -> Result<Config> {
    let translations = args.nat.iter().map(|rule| Ok(rule.parse()?)).collect::<Result<Vec<_>>>()?;
    let nat = if args.nat_only { Nat::Required } else { Nat::Optional };
    let (replies, memory) = (!args.no_replies, args.memory);
    let (conntrack, past_firewall) = (args.conntrack, args.past_firewall);
    let config = Config { nat, translations, replies, memory, ..Config::default() };
    Ok(Config { conntrack, past_firewall, ..config })
}

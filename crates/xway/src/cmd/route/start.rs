//! `route start`, which `forward` is too: the built-in router, on all its interfaces or on none.

use anyhow::Result;
use control::route::{RouteOptions, configure};
use functions::route::{Config, Nat};

use crate::args::RouteStartArgs;
use crate::cmd::{Context, Exit};

pub fn run(args: &RouteStartArgs, context: &Context) -> Result<Exit> {
    let options = RouteOptions {
        config: config(args)?,
        ignore_stripped_tags: args.ignore_stripped_tags,
        placement: args.placement.clone().into(),
    };
    context.show(&configure(&context.control, &args.ifaces, &options)?)?;
    Ok(Exit::Done)
}

/// What the program does. Options of further features are set here.
fn config(args: &RouteStartArgs) -> Result<Config> {
    let given = &args.translation;
    let translations =
        given.nat.iter().map(|rule| Ok(rule.parse()?)).collect::<Result<Vec<_>>>()?;
    let nat = if given.nat_only { Nat::Required } else { Nat::Optional };
    let (replies, memory) = (!given.no_replies, args.memory);
    let (conntrack, past_firewall) = (args.netfilter.conntrack, args.netfilter.past_firewall);
    let config = Config { nat, translations, replies, memory, ..Config::default() };
    Ok(Config { conntrack, past_firewall, ..config })
}

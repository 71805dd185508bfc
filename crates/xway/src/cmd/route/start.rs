//! `route start`, which `forward` is too: the built-in router, on all its interfaces or on none.

use anyhow::Result;
use control::route::{RouteOptions, configure};
use functions::route::{Config, IcmpErrors, IcmpRate, Nat};

use crate::args::{Refusals, RouteStartArgs};
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
    let Refusals { reverse_path, ip_options: options, .. } = args.refusals;
    let icmp_errors = icmp_errors(&args.refusals);
    let config = Config { nat, translations, replies, memory, ..Config::default() };
    Ok(Config { icmp_errors, reverse_path, options, conntrack, past_firewall, ..config })
}

/// Bursts are those of a second in a network, and of a tenth of a second in total.
fn icmp_errors(given: &Refusals) -> IcmpErrors {
    let rate = |rate_pps, burst| IcmpRate { rate_pps, burst };
    IcmpErrors {
        send: !given.no_icmp_errors,
        prefix: rate(given.icmp_prefix_rate, given.icmp_prefix_rate),
        total: rate(given.icmp_rate, given.icmp_rate / 10),
        extensions: given.icmp_extensions,
    }
}

//! `scan run`: probes targets, and prints answers as they arrive.

use std::fs::File;
use std::io::Read as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use packet::Mac;
use sys::net::{Link, Netlink, TableRoute};
use sys::signal::Stop;
use traffic::scan::answer::Reception;
use traffic::scan::{
    AnswerLine, Key, Plan, Probe, ProbeFrame, Scan, ScanConfig, ScanReport, Shard,
};
use traffic::stream::QuickProtocol;

use crate::args::{ProbeArg, ScanRunArgs};
use crate::cmd::generate::{address, guard, hop};
use crate::cmd::{Context, Exit};
use crate::view::say;

pub fn run(args: &ScanRunArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let key = key(args)?;
    let plan = super::read(&args.targets, key)?;
    if plan.is_empty() {
        bail!("shard {} has no targets", args.targets.shard);
    }
    let probe = probe(args, &plan, &stop)?;
    if !args.force {
        guard::check(&args.dev, args.rate, probe.bytes().len() as f64)?;
    }
    let config = ScanConfig {
        interface: args.dev.clone(),
        rate: args.rate,
        cpus: args.cpus.clone().map(|cpus| cpus.0).unwrap_or_default(),
        wait: args.wait,
        reception: Reception::default(),
        key,
    };
    let begin = Instant::now();
    let scan = Scan::start(&plan, &probe, &config)?;
    let total = scan.total();
    say(&format!("xway: {total} probes by {}", args.dev));
    let counts = follow(scan, args, &stop, context)?;
    let seconds = begin.elapsed().as_secs_f64();
    let report = ScanReport::new(total, &counts, seconds);
    context.show_next(&report)?;
    Ok(if report.not_sent > 0 || report.lost_here > 0 { Exit::No } else { Exit::Done })
}

/// Prints answers until the scan is over, a signal arrives, or standard output is closed.
fn follow(
    mut scan: Scan,
    args: &ScanRunArgs,
    stop: &Stop,
    context: &Context,
) -> Result<traffic::scan::Counts> {
    let mut failed = None;
    loop {
        let is_over = scan.receive(POLL_INTERVAL, |answer| {
            let line = AnswerLine::new(&answer, args.targets.pass);
            if failed.is_none() {
                failed = match context.show_next(&line) {
                    Ok(true) => None,
                    other => Some(other),
                };
            }
        })?;
        if is_over || failed.is_some() || stop.wait(Duration::ZERO)?.is_some() {
            break;
        }
    }
    let counts = scan.finish()?;
    match failed {
        Some(Err(error)) => Err(error),
        _ => Ok(counts),
    }
}

/// The key of the scan: a random one unless a seed is given.
fn key(args: &ScanRunArgs) -> Result<Key> {
    match args.targets.seed {
        Some(seed) => Ok(Key::from_seed(seed)),
        None if args.targets.shard != Shard::ALL => {
            bail!("--shard needs a --seed that all parts of the scan share")
        }
        None => {
            let mut bytes = [0; 16];
            let read = File::open(RANDOM).and_then(|mut file| file.read_exact(&mut bytes));
            read.with_context(|| format!("cannot read {RANDOM}"))?;
            let number = u128::from_ne_bytes(bytes);
            Ok(Key::new([number as u64, (number >> 64) as u64]))
        }
    }
}

/// The frame of the probes, with the addresses of the interface and of the next hop.
fn probe(args: &ScanRunArgs, plan: &Plan, stop: &Stop) -> Result<Probe> {
    let has_ports = args.targets.port.is_some();
    let asked = args.probe.unwrap_or(if has_ports { ProbeArg::Syn } else { ProbeArg::Icmp });
    let protocol = match (asked, has_ports) {
        (ProbeArg::Icmp, true) => bail!("echo requests have no ports: leave out --port"),
        (ProbeArg::Syn | ProbeArg::Udp, false) => bail!("specify the ports to probe by --port"),
        (ProbeArg::Syn, _) => QuickProtocol::TcpSyn,
        (ProbeArg::Udp, _) => QuickProtocol::Udp,
        (ProbeArg::Icmp, _) => QuickProtocol::Icmp,
    };
    let mut netlink = Netlink::open()?;
    let link = netlink.link(&args.dev)?;
    let target = plan.space().address(0);
    let source = match args.src {
        Some(source) => source,
        None => address::own(&link, &netlink.addresses()?, target.is_ipv6())?,
    };
    let next_hop = match args.next_hop {
        Some(mac) => mac,
        None => gateway(&mut netlink, &link, plan, stop)?,
    };
    let source_mac = link.mac.unwrap_or_default();
    Ok(ProbeFrame { protocol, source, source_mac, next_hop }.probe()?)
}

/// The address of the gateway, which all probes are sent to.
fn gateway(netlink: &mut Netlink, link: &Link, plan: &Plan, stop: &Stop) -> Result<Mac> {
    let target = plan.space().address(0);
    let routes = netlink.table_routes()?;
    let hop = TableRoute::next_hop(&routes, target, link.ifindex).map(|(_, hop)| hop);
    if hop == Some(target) && plan.space().len() > 1 {
        bail!(
            "{target} is on the link of {}, and each of its hosts has an address of its own: \
             scan networks that a gateway leads to, or name a next hop by --next-hop",
            link.name
        );
    }
    hop::resolve(netlink, link, target, stop)
}

const RANDOM: &str = "/dev/urandom";
/// How soon an end or a signal is seen.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

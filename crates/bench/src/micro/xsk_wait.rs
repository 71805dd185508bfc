//! `xsk-wait`: processor time and latency of each wait policy of AF_XDP sockets.
//!
//! Two namespaces on one link, with a thread each on a processor of its own. On veth the kernel
//! receives on the sender's processor, so a receiver that sleeps leaves its own processor idle.

use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lab::frame::Side;
use lab::{Host, LinkOptions, TwoHosts};
use packet::Mac;
use report::Bench;
use sys::cpu;
use xsk::wait::{BusyPoll, Interrupt};
use xsk::{Interface, Socket, Stop, Wait};

use crate::harness::{Arm, Harness};
use crate::load::{self, Plan, Role, Tally, Task, Template};
use crate::{Effort, Kind, Scenario, Testbed};

/// The scenario `xsk-wait`.
pub const SCENARIO: Scenario = Scenario {
    name: "xsk-wait",
    kind: Kind::Part,
    about: "waiting for packets: round trips, and processor time at a trickle and in a flood",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, _: &Testbed) -> Result<Bench> {
    let mut bench = Bench::new("xsk-wait");
    let mut arms = Vec::new();
    for (name, wait) in POLICIES {
        let trip = move |window| round_trip(wait, window);
        arms.push(Arm::new(&format!("rtt-p50/{name}"), "ns", trip));
        let trickle = move |window| processor_share(wait, window);
        arms.push(Arm::new(&format!("cpu-10kpps/{name}"), "%", trickle));
        let flood = move |window| flood(wait, window);
        arms.push(Arm::new(&format!("flood/{name}"), "packets/cpu-s", flood));
    }
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    for row in ["rtt-p50", "cpu-10kpps", "flood"] {
        for name in ["poll", "busy-poll", "adaptive"] {
            bench.ratio(&format!("{row}/{name}"), &format!("{row}/spin"));
        }
    }
    Ok(bench)
}

/// Median nanoseconds until a packet returns from the other end; both ends wait alike.
fn round_trip(wait: Wait, window: Duration) -> Result<f64> {
    let plan = plan(Role::Rtt, window)?;
    let (client, _) = run_both((wait, plan), (wait, Role::Echo))?;
    ensure!(client.unanswered == 0, "{} packets did not return", client.unanswered);
    Ok(client.round_trips_ns.quantile(0.5).context("no packet returned")?.into())
}

/// Percent of a processor that the receiver uses for a packet every 100 µs.
fn processor_share(wait: Wait, window: Duration) -> Result<f64> {
    let receiver = receive(wait, window, GAP_NS)?;
    Ok(100.0 * cpu_ns(&receiver) / receiver.time.as_nanos() as f64)
}

/// Packets received per second of the receiver's processor time, from an unpaced sender.
fn flood(wait: Wait, window: Duration) -> Result<f64> {
    let receiver = receive(wait, window, UNPACED)?;
    Ok(receiver.came as f64 * 1e9 / cpu_ns(&receiver))
}

/// Sends packets at the given distance to a receiver, whose result is returned.
fn receive(wait: Wait, window: Duration, gap_ns: f64) -> Result<Tally> {
    let mut plan = plan(Role::Tx, window)?;
    plan.gap_ns = gap_ns;
    let (_, receiver) = run_both((Wait::Spin, plan), (wait, Role::Rx))?;
    ensure!(receiver.came > 0 && !receiver.time.is_zero(), "no packet arrived");
    Ok(receiver)
}

/// Runs a client to the end of its plan against a server on another processor.
fn run_both((wait, plan): (Wait, Plan), server: (Wait, Role)) -> Result<(Tally, Tally)> {
    let (net, interrupt, stop) = (net()?, Interrupt::new()?, Stop::new());
    let client = open(&net.a, wait, &interrupt)?;
    let (socket, server_plan) = (open(&net.b, server.0, &interrupt)?, Plan::new(server.1, 1));
    thread::scope(|scope| {
        let server = sys::thread::spawn_scoped(scope, "server", || -> Result<Tally> {
            pin(1)?;
            load::run(Task { worker: 0, socket, out: None }, &server_plan, &stop)
        })?;
        let client = pin(0)
            .and_then(|()| load::run(Task { worker: 0, socket: client, out: None }, &plan, &stop));
        stop.set();
        interrupt.raise();
        let server = server.join().expect("the server does not panic");
        Ok((client?, server?))
    })
}

fn cpu_ns(tally: &Tally) -> f64 {
    (tally.spent.user_ns + tally.spent.system_ns) as f64
}

/// A worker that sends packets of 60 bytes. Their addresses do not matter: the sockets receive all
/// frames.
fn plan(role: Role, time: Duration) -> Result<Plan> {
    let ip = Ipv4Addr::new(198, 18, 0, 1).into();
    let side = |last| Side { mac: Mac([2, 0, 0, 0, 0, last]), ip, port: 5000 };
    let mut plan = Plan::new(role, 1);
    plan.template = Some(Template::new(side(1), side(2), 60)?);
    plan.time = time;
    Ok(plan)
}

fn net() -> Result<TwoHosts> {
    let net = TwoHosts::build(&LinkOptions::default())?;
    for host in [&net.a, &net.b] {
        // It would send multicast reports of its own.
        host.set_sysctl("ipv6/conf/eth0/disable_ipv6", "1")?;
    }
    Ok(net)
}

fn open(host: &Host, wait: Wait, interrupt: &Interrupt) -> Result<Socket> {
    let socket = host.run(|| {
        let interface = Interface::open("eth0")?;
        let builder = interface.socket(0).wait(wait).interrupt(interrupt);
        match wait {
            Wait::BusyPoll => builder.busy_poll(BusyPoll::default()).open(),
            _ => builder.open(),
        }
    })?;
    Ok(socket?)
}

/// Binds the thread to the n-th processor that this process may use.
fn pin(n: usize) -> Result<()> {
    let allowed = cpu::online()?;
    Ok(cpu::set_affinity(&[allowed[n % allowed.len()]])?)
}

const POLICIES: [(&str, Wait); 4] = [
    ("spin", Wait::Spin),
    ("poll", Wait::Poll),
    ("busy-poll", Wait::BusyPoll),
    ("adaptive", Wait::Adaptive),
];
/// Nanoseconds between two packets of the trickle.
const GAP_NS: f64 = 100_000.0;
const UNPACED: f64 = 0.0;

//! `xsk-wait`: what each way of waiting for packets costs, and how soon it answers.
//!
//! Two namespaces on one link, a thread each, on processors of their own. On veth the receiver's
//! part of the kernel runs on the sender's processor, so a receiver that sleeps leaves its own one
//! idle.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use lab::{Host, LinkOptions, TwoHosts};
use report::Bench;
use sys::cpu;
use sys::thread::Spent;
use xsk::wait::{BusyPoll, Interrupt};
use xsk::{Deadline, Interface, Rx, Socket, Tx, Wait};

use crate::harness::{Arm, Harness};
use crate::{Effort, Ground, Kind, Scenario};

pub const SCENARIO: Scenario = Scenario {
    name: "xsk-wait",
    kind: Kind::Part,
    about: "waiting for packets: round trips, and processor time at a trickle and in a flood",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, _: &Ground) -> Result<Bench> {
    let mut bench = Bench::new("xsk-wait");
    let mut arms = Vec::new();
    for (name, wait) in WAYS {
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

/// Median nanoseconds until a packet is back from the other end; both ends wait alike.
fn round_trip(wait: Wait, window: Duration) -> Result<f64> {
    let (net, interrupt) = (net()?, Interrupt::new()?);
    let (mut tx, mut rx) = open(&net.a, wait, &interrupt)?.split();
    let (mut back, mut there) = open(&net.b, wait, &interrupt)?.split();
    let mut times = Vec::new();
    thread::scope(|scope| {
        let echo = sys::thread::spawn_scoped(scope, "echo", move || -> Result<()> {
            pin(1)?;
            while there.wait(Deadline::NEVER)? {
                for frame in there.batch(BATCH) {
                    back.push(frame).map_err(|rejected| rejected.why)?;
                }
            }
            Ok(())
        })?;
        let asked = ask(&mut tx, &mut rx, window, &mut times);
        interrupt.raise();
        echo.join().expect("the echo does not panic").and(asked)
    })?;
    times.sort_unstable();
    let middle = times.get(times.len() / 2).context("no packet came back")?;
    Ok(middle.as_nanos() as f64)
}

fn ask(tx: &mut Tx, rx: &mut Rx, window: Duration, times: &mut Vec<Duration>) -> Result<()> {
    pin(0)?;
    let start = Instant::now();
    while start.elapsed() < window {
        let sent = Instant::now();
        tx.send(&PACKET)?;
        ensure!(rx.wait(PATIENCE)?, "a packet did not come back");
        times.push(sent.elapsed());
        rx.for_each(BATCH, |_| ());
    }
    Ok(())
}

/// Percent of a processor that the receiver uses for a packet every 100 µs.
fn processor_share(wait: Wait, window: Duration) -> Result<f64> {
    let received = receive(wait, window, |tx, start| {
        let due = (start.elapsed().as_micros() / GAP_US) as u64 + 1;
        if tx.counters().sent < due { tx.send(&PACKET).map_err(Into::into) } else { Ok(()) }
    })?;
    Ok(100.0 * received.spent_ns / received.took.as_nanos() as f64)
}

/// Packets received in a second of the receiver's processor time, from a sender that never rests.
fn flood(wait: Wait, window: Duration) -> Result<f64> {
    let received = receive(wait, window, |tx, _| {
        let mut batch = tx.batch(BATCH as u32);
        for _ in 0..BATCH {
            if batch.send(&PACKET).is_err() {
                break;
            }
        }
        Ok(batch.finish()?)
    })?;
    Ok(received.packets as f64 * 1e9 / received.spent_ns)
}

struct Received {
    packets: u64,
    spent_ns: f64,
    took: Duration,
}

/// Receives what `send`, called again and again, sends.
fn receive(
    wait: Wait,
    window: Duration,
    mut send: impl FnMut(&mut Tx, Instant) -> Result<()>,
) -> Result<Received> {
    let (net, interrupt) = (net()?, Interrupt::new()?);
    let (mut tx, _rx) = open(&net.a, Wait::Spin, &interrupt)?.split();
    let (_tx, mut rx) = open(&net.b, wait, &interrupt)?.split();
    thread::scope(|scope| {
        let receiver =
            sys::thread::spawn_scoped(scope, "receiver", move || -> Result<Received> {
                pin(1)?;
                let (start, before) = (Instant::now(), Spent::now());
                let mut packets = 0;
                while rx.wait(Deadline::NEVER)? {
                    packets += rx.for_each(BATCH, |_| ()) as u64;
                }
                let spent = Spent::now().since(before);
                let spent_ns = (spent.user_ns + spent.system_ns) as f64;
                Ok(Received { packets, spent_ns, took: start.elapsed() })
            })?;
        pin(0)?;
        let start = Instant::now();
        let mut sent = Ok(());
        while sent.is_ok() && start.elapsed() < window {
            sent = send(&mut tx, start);
        }
        interrupt.raise();
        let received = receiver.join().expect("the receiver does not panic")?;
        sent?;
        ensure!(received.packets > 0, "no packet came");
        Ok(received)
    })
}

fn net() -> Result<TwoHosts> {
    let net = TwoHosts::build(&LinkOptions::default())?;
    for host in [&net.a, &net.b] {
        // It would tell of its multicast groups now and then.
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

/// Onto the n-th processor that this process may use.
fn pin(n: usize) -> Result<()> {
    let allowed = cpu::online()?;
    Ok(cpu::set_affinity(&[allowed[n % allowed.len()]])?)
}

const WAYS: [(&str, Wait); 4] = [
    ("spin", Wait::Spin),
    ("poll", Wait::Poll),
    ("busy-poll", Wait::BusyPoll),
    ("adaptive", Wait::Adaptive),
];
const BATCH: usize = 64;
/// Between two packets of the trickle.
const GAP_US: u128 = 100;
const PATIENCE: Duration = Duration::from_secs(10);
/// To everybody, of an ethertype of our own.
const PACKET: [u8; 60] = {
    let mut bytes = [0; 60];
    let mut at = 0;
    while at < 6 {
        bytes[at] = 0xff;
        at += 1;
    }
    bytes[6] = 2;
    bytes[12] = 0x88;
    bytes[13] = 0xb5;
    bytes
};

//! One socket and one thread for each queue of an interface, each kept on a processor.
//!
//! `sudo target/debug/xsk-06-threads eth0 'any udp 5000' 1000`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use xsk::workers::{Cpus, Stop};
use xsk::{Interface, Steer};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let usage = "usage: xsk-06-threads IFACE RULE [COUNT]";
    let (name, rule) = (words.next().context(usage)?, words.next().context(usage)?);
    let count: u64 = words.next().map_or(Ok(1000), |word| word.parse())?;

    let steer = Steer::Rules(vec![rule.parse()?]);
    let interface = Interface::builder(&name).steer(steer).open()?;
    // Each has memory of its own, so the threads share nothing.
    let sockets = interface.sockets(|socket| socket)?;
    println!("waiting for {count} packets on {} queues", sockets.len());

    // The thread that sees the last packet stops all; an error or a panic of one would, too.
    let (stop, received) = (Stop::new(), AtomicU64::new(0));
    let lines = interface.run(sockets, &Cpus::Auto, &stop, |mut socket, worker| {
        let (rx, mut own) = (socket.rx(), 0);
        while !worker.stop.is_set() {
            if !rx.wait(Duration::from_millis(100))? {
                continue;
            }
            let came = rx.for_each(64, |_packet| {}) as u64;
            own += came;
            if received.fetch_add(came, Ordering::Relaxed) + came >= count {
                worker.stop.set();
            }
        }
        Ok::<_, xsk::Error>(format!("{}: {own}", worker.place))
    })?;
    println!("{}", lines.join("\n"));
    Ok(())
}

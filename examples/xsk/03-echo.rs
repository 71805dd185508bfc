//! Sends packets back to where they came from: the frame that was received is the one that is
//! sent, with its Ethernet addresses exchanged.
//!
//! `sudo target/debug/xsk-03-echo eth0 'any udp 7' 1000`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use std::time::Duration;

use anyhow::{Context, Result};
use xsk::{Interface, Steer};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let usage = "usage: xsk-03-echo IFACE RULE [COUNT]";
    let (name, rule) = (words.next().context(usage)?, words.next().context(usage)?);
    let count: u64 = words.next().map_or(Ok(1000), |word| word.parse())?;

    let steer = Steer::Rules(vec![rule.parse()?]);
    let interface = Interface::builder(&name).steer(steer).open()?;
    let (mut tx, mut rx) = interface.socket(0).open()?.split();
    println!("answering {count} packets");

    while tx.counters().sent < count && rx.wait(Duration::from_secs(10))? {
        // What is sent waits for the batch's end: one call of the kernel for all of it.
        let mut out = tx.batch(64);
        for mut packet in rx.batch(64) {
            let (target, source) = packet[..12].split_at_mut(6);
            target.swap_with_slice(source);
            // Where there is no room the packet is lost, and its frame is not.
            if let Err(rejected) = out.push(packet) {
                println!("not sent: {}", rejected.why);
            }
        }
        out.finish()?;
    }

    let end = tx.drain(Duration::from_secs(1));
    println!("answered {}, not done {}", tx.counters().sent, end.left);
    Ok(())
}

//! Receives packets that match a rule, in place; everything else goes to the stack as before.
//!
//! `sudo target/debug/xsk-02-receive eth0 'any udp 5000' 10`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use std::time::Duration;

use anyhow::{Context, Result};
use xsk::{Interface, Steer};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let usage = "usage: xsk-02-receive IFACE RULE [COUNT]";
    let (name, rule) = (words.next().context(usage)?, words.next().context(usage)?);
    let count: usize = words.next().map_or(Ok(10), |word| word.parse())?;

    let steer = Steer::Rules(vec![rule.parse()?]);
    let interface = Interface::builder(&name).steer(steer).open()?;
    let (_tx, mut rx) = interface.socket(0).open()?.split();
    println!("waiting for {count} packets");

    let mut left = count;
    while left > 0 && rx.wait(Duration::from_secs(10))? {
        // The packet is the memory that the kernel wrote it to; afterwards it is filled again.
        left -= rx.for_each(left, |packet| {
            let head = &packet[..packet.len().min(32)];
            println!("{} bytes: {head:02x?}", packet.packet_len());
        });
    }

    // Whatever was lost, was lost here.
    let lost = rx.stats()?.kernel;
    println!("received {}, ring full {}", rx.counters().received, lost.rx_ring_full);
    Ok(())
}

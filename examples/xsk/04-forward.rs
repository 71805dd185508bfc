//! A cable between two interfaces: both sockets have one memory, so packets move without a copy.
//!
//! `sudo target/debug/xsk-04-forward eth0 eth1 1000`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use std::time::Duration;

use anyhow::{Context, Result};
use xsk::{Interface, Rx, Tx, Umem, wait};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let usage = "usage: xsk-04-forward IFACE IFACE [COUNT]";
    let (left, right) = (words.next().context(usage)?, words.next().context(usage)?);
    let count: u64 = words.next().map_or(Ok(1000), |word| word.parse())?;

    let umem = Umem::builder().frames(8192).build()?;
    let (mut left_tx, mut left_rx) = open(&left, &umem)?;
    let (mut right_tx, mut right_rx) = open(&right, &umem)?;
    println!("forwarding {count} packets");

    let mut moved = 0;
    while moved < count {
        if !wait::any(&mut [&mut left_rx, &mut right_rx], Duration::from_secs(10))? {
            break;
        }
        moved += pass(&mut left_rx, &mut right_tx)?;
        moved += pass(&mut right_rx, &mut left_tx)?;
    }

    let left = left_tx.drain(Duration::from_secs(1)).left;
    let right = right_tx.drain(Duration::from_secs(1)).left;
    println!("forwarded {moved}, not done {}", left + right);
    Ok(())
}

/// All packets of the interface's first queue.
fn open(name: &str, umem: &Umem) -> Result<(Tx, Rx)> {
    Ok(Interface::open(name)?.socket(0).umem(umem).open()?.split())
}

/// Moves the received packets; returns how many were sent.
fn pass(rx: &mut Rx, tx: &mut Tx) -> Result<u64> {
    let mut moved = 0;
    let mut out = tx.batch(64);
    for packet in rx.batch(64) {
        // A packet that finds no room is lost, as on any switch.
        moved += u64::from(out.push(packet).is_ok());
    }
    out.finish()?;
    Ok(moved)
}

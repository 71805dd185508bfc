//! Sends numbered packets out of an interface, 64 at a time. Needs root, or CAP_NET_RAW.
//!
//! `cargo build -p xway-examples && sudo target/debug/xsk-01-send eth0 1000`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use std::time::Duration;

use anyhow::{Context, Result};
use xsk::Interface;

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let name = words.next().context("usage: xsk-01-send IFACE [COUNT]")?;
    let count: u64 = words.next().map_or(Ok(1000), |word| word.parse())?;

    // Nothing is to be received, so no program is attached.
    let interface = Interface::builder(&name).without_steering().open()?;
    let socket = interface.socket(0).batch(64).open()?;
    println!("zero copy: {}", socket.is_zero_copy());
    let (mut tx, _rx) = socket.split();

    let mut packet = [0; 60];
    // To everybody, from a local address, of the EtherType for experiments.
    packet[..14].copy_from_slice(&[255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    for number in 0..count {
        packet[14..22].copy_from_slice(&number.to_be_bytes());
        // Where there is no room, it waits for some.
        tx.send_until(&packet, Duration::from_secs(1))?;
    }

    // The last batch goes out, and every frame comes back.
    let end = tx.drain(Duration::from_secs(1));
    println!("sent {}, not done {}", tx.counters().sent, end.left);
    Ok(())
}

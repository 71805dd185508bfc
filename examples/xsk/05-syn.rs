//! Answers every SYN to a port, with or without a listener: the start of a honeypot or of a SYN
//! proxy. IPv4 without options. The rest of the host's traffic is the stack's, as before.
//!
//! `sudo target/debug/xsk-05-syn eth0 8080 100`
#![allow(clippy::print_stdout, reason = "an example prints its results")]
#![forbid(unsafe_code)]

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use anyhow::{Context, Result};
use xsk::{Interface, Steer};

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let usage = "usage: xsk-05-syn IFACE PORT [COUNT]";
    let (name, port) = (words.next().context(usage)?, words.next().context(usage)?);
    let count: u64 = words.next().map_or(Ok(100), |word| word.parse())?;

    let steer = Steer::Rules(vec![format!("any tcp {port} ethertype 0x0800").parse()?]);
    let interface = Interface::builder(&name).steer(steer).open()?;
    let (mut tx, mut rx) = interface.socket(0).open()?.split();
    println!("answering {count} SYNs");

    let secret = RandomState::new();
    while tx.counters().sent < count && rx.wait(Duration::from_secs(10))? {
        let mut out = tx.batch(64);
        for mut packet in rx.batch(64) {
            let is_syn = packet.len() >= 54 && packet[14] == 0x45 && packet[47] & 0x12 == 2;
            if is_syn && packet.resize(54) {
                answer(&mut packet, &secret);
                out.push(packet).map_err(|rejected| rejected.why)?;
            }
        }
        out.finish()?;
    }
    println!("answered {}", tx.counters().sent);
    Ok(())
}

/// Makes a SYN-ACK of a SYN. Its sequence number is a cookie: a client that acknowledges it has
/// received it.
fn answer(packet: &mut [u8], secret: &RandomState) {
    let cookie = secret.hash_one(&packet[26..38]) as u32;
    let acknowledged = u32::from_be_bytes([packet[38], packet[39], packet[40], packet[41]]);
    for (start, len) in [(0, 6), (26, 4), (34, 2)] {
        let (to, from) = packet[start..start + 2 * len].split_at_mut(len);
        to.swap_with_slice(from);
    }
    packet[38..42].copy_from_slice(&cookie.to_be_bytes());
    packet[42..46].copy_from_slice(&acknowledged.wrapping_add(1).to_be_bytes());
    // No options; SYN and ACK; the largest window; no sum yet, nothing urgent.
    packet[46..54].copy_from_slice(&[0x50, 0x12, 0xff, 0xff, 0, 0, 0, 0]);
    // The IP header: 40 bytes in all, 64 hops, no sum yet.
    packet[16..18].copy_from_slice(&[0, 40]);
    (packet[22], packet[24], packet[25]) = (64, 0, 0);
    let sum = checksum(&packet[14..34], 0);
    packet[24..26].copy_from_slice(&sum.to_be_bytes());
    // TCP's sum covers the addresses, the protocol and the length.
    let sum = checksum(&packet[26..54], 6 + 20);
    packet[50..52].copy_from_slice(&sum.to_be_bytes());
}

fn checksum(bytes: &[u8], start: u32) -> u16 {
    let words = bytes.as_chunks::<2>().0.iter().map(|word| u32::from(u16::from_be_bytes(*word)));
    let sum = words.fold(start, |sum, word| sum + word);
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

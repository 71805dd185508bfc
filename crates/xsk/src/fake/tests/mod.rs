//! Sockets with a kernel that behaves well, and with one that does not.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod allocation;
mod audit;
mod burst;
mod defects;
mod faults;
mod life;
mod random;

use super::{Answer, Kernel, World};
use crate::{Frame, Rx, Tx};

/// A packet of `len` bytes, all with the value `tag`, arrives.
fn arrive(kernel: &Kernel, tag: u8, len: usize) {
    assert!(kernel.state().receive(&[&vec![tag; len]]), "there is a frame for it");
}

/// Sends until all packets are accepted; progress must be possible after each refusal.
fn send_all(tx: &mut Tx, packets: impl Iterator<Item = Vec<u8>>) {
    for packet in packets {
        let mut tries = 0;
        while tx.send(&packet).is_err() {
            tries += 1;
            assert!(tries < 100, "stalled: {:?}", tx.counters());
        }
    }
}

/// Reclaims all frames that were sent.
fn settle(tx: &mut Tx) {
    for _ in 0..100 {
        tx.flush().unwrap();
        tx.reap();
        if tx.in_flight() == 0 {
            return;
        }
    }
    panic!("frames are missing: {:?}", tx.counters());
}

fn receive_all(rx: &mut Rx) -> Vec<Frame> {
    rx.batch(usize::MAX).collect()
}

//! What sockets count, for C.

use std::mem::size_of;

use xsk::{Rx, Tx};

use crate::border::{Plain, Versioned};
use crate::error::Result;

/// What the sending half counted since it was opened.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TxStats {
    /// `sizeof(struct xway_xsk_tx_stats)`, set by the caller.
    pub size: usize,
    /// Packets handed to the kernel.
    pub sent: u64,
    /// Frames that came back from it.
    pub completed: u64,
    /// Frames that the kernel has now.
    pub in_flight: u64,
    /// Calls that let the kernel transmit.
    pub kicks: u64,
    /// Of these, answered with "not now".
    pub kicks_refused: u64,
    /// Times that a packet found no free frame, or no room in the tx ring.
    pub full: u64,
    /// Completions that named no frame of the socket; ignored.
    pub invalid: u64,
    /// Times that an index of the kernel was out of its ring; ignored.
    pub faults: u64,
    /// Times of transmission that were asked for and not taken before newer ones came.
    pub timestamps_lost: u64,
    /// Of those sent, dropped by the driver at once: no link, or its queue is full. Copy mode.
    pub dropped: u64,
}

/// What the receiving half counted since it was opened, and the kernel for the whole socket.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RxStats {
    /// `sizeof(struct xway_xsk_rx_stats)`, set by the caller.
    pub size: usize,
    /// Packets.
    pub received: u64,
    /// Calls that told the kernel of empty frames.
    pub kicks: u64,
    /// Times that there was no free frame for the fill ring.
    pub starved: u64,
    /// Descriptors that named no frame of the socket, or data outside of it; ignored.
    pub invalid: u64,
    /// Packets of more parts than a frame can have; dropped.
    pub too_long: u64,
    /// Times that an index of the kernel was out of its ring; ignored.
    pub faults: u64,
    /// The kernel: packets too large for a frame, or lost for other reasons than a full ring.
    pub rx_dropped: u64,
    /// The kernel: packets that found no room in the rx ring.
    pub rx_ring_full: u64,
    /// The kernel: packets that found no empty frame in the fill ring.
    pub fill_ring_empty: u64,
    /// The kernel: addresses in the fill ring that were refused.
    pub fill_invalid: u64,
    /// The kernel: descriptors in the tx ring that were refused.
    pub tx_invalid: u64,
    /// The kernel: times that it was asked to transmit and found nothing.
    pub tx_ring_empty: u64,
}

impl TxStats {
    pub fn of(tx: &Tx) -> Self {
        let counted = tx.counters();
        Self {
            size: size_of::<Self>(),
            sent: counted.sent,
            completed: counted.completed,
            in_flight: tx.in_flight().into(),
            kicks: counted.kicks,
            kicks_refused: counted.kicks_refused,
            full: counted.full,
            invalid: counted.invalid,
            faults: counted.faults,
            timestamps_lost: counted.timestamps_lost,
            dropped: counted.dropped,
        }
    }
}

impl RxStats {
    pub fn of(rx: &Rx) -> Result<Self> {
        let stats = rx.stats()?;
        let (counted, kernel) = (stats.rx, stats.kernel);
        Ok(Self {
            size: size_of::<Self>(),
            received: counted.received,
            kicks: counted.kicks,
            starved: counted.starved,
            invalid: counted.invalid,
            too_long: counted.too_long,
            faults: counted.faults,
            rx_dropped: kernel.rx_dropped,
            rx_ring_full: kernel.rx_ring_full,
            fill_ring_empty: kernel.fill_ring_empty,
            fill_invalid: kernel.fill_invalid,
            tx_invalid: kernel.tx_invalid,
            tx_ring_empty: kernel.tx_ring_empty,
        })
    }
}

impl Default for TxStats {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            sent: 0,
            completed: 0,
            in_flight: 0,
            kicks: 0,
            kicks_refused: 0,
            full: 0,
            invalid: 0,
            faults: 0,
            timestamps_lost: 0,
            dropped: 0,
        }
    }
}

impl Default for RxStats {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            received: 0,
            kicks: 0,
            starved: 0,
            invalid: 0,
            too_long: 0,
            faults: 0,
            rx_dropped: 0,
            rx_ring_full: 0,
            fill_ring_empty: 0,
            fill_invalid: 0,
            tx_invalid: 0,
            tx_ring_empty: 0,
        }
    }
}

// SAFETY: of integers alone.
unsafe impl Plain for TxStats {}
// SAFETY: of integers alone.
unsafe impl Plain for RxStats {}

// SAFETY: begins with its size.
unsafe impl Versioned for TxStats {
    const NAME: &'static str = "struct xway_xsk_tx_stats";
    const LEAST: usize = 88;
}
// SAFETY: begins with its size.
unsafe impl Versioned for RxStats {
    const NAME: &'static str = "struct xway_xsk_rx_stats";
    const LEAST: usize = 104;
}

//! Counters of sockets, for C.

use std::mem::size_of;

use xsk::{Rx, Tx};

use crate::border::{Plain, Versioned};
use crate::error::Result;

/// Counters of the sending half since it was opened.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TxStats {
    /// `sizeof(struct xway_xsk_tx_stats)`, set by the caller.
    pub size: usize,
    /// Packets that were passed to the kernel.
    pub sent: u64,
    /// Frames that the kernel has completed.
    pub completed: u64,
    /// Frames that the kernel holds now.
    pub in_flight: u64,
    /// System calls that started transmission.
    pub kicks: u64,
    /// System calls that failed temporarily (EAGAIN, EBUSY or ENOBUFS).
    pub kicks_refused: u64,
    /// Times that there was no free frame for a packet, or no space in the tx ring.
    pub full: u64,
    /// Completions with an address that does not belong to a frame of the socket; ignored.
    pub invalid: u64,
    /// Times that the kernel's index of a ring was invalid; ignored.
    pub faults: u64,
    /// Requested times of transmission that were overwritten before the program read them.
    pub timestamps_lost: u64,
    /// Sent packets that the driver dropped: no link, or its queue is full. Copy mode only.
    pub dropped: u64,
}

/// Counters of the receiving half since it was opened, and those of the kernel for the whole
/// socket.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RxStats {
    /// `sizeof(struct xway_xsk_rx_stats)`, set by the caller.
    pub size: usize,
    /// Packets that were received.
    pub received: u64,
    /// System calls that notified the kernel of free frames in the fill ring.
    pub kicks: u64,
    /// Times that there was no free frame for the fill ring.
    pub starved: u64,
    /// Descriptors with an invalid address or length; ignored.
    pub invalid: u64,
    /// Dropped packets that had more parts than a frame can have.
    pub too_long: u64,
    /// Times that the kernel's index of a ring was invalid; ignored.
    pub faults: u64,
    /// Kernel: packets that were too large for a frame, or dropped for reasons other than a full
    /// ring.
    pub rx_dropped: u64,
    /// Kernel: packets that were dropped because the rx ring was full.
    pub rx_ring_full: u64,
    /// Kernel: packets that were dropped because the fill ring was empty.
    pub fill_ring_empty: u64,
    /// Kernel: invalid addresses in the fill ring.
    pub fill_invalid: u64,
    /// Kernel: invalid descriptors in the tx ring.
    pub tx_invalid: u64,
    /// Kernel: requests to transmit that found an empty tx ring.
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

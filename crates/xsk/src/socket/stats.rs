//! What a socket counted, and what the kernel counted for it.

use sys::net::xsk::XskStatistics;

/// Packets, unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxCounters {
    /// Handed to the kernel.
    pub sent: u64,
    /// Frames that came back from it.
    pub completed: u64,
    /// Calls that let the kernel transmit.
    pub kicks: u64,
    /// Of these, answered with "not now" (`EAGAIN`, `EBUSY`, `ENOBUFS`).
    pub kicks_refused: u64,
    /// Of those that were sent, dropped by the driver at once: it has no link, or its queue is
    /// full. In copy mode only, since with zero copy the kernel does not tell.
    pub dropped: u64,
    /// Times that a packet found no free frame, or no room in the tx ring.
    pub full: u64,
    /// Times of transmission that were asked for and not taken before newer ones came.
    pub timestamps_lost: u64,
    /// Completions that named no frame of ours in transmission; ignored.
    pub invalid: u64,
    /// Times that an index of the kernel was out of its ring; ignored.
    pub faults: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxCounters {
    /// Taken from the rx ring.
    pub received: u64,
    /// Calls that told the kernel of empty frames.
    pub kicks: u64,
    /// Times that there was no free frame for the fill ring.
    pub starved: u64,
    /// Descriptors that named no frame of ours, or data outside of it; ignored.
    pub invalid: u64,
    /// Packets of more parts than a frame can have; dropped.
    pub too_long: u64,
    /// Times that an index of the kernel was out of its ring; ignored.
    pub faults: u64,
}

/// Everything that is counted for one socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub tx: TxCounters,
    pub rx: RxCounters,
    /// What the kernel says; it names where packets were lost.
    pub kernel: XskStatistics,
}

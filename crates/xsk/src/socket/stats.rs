//! Counters of a socket, and of the kernel for it.

use sys::net::xsk::XskStatistics;

/// Counters of a sending half, in packets unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxCounters {
    /// Passed to the kernel.
    pub sent: u64,
    /// Frames that the kernel has returned.
    pub completed: u64,
    /// System calls that let the kernel transmit.
    pub kicks: u64,
    /// System calls that failed temporarily (`EAGAIN`, `EBUSY`, `ENOBUFS`).
    pub kicks_refused: u64,
    /// Sent packets that the driver dropped immediately, because it has no link or its queue is
    /// full. Only in copy mode; with zero copy the kernel does not report them.
    pub dropped: u64,
    /// Times that no frame was free, or the tx ring was full.
    pub full: u64,
    /// Requested transmit times that were replaced by newer ones before they were read.
    pub timestamps_lost: u64,
    /// Completions that named no frame in transmission; ignored.
    pub invalid: u64,
    /// Invalid ring indices from the kernel; ignored.
    pub faults: u64,
}

/// Counters of a receiving half, in packets unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxCounters {
    /// Taken from the rx ring.
    pub received: u64,
    /// System calls that announced empty frames to the kernel.
    pub kicks: u64,
    /// Times that no frame was free for the fill ring.
    pub starved: u64,
    /// Descriptors that named no frame with the kernel, or data outside of it; ignored.
    pub invalid: u64,
    /// Packets of more parts than a frame can hold; dropped.
    pub too_long: u64,
    /// Invalid ring indices from the kernel; ignored.
    pub faults: u64,
}

/// All counters of one socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub tx: TxCounters,
    pub rx: RxCounters,
    /// The kernel's counters, which show where packets were lost.
    pub kernel: XskStatistics,
}

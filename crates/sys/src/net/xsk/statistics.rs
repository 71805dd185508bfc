//! What the kernel counts for one socket.

use super::XskSocket;
use crate::error::Result;

/// `struct xdp_statistics`: packets or descriptors since the socket was opened. A kernel before
/// 5.9 leaves the last three 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XskStatistics {
    /// Packets too large for a frame, or lost for other reasons than a full ring.
    pub rx_dropped: u64,
    /// Packets that found no room in the rx ring.
    pub rx_ring_full: u64,
    /// Packets that found no empty frame in the fill ring.
    pub fill_ring_empty: u64,
    /// Invalid addresses in the fill ring.
    pub fill_invalid: u64,
    /// Invalid descriptors in the tx ring.
    pub tx_invalid: u64,
    /// Number of transmit requests for which the ring was empty.
    pub tx_ring_empty: u64,
}

impl XskSocket {
    /// Reads the counters of the socket.
    pub fn statistics(&self) -> Result<XskStatistics> {
        let mut raw = libc::xdp_statistics {
            rx_dropped: 0,
            rx_invalid_descs: 0,
            tx_invalid_descs: 0,
            rx_ring_full: 0,
            rx_fill_ring_empty_descs: 0,
            tx_ring_empty_descs: 0,
        };
        self.read("getsockopt(XDP_STATISTICS)", libc::XDP_STATISTICS, &mut raw)?;
        Ok(XskStatistics {
            rx_dropped: raw.rx_dropped,
            rx_ring_full: raw.rx_ring_full,
            fill_ring_empty: raw.rx_fill_ring_empty_descs,
            fill_invalid: raw.rx_invalid_descs,
            tx_invalid: raw.tx_invalid_descs,
            tx_ring_empty: raw.tx_ring_empty_descs,
        })
    }
}

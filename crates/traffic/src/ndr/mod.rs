//! RFC 2544: the highest rate without loss, bursts, latency at a share of it.

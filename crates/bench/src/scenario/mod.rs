//! The pictures for which people choose XDP: each file is one scenario.

pub mod cpu;
pub mod ddos;
pub mod drop;
pub mod forward;
pub mod latency;
pub mod router;
pub mod scale;

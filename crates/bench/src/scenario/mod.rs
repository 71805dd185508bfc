//! The pictures for which people choose XDP: each file is one scenario.

pub mod drop;

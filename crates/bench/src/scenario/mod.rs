//! Figures that compare XDP with alternatives: each file is one scenario.

pub mod balancer;
mod cost;
pub mod cpu;
pub mod ddos;
pub mod drop;
pub mod forward;
pub mod latency;
pub mod pass;
pub mod router;
pub mod scale;
mod test_run;

//! Parts of the project alone: each file is one scenario.

pub mod chain;
pub mod drop_cost;
pub mod filter;
pub mod gen_cost;
pub mod gen_pacing;
pub mod gen_tcp;
pub mod gen_udp;
pub mod gen_watch;
mod mean;
pub mod noise;
pub mod vm_interp;
pub mod xsk;
pub mod xsk_wait;

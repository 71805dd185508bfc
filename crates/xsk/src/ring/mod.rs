//! The four rings that a socket shares with the kernel, as guards.
//!
//! Rule: one side writes slots and then the producer index (release), the other reads the index
//! (acquire) and then the slots. Each side keeps its own index privately, and accepts the other's
//! only within the size of the ring. An invalid index is counted as a fault, and the ring then
//! appears full, or empty: no access is out of bounds, whatever the kernel writes.
#![allow(unsafe_code, reason = "slots and indices that are shared with the kernel")]

mod consumer;
mod gauge;
#[cfg(any(test, fuzzing))]
mod heap;
#[cfg(loom)]
#[cfg(test)]
mod loom;
mod memory;
mod producer;
mod slot;

pub(crate) use consumer::Consumer;
pub(crate) use gauge::Gauge;
#[cfg(any(test, fuzzing))]
pub(crate) use heap::{Pair, Watch};
pub(crate) use memory::Memory;
pub(crate) use producer::Producer;

/// A slot of the rx and tx rings: `struct xdp_desc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Descriptor {
    pub address: u64,
    pub len: u32,
    pub options: u32,
}

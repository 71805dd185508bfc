//! Memory for packets: private pages at an address of their own, plain or huge, near a device.
//!
//! Rule: nothing here makes a reference into the memory; who reads and writes what in it, and when,
//! is the caller's. Memory that the kernel made (rings, maps) is in [`mmap`](crate::mmap).

mod anonymous;
mod huge;
mod node;
mod room;

pub use anonymous::{Anonymous, Pages};
pub use huge::{HUGE_PAGE, HugePages, huge_pages};
pub use node::{current_node, node_of_bus, nodes};
pub use room::{Room, room};

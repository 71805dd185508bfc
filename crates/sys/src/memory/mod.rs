//! Memory for packets: private pages at an address of their own, plain or huge, near a device.
//!
//! Rule: nothing here creates a reference into the memory; the caller is responsible for accesses
//! to it. Memory that the kernel allocates (rings, maps) is in [`mmap`](crate::mmap).

mod anonymous;
mod free;
mod huge;
mod node;

pub use anonymous::{Anonymous, Pages};
pub use free::{FreeMemory, free_memory};
pub use huge::{HUGE_PAGE, HugePages, huge_pages};
pub use node::{current_node, node_of_bus, nodes};

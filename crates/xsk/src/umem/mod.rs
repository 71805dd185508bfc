//! Memory shared with the kernel, and the frames that it is cut into.
//!
//! Rule: a chunk of the memory belongs to exactly one of: the depot or a socket's cache (free), a
//! [`Frame`] (somebody's value), or the kernel (fill, rx, tx, completion). It changes hands by
//! moving a value; what comes back from the kernel is taken only if the chunk's owner word says
//! that this very socket had given it, so no two frames ever share a chunk, whatever descriptors
//! the kernel shows.
//!
//! The memory lives as long as any handle or frame. Frames are counted in bulk, 64 at a time, when
//! they leave and reach the depot, so the packet path neither counts nor locks nor allocates.
#![allow(unsafe_code, reason = "the umem room: bytes of frames, and the count that keeps them")]

mod audit;
mod builder;
mod bytes;
mod cache;
mod chunk;
mod count;
mod depot;
mod fragments;
mod frame;
mod geometry;
mod handle;
#[cfg(any(test, fuzzing))]
mod heap;
#[cfg(loom)]
#[cfg(test)]
mod loom;
mod region;

pub use audit::Audit;
pub use builder::{Builder, HugePages};
pub(crate) use cache::Cache;
pub use fragments::{Fragments, FragmentsMut};
pub use frame::Frame;
pub(crate) use frame::{Words, options};
pub(crate) use geometry::Place;
pub(crate) use handle::Handle;
#[cfg(any(test, fuzzing))]
pub(crate) use heap::Heap;
pub(crate) use region::Side;

/// Memory for packets. Cloning it is cheap and gives another handle to the same memory.
#[derive(Clone, Debug)]
pub struct Umem {
    handle: Handle,
}

impl Umem {
    /// Memory of default size: 4,096 frames of 2,048 bytes.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// How many frames it has.
    pub fn frames(&self) -> u32 {
        self.handle.geometry().frames
    }

    /// Bytes of a frame, headroom included.
    pub fn frame_size(&self) -> u32 {
        self.handle.geometry().size
    }

    /// Bytes of the longest packet that one frame takes on receive: the kernel keeps 256 bytes in
    /// front of it, and the headroom that was asked for.
    pub fn receive_room(&self) -> u32 {
        self.handle.geometry().receive_room()
    }

    /// Bytes of the longest packet that one frame takes on transmit.
    pub fn transmit_room(&self) -> u32 {
        self.handle.geometry().transmit_room()
    }

    /// Why huge pages were wanted and are not used.
    pub fn huge_pages_refused(&self) -> Option<&sys::Error> {
        self.handle.region().refused.as_ref()
    }

    pub fn uses_huge_pages(&self) -> bool {
        self.handle.region().memory.pages() == sys::memory::Pages::Huge
    }

    /// A free frame, empty, with the headroom in front. `None` when none is free. A socket's `Tx`
    /// has a faster one.
    pub fn alloc(&self) -> Option<Frame> {
        self.handle.alloc()
    }

    /// Where all frames are. Exact while no other thread moves frames.
    pub fn audit(&self) -> Audit {
        self.handle.audit()
    }

    pub(crate) fn of(handle: &Handle) -> Self {
        Self { handle: handle.clone() }
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }
}

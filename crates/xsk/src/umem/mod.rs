//! Memory shared with the kernel, and the frames into which it is divided.
//!
//! Rule: a chunk of the memory belongs to exactly one of: the depot or a socket's cache (free), a
//! [`Frame`] (a value of the program), or the kernel (fill, rx, tx, completion). It changes its
//! owner by a move of a value. A chunk from the kernel is accepted only if its owner word has the
//! mark of the receiving socket, so no two frames share a chunk, whatever descriptors the kernel
//! writes.
//!
//! The memory exists as long as any handle or frame. Frames are counted in bulk, 64 at a time, when
//! they leave and reach the depot, so the packet path neither counts nor locks nor allocates.
#![allow(unsafe_code, reason = "bytes of frames, and the count that keeps them alive")]

mod audit;
mod bound;
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
pub(crate) use bound::{BindOptions, BoundSocket, Filled};
pub use builder::{Builder, HugePages};
pub(crate) use cache::Cache;
pub use fragments::{Fragments, FragmentsMut};
pub use frame::Frame;
pub(crate) use frame::{Words, options};
pub(crate) use geometry::{Place, TRANSMIT_METADATA};
pub(crate) use handle::Handle;
#[cfg(any(test, fuzzing))]
pub(crate) use heap::Heap;
pub(crate) use region::Side;

/// Memory for packets. A clone is another handle to the same memory, and is cheap.
#[derive(Clone, Debug)]
pub struct Umem {
    handle: Handle,
}

impl Umem {
    /// Options for memory; the default is 4,096 frames of 2,048 bytes.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Number of frames.
    pub fn frames(&self) -> u32 {
        self.handle.geometry().frames
    }

    /// Bytes of a frame, including the headroom.
    pub fn frame_size(&self) -> u32 {
        self.handle.geometry().size
    }

    /// Bytes of the longest packet that one frame can receive. The kernel keeps 256 bytes and the
    /// configured headroom free before it.
    pub fn receive_room(&self) -> u32 {
        self.handle.geometry().receive_room()
    }

    /// Bytes of the longest packet that one frame can transmit.
    pub fn transmit_room(&self) -> u32 {
        self.handle.geometry().transmit_room()
    }

    /// Why huge pages are not used although they were requested.
    pub fn huge_pages_refused(&self) -> Option<&sys::Error> {
        self.handle.region().refused.as_ref()
    }

    /// Whether the memory consists of huge pages.
    pub fn uses_huge_pages(&self) -> bool {
        self.handle.region().memory.pages() == sys::memory::Pages::Huge
    }

    /// Allocates an empty frame with the headroom before it; `None` when no frame is free.
    /// `Tx::alloc` is faster.
    pub fn alloc(&self) -> Option<Frame> {
        self.handle.alloc()
    }

    /// Counts all frames by owner. Exact while no other thread moves frames.
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

//! One region: where its bytes are, how its elements are laid out, who may write.
//!
//! Rule: a region is only made from a slab that holds all of its elements; whoever translates
//! an address through it needs to check nothing more.

use std::sync::Arc;

use super::address::OFFSET_BITS;
use super::slab::Slab;

/// How the elements of a region lie, both in addresses and in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Elements are `1 << shift` apart in addresses.
    pub shift: u32,
    pub elements: u64,
    /// Bytes between elements in memory.
    pub stride: u64,
    /// First readable byte of an element.
    pub low: u64,
    /// Readable bytes from there.
    pub size: u64,
    /// Where in the slab the first element starts.
    pub start: u64,
    pub writable: bool,
    /// Whether other workers, or user space, may touch it at the same time.
    pub shared: bool,
}

impl Layout {
    /// One element: all of `size` bytes.
    pub const fn flat(size: u64) -> Self {
        let shift = OFFSET_BITS;
        Self {
            shift,
            elements: 1,
            stride: 0,
            low: 0,
            size,
            start: 0,
            writable: true,
            shared: false,
        }
    }

    /// `elements` of `size` bytes, `stride` apart in memory. In addresses each has a gap of at
    /// least one byte behind it.
    pub const fn elements(elements: u64, size: u64, stride: u64) -> Self {
        let shift = (size + 1).next_power_of_two().trailing_zeros();
        Self { shift, elements, stride, low: 0, size, start: 0, writable: true, shared: true }
    }

    /// Whether every element has addresses of its own.
    pub const fn is_addressable(&self) -> bool {
        self.shift <= OFFSET_BITS && self.elements <= 1 << (OFFSET_BITS - self.shift)
    }

    /// Offset of an element's first byte in addresses.
    pub const fn offset_of(&self, element: u64) -> u64 {
        element << self.shift
    }
}

/// A region as the translation needs it: no more than one cache line.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub base: *mut u8,
    pub elements: u64,
    pub stride: u64,
    pub low: u64,
    pub readable: u64,
    pub writable: u64,
    pub shift: u32,
    pub shared: bool,
}

impl Region {
    /// Nothing can be read or written here.
    pub const NOTHING: Self = Self {
        base: std::ptr::null_mut(),
        elements: 0,
        stride: 0,
        low: 0,
        readable: 0,
        writable: 0,
        shift: OFFSET_BITS,
        shared: false,
    };

    /// # Panics
    /// When the slab does not hold every element.
    pub fn new(slab: &Arc<Slab>, layout: Layout) -> Self {
        let last = layout.elements.saturating_sub(1);
        let end = (layout.start + last * layout.stride).checked_add(layout.low + layout.size);
        let held = end.is_some_and(|end| end <= slab.len() as u64);
        assert!(held, "a slab of {} bytes holds {layout:?}", slab.len());
        assert!(layout.shift <= OFFSET_BITS, "an element fits into a region's addresses");
        Self {
            base: slab.base().as_ptr().wrapping_add(layout.start as usize),
            elements: layout.elements,
            stride: layout.stride,
            low: layout.low,
            readable: layout.size,
            writable: if layout.writable { layout.size } else { 0 },
            shift: layout.shift,
            shared: layout.shared,
        }
    }
}

//! A region of memory: location, layout of its elements, permissions.
//!
//! Rule: a region is created only from a slab that holds all of its elements; translating an
//! address through it needs no further checks.

use std::sync::Arc;

use super::address::{OFFSET_BITS, OFFSET_MASK, RegionId};
use super::slab::Slab;

/// Layout of the elements of a region, in addresses and in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Elements are `1 << shift` bytes apart in addresses.
    pub shift: u32,
    pub elements: u64,
    /// Bytes between elements in memory.
    pub stride: u64,
    /// First readable byte of an element.
    pub low: u64,
    /// Number of readable bytes from there.
    pub size: u64,
    /// Offset of the first element in the slab.
    pub start: u64,
    pub readable: bool,
    pub writable: bool,
    /// Whether other processors, or user space, may access it at the same time.
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
            readable: true,
            writable: true,
            shared: false,
        }
    }

    /// `elements` of `size` bytes, `stride` bytes apart in memory. In addresses, a gap of at least
    /// one byte follows each.
    pub const fn elements(elements: u64, size: u64, stride: u64) -> Self {
        let shift = (size + 1).next_power_of_two().trailing_zeros();
        let flat = Self::flat(size);
        Self { shift, elements, stride, shared: true, ..flat }
    }

    /// Whether every element has addresses of its own.
    pub const fn is_addressable(&self) -> bool {
        self.shift <= OFFSET_BITS && self.elements <= 1 << (OFFSET_BITS - self.shift)
    }

    /// Like [`Layout::elements`], but private, and with the gaps in memory too: access is fastest
    /// when the number of elements is a power of two.
    pub const fn straight(elements: u64, size: u64) -> Self {
        let layout = Self::elements(elements, size, 0);
        Self { stride: 1 << layout.shift, shared: false, ..layout }
    }

    /// Whether offsets in addresses equal those in memory, so that the element number is a bit
    /// field of the address.
    const fn is_straight(&self) -> bool {
        let spaced = self.elements.is_power_of_two() && self.stride == 1 << self.shift;
        !self.shared && (self.elements == 1 || spaced)
    }

    /// Offset of an element's first byte in addresses.
    pub const fn offset_of(&self, element: u64) -> u64 {
        element << self.shift
    }
}

/// A region in the form that translation uses; the data of the short path fits into one cache line.
///
/// Most accesses are to private memory whose elements have the same offsets in memory as in
/// addresses: the bits above an element are masked off and one comparison decides. All others take
/// the general path, by element and stride.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Region {
    /// Location of address 0: the address is added to it unchanged.
    pub origin: *mut u8,
    /// Bits of an address inside an element, for the short path.
    pub mask: u64,
    /// First byte of an element that may be accessed.
    pub low: u64,
    /// Number of positions from there at which the short path may read, and write, 1, 2, 4 or 8
    /// bytes.
    pub short: [[u32; 4]; 2],
    pub size: u64,
    pub elements: u64,
    pub stride: u64,
    pub shift: u32,
    pub readable: bool,
    pub writable: bool,
    pub shared: bool,
}

impl Region {
    /// A region without readable or writable bytes.
    pub const NOTHING: Self = Self {
        origin: std::ptr::null_mut(),
        mask: 0,
        low: 0,
        short: [[0; 4]; 2],
        size: 0,
        elements: 0,
        stride: 0,
        shift: OFFSET_BITS,
        readable: false,
        writable: false,
        shared: false,
    };

    /// # Panics
    /// When the slab does not hold every element.
    pub fn new(id: RegionId, slab: &Arc<Slab>, layout: Layout) -> Self {
        let last = layout.elements.saturating_sub(1);
        let end = last.checked_mul(layout.stride).and_then(|before| {
            before.checked_add(layout.start)?.checked_add(layout.low)?.checked_add(layout.size)
        });
        let held = end.is_some_and(|end| end <= slab.len() as u64);
        assert!(held, "a slab of {} bytes holds {layout:?}", slab.len());
        assert!(layout.shift <= OFFSET_BITS, "an element fits into a region's addresses");
        let first = slab.base().as_ptr().wrapping_add(layout.start as usize);
        let short = if layout.is_straight() { layout.size } else { 0 };
        let short = u32::try_from(short).unwrap_or(0);
        let places = [1, 2, 4, 8].map(|len| short.saturating_sub(len - 1));
        Self {
            origin: first.wrapping_sub(id.at(0) as usize),
            mask: OFFSET_MASK & !(last << layout.shift),
            low: layout.low,
            short: [layout.readable, layout.writable].map(|may| if may { places } else { [0; 4] }),
            size: layout.size,
            elements: layout.elements,
            stride: layout.stride,
            shift: layout.shift,
            readable: layout.readable,
            writable: layout.writable,
            shared: layout.shared,
        }
    }
}

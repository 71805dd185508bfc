//! `Slot`: a field's place in its layer.

use crate::stream::number::Kind;

/// A field's name, place and kind; bits count from the first bit of the layer.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Slot {
    pub name: &'static str,
    pub bit: usize,
    pub bits: u32,
    pub kind: Kind,
}

impl Slot {
    pub const fn new(name: &'static str, bit: usize, bits: u32, kind: Kind) -> Self {
        Self { name, bit, bits, kind }
    }

    pub const fn number(name: &'static str, bit: usize, bits: u32) -> Self {
        Self::new(name, bit, bits, Kind::Number)
    }

    pub const fn mac(name: &'static str, byte: usize) -> Self {
        Self::new(name, byte * 8, 48, Kind::Mac)
    }

    pub const fn v4(name: &'static str, byte: usize) -> Self {
        Self::new(name, byte * 8, 32, Kind::V4)
    }

    pub const fn v6(name: &'static str, byte: usize) -> Self {
        Self::new(name, byte * 8, 128, Kind::V6)
    }
}

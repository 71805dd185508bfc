//! `Template`: one stream's frames as bytes, and what in them varies.
//!
//! The border between descriptions (`stream`: protocols, names, text) and programs (`program`:
//! offsets, sums, instructions). Everything here is checked by [`Template::check`]; what passes can
//! be compiled, and [`Template::render`] says which bytes must come of it. Offsets count from the
//! first byte of the frame, bits from the most significant one of a byte, as on the wire.

mod check;
mod render;
#[cfg(test)]
mod tests;

use crate::stamp::Expect;

pub use check::InvalidTemplate;

/// One stream's frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    pub name: String,
    /// What the stamps carry; different for each stream of a run.
    pub id: u16,
    /// Frames of this stream among those of a run's other streams: 3 and 1 means three to one.
    pub weight: u32,
    /// The longest frame. Bits of `fields`, `checksums` and `words` are zero; of shorter frames
    /// these are the first bytes. Where a shorter frame's stamp goes there may be payload.
    pub bytes: Vec<u8>,
    /// Bytes in front of the payload: those that a receiver may change and that are then written
    /// again each time.
    pub headers: usize,
    /// Where the numbers that fields are made from come from.
    pub draws: Vec<Draw>,
    pub fields: Vec<Field>,
    /// Those that differ from frame to frame, in the order in which they must be computed: inner
    /// ones before those that cover them.
    pub checksums: Vec<Checksum>,
    /// Offsets of the 16-bit words that differ from size to size: lengths, mostly.
    pub words: Vec<usize>,
    /// At least one; each at most as long as `bytes`.
    pub sizes: Vec<Size>,
    /// Which draw picks the size; the first size always, when `None`.
    pub size_draw: Option<usize>,
    /// Whether the last 16 bytes are a [`Stamp`](crate::Stamp), and what it says.
    pub stamp: Option<Expect>,
}

impl Template {
    /// These bytes in every frame; all of them are written again where receivers change frames.
    /// Its other fields may be changed: a stamp takes the last 16 bytes, and leaves a checksum that
    /// covers them right when they were zero.
    pub fn constant(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let size = Size { len: bytes.len(), words: Vec::new(), sums: Vec::new() };
        Self {
            name: name.into(),
            id: 0,
            weight: 1,
            headers: bytes.len(),
            draws: Vec::new(),
            fields: Vec::new(),
            checksums: Vec::new(),
            words: Vec::new(),
            sizes: vec![size],
            size_draw: None,
            stamp: None,
            bytes,
        }
    }
}

/// A number that each frame draws anew: 0 to `last`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// Up to `u32::MAX`, or any power of two less one.
    pub last: u64,
    pub order: Order,
}

/// In which order numbers are drawn. Threads draw different ones: of n threads, thread t takes
/// those that leave t when divided by n, as long as there are n numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// One after the other, then again from zero.
    Sequence,
    /// Evenly, each independent of the one before.
    Random,
    /// Number k is drawn in proportion to 1 / (k + 1)^exponent; at most 2^20 numbers.
    Zipf { exponent: f64 },
}

/// Bits that vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub bit_at: usize,
    /// 1 to 64. Longer ones are two fields of one draw.
    pub bits: u32,
    /// Index into [`Template::draws`].
    pub draw: usize,
    pub values: Values,
}

/// The value of a field, from the number that was drawn. Wraps at the field's width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// `first + step * number`.
    Range { first: u64, step: u64 },
    /// As many as the draw has numbers.
    List(Vec<u64>),
}

/// An Internet checksum: 16 bits, even offset from `Checksum::from`. Its value is the complement
/// of the folded sum of
/// - [`Size::sums`];
/// - each field in `from..to`, whole or not at all, and those in `also`: the 16-bit words that it
///   is part of, its neighbours as zero. Words begin at `from`, and at even distances before it;
/// - each checksum earlier in the list that lies in `from..to`, as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum {
    pub at: usize,
    /// What it covers, to the end of the frame when `None`. The parts outside (a pseudo header)
    /// are in [`Size::sums`], or among `also`.
    pub from: usize,
    pub to: Option<usize>,
    /// Fields outside `from..to` that count too (addresses of a pseudo header): indices.
    pub also: Vec<usize>,
    /// Zero means "none" in UDP, so a computed zero is sent as all ones.
    pub never_zero: bool,
}

/// What frames of one size have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    pub len: usize,
    /// Values of [`Template::words`], in host order.
    pub words: Vec<u16>,
    /// For each checksum, the folded sum (host order) of all that it covers in a frame of this
    /// size, lengths and pseudo header included, with varying fields, checksums and stamp as
    /// zero: what the program adds to. (A stamp adds nothing: its sum is zero.) One more than that
    /// for a checksum that is to be wrong: turned bits could mean the same, or "none".
    pub sums: Vec<u16>,
}

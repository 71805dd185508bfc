//! `Template`: one stream's frames as bytes, and the fields in them that vary.
//!
//! The border between descriptions (`stream`: protocols, names, text) and programs (`program`:
//! offsets, sums, instructions). A template that passes [`Template::check`] can be compiled, and
//! [`Template::render`] defines the bytes that its program must produce. Offsets count from the
//! first byte of the frame, bits from the most significant bit of a byte, as on the wire.

mod check;
mod render;
#[cfg(test)]
mod tests;

use crate::stamp::Expect;

pub use check::{InvalidTemplate, TemplateDefect};

/// One stream's frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// Name of the stream, for messages.
    pub name: String,
    /// Number in the stamps; unique in a run.
    pub id: u16,
    /// Share of the run's frames: weights 3 and 1 mean three frames to one.
    pub weight: u32,
    /// The longest frame; shorter frames are its first bytes. The bits of `fields`, `checksums` and
    /// `words` are zero. At the place of a shorter frame's stamp there may be payload.
    pub bytes: Vec<u8>,
    /// Bytes before the payload. Where a receiver may change them, they are rewritten each time.
    pub headers: usize,
    /// The numbers from which fields are computed.
    pub draws: Vec<Draw>,
    /// The bits that vary.
    pub fields: Vec<Field>,
    /// The checksums that differ from frame to frame, in the order in which they must be computed:
    /// inner ones before the ones that cover them.
    pub checksums: Vec<Checksum>,
    /// Offsets of the 16-bit words that depend on the size, mostly length fields.
    pub words: Vec<usize>,
    /// At least one size; none is longer than `bytes`.
    pub sizes: Vec<Size>,
    /// Index of the draw that selects the size; all frames have the first size when `None`.
    pub size_draw: Option<usize>,
    /// The expectation in the [`Stamp`](crate::Stamp) that the last 16 bytes are; no stamp when
    /// `None`.
    pub stamp: Option<Expect>,
}

impl Template {
    /// Creates frames with the same bytes, all of which are rewritten if receivers change frames.
    /// Other members may be set afterwards: a stamp replaces the last 16 bytes, and a checksum over
    /// them remains correct if they were zero.
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

/// A number from 0 to `last` that is drawn for each frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// At most `u32::MAX`, or a power of two less one.
    pub last: u64,
    /// In which order the numbers are drawn.
    pub order: Order,
}

/// The order in which numbers are drawn. Of n threads, thread t draws the numbers that are t modulo
/// n, provided that there are at least n.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// In ascending order, then again from zero.
    Sequence,
    /// Uniformly at random, each independent of the previous one.
    Random,
    /// Number k is drawn in proportion to 1 / (k + 1)^exponent; at most 2^20 numbers.
    Zipf { exponent: f64 },
}

/// Bits that vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name for messages.
    pub name: String,
    /// The first bit, counted from the first of the frame.
    pub bit_at: usize,
    /// Width, 1 to 64. A longer field is split into two with the same draw.
    pub bits: u32,
    /// Index into [`Template::draws`].
    pub draw: usize,
    pub values: Values,
}

/// The value of a field as a function of the drawn number. It wraps at the field's width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// `first + step * number`.
    Range { first: u64, step: u64 },
    /// One value for each number of the draw.
    List(Vec<u64>),
}

/// An Internet checksum: 16 bits at an even distance from `Checksum::from`. Its value is the
/// complement of the folded sum of
/// - [`Size::sums`];
/// - each field in `from..to`, and each in `also`: the 16-bit words that contain it, with all other
///   bits zero. Words begin at even distances from `from`, also before it;
/// - each earlier checksum of the list that is in `from..to`, as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// Offset of the checksum.
    pub at: usize,
    /// Offset of the first byte that it covers. A pseudo header is part of [`Size::sums`] or
    /// `also`.
    pub from: usize,
    /// End of the bytes that it covers; the end of the frame when `None`.
    pub to: Option<usize>,
    /// Indices of fields outside of `from..to` that are added (addresses of a pseudo header).
    pub also: Vec<usize>,
    /// A computed zero is sent as all ones, since zero means "none" in UDP.
    pub never_zero: bool,
}

/// The values that depend on a frame's size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// Length of the frame.
    pub len: usize,
    /// Values of [`Template::words`], in host byte order.
    pub words: Vec<u16>,
    /// For each checksum, the folded sum in host byte order of everything that it covers in a frame
    /// of this size, including lengths and pseudo header, with varying fields, other varying
    /// checksums and the stamp as zero. The sum of a stamp itself is zero. A checksum that must be
    /// wrong has one more: inverted bits could be an equivalent value, or mean "none".
    pub sums: Vec<u16>,
}

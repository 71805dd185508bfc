//! `Template`: one stream's frames as bytes, and what in them varies.
//!
//! The border between descriptions (`stream`: protocols, names, text) and programs (`program`:
//! offsets, sums, instructions). Everything here is checked by [`Template::check`]; what passes can
//! be compiled. Offsets count from the first byte of the frame, bits from the most significant one
//! of a byte, as on the wire.

use crate::error::{Error, Result};
use crate::limits::{FRAME_MAX, FRAME_MIN};
use crate::stamp::{Expect, Stamp};

/// One stream's frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    pub name: String,
    /// What the stamps carry; different for each stream of a run.
    pub id: u16,
    /// Frames of this stream among those of a run's other streams: 3 and 1 means three to one.
    pub weight: u32,
    /// The longest frame. Bits that vary, lengths of variants, checksums and stamp are zero.
    pub bytes: Vec<u8>,
    /// Bytes in front of the payload: those that a receiver may change and that are then written
    /// again each time.
    pub headers: usize,
    /// Where the numbers that fields are made from come from.
    pub draws: Vec<Draw>,
    pub fields: Vec<Field>,
    /// In the order in which they must be computed: inner ones before those that cover them.
    pub checksums: Vec<Checksum>,
    /// Offsets of the 16-bit words that differ from size to size: lengths, mostly.
    pub words: Vec<usize>,
    /// At least one; each at most as long as `bytes`.
    pub sizes: Vec<Size>,
    /// Which draw picks the size; the first size always, when `None`.
    pub size_draw: Option<usize>,
    /// Whether the last 16 bytes are a [`Stamp`], and what it says.
    pub stamp: Option<Expect>,
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

/// An Internet checksum: 16 bits, even offset from `Checksum::from`.
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
    /// Sent wrong, on purpose: every bit of the right one turned.
    pub broken: bool,
}

/// What frames of one size have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    pub len: usize,
    /// Values of [`Template::words`], in host order.
    pub words: Vec<u16>,
    /// For each checksum, the folded sum (host order) of all that it covers in a frame of this
    /// size, lengths and pseudo header included, with varying fields, checksums and stamp as
    /// zero: what the program adds to. (A stamp adds nothing: its sum is zero.)
    pub sums: Vec<u16>,
}

impl Template {
    /// Whether all indices, offsets and sizes fit each other.
    pub fn check(&self) -> Result<()> {
        let fail = |why: String| Err(Error::Config(format!("stream \"{}\": {why}", self.name)));
        let len = self.bytes.len();
        if !(FRAME_MIN..=FRAME_MAX).contains(&len) {
            return fail(format!("a frame has {FRAME_MIN} to {FRAME_MAX} bytes, not {len}"));
        }
        if self.headers > len || self.weight == 0 || self.sizes.is_empty() {
            return fail("headers, weight or sizes are out of range".into());
        }
        let shortest = self.sizes.iter().map(|size| size.len).min().unwrap_or(len);
        let wrong_size = |size: &Size| {
            !(FRAME_MIN..=len).contains(&size.len)
                || size.words.len() != self.words.len()
                || size.sums.len() != self.checksums.len()
        };
        if self.sizes.iter().any(wrong_size) {
            return fail("a size does not fit the frame".into());
        }
        let room = shortest - if self.stamp.is_some() { Stamp::LEN.min(shortest) } else { 0 };
        let wrong_field = |field: &Field| {
            !(1..=64).contains(&field.bits)
                || field.bit_at + field.bits as usize > room * 8
                || field.draw >= self.draws.len()
                || matches!((&field.values, self.draws.get(field.draw)),
                    (Values::List(list), Some(draw)) if list.len() as u64 != draw.last + 1)
        };
        if let Some(field) = self.fields.iter().find(|field| wrong_field(field)) {
            return fail(format!("field \"{}\" lies outside of the shortest frame", field.name));
        }
        let wrong_sum = |sum: &Checksum| {
            sum.from > sum.at
                || !(sum.at - sum.from).is_multiple_of(2)
                || sum.at + 2 > sum.to.unwrap_or(room)
                || sum.to.is_some_and(|to| to > room)
                || sum.also.iter().any(|field| *field >= self.fields.len())
        };
        if self.checksums.iter().any(wrong_sum) || self.words.iter().any(|at| at + 2 > room) {
            return fail("a checksum or length lies outside of the shortest frame".into());
        }
        match self.size_draw.map(|draw| self.draws.get(draw)) {
            Some(None) => fail("no draw picks the size".into()),
            Some(Some(draw)) if draw.last + 1 != self.sizes.len() as u64 => {
                fail("the sizes are not as many as their draw has numbers".into())
            }
            _ => Ok(()),
        }
    }
}

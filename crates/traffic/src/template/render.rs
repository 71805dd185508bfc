//! Renders the frames of a template: the model against which generated programs are tested.
//!
//! Rule: it uses the same inputs as a program (`Size::sums` and the varying values), never the
//! finished bytes, so that a template with wrong sums renders wrong frames, which tests detect.

use packet::checksum::fold;

use super::{Checksum, Field, Template, Values};
use crate::stamp::Stamp;

impl Template {
    /// The frame of the size with this index, from a number for each draw. Without a `stamp` a
    /// stream with stamps has zeros there; other streams ignore it.
    ///
    /// # Panics
    /// When the template does not pass [`Template::check`], the size does not exist, or there are
    /// too few numbers or one above [`Draw::last`](super::Draw::last) for a list.
    pub fn render(&self, numbers: &[u64], size: usize, stamp: Option<Stamp>) -> Vec<u8> {
        let size = &self.sizes[size];
        let mut frame = self.bytes[..size.len].to_vec();
        for field in &self.fields {
            field.write(&mut frame, field.value(numbers[field.draw]));
        }
        for (at, word) in self.words.iter().zip(&size.words) {
            put(&mut frame, *at, *word);
        }
        if self.stamp.is_some() {
            let bytes = stamp.map_or([0; Stamp::LEN], |stamp| stamp.bytes());
            frame[size.len - Stamp::LEN..].copy_from_slice(&bytes);
        }
        for (index, (checksum, sum)) in self.checksums.iter().zip(&size.sums).enumerate() {
            let earlier = &self.checksums[..index];
            let sum = u64::from(*sum)
                + self.varying(checksum, numbers)
                + earlier.iter().map(|inner| checksum.of_inner(inner, &frame)).sum::<u64>();
            put(&mut frame, checksum.at, checksum.value(sum));
        }
        frame
    }

    /// The sum of the fields of a checksum.
    fn varying(&self, checksum: &Checksum, numbers: &[u64]) -> u64 {
        let counts = |(index, field): &(usize, &Field)| {
            checksum.also.contains(index) || checksum.covers(field.bit_at / 8)
        };
        let fields = self.fields.iter().enumerate().filter(counts);
        fields.map(|(_, field)| field.sum(field.value(numbers[field.draw]), checksum.from)).sum()
    }
}

impl Field {
    /// The value in the frame for a drawn number: its lowest [`Field::bits`].
    pub fn value(&self, number: u64) -> u64 {
        let value = match &self.values {
            Values::Range { first, step } => first.wrapping_add(step.wrapping_mul(number)),
            Values::List(list) => list[number as usize],
        };
        value & (u64::MAX >> (64 - self.bits))
    }

    /// The sum of this value in a checksum of words that begin at `from`; not folded.
    pub fn sum(&self, value: u64, from: usize) -> u64 {
        let end = self.bit_at + self.bits as usize;
        // Counted from the beginning of a word at or before zero, aligned with `from`.
        let in_word = (end + (from % 2) * 8) % 16;
        let placed = u128::from(value) << ((16 - in_word) % 16);
        (0..8).map(|word| (placed >> (16 * word)) as u64 & 0xffff).sum()
    }

    fn write(&self, frame: &mut [u8], value: u64) {
        for bit in 0..self.bits as usize {
            let at = self.bit_at + bit;
            let mask = 0x80u8 >> (at % 8);
            let set = value >> (self.bits as usize - 1 - bit) & 1 == 1;
            frame[at / 8] = if set { frame[at / 8] | mask } else { frame[at / 8] & !mask };
        }
    }
}

impl Checksum {
    /// Whether the checksum covers the byte at this offset.
    pub fn covers(&self, at: usize) -> bool {
        at >= self.from && self.to.is_none_or(|to| at < to)
    }

    /// The checksum as sent, from the sum of all that it covers.
    pub fn value(&self, sum: u64) -> u16 {
        match !fold(sum) {
            0 if self.never_zero => 0xffff,
            value => value,
        }
    }

    /// The sum of a checksum that is already in the frame.
    fn of_inner(&self, inner: &Self, frame: &[u8]) -> u64 {
        if !self.covers(inner.at) {
            return 0;
        }
        let value = u16::from_be_bytes([frame[inner.at], frame[inner.at + 1]]);
        let same_side = (inner.at - self.from).is_multiple_of(2);
        u64::from(if same_side { value } else { value.swap_bytes() })
    }
}

fn put(frame: &mut [u8], at: usize, word: u16) {
    frame[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

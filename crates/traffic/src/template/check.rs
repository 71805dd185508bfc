//! Checks that a template can be compiled: all indices, offsets and sizes are consistent.

use std::ops::Range;

use super::{Checksum, Draw, Field, Order, Size, Template, Values};
use crate::limits::{FRAME_MAX, FRAME_MIN, SIZES, ZIPF};
use crate::stamp::Stamp;

/// A template that does not describe frames.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stream \"{name}\": {defect}")]
pub struct InvalidTemplate {
    /// Name of the stream.
    pub name: String,
    /// The first inconsistency in it.
    pub defect: TemplateDefect,
}

/// An inconsistency within a template. Lengths and offsets are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateDefect {
    /// The longest frame is too short or too long.
    #[error("a frame has {min} to {max} bytes, not {len}", min = FRAME_MIN, max = FRAME_MAX)]
    FrameLength { len: usize },
    /// The headers end after the frame.
    #[error("the headers are longer than the frame")]
    HeadersTooLong,
    /// The weight is 0.
    #[error("the weight is zero")]
    ZeroWeight,
    /// No sizes, or too many.
    #[error("expected 1 to {max} sizes, not {count}", max = SIZES)]
    SizeCount { count: usize },
    /// A size that is longer than the frame, or has another number of words or sums than it.
    #[error("size {len} does not fit the frame")]
    SizeMismatch { len: usize },
    /// The shortest frame has no room for a stamp.
    #[error("no room for a stamp in {len} bytes")]
    NoRoomForStamp { len: usize },
    /// A draw with an unsupported range or exponent.
    #[error("draw {index} has more numbers than can be drawn")]
    DrawRange { index: usize },
    /// The draw that selects the size does not exist.
    #[error("no draw selects the size")]
    NoSizeDraw,
    /// The draw that selects the size has another count than the sizes.
    #[error("the number of sizes differs from the range of their draw")]
    SizeDrawRange,
    /// A field of an unsupported width.
    #[error("field \"{name}\" has no width from 1 to 64 bits")]
    FieldWidth { name: String },
    /// A field after the end of the shortest frame.
    #[error("field \"{name}\" is outside of the shortest frame")]
    FieldOutside { name: String },
    /// A field whose draw does not exist.
    #[error("field \"{name}\" has no draw")]
    NoFieldDraw { name: String },
    /// A field whose list has another length than its draw's range.
    #[error("the number of values of field \"{name}\" differs from the range of its draw")]
    FieldDrawRange { name: String },
    /// A checksum that is not inside of the bytes that it covers, at an even offset.
    #[error("the checksum at {at} is outside of the bytes that it covers")]
    ChecksumOutside { at: usize },
    /// A checksum that is computed before another one that it covers.
    #[error("the checksum at {at} precedes the checksum at {later}, which it covers")]
    ChecksumOrder { at: usize, later: usize },
    /// A field that a checksum covers in part.
    #[error("the checksum at {at} covers only a part of field \"{name}\"")]
    PartlyCovered { at: usize, name: String },
    /// An entry of `also` that does not exist, or that the checksum covers already.
    #[error("the checksum at {at} adds a field that does not exist or that it covers already")]
    AddedTwice { at: usize },
    /// A word or checksum after the end of the shortest frame.
    #[error("{part} ends at bit {bit}, outside of the shortest frame")]
    PartOutside { part: String, bit: usize },
    /// Two parts of the frame with common bits.
    #[error("{first} and {second} overlap")]
    Overlap { first: String, second: String },
}

impl Template {
    /// Checks that it describes frames.
    ///
    /// # Errors
    /// The first inconsistency, with the name of the stream.
    pub fn check(&self) -> Result<(), InvalidTemplate> {
        let checks = [
            Self::check_frame,
            Self::check_draws,
            Self::check_fields,
            Self::check_checksums,
            Self::check_overlap,
        ];
        let defect = checks.iter().find_map(|check| check(self).err());
        match defect {
            Some(defect) => Err(InvalidTemplate { name: self.name.clone(), defect }),
            None => Ok(()),
        }
    }

    fn check_frame(&self) -> Result<(), TemplateDefect> {
        let len = self.bytes.len();
        if !(FRAME_MIN..=FRAME_MAX).contains(&len) {
            return Err(TemplateDefect::FrameLength { len });
        }
        if self.headers > len {
            return Err(TemplateDefect::HeadersTooLong);
        }
        if self.weight == 0 {
            return Err(TemplateDefect::ZeroWeight);
        }
        if !(1..=SIZES).contains(&self.sizes.len()) {
            return Err(TemplateDefect::SizeCount { count: self.sizes.len() });
        }
        let wrong = |size: &Size| {
            !(FRAME_MIN..=len).contains(&size.len)
                || size.words.len() != self.words.len()
                || size.sums.len() != self.checksums.len()
        };
        if let Some(size) = self.sizes.iter().find(|size| wrong(size)) {
            return Err(TemplateDefect::SizeMismatch { len: size.len });
        }
        if self.stamp.is_some() && self.shortest() < FRAME_MIN + Stamp::LEN {
            return Err(TemplateDefect::NoRoomForStamp { len: self.shortest() });
        }
        Ok(())
    }

    fn check_draws(&self) -> Result<(), TemplateDefect> {
        let wrong = |draw: &Draw| match draw.order {
            Order::Zipf { exponent } => {
                draw.last >= ZIPF || !exponent.is_finite() || exponent < 0.0
            }
            _ => draw.last > u64::from(u32::MAX) && draw.last & draw.last.wrapping_add(1) != 0,
        };
        if let Some(index) = self.draws.iter().position(wrong) {
            return Err(TemplateDefect::DrawRange { index });
        }
        match self.size_draw.map(|draw| self.draws.get(draw)) {
            Some(None) => Err(TemplateDefect::NoSizeDraw),
            Some(Some(draw)) if draw.last + 1 != self.sizes.len() as u64 => {
                Err(TemplateDefect::SizeDrawRange)
            }
            _ => Ok(()),
        }
    }

    fn check_fields(&self) -> Result<(), TemplateDefect> {
        for field in &self.fields {
            let name = || field.name.clone();
            if !(1..=64).contains(&field.bits) {
                return Err(TemplateDefect::FieldWidth { name: name() });
            }
            if field.bit_at + field.bits as usize > self.room() * 8 {
                return Err(TemplateDefect::FieldOutside { name: name() });
            }
            match (&field.values, self.draws.get(field.draw)) {
                (_, None) => return Err(TemplateDefect::NoFieldDraw { name: name() }),
                (Values::List(list), Some(draw)) if list.len() as u64 != draw.last + 1 => {
                    return Err(TemplateDefect::FieldDrawRange { name: name() });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_checksums(&self) -> Result<(), TemplateDefect> {
        for (index, sum) in self.checksums.iter().enumerate() {
            let to = sum.to.unwrap_or(self.room());
            let outside = sum.from > sum.at
                || !(sum.at - sum.from).is_multiple_of(2)
                || sum.at + 2 > to
                || to > self.room();
            if outside {
                return Err(TemplateDefect::ChecksumOutside { at: sum.at });
            }
            if let Some(later) = self.checksums[index + 1..].iter().find(|it| sum.covers(it.at)) {
                let (at, later) = (sum.at, later.at);
                return Err(TemplateDefect::ChecksumOrder { at, later });
            }
            self.check_covered(sum)?;
        }
        Ok(())
    }

    /// A checksum covers a field wholly, or adds it by `also`, or does neither.
    fn check_covered(&self, sum: &Checksum) -> Result<(), TemplateDefect> {
        let ends = |field: &Field| {
            let last = (field.bit_at + field.bits as usize - 1) / 8;
            (sum.covers(field.bit_at / 8), sum.covers(last))
        };
        let half = self.fields.iter().find(|field| ends(field).0 != ends(field).1);
        if let Some(field) = half {
            let name = field.name.clone();
            return Err(TemplateDefect::PartlyCovered { at: sum.at, name });
        }
        let twice = |index: &usize| self.fields.get(*index).is_none_or(|field| ends(field).0);
        if sum.also.iter().any(twice) {
            return Err(TemplateDefect::AddedTwice { at: sum.at });
        }
        Ok(())
    }

    fn check_overlap(&self) -> Result<(), TemplateDefect> {
        let word = |what: &str, at: usize| (at * 8..at * 8 + 16, format!("{what} at {at}"));
        let mut places: Vec<(Range<usize>, String)> = Vec::new();
        places.extend(self.words.iter().map(|at| word("word", *at)));
        places.extend(self.checksums.iter().map(|sum| word("checksum", sum.at)));
        places.extend(self.fields.iter().map(|field| {
            let end = field.bit_at + field.bits as usize;
            (field.bit_at..end, format!("field \"{}\"", field.name))
        }));
        places.sort_by_key(|place| place.0.start);
        if let Some((bits, part)) = places.iter().find(|place| place.0.end > self.room() * 8) {
            return Err(TemplateDefect::PartOutside { part: part.clone(), bit: bits.end });
        }
        match places.array_windows().find(|[a, b]| a.0.end > b.0.start) {
            Some([first, second]) => {
                let (first, second) = (first.1.clone(), second.1.clone());
                Err(TemplateDefect::Overlap { first, second })
            }
            None => Ok(()),
        }
    }

    fn shortest(&self) -> usize {
        self.sizes.iter().map(|size| size.len).min().unwrap_or(0)
    }

    /// Bytes of the shortest frame before the stamp.
    fn room(&self) -> usize {
        self.shortest() - if self.stamp.is_some() { Stamp::LEN } else { 0 }
    }
}

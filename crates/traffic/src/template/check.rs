//! Whether a template can be compiled: all indices, offsets and sizes fit each other.

use std::ops::Range;

use super::{Checksum, Draw, Field, Order, Size, Template, Values};
use crate::limits::{FRAME_MAX, FRAME_MIN, SIZES, ZIPF};
use crate::stamp::Stamp;

/// A template that does not describe frames.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stream \"{name}\": {why}")]
pub struct InvalidTemplate {
    /// The stream's name.
    pub name: String,
    /// What is wrong in it.
    pub why: String,
}

impl Template {
    /// Whether it means frames. The error names the stream and what is wrong in it.
    pub fn check(&self) -> Result<(), InvalidTemplate> {
        let checks = [
            Self::check_frame,
            Self::check_draws,
            Self::check_fields,
            Self::check_checksums,
            Self::check_overlap,
        ];
        let wrong = checks.iter().find_map(|check| check(self).err());
        match wrong {
            Some(why) => Err(InvalidTemplate { name: self.name.clone(), why }),
            None => Ok(()),
        }
    }

    fn check_frame(&self) -> Result<(), String> {
        let len = self.bytes.len();
        if !(FRAME_MIN..=FRAME_MAX).contains(&len) {
            return Err(format!("a frame has {FRAME_MIN} to {FRAME_MAX} bytes, not {len}"));
        }
        if self.headers > len || self.weight == 0 {
            return Err("its headers are longer than the frame, or its weight is zero".into());
        }
        if !(1..=SIZES).contains(&self.sizes.len()) {
            return Err(format!("1 to {SIZES} sizes, not {}", self.sizes.len()));
        }
        let wrong = |size: &Size| {
            !(FRAME_MIN..=len).contains(&size.len)
                || size.words.len() != self.words.len()
                || size.sums.len() != self.checksums.len()
        };
        if let Some(size) = self.sizes.iter().find(|size| wrong(size)) {
            return Err(format!("size {} does not fit the frame", size.len));
        }
        if self.stamp.is_some() && self.shortest() < FRAME_MIN + Stamp::LEN {
            return Err(format!("no room for a stamp in {} bytes", self.shortest()));
        }
        Ok(())
    }

    fn check_draws(&self) -> Result<(), String> {
        let wrong = |draw: &Draw| match draw.order {
            Order::Zipf { exponent } => {
                draw.last >= ZIPF || !exponent.is_finite() || exponent < 0.0
            }
            _ => draw.last > u64::from(u32::MAX) && draw.last & draw.last.wrapping_add(1) != 0,
        };
        if let Some(index) = self.draws.iter().position(wrong) {
            return Err(format!("draw {index} has more numbers than can be drawn"));
        }
        match self.size_draw.map(|draw| self.draws.get(draw)) {
            Some(None) => Err("no draw picks the size".into()),
            Some(Some(draw)) if draw.last + 1 != self.sizes.len() as u64 => {
                Err("the sizes are not as many as their draw has numbers".into())
            }
            _ => Ok(()),
        }
    }

    fn check_fields(&self) -> Result<(), String> {
        for field in &self.fields {
            let fail = |why: &str| Err(format!("field \"{}\" {why}", field.name));
            if !(1..=64).contains(&field.bits) {
                return fail("has no width from 1 to 64 bits");
            }
            if field.bit_at + field.bits as usize > self.room() * 8 {
                return fail("lies outside of the shortest frame");
            }
            match (&field.values, self.draws.get(field.draw)) {
                (_, None) => return fail("has no draw"),
                (Values::List(list), Some(draw)) if list.len() as u64 != draw.last + 1 => {
                    return fail("has not as many values as its draw has numbers");
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_checksums(&self) -> Result<(), String> {
        for (index, sum) in self.checksums.iter().enumerate() {
            let to = sum.to.unwrap_or(self.room());
            let outside = sum.from > sum.at
                || !(sum.at - sum.from).is_multiple_of(2)
                || sum.at + 2 > to
                || to > self.room();
            if outside {
                return Err(format!("the checksum at {} lies outside of what it covers", sum.at));
            }
            if let Some(later) = self.checksums[index + 1..].iter().find(|it| sum.covers(it.at)) {
                let (at, later) = (sum.at, later.at);
                return Err(format!("the checksum at {at} comes before one in it, at {later}"));
            }
            self.check_covered(sum)?;
        }
        Ok(())
    }

    /// Each field is in what a checksum covers, or not, or among `also`: one of the three.
    fn check_covered(&self, sum: &Checksum) -> Result<(), String> {
        let ends = |field: &Field| {
            let last = (field.bit_at + field.bits as usize - 1) / 8;
            (sum.covers(field.bit_at / 8), sum.covers(last))
        };
        let half = self.fields.iter().find(|field| ends(field).0 != ends(field).1);
        if let Some(field) = half {
            let name = &field.name;
            return Err(format!("field \"{name}\" lies half in the checksum at {}", sum.at));
        }
        let twice = |index: &usize| self.fields.get(*index).is_none_or(|field| ends(field).0);
        if sum.also.iter().any(twice) {
            return Err(format!("the checksum at {} counts no or the same field twice", sum.at));
        }
        Ok(())
    }

    fn check_overlap(&self) -> Result<(), String> {
        let word = |what: &str, at: usize| (at * 8..at * 8 + 16, format!("{what} at {at}"));
        let mut places: Vec<(Range<usize>, String)> = Vec::new();
        places.extend(self.words.iter().map(|at| word("word", *at)));
        places.extend(self.checksums.iter().map(|sum| word("checksum", sum.at)));
        places.extend(self.fields.iter().map(|field| {
            let end = field.bit_at + field.bits as usize;
            (field.bit_at..end, format!("field \"{}\"", field.name))
        }));
        places.sort_by_key(|place| place.0.start);
        if let Some((bits, what)) = places.iter().find(|place| place.0.end > self.room() * 8) {
            return Err(format!("{what} ends at bit {}, outside of the shortest frame", bits.end));
        }
        match places.windows(2).find(|pair| pair[0].0.end > pair[1].0.start) {
            Some(pair) => Err(format!("{} and {} overlap", pair[0].1, pair[1].1)),
            None => Ok(()),
        }
    }

    fn shortest(&self) -> usize {
        self.sizes.iter().map(|size| size.len).min().unwrap_or(0)
    }

    /// Bytes of the shortest frame in front of the stamp.
    fn room(&self) -> usize {
        self.shortest() - if self.stamp.is_some() { Stamp::LEN } else { 0 }
    }
}

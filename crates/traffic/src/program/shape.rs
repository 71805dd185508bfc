//! `Shape`: a template, separated into the parts that all its frames share and those that differ.
//!
//! A length in a stream of one size is constant, and so is a checksum over constant bytes. With
//! several sizes, such checksums are words that depend on the size, as lengths are.

use crate::limits::FRAME_MAX;
use crate::stamp::Stamp;
use crate::template::{Checksum, Template};

/// The parts of a template.
pub(super) struct Shape<'a> {
    pub template: &'a Template,
    /// The longest frame, with everything in it that all frames share.
    pub bytes: Vec<u8>,
    /// 16-bit words that depend on the size: their offset, and the value for each size.
    pub words: Vec<(usize, Vec<u16>)>,
    /// Checksums that differ from frame to frame, in order.
    pub sums: Vec<Sum<'a>>,
}

/// A checksum that the program must compute.
pub(super) struct Sum<'a> {
    pub checksum: &'a Checksum,
    /// The sum to begin with, for each size.
    pub bases: Vec<u16>,
    /// Indices of the fields that it covers.
    pub fields: Vec<usize>,
    /// Earlier checksums that it covers: index in [`Shape::sums`], and whether their bytes are
    /// swapped.
    pub inner: Vec<(usize, bool)>,
}

impl<'a> Shape<'a> {
    pub fn new(template: &'a Template) -> Self {
        let mut shape =
            Self { template, bytes: template.bytes.clone(), words: Vec::new(), sums: Vec::new() };
        for (index, at) in template.words.iter().enumerate() {
            shape.word(*at, template.sizes.iter().map(|size| size.words[index]).collect());
        }
        for index in 0..template.checksums.len() {
            shape.checksum(index);
        }
        shape
    }

    /// Length of the longest size, which may be less than the template's.
    pub fn len(&self) -> usize {
        self.lens().max().unwrap_or(FRAME_MAX)
    }

    pub fn lens(&self) -> impl Iterator<Item = usize> + '_ {
        self.sizes().iter().map(|size| size.len)
    }

    /// The sizes that are selected from.
    pub fn sizes(&self) -> &'a [crate::template::Size] {
        match self.template.size_draw {
            Some(_) => &self.template.sizes,
            None => &self.template.sizes[..1],
        }
    }

    /// The bytes that instructions of this stream write into each frame, whatever its size.
    pub fn written(&self) -> Vec<bool> {
        let mut written = vec![false; self.len()];
        let mut mark = |from: usize, to: usize| written[from..to].fill(true);
        for field in &self.template.fields {
            mark(field.bit_at / 8, (field.bit_at + field.bits as usize).div_ceil(8));
        }
        self.words.iter().for_each(|(at, _)| mark(*at, at + 2));
        self.sums.iter().for_each(|sum| mark(sum.checksum.at, sum.checksum.at + 2));
        if self.template.stamp.is_some() && self.sizes().len() == 1 {
            mark(self.len() - Stamp::LEN, self.len());
        }
        written
    }

    fn word(&mut self, at: usize, values: Vec<u16>) {
        if self.sizes().len() == 1 {
            self.bytes[at..at + 2].copy_from_slice(&values[0].to_be_bytes());
        } else {
            self.words.push((at, values));
        }
    }

    fn checksum(&mut self, index: usize) {
        let template = self.template;
        let checksum = &template.checksums[index];
        let counts = |field: &usize| {
            checksum.also.contains(field) || checksum.covers(template.fields[*field].bit_at / 8)
        };
        let fields: Vec<usize> = (0..template.fields.len()).filter(counts).collect();
        let turned = |inner: &Checksum| !inner.at.abs_diff(checksum.from).is_multiple_of(2);
        let covered =
            self.sums.iter().enumerate().filter(|(_, sum)| checksum.covers(sum.checksum.at));
        let inner: Vec<_> = covered.map(|(place, sum)| (place, turned(sum.checksum))).collect();
        let bases = (0..template.sizes.len()).map(|size| self.base(index, size)).collect();
        if fields.is_empty() && inner.is_empty() {
            let values = |bases: Vec<u16>| {
                bases.into_iter().map(|base| checksum.value(u64::from(base))).collect()
            };
            self.word(checksum.at, values(bases));
        } else {
            self.sums.push(Sum { checksum, bases, fields, inner });
        }
    }

    /// The sum of a size, plus the earlier constant checksums in it, which are zero in
    /// [`Size::sums`](crate::template::Size::sums).
    fn base(&self, index: usize, size: usize) -> u16 {
        let checksum = &self.template.checksums[index];
        let mut sum = u64::from(self.template.sizes[size].sums[index]);
        for inner in &self.template.checksums[..index] {
            let varies = self.sums.iter().any(|sum| sum.checksum.at == inner.at);
            if varies || !checksum.covers(inner.at) {
                continue;
            }
            let word = self.words.iter().find(|(at, _)| *at == inner.at);
            let value = match word {
                Some((_, values)) => values[size],
                None => u16::from_be_bytes([self.bytes[inner.at], self.bytes[inner.at + 1]]),
            };
            let turned = !inner.at.abs_diff(checksum.from).is_multiple_of(2);
            sum += u64::from(if turned { value.swap_bytes() } else { value });
        }
        packet::checksum::fold(sum)
    }
}

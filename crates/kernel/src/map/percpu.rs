//! Values of per-CPU maps: one for each possible CPU, each padded to eight bytes.

use spec::Map as _;

use super::Map;
use crate::error::{Error, Result};

/// The values of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerCpu {
    bytes: Vec<u8>,
    size: usize,
}

impl PerCpu {
    /// `size` is that of one value, without padding.
    pub fn new(bytes: Vec<u8>, size: usize) -> Self {
        Self { bytes, size }
    }

    /// Repeats a value for each of `cpus` CPUs.
    pub fn repeat(value: &[u8], cpus: usize) -> Self {
        let mut one = value.to_vec();
        one.resize(value.len().next_multiple_of(8), 0);
        Self { bytes: one.repeat(cpus), size: value.len() }
    }

    /// One value for each possible CPU, in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let step = self.size.next_multiple_of(8).max(8);
        self.bytes.chunks_exact(step).map(|chunk| &chunk[..self.size])
    }

    /// Values made of 64-bit counters, added up over the CPUs; a shorter rest is left out.
    pub fn sums(&self) -> Vec<u64> {
        let mut sums = vec![0u64; self.size / 8];
        for value in self.values() {
            let words = value
                .chunks_exact(8)
                .map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()));
            sums.iter_mut().zip(words).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
        }
        sums
    }

    /// As the map takes it.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Map {
    /// Reads the values of a key on all CPUs; `None` if the key is absent.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if this is not a per-CPU map.
    pub fn lookup_per_cpu(&self, key: &[u8]) -> Result<Option<PerCpu>> {
        if !self.kind().is_per_cpu() {
            return Err(Error::Unsupported {
                what: format!("map `{}`", self.name),
                why: "it has one value for all CPUs".to_owned(),
            });
        }
        let size = self.info.value_size as usize;
        Ok(self.lookup(key)?.map(|bytes| PerCpu::new(bytes, size)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_added_up_and_padding_is_skipped() {
        let two = [7u64, 1, 5, 2].iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(PerCpu::new(two, 16).sums(), [12, 3]);
        let padded = PerCpu::repeat(&[1, 2, 3], 2);
        assert_eq!(padded.values().collect::<Vec<_>>(), [[1, 2, 3], [1, 2, 3]]);
        assert_eq!(padded.into_bytes().len(), 16);
    }
}

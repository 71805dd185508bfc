//! Pseudo-random numbers: the finalizer of SplitMix64 over a counter.
//!
//! Nothing here withstands an attacker who knows the seed and chooses identifiers: the operator
//! chooses the backends. The hash that selects a slot for a packet is another one, with a key.

/// Increment of the counter of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64-bit numbers in which each bit of the input changes half of the output.
const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// What a sequence of random numbers is used for: sequences of different uses are independent.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// Slots in which a backend takes part, and when.
    Nearest,
    /// Whether a backend's capacity is rounded up.
    Rounding,
    /// Cells of a backend's free places.
    Places,
    /// Cells that a slot probes.
    Probes,
}

/// An endless sequence of random 64-bit numbers, with access by position.
#[derive(Clone, Copy)]
pub(super) struct Sequence(u64);

impl Sequence {
    /// The sequence of an object (a backend or a slot) under a seed.
    pub(super) fn new(seed: u64, purpose: Purpose, object: u64) -> Self {
        let purpose = seed.wrapping_add(STEP.wrapping_mul(purpose as u64 + 1));
        Self(mix(mix(purpose).wrapping_add(mix(object.wrapping_add(STEP)))))
    }

    #[inline]
    pub(super) fn at(self, position: u64) -> u64 {
        mix(self.0.wrapping_add(position.wrapping_mul(STEP)))
    }
}

/// An identifier of a backend from bytes that all balancers know it by, such as its address in
/// network byte order and its port.
///
/// The result is the same on all machines. 65,535 different inputs share an identifier with
/// probability 1e-10, and [`Table::new`](super::Table::new) refuses such a set.
#[must_use]
pub fn id(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(mix(bytes.len() as u64), |state, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(state.wrapping_add(STEP) ^ u64::from_le_bytes(word))
    })
}

//! Layout of the verdict map: one per-CPU value with a slot for each program of a chain.
//!
//! ```text
//!  countdown start length clock samples │ slot 0: 6 × {packets, bytes} ns samples │ slot 1 …
//! ```
//!
//! Main looks it up once for a packet. The head is main's own: the packet's length, and the clock
//! of the packet whose programs are timed.

/// Name of the per-CPU map, with one entry. Packets and bytes are counted by program and verdict,
/// [`ENTRIES`] for each slot. Bytes are the packet's length when that program saw it.
pub const VERDICTS_MAP: &str = "xway_verdicts";

/// Counters of a program: the five verdicts, and one for return values that are not verdicts.
pub const ENTRIES: u32 = 6;

/// Runs of more nanoseconds are not averaged: an interrupt, or the hypervisor, had the processor.
pub const LONGEST_RUN: u32 = 1 << 16;

/// Packets until the next one is timed; counted down.
pub(super) const COUNTDOWN: i16 = 0;
/// When the program that runs began, if the packet is timed.
pub(super) const START: i16 = 8;
/// Length of the packet, with the highest bit set if the packet is timed.
pub(super) const LENGTH: i16 = 16;
/// Sum of the time that reading the clock takes.
pub(super) const CLOCK: i16 = 24;
/// Packets that were timed, and one before them.
pub(super) const SAMPLES: i16 = 32;

const HEAD: usize = 40;
const COUNT: usize = 16;
const COUNTS: usize = COUNT * ENTRIES as usize;
const SLOT: usize = COUNTS + 16;

/// Names of the numbers in the head, each of 64 bits.
pub(super) const HEAD_FIELDS: [&str; HEAD / 8] =
    ["countdown", "start", "length", "clock_ns", "samples"];

/// Size of the value with a number of slots.
pub const fn value_size(slots: u32) -> usize {
    HEAD + slots as usize * SLOT
}

/// Slots of a value; `None` for a size of another layout.
pub fn slots(value_size: usize) -> Option<u32> {
    let all = value_size.checked_sub(HEAD).filter(|all| all.is_multiple_of(SLOT))?;
    u32::try_from(all / SLOT).ok()
}

/// Bytes of a slot.
pub(super) const SLOT_SIZE: u32 = SLOT as u32;

/// Offset of a counter.
pub(super) const fn count(slot: u32, entry: u32) -> usize {
    HEAD + slot as usize * SLOT + entry as usize * COUNT
}

/// Offset of the sum of a program's run times, which their number follows.
pub(super) const fn time(slot: u32) -> usize {
    HEAD + slot as usize * SLOT + COUNTS
}

/// What the verdict map has on one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotTotals {
    /// Packets and their bytes, by verdict; the last are for invalid return values.
    pub counts: [[u64; 2]; ENTRIES as usize],
    /// Nanoseconds of the runs that were timed.
    pub ns: u64,
    /// Runs that were timed.
    pub samples: u64,
}

impl SlotTotals {
    /// The number of words that [`words`](Self::words) returns.
    pub const WORDS: usize = SLOT / 8;

    /// Adds up a slot over the values of all CPUs; `None` for another layout, and for a slot that
    /// the map does not have.
    pub fn read<'a>(values: impl IntoIterator<Item = &'a [u8]>, slot: u32) -> Option<Self> {
        let mut words = [0; Self::WORDS];
        for value in values {
            slots(value.len()).filter(|slots| slot < *slots)?;
            add(&mut words, &value[count(slot, 0)..]);
        }
        Some(Self::from_words(&words))
    }

    /// Average nanoseconds that reading the clock took, from the values of all CPUs; `None` until a
    /// packet was timed.
    pub fn clock_ns<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<f64> {
        let (mut sums, mut timed) = ([0; HEAD / 8], 0);
        for value in values {
            slots(value.len())?;
            let before = sums[SAMPLES as usize / 8];
            add(&mut sums, value);
            // The first packet of a CPU is not timed.
            timed += (sums[SAMPLES as usize / 8] - before).saturating_sub(1);
        }
        (timed > 0).then(|| sums[CLOCK as usize / 8] as f64 / timed as f64)
    }

    /// The numbers in the order of the map.
    pub fn words(&self) -> [u64; Self::WORDS] {
        let counts = self.counts.as_flattened().iter();
        let mut all = counts.copied().chain([self.ns, self.samples]);
        std::array::from_fn(|_| all.next().unwrap_or_default())
    }

    /// The totals of these numbers; those that are missing are 0.
    pub fn from_words(words: &[u64]) -> Self {
        let word = |number: usize| words.get(number).copied().unwrap_or_default();
        Self {
            counts: std::array::from_fn(|entry| [word(2 * entry), word(2 * entry + 1)]),
            ns: word(Self::WORDS - 2),
            samples: word(Self::WORDS - 1),
        }
    }

    /// The sum of two totals.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let mut words = self.words();
        words.iter_mut().zip(other.words()).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
        Self::from_words(&words)
    }

    /// What was added since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let (now, before) = (self.words(), earlier.words());
        let more: Vec<u64> =
            now.iter().zip(before).map(|(now, before)| now.wrapping_sub(before)).collect();
        Self::from_words(&more)
    }
}

fn add(sums: &mut [u64], value: &[u8]) {
    for (sum, word) in sums.iter_mut().zip(value.as_chunks().0) {
        *sum = sum.wrapping_add(u64::from_ne_bytes(*word));
    }
}

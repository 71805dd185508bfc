//! `Config`: the configuration of libxdp's dispatcher, as its programs read it.
//!
//! It is the one value of a read-only map, in native byte order. Version 1 has neither magic nor
//! version:
//!
//! ```text
//!  version 1                       version 2                        version 3
//!  0   number of slots, padding    0   magic 236                    as 2, and
//!  4   continue[10]  bits          1   version                      124  device-bound
//!  44  priority[10]                2   number of slots
//!                                  3   frags
//!                                  4   continue[10]
//!                                  44  priority[10]
//!                                  84  flags[10]  as at loading
//! ```
//!
//! Rule: any bytes are parsed without a panic. A newer version is a dispatcher whose slots are
//! unknown. Not here: where the bytes come from.

use spec::Verdict;
use spec::compose::VerdictSet;

/// The configuration of a dispatcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Version of the layout, from 1.
    pub version: u8,
    /// Whether the dispatcher takes frames of several buffers.
    pub is_frags: bool,
    /// The slots in use, in the order in which they run; `None` if the layout is unknown.
    pub slots: Option<Vec<Slot>>,
}

/// The configuration of one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Verdicts after which the next program runs.
    pub continue_on: VerdictSet,
    /// Programs run in ascending order.
    pub priority: u32,
    /// Whether the program takes frames of several buffers.
    pub has_frags: bool,
}

impl Config {
    /// Parses the value of a configuration map; `None` if it is not of a dispatcher.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [MAGIC, version, slots, frags, ..] if *version > 1 => {
                let is_known = *version <= NEWEST
                    && bytes.len() >= LEN_2 + usize::from(*version - 2)
                    && usize::from(*slots) <= SLOTS;
                let slots = is_known.then(|| slots_of(bytes, *slots));
                Some(Self { version: *version, is_frags: *frags != 0, slots })
            }
            [slots, ..] if bytes.len() == LEN_1 && usize::from(*slots) <= SLOTS => {
                Some(Self { version: 1, is_frags: false, slots: Some(slots_of(bytes, *slots)) })
            }
            _ => None,
        }
    }
}

fn slots_of(bytes: &[u8], count: u8) -> Vec<Slot> {
    let word = |array: usize, number: usize| {
        let bytes = bytes.get(array + 4 * number..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    };
    let slot = |number: usize| {
        let bits = word(CONTINUE, number);
        let continues = |verdict: &Verdict| bits & 1 << *verdict as u32 != 0;
        Slot {
            continue_on: Verdict::ALL.into_iter().filter(continues).collect(),
            priority: word(PRIORITY, number),
            has_frags: word(FLAGS, number) & HAS_FRAGS != 0,
        }
    };
    (0..usize::from(count)).map(slot).collect()
}

/// Slots of a dispatcher.
const SLOTS: usize = 10;
const MAGIC: u8 = 236;
/// The newest version whose layout is known.
const NEWEST: u8 = 3;
const CONTINUE: usize = 4;
const PRIORITY: usize = CONTINUE + 4 * SLOTS;
const FLAGS: usize = PRIORITY + 4 * SLOTS;
const LEN_1: usize = FLAGS;
const LEN_2: usize = FLAGS + 4 * SLOTS;
/// `BPF_F_XDP_HAS_FRAGS`.
const HAS_FRAGS: u32 = 1 << 5;

#[cfg(test)]
mod tests {
    use super::*;

    /// A value with these slots: bits of verdicts, priority, flags.
    fn value(version: u8, slots: &[(u32, u32, u32)]) -> Vec<u8> {
        let mut bytes = vec![MAGIC, version, slots.len() as u8, 1];
        let column = |cell: fn(&(u32, u32, u32)) -> u32| {
            let cells = slots.iter().map(cell).chain(std::iter::repeat(0)).take(SLOTS);
            cells.flat_map(u32::to_ne_bytes).collect::<Vec<_>>()
        };
        bytes.extend(column(|slot| slot.0));
        bytes.extend(column(|slot| slot.1));
        if version == 1 {
            bytes[..4].copy_from_slice(&[slots.len() as u8, 0, 0, 0]);
            return bytes;
        }
        bytes.extend(column(|slot| slot.2));
        bytes.extend(if version == 2 { vec![] } else { vec![0; 4] });
        bytes
    }

    const TWO: [(u32, u32, u32); 2] = [(1 << 31 | 1 << 2, 10, 0), (1 << 31 | 0b1010, 50, 1 << 5)];

    #[test]
    fn each_version_is_read() {
        for version in 1..=3 {
            let config = Config::parse(&value(version, &TWO)).unwrap();
            let slots = config.slots.unwrap();
            assert_eq!((config.version, config.is_frags), (version, version > 1));
            assert_eq!([slots[0].priority, slots[1].priority], [10, 50]);
            assert_eq!(slots[0].continue_on, VerdictSet::default());
            let second = [Verdict::Drop, Verdict::Tx].into_iter().collect();
            assert_eq!(slots[1].continue_on, second);
            assert_eq!([slots[0].has_frags, slots[1].has_frags], [false, version > 1]);
        }
    }

    #[test]
    fn what_is_newer_or_damaged_has_no_slots_and_remains_a_dispatcher() {
        let mut many = value(2, &TWO);
        many[2] = 11;
        let short = value(2, &TWO)[..100].to_vec();
        for bytes in [value(4, &TWO), value(255, &TWO), many, short] {
            assert_eq!(Config::parse(&bytes).unwrap().slots, None, "{bytes:?}");
        }
    }

    #[test]
    fn other_values_are_not_dispatchers() {
        let mut many = value(1, &TWO);
        many[0] = 11;
        let tables: [&[u8]; 6] =
            [&[], &[MAGIC], &[MAGIC, 2, 1], &[MAGIC, 1, 1, 0], &value(1, &TWO)[..83], &many];
        for bytes in tables {
            assert_eq!(Config::parse(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn random_bytes_do_not_panic() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut found = 0;
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> = (0..next() % 140).map(|_| next() as u8).collect();
            if next() % 2 == 0
                && let Some(first) = bytes.first_mut()
            {
                *first = MAGIC;
            }
            let config = Config::parse(&bytes);
            let slots = config.iter().flat_map(|one| &one.slots).map(Vec::len).max();
            assert!(slots.is_none_or(|slots| slots <= SLOTS));
            found += usize::from(config.is_some());
        }
        assert!(found > 5_000, "{found}");
    }
}

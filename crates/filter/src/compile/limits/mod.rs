//! `Limits`: token buckets for any number of senders in fixed memory; see `bpf/filter/limit.h`.
//!
//! ```text
//!  Limit ──▶ abi::Limit: times of a token and of the burst, lines of buckets for each level
//!            filter_lines: lines of eight buckets, 64 bytes each
//! ```
//!
//! Rule: no sender exceeds its limit, for any number of senders. The loss of a sender that keeps
//! its limit is bounded by `runtime::limits::LossBound`. Not here: which packets a limit applies
//! to.

mod times;

use spec::MapDef;

use crate::maps::{LIMITS, LINES};
use crate::{Limit, Per, Unit, abi};
use times::{LimitTerms, Scale};

/// The limits of a ruleset, by number, with their memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub(crate) limits: Vec<abi::Limit>,
    pub(crate) lines: u32,
    exact: bool,
}

/// A limit that cannot be implemented.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("a limit needs a rate and a burst of at least one packet or byte")]
    Zero,
    #[error("a burst of {burst} is too large; expected at most {most}")]
    Burst { burst: u64, most: u64 },
    #[error("a limit of the whole rule is its own total; remove one of them")]
    Total,
    #[error("the limits need more than {} MiB; use fewer, or `per rule`", MOST_LINES >> 14)]
    Memory,
}

impl Limits {
    /// Adds a limit and returns its number.
    ///
    /// # Errors
    /// The limit cannot be implemented, alone or with the previous ones; it is not added.
    pub fn add(&mut self, limit: &Limit) -> Result<u32, Error> {
        let (own, total) = LimitTerms::of(limit)?;
        if total.is_some() && limit.per == Per::Rule {
            return Err(Error::Total);
        }
        let all = || [own].into_iter().chain(total);
        let scale = Scale::of(all());
        let is_exact = all().any(|terms| terms.needs_exact_clock());
        let (own, total) = (own.times(scale)?, total.map(|total| total.times(scale)).transpose()?);
        let mut wanted = abi::Limit {
            unit: unit(limit.unit) as u32,
            finer: scale.finer,
            coarser: scale.coarser,
            ..abi::Limit::default()
        };
        let mut lines = self.lines;
        let levels = levels(limit.per).into_iter().map(|level| (own, level));
        let levels = levels.chain(total.map(|total| (total, Level::whole())));
        for (place, (times, level)) in wanted.levels.iter_mut().zip(levels) {
            let own = level.lines(limit);
            *place = abi::Level {
                first: lines,
                mask: own - 1,
                burst: times.burst,
                cost: (times.cost / level.multiple).max(1),
                ..level.masks
            };
            lines += own;
        }
        if lines > MOST_LINES {
            return Err(Error::Memory);
        }
        (self.lines, self.exact) = (lines, self.exact || is_exact);
        self.limits.push(wanted);
        Ok(self.limits.len() as u32 - 1)
    }

    /// Whether there is no limit.
    pub fn is_empty(&self) -> bool {
        self.limits.is_empty()
    }

    /// The limits in the layout of the program.
    pub fn limits(&self) -> &[abi::Limit] {
        &self.limits
    }

    /// Bytes of the buckets of all limits.
    pub fn bytes(&self) -> usize {
        self.lines as usize * abi::Line::SIZE
    }

    /// Whether a burst is shorter than a few ticks of the kernel's clock.
    pub fn needs_exact_clock(&self) -> bool {
        self.exact
    }

    /// Sets the sizes of the maps, before they are created.
    pub(crate) fn resize(&self, maps: &mut [MapDef]) {
        for map in maps {
            match map.name.as_str() {
                LIMITS => map.max_entries = (self.limits.len() as u32).max(1),
                LINES => map.max_entries = self.lines.max(1),
                _ => (),
            }
        }
    }
}

/// A level of a limit: the packets that share a bucket, and the multiple of the limit.
struct Level {
    masks: abi::Level,
    multiple: u64,
}

impl Level {
    /// The level with one bucket for all packets.
    fn whole() -> Self {
        Self { masks: abi::Level::default(), multiple: 1 }
    }

    /// The number of lines: enough buckets to earn [`FLOOD_PPS`] together, limited by the caches.
    fn lines(&self, limit: &Limit) -> u32 {
        if self.masks == abi::Level::default() {
            return 1;
        }
        let packets = match limit.unit {
            Unit::Packets => limit.rate,
            Unit::Bits => limit.rate / LEAST_BITS,
        };
        let lines = FLOOD_PPS / packets.max(1) / abi::Line::BUCKETS as u64;
        let lines = lines.next_power_of_two().min(MOST_LEVEL_LINES) / self.multiple;
        (lines as u32).max(LEAST_LINES)
    }
}

/// The levels of a limit. A limit per source address has also levels for its prefixes, because a
/// sender may forge all addresses of its prefix.
fn levels(per: Per) -> Vec<Level> {
    let level = |masks, multiple| Level { masks, multiple };
    let source =
        |v4, v6| abi::Level { source4: mask4(v4), source6: mask6(v6), ..abi::Level::default() };
    match per {
        Per::Rule => vec![Level::whole()],
        Per::Source { v4: 32, v6: 128 } => vec![
            level(source(32, 128), 1),
            level(source(24, 64), PARENT),
            level(source(16, 48), PARENT * PARENT),
        ],
        Per::Source { v4, v6 } => vec![level(source(v4, v6), 1)],
        Per::Dest { v4, v6 } => vec![level(
            abi::Level { dest4: mask4(v4), dest6: mask6(v6), ..abi::Level::default() },
            1,
        )],
        Per::DestPort => vec![level(abi::Level { ports: 0xffff, ..abi::Level::default() }, 1)],
        Per::Flow => vec![level(
            abi::Level {
                dest4: u32::MAX,
                dest6: [u64::MAX; 2],
                ports: u32::MAX,
                protocol: u32::MAX,
                ..source(32, 128)
            },
            1,
        )],
    }
}

fn mask4(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0)
}

fn mask6(length: u8) -> [u64; 2] {
    let mask = u128::MAX.checked_shl(128 - u32::from(length.min(128))).unwrap_or(0);
    [(mask >> 64) as u64, mask as u64]
}

const fn unit(unit: Unit) -> abi::Unit {
    match unit {
        Unit::Packets => abi::Unit::Packets,
        Unit::Bits => abi::Unit::Bytes,
    }
}

impl abi::Line {
    /// Buckets in a line.
    pub const BUCKETS: usize = Self::SIZE / 8;
}

/// The limit of a prefix is this multiple of the limit of the next longer prefix.
pub const PARENT: u64 = 16;
/// Packets per second, from senders of one packet each, at which other senders lose no packets, if
/// memory suffices.
const FLOOD_PPS: u64 = 16_000_000;
/// The length of the shortest frame in bits.
pub(crate) const LEAST_BITS: u64 = 480;
const LEAST_LINES: u32 = 256;
/// The most lines of one level: 256 KiB, which fit a second-level cache. With more, each packet of
/// a new sender waits for memory. Hashes could select one of 65,536 lines.
const MOST_LEVEL_LINES: u64 = 1 << 12;
/// The most lines of all limits: 64 MiB.
const MOST_LINES: u32 = 1 << 20;

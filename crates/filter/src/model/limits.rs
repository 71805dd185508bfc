//! A model of limits in plain Rust: the steps of `bpf/filter/limit.h`, without other processors.
//!
//! Rule: for the same seed, packets and times, it has the same result as the program, which tests
//! check.

use super::super::abi::{self, Level, Seed};
use super::super::{Field, PacketFields};
use crate::compile::limits::Limits;

/// The fields of a packet that select its buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sender {
    pub is_ipv6: bool,
    /// Source address as a number; 0 for a packet without addresses.
    pub source: u128,
    pub dest: u128,
    pub source_port: u16,
    pub dest_port: u16,
    pub protocol: u8,
}

/// The limits of a ruleset, with their buckets.
#[derive(Clone, Debug)]
pub struct Model {
    limits: Vec<abi::Limit>,
    seed: Seed,
    lines: Vec<[u64; abi::Line::BUCKETS]>,
}

impl Sender {
    /// The sender of a packet.
    pub fn new(packet: &PacketFields) -> Self {
        let either = |one, other| packet.field(one).or(packet.field(other)).unwrap_or_default();
        let field = |field| packet.field(field).unwrap_or_default();
        Self {
            is_ipv6: packet.field(Field::Source6).is_some(),
            source: either(Field::Source4, Field::Source6),
            dest: either(Field::Dest4, Field::Dest6),
            source_port: field(Field::SourcePort) as u16,
            dest_port: field(Field::DestPort) as u16,
            protocol: field(Field::Protocol) as u8,
        }
    }

    fn hash(&self, level: &Level, seed: &Seed) -> u64 {
        let [base, ports, protocol, source4, dest4, words6 @ ..] = seed.words;
        let port = u32::from(self.source_port) << 16 | u32::from(self.dest_port);
        let mut sum = base;
        let mut add = |piece: u128, word: u64| {
            sum = sum.wrapping_add((piece as u64 & 0xffff_ffff).wrapping_mul(word));
        };
        add(u128::from(port & level.ports), ports);
        add(u128::from(u32::from(self.protocol) & level.protocol), protocol);
        if !self.is_ipv6 {
            add(self.source & u128::from(level.source4), source4);
            add(self.dest & u128::from(level.dest4), dest4);
            return sum;
        }
        let source = self.source & whole(level.source6);
        let dest = self.dest & whole(level.dest6);
        let pieces = [source, source >> 32, dest, dest >> 32];
        let high = [source >> 64, source >> 96, dest >> 64, dest >> 96];
        for (piece, word) in pieces.into_iter().chain(high).zip(words6) {
            add(piece, word);
        }
        sum
    }
}

impl Model {
    /// A model in which all buckets are full.
    pub fn new(limits: &Limits, seed: Seed) -> Self {
        let lines = vec![[0; abi::Line::BUCKETS]; limits.lines as usize];
        Self { limits: limits.limits.clone(), seed, lines }
    }

    /// Whether a packet of `length` bytes is over the limit with this number; if not, it takes its
    /// tokens.
    ///
    /// # Panics
    /// There is no such limit.
    pub fn is_over(&mut self, number: u32, sender: &Sender, length: u32, now_ns: u64) -> bool {
        let limit = self.limits[number as usize];
        let now = now_ns << limit.finer >> limit.coarser;
        let tokens = if limit.unit == abi::Unit::Bytes as u32 { u64::from(length) } else { 1 };
        let mut found = Vec::with_capacity(limit.levels.len());
        for level in limit.levels.iter().take_while(|level| level.cost > 0) {
            let hash = sender.hash(level, &self.seed);
            let line = (level.first + ((hash >> 48) as u32 & level.mask)) as usize;
            let tag = hash >> 32 & TAG_MASK;
            match look(&self.lines[line], tag, now, tokens * level.cost, level.burst) {
                None => return true,
                Some((number, bucket)) => found.push((line, number, bucket)),
            }
        }
        for (line, number, bucket) in found {
            self.lines[line][number] = bucket;
        }
        false
    }

    /// The lines of buckets, to compare them with those of the program.
    pub fn lines(&self) -> &[[u64; abi::Line::BUCKETS]] {
        &self.lines
    }
}

/// The number of the tag's bucket, or else of the fullest one, and its value without `cost`; `None`
/// if it has too few tokens.
fn look(line: &[u64], tag: u64, now: u64, cost: u64, burst: u64) -> Option<(usize, u64)> {
    let horizon = now.wrapping_add(2 * burst).wrapping_add(1);
    // The bucket that has been full the longest comes first, in a clock that wraps.
    let order = |bucket: u64| (bucket >> TAG_BITS).wrapping_sub(horizon) & TIME_MASK;
    let (number, bucket) = line.iter().enumerate().min_by_key(|(_, bucket)| {
        let is_own = **bucket & TAG_MASK == tag;
        if is_own { (0, 0) } else { (1, order(**bucket)) }
    })?;
    let missing = (*bucket >> TAG_BITS).wrapping_sub(now) & TIME_MASK;
    // Slightly more than a burst is missing if the clock of another processor is ahead.
    let missing = if missing > 2 * burst { cost } else { missing + cost };
    let becomes = (now.wrapping_add(missing) & TIME_MASK) << TAG_BITS | tag;
    (missing <= burst).then_some((number, becomes))
}

fn whole(halves: [u64; 2]) -> u128 {
    u128::from(halves[0]) << 64 | u128::from(halves[1])
}

const TAG_BITS: u32 = 16;
const TAG_MASK: u64 = 0xffff;
const TIME_MASK: u64 = (1 << 48) - 1;

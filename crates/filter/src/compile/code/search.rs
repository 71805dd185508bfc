//! Code for searches among many boundaries of a wide field, load for load as `Ranges::class`.
//!
//! Rule: probes do not branch: their direction is unpredictable, and the verifier would follow both
//! directions of each. A comparison yields 1 for "not greater" and 0 otherwise, which is multiplied
//! by the step and added to the position.
//!
//! An entry in memory is the key followed by the class: 8 bytes (class low, key high), 16 (key,
//! class) or 24 (high half, low half, class).

use spec::asm::Reg::{R0, R1, R3, R4, R5, R9};
use spec::asm::{Cond, Label, MemRef, Reg};

use super::Code;
use super::data::Place;
use super::value::{HIGH, LOW, at_least, below};
use crate::Field;
use crate::compile::plan::{Entries, Level, Node, Ranges, Runs};

/// Probes of short runs, in a step that also has long ones.
pub const SHORT: u32 = 3;
/// The bit in the start of a run with more probes.
pub const LONG_RUN: u32 = 1 << 31;

/// The lowest word of a window, among words that are not a class.
const WINDOWS: i32 = (Node::TAG << Node::TAG_SHIFT | Node::WINDOW).cast_signed();

/// The memory of a search.
struct Search<'a> {
    ranges: &'a Ranges,
    nodes: Place,
    entries: Sorted,
}

/// Entries in the order of their keys.
#[derive(Clone, Copy)]
struct Sorted {
    place: Place,
    layout: Layout,
}

/// The layout of entries in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Short,
    /// Keys of up to 63 bits, whose difference has a sign.
    Long,
    /// Keys of 64 bits.
    Word,
    Full,
}

/// Sets R0 to the class of the value in R2 (and R1).
pub fn search(code: &mut Code<'_>, field: Field, ranges: &Ranges) {
    let [inside, high, low, done] = std::array::from_fn(|_| code.asm.label());
    below(&mut code.asm, field, ranges.low, low);
    at_least(&mut code.asm, field, ranges.high, high);
    code.asm.bind(inside);
    cut(code, field, ranges);
    Search::new(code, ranges).walk(code, done);
    code.asm.jump(done);
    code.asm.bind(low).mov32(R0, ranges.below.cast_signed()).jump(done);
    code.asm.bind(high).mov32(R0, ranges.above.cast_signed()).bind(done);
}

/// Sets R0 to the next state, from the start of the run in R0 and the key in R2.
pub fn run(code: &mut Code<'_>, runs: &Runs, done: Label) {
    // The highest number whose difference from any key has a sign.
    let key = |key: &u64| (*key).min(i64::MAX as u64);
    let words = runs.keys.iter().map(key).zip(runs.next.iter().map(|next| u64::from(*next)));
    let bytes = words.flat_map(|(key, next)| [key, next]).flat_map(u64::to_le_bytes).collect();
    let place = code.data.table(bytes, runs.keys.len(), 1 << runs.probes);
    let sorted = Sorted { place, layout: Layout::Long };
    if runs.probes > SHORT {
        let long = code.asm.label();
        code.asm.jump32_if(R0, Cond::Slt, 0, long);
        sorted.probes(code, SHORT);
        code.asm.jump(done).bind(long);
    }
    sorted.probes(code, runs.probes);
}

/// Replaces the value by its key.
fn cut(code: &mut Code<'_>, field: Field, ranges: &Ranges) {
    let a = &mut code.asm;
    let shift = ranges.shift as i32;
    if field.bits() <= 64 {
        if shift > 0 {
            a.rsh(LOW, shift);
        }
    } else if shift >= 64 {
        a.mov(LOW, HIGH).mov(HIGH, 0);
        if shift > 64 {
            a.rsh(LOW, shift - 64);
        }
    } else if shift > 0 {
        a.mov(R3, HIGH).lsh(R3, 64 - shift).rsh(LOW, shift).or(LOW, R3).rsh(HIGH, shift);
    }
    let keep = |width: u32| 64 - width as i32;
    match ranges.width {
        width @ ..32 => _ = a.and32(LOW, ((1_u32 << width) - 1).cast_signed()),
        64 => {}
        width @ ..64 => _ = a.lsh(LOW, keep(width)).rsh(LOW, keep(width)),
        width @ 65..128 => _ = a.lsh(HIGH, keep(width - 64)).rsh(HIGH, keep(width - 64)),
        _ => {}
    }
}

impl<'a> Search<'a> {
    fn new(code: &mut Code<'_>, ranges: &'a Ranges) -> Self {
        let layout = match &ranges.entries {
            Entries::Short(_) => Layout::Short,
            Entries::Long(..) if ranges.width < 64 => Layout::Long,
            Entries::Long(..) => Layout::Word,
            Entries::Full(..) => Layout::Full,
        };
        let beyond = 1 << ranges.long.max(ranges.short);
        let nodes = code.data.words(&ranges.nodes, most(&ranges.levels));
        let entries = code.data.table(bytes(&ranges.entries), ranges.entries.len(), beyond);
        Self { ranges, nodes, entries: Sorted { place: entries, layout } }
    }

    /// Sets R0 to the class; falls through or jumps to `done`.
    fn walk(&self, code: &mut Code<'_>, done: Label) {
        let run = code.asm.label();
        let levels = &self.ranges.levels;
        for (number, level) in levels.iter().enumerate() {
            self.node(code, *level, number > 0);
            let a = &mut code.asm;
            a.mov32(R3, R0).rsh32(R3, Node::TAG_SHIFT as i32);
            a.jump32_if(R3, Cond::Ne, Node::TAG as i32, done);
            if number + 1 < levels.len() {
                a.jump32_if(R0, Cond::Lt, WINDOWS, run);
            }
        }
        code.asm.bind(run);
        if self.ranges.long > 0 {
            let long = code.asm.label();
            code.asm.jump32_if(R0, Cond::Set, Node::LONG.cast_signed(), long);
            self.entries.probes(code, self.ranges.short);
            code.asm.jump(done).bind(long);
            self.entries.probes(code, self.ranges.long);
        } else {
            self.entries.probes(code, self.ranges.short);
        }
    }

    /// Sets R0 to the node of a key in a level; after the first level, R0 is the window.
    fn node(&self, code: &mut Code<'_>, level: Level, window: bool) {
        let (from, shift) =
            if level.shift >= 64 { (HIGH, level.shift - 64) } else { (LOW, level.shift) };
        let a = &mut code.asm;
        a.mov(R3, from);
        if shift > 0 {
            a.rsh(R3, shift as i32);
        }
        a.and32(R3, (1 << level.bits) - 1);
        if window {
            a.and32(R0, self.nodes.mask).add(R3, R0);
        }
        code.point(self.nodes);
        code.asm.lsh(R3, 2).add(R4, R3).load32(R0, R4.at(0));
    }
}

impl Sorted {
    /// Sets R0 to the class of the last key that is not greater, in the run that begins at the low
    /// bits of R0.
    fn probes(&self, code: &mut Code<'_>, probes: u32) {
        let stride = self.layout.stride();
        code.asm.and32(R0, self.place.mask);
        times(code, R0, stride);
        code.point(self.place);
        code.asm.add(R4, R0);
        match self.layout {
            // "Not greater than the key" is "less than the key plus one".
            Layout::Short | Layout::Long => _ = code.asm.add(LOW, 1),
            Layout::Word => _ = code.asm.mov(R1, LOW).xor(R1, -1),
            Layout::Full => {}
        }
        for step in Ranges::probe(probes) {
            // Steps are below the number of entries, which fit into memory.
            self.probe(code, i32::try_from(step).unwrap_or(i32::MAX) * stride);
        }
        code.asm.load32(R0, R4.at(self.layout.class()));
    }

    /// Advances by `bytes` if the key there is not greater.
    fn probe(&self, code: &mut Code<'_>, bytes: i32) {
        let a = &mut code.asm;
        let key = match i16::try_from(bytes + 8) {
            Ok(off) => R4.at(off - 8),
            Err(_) => {
                a.mov(R5, R4).add(R5, bytes);
                R5.at(0)
            }
        };
        match self.layout {
            Layout::Short => _ = a.load64(R3, key).rsh(R3, 32).sub(R3, LOW).rsh(R3, 63),
            Layout::Long => _ = a.load64(R3, key).sub(R3, LOW).rsh(R3, 63),
            Layout::Word => {
                a.load64(R3, key).mov(R5, LOW).sub(R5, R3);
                a.mov(R0, R1).or(R0, R3).and(R5, R0).and(R3, R1).or(R3, R5).rsh(R3, 63).xor(R3, 1);
            }
            Layout::Full => full(code, key),
        }
        times(code, R3, bytes);
        code.asm.add(R4, R3);
    }
}

/// Multiplies, by a shift where possible, which costs a third of a multiplication.
fn times(code: &mut Code<'_>, number: Reg, factor: i32) {
    if factor.count_ones() == 1 {
        code.asm.lsh(number, factor.trailing_zeros() as i32);
    } else {
        code.asm.mul(number, factor);
    }
}

/// Sets R3 to 1 if the 128 bits at `key` are not greater than R1 and R2. The borrow of a
/// subtraction k - e is the top bit of `(!k & e) | ((!k | e) & (k - e))`.
fn full(code: &mut Code<'_>, key: MemRef) {
    let a = &mut code.asm;
    // R0 is the borrow of the low halves.
    a.load64(R3, key.base.at(key.off + 8)).mov(R0, LOW).sub(R0, R3);
    a.mov(R9, LOW).xor(R9, -1).or(R9, R3).and(R0, R9);
    a.mov(R9, LOW).xor(R9, -1).and(R9, R3).or(R0, R9).rsh(R0, 63);
    // R0 is the difference of the high halves.
    a.load64(R3, key).mov(R5, HIGH).sub(R5, R3).sub(R5, R0).mov(R0, R5);
    a.mov(R9, HIGH).xor(R9, -1).mov(R5, R9).or(R9, R3).and(R0, R9);
    a.and(R3, R5).or(R3, R0).rsh(R3, 63).xor(R3, 1);
}

impl Layout {
    const fn stride(self) -> i32 {
        match self {
            Self::Short => 8,
            Self::Long | Self::Word => 16,
            Self::Full => 24,
        }
    }

    /// Offset of the class in an entry.
    const fn class(self) -> i16 {
        match self {
            Self::Short => 0,
            Self::Long | Self::Word => 8,
            Self::Full => 16,
        }
    }
}

/// The number of nodes of the largest window.
fn most(levels: &[Level]) -> usize {
    levels.iter().map(|level| 1 << level.bits).max().unwrap_or_default()
}

fn bytes(entries: &Entries) -> Vec<u8> {
    let class = |class: &u32| u64::from(*class).to_le_bytes();
    let word = |word: u64| word.to_le_bytes();
    match entries {
        Entries::Short(packed) => packed.iter().flat_map(|one| word(*one)).collect(),
        Entries::Long(keys, classes) => keys
            .iter()
            .zip(classes)
            .flat_map(|(key, one)| [word(*key), class(one)])
            .flatten()
            .collect(),
        Entries::Full(keys, classes) => {
            let entry = |(key, one): (&u128, &u32)| {
                [word((*key >> 64) as u64), word(*key as u64), class(one)]
            };
            keys.iter().zip(classes).flat_map(entry).flatten().collect()
        }
    }
}

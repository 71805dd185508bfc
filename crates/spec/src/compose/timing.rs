//! Code that times the programs of about one packet of 1,024.
//!
//! The sign of the length in the verdict map marks a timed packet. Each program that is counted
//! loads the length anyway, so a boundary between two programs costs other packets one jump that
//! is not taken. There, one reading of the clock ends a program and begins the next.
//!
//! Rule: the mark is in the map and not on the stack. What is loaded from the map is an unknown
//! number to the verifier, so it does not follow timed packets and others separately.

use super::verdicts::{CLOCK, COUNTDOWN, LENGTH, LONGEST_RUN, SAMPLES, START, time};
use crate::asm::{Assembler, Cond, Helper, Label, Reg, Reg::*};

/// Packets between timed ones: at least this number, and up to [`JITTER`] more, so that they do not
/// fall in step with the traffic.
const INTERVAL: i32 = 960;
const JITTER: i32 = 127;
/// Packets between the first timed ones, and the number of these.
const FIRST_INTERVAL: i32 = 15;
const FIRST_SAMPLES: i32 = 16;
/// Bits of a length without its mark, which is the highest bit of the word.
const LENGTH_BITS: i32 = 32;

/// A jump to code that few packets run, and where that code returns to.
#[derive(Clone, Copy, Debug)]
pub struct Detour {
    start: Label,
    end: Label,
}

impl Detour {
    fn new(asm: &mut Assembler) -> Self {
        Self { start: asm.label(), end: asm.label() }
    }
}

/// Counts a packet down to the next timed one, which takes the detour [`begin`]. `counters` keeps
/// its value, as does R1, the context.
pub fn count_down(asm: &mut Assembler, counters: Reg) -> Detour {
    let detour = Detour::new(asm);
    let countdown = counters.at(COUNTDOWN);
    asm.load64(R2, countdown).add(R2, -1).store64(countdown, R2);
    asm.jump_if(R2, Cond::Slt, 0, detour.start).bind(detour.end);
    detour
}

/// Marks the packet as timed, measures the clock, and begins the first program.
pub fn begin(asm: &mut Assembler, counters: Reg, detour: Detour) {
    let [done, begin, often] = [asm.label(), asm.label(), asm.label()];
    asm.bind(detour.start).mov(R6, R1).mov(R7, counters);
    asm.load64(R9, R7.at(SAMPLES)).mov(R1, R9).add(R1, 1).store64(R7.at(SAMPLES), R1);
    asm.store64(R7.at(COUNTDOWN), FIRST_INTERVAL);
    // The first packet of a CPU finds cold caches.
    asm.jump_if(R9, Cond::Eq, 0, done);
    asm.load64(R1, R7.at(LENGTH)).mov(R2, 1).lsh(R2, 63).or(R1, R2).store64(R7.at(LENGTH), R1);
    asm.call(Helper::KTIME_GET_NS).mov(R8, R0).call(Helper::KTIME_GET_NS);
    asm.jump_if(R9, Cond::Le, FIRST_SAMPLES, often);
    asm.mov(R1, R0).and(R1, JITTER).add(R1, INTERVAL).store64(R7.at(COUNTDOWN), R1).bind(often);
    asm.mov(R1, R0).sub(R1, R8).jump_if(R1, Cond::Gt, LONGEST_RUN as i32, begin);
    asm.count(R7.at(CLOCK), R1, R2).bind(begin).store64(R7.at(START), R0);
    asm.bind(done).mov(R1, R6).jump(detour.end);
}

/// R3 = the packet's length. A timed packet takes the detour [`end`]. R1 = the counters.
pub fn load_length(asm: &mut Assembler) -> Detour {
    let detour = Detour::new(asm);
    asm.load64(R3, R1.at(LENGTH));
    asm.jump_if(R3, Cond::Slt, 0, detour.start).bind(detour.end);
    detour
}

/// Adds the time of the program that ended, and begins the next. R0 = the verdict and R1 = the
/// counters, before and after; R3 = the length, which loses its mark.
pub fn end(asm: &mut Assembler, slot: u32, detour: Detour) {
    let skip = asm.label();
    let sum = time(slot) as i16;
    asm.bind(detour.start).mov(R6, R0).mov(R7, R1).mov32(R8, R3);
    asm.load64(R9, R7.at(START)).call(Helper::KTIME_GET_NS).store64(R7.at(START), R0);
    asm.sub(R0, R9).jump_if(R0, Cond::Gt, LONGEST_RUN as i32, skip);
    asm.count(R7.at(sum), R0, R2).count(R7.at(sum + 8), 1, R2);
    asm.bind(skip).mov(R0, R6).mov(R1, R7).mov(R3, R8).jump(detour.end);
}

/// Gives the length in R2 the mark of the packet. R3 = the counters.
pub fn keep_mark(asm: &mut Assembler) {
    asm.load64(R4, R3.at(LENGTH)).rsh(R4, LENGTH_BITS).lsh(R4, LENGTH_BITS).or(R2, R4);
}

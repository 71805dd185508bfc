//! Common sequences of packet programs, in the fewest instructions.
//!
//! Each is a fixed, documented sequence of plain instructions; none keeps state.

use super::{Assembler, Cond, Helper, Label, MapRef, MemRef, Operand, Reg};
use crate::runtime::Verdict;

// Offsets in `struct xdp_md`.
const DATA: i16 = 0;
const DATA_END: i16 = 4;

impl Assembler {
    /// Loads the packet's start and its end, one past the last byte, from `struct xdp_md *ctx`.
    /// `ctx` may be the same register as `end`.
    pub fn packet(&mut self, data: Reg, end: Reg, ctx: Reg) -> &mut Self {
        self.load32(data, ctx.at(DATA)).load32(end, ctx.at(DATA_END))
    }

    /// Continues only if `bytes` bytes from `data` on are in the packet, else jumps to `short`.
    /// Overwrites `scratch`.
    pub fn need(
        &mut self,
        data: Reg,
        end: Reg,
        bytes: impl Into<Operand>,
        scratch: Reg,
        short: Label,
    ) -> &mut Self {
        self.mov(scratch, data).add(scratch, bytes).jump_if(scratch, Cond::Gt, end, short)
    }

    /// Looks up the key at `key`: R0 is its value or null. Overwrites R1 to R5.
    pub fn lookup(&mut self, map: impl Into<MapRef>, key: MemRef) -> &mut Self {
        if key.base != Reg::R2 {
            self.mov(Reg::R2, key.base);
        }
        if key.off != 0 {
            self.add(Reg::R2, key.off);
        }
        self.load_map(Reg::R1, map).call(Helper::MAP_LOOKUP_ELEM)
    }

    /// Adds to a 64-bit counter that only this CPU writes: no lock. Overwrites `scratch`.
    pub fn count(&mut self, at: MemRef, by: impl Into<Operand>, scratch: Reg) -> &mut Self {
        self.load64(scratch, at).add(scratch, by).store64(at, scratch)
    }

    /// Ends the program with a verdict.
    pub fn verdict(&mut self, verdict: Verdict) -> &mut Self {
        self.mov32(Reg::R0, verdict as i32).exit()
    }
}

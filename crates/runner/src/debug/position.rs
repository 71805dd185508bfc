//! Positions in a run over a capture, and motions between them.

use std::fmt;

use serde::Serialize;

/// A point of a run: before an instruction, or after the last one of a packet.
///
/// The engine is deterministic, so a position always has the same registers, packet and maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Position {
    /// Number of the packet in the capture, from 1.
    pub packet: u64,
    /// Number of instructions that ran for this packet.
    pub step: u64,
}

/// How far a motion goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// To another source line, also one of a function that is called.
    Step,
    /// To another source line of the same function, or of its caller.
    Next,
    /// To a later source line of the same function, so out of a loop, or to its caller.
    Until,
    /// Out of the function.
    Finish,
    /// To a breakpoint or watchpoint.
    Continue,
    /// One instruction.
    Instruction,
}

/// Whether a motion executes instructions or undoes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.packet, self.step)
    }
}

//! Executes decoded programs, checking every access.

use crate::code::Program;
use crate::fault::Fault;
use crate::worker::Worker;

/// Functions that are active now.
#[derive(Debug, Default)]
pub(crate) struct Frames {}

/// Runs a program from its entry with r1 and r2 set; r0 at its end.
pub(crate) fn run(
    _worker: &mut Worker,
    _program: &Program,
    _args: [u64; 2],
) -> Result<u64, Box<Fault>> {
    Err(Fault::refused("nothing runs yet"))
}

impl Worker {
    /// Calls a BPF function by its address (a callback) with r1 to r5; r0 at its end.
    pub(crate) fn call_back(&mut self, _function: u64, _args: [u64; 5]) -> Result<u64, Box<Fault>> {
        Err(Fault::refused("nothing runs yet"))
    }
}

//! A decoded program whose calls are resolved: what the interpreter runs.

use std::sync::Arc;

use super::Processor;
use crate::code::Program;
use crate::fault::Fault;

/// A helper or kfunc: r1 to r5 in, r0 out.
pub(crate) type Call = fn(&mut Processor, &[u64; 5]) -> Result<u64, Box<Fault>>;

/// A program with the functions that it calls.
#[derive(Debug)]
pub(crate) struct Executable {
    pub program: Arc<Program>,
    calls: Box<[Call]>,
}

impl Executable {
    /// `calls` holds the function of each row of the program's callees.
    pub fn new(program: Program, calls: Vec<Call>) -> Self {
        Self { program: Arc::new(program), calls: calls.into() }
    }

    /// The function in a row of the program's callees.
    #[inline(always)]
    pub fn call(&self, row: u64) -> Call {
        self.calls[row as usize]
    }
}

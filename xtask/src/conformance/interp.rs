//! Our own engine's interpreter. Runs anywhere, without rights.

use spec::{Program, ProgramKind, Spec};
use vm::{Machine, Options};

use super::case::Case;
use super::engine::Engine;

pub struct Interp;

impl Engine for Interp {
    fn run(&mut self, case: &Case) -> Result<u64, String> {
        let program = Program {
            name: "conformance".to_owned(),
            kind: ProgramKind::XDP,
            autoload: true,
            insns: case.insns.clone(),
            ..Program::default()
        };
        let spec = Spec { programs: vec![program], ..Spec::default() };
        let options = Options { budget: BUDGET, ..Options::default() };
        let machine = Machine::load(&spec, &options);
        let machine = machine.map_err(|error| error.to_string())?;
        let mut memory = case.memory.clone();
        machine.worker(0).run_raw(0, &mut memory).map_err(|error| error.to_string())
    }
}

/// Jumps back and calls of one case: more than any that ends makes.
const BUDGET: u64 = 10_000_000;

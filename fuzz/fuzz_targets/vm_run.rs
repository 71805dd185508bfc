//! Any program on any packet: it is refused or runs to an end, twice alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spec::insn::Insn;
use spec::{Input, Program, ProgramKind, Spec};
use vm::{Machine, Options};

/// Instructions: inputs of a few bytes loop longer than that.
const BUDGET: u64 = 1000;

fuzz_target!(|bytes: &[u8]| {
    let Some((len, rest)) = bytes.split_first() else { return };
    let (packet, code) = rest.split_at(usize::from(*len).min(rest.len()));
    let first = run(packet, code);
    assert_eq!(first, run(packet, code), "not the same twice");
});

fn run(packet: &[u8], code: &[u8]) -> Option<(Result<u32, String>, Vec<u8>)> {
    let program = Program {
        name: "fuzzed".to_owned(),
        kind: ProgramKind::XDP,
        autoload: true,
        insns: code.as_chunks().0.iter().map(|raw| Insn::from_bytes(*raw)).collect(),
        ..Program::default()
    };
    let spec = Spec { programs: vec![program], ..Spec::default() };
    let options = Options { budget: BUDGET, ..Options::default() };
    let mut worker = Machine::load(&spec, &options).ok()?.worker(0);
    worker.put(&Input { packet: packet.to_vec(), ..Input::default() }).ok()?;
    let result = worker.execute(0).map_err(|fault| fault.to_string());
    Some((result, worker.packet().into_owned()))
}

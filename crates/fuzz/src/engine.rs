//! The engine: programs, and the world that they run in.

use spec::insn::Insn;
use spec::{Input, Program, ProgramKind, Spec};
use vm::{Machine, Options, World};

/// Any program on any packet: it is refused or runs to an end, twice alike. The budget is small, so
/// that programs that do not end exhaust it.
pub fn run(bytes: &[u8]) {
    let Some((len, rest)) = bytes.split_first() else { return };
    let (packet, code) = rest.split_at(usize::from(*len).min(rest.len()));
    let first = run_once(packet, code);
    assert_eq!(first, run_once(packet, code), "not the same twice");
}

fn run_once(packet: &[u8], code: &[u8]) -> Option<(Result<u32, String>, Vec<u8>)> {
    let program = Program {
        name: "fuzzed".to_owned(),
        kind: ProgramKind::XDP,
        autoload: true,
        insns: code.as_chunks().0.iter().map(|raw| Insn::from_bytes(*raw)).collect(),
        ..Program::default()
    };
    let spec = Spec { programs: vec![program], ..Spec::default() };
    let options = Options { budget: 1000, ..Options::default() };
    let mut worker = Machine::load(&spec, &options).ok()?.worker(0);
    worker.put(&Input { packet: packet.to_vec(), ..Input::default() }).ok()?;
    let result = worker.execute(0).map_err(|fault| fault.to_string());
    Some((result, worker.packet().into_owned()))
}

/// Any text as a scenario: an error with its place, or a world that is written and read back the
/// same, and that a machine can be put in.
pub fn scenario(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    let Ok(world) = World::from_toml(text) else { return };
    if let Ok(copy) = world.to_toml() {
        assert_eq!(World::from_toml(&copy).as_ref(), Ok(&world), "{copy}");
    }
    let options = Options { world, ..Options::default() };
    let _ = Machine::load(&Spec::default(), &options).map(|machine| machine.worker(0));
}

//! The engine: programs, and the world that they run in.

mod writer;

use spec::insn::Insn;
use spec::{Input, Program, ProgramKind, Spec};
use vm::{Fault, Machine, Options, World};

/// Any program on any packet: it is refused or runs to an end, twice alike. The budget is small, so
/// that programs that do not end exhaust it.
pub fn run(bytes: &[u8]) {
    let Some((len, rest)) = bytes.split_first() else { return };
    let (packet, code) = rest.split_at(usize::from(*len).min(rest.len()));
    let first = run_once(packet, code);
    assert_eq!(first, run_once(packet, code), "not the same twice");
}

/// Programs that call helpers with maps of every kind: they run to an end, twice alike.
pub fn calls(bytes: &[u8]) {
    let Some((len, rest)) = bytes.split_first() else { return };
    let (packet, code) = rest.split_at(usize::from(*len).min(rest.len()));
    let Some(spec) = writer::spec(code) else { return };
    let first = execute(packet, &spec);
    assert_eq!(first, execute(packet, &spec), "not the same twice");
}

/// The result of a program, and the packet that it left.
type Execution = (Result<u32, Box<Fault>>, Vec<u8>);

fn run_once(packet: &[u8], code: &[u8]) -> Option<Execution> {
    let program = Program {
        name: "fuzzed".to_owned(),
        kind: ProgramKind::XDP,
        autoload: true,
        insns: code.as_chunks().0.iter().map(|raw| Insn::from_bytes(*raw)).collect(),
        ..Program::default()
    };
    execute(packet, &Spec { programs: vec![program], ..Spec::default() })
}

fn execute(packet: &[u8], spec: &Spec) -> Option<Execution> {
    let options = Options { budget: 1000, ..Options::default() };
    let mut worker = Machine::load(spec, &options).ok()?.worker(0);
    worker.put(&Input { packet: packet.to_vec(), ..Input::default() }).ok()?;
    let result = worker.execute(0);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// xorshift64.
    fn random(state: &mut u64) -> u8 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 32) as u8
    }

    /// The target would find nothing if its programs were refused or ended at their first step.
    #[test]
    fn programs_that_are_written_load_and_many_run_to_their_end() {
        let mut state = 0x5eed_f02d;
        let (mut loaded, mut ended) = (0, 0);
        for _ in 0..200 {
            let code: Vec<u8> = (0..60).map(|_| random(&mut state)).collect();
            let outcome =
                execute(&[7; 64], &writer::spec(&code).expect("every byte string is one"));
            loaded += usize::from(outcome.is_some());
            ended += usize::from(outcome.is_some_and(|(result, _)| result.is_ok()));
        }
        assert!(loaded > 150 && ended > 20, "of 200 programs, {loaded} load and {ended} end");
    }
}

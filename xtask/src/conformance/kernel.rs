//! The running kernel: a case becomes the second function of an XDP program.
//!
//! The first function points r1 at the packet, which is the case's memory, and stores all 64 bits
//! of what comes back in a map. Rule: the verifier knows the memory's length but none of its
//! contents, so what a case loads is computed at run time. A packet has at least 14 bytes: shorter
//! memory is padded at its end, where the verifier permits no access. Needs root.

use kernel::{LoadOptions, Object, TestRun};
use spec::asm::text::{self, Reference};
use spec::{Fixup, Input, Map, MapDef, MapKind, Program, ProgramKind, Spec, Target};

use super::case::Case;
use super::engine::Engine;

pub struct Kernel;

impl Engine for Kernel {
    fn run(&mut self, case: &Case) -> Result<u64, String> {
        let words = |error: kernel::Error| error.to_string();
        let object = Object::load(&around(case)?, &LoadOptions::default()).map_err(words)?;
        let mut packet = case.memory.clone();
        packet.resize(packet.len().max(SHORTEST), 0);
        let input = Input { packet, ..Input::default() };
        let run = TestRun { input, repeat: 1, cpu: None };
        let outcome = object.program(NAME).and_then(|program| program.run(&run)).map_err(words)?;
        if outcome.code != RAN {
            return Err(format!("the program around the case returned {}", outcome.code));
        }
        let result = object.map(NAME).and_then(|map| map.lookup(&[0; 4])).map_err(words)?;
        let bytes = result.and_then(|value| value.try_into().ok());
        bytes.map(u64::from_le_bytes).ok_or_else(|| "the result's map has no value".to_owned())
    }
}

/// An object that runs the case.
fn around(case: &Case) -> Result<Spec, String> {
    let length = case.memory.len();
    // Without memory r1 is 0, not a pointer to a packet of no bytes.
    let point = if length == 0 { "r1 = 0" } else { "" };
    let code = text::parse_code(&format!(
        "r3 = *(u32 *)(r1 + 4)
         r1 = *(u32 *)(r1 + 0)
         r2 = r1
         r2 += {length}
         if r2 > r3 goto short
         r2 = {length}
         {point}
         call case
         r1 = map[{NAME}][0]+0
         *(u64 *)(r1 + 0) = r0
         r0 = {RAN}
         exit
         short: r0 = 1
         exit
         case:"
    ));
    let code = code.map_err(|error| error.to_string())?;
    let target = |reference: &Reference| match reference {
        Reference::MapValue(_, offset) => Some(Target::MapValue { map: 0, offset: *offset }),
        _ => None,
    };
    let fixups = code.references.iter().filter_map(|(slot, reference)| {
        target(reference).map(|target| Fixup { slot: *slot, target })
    });
    let program = Program {
        name: NAME.to_owned(),
        kind: ProgramKind::XDP,
        autoload: true,
        insns: [code.insns.clone(), case.insns.clone()].concat(),
        fixups: fixups.collect(),
        ..Program::default()
    };
    let map = MapDef {
        name: NAME.to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: 8,
        max_entries: 1,
        ..MapDef::default()
    };
    Ok(Spec {
        name: NAME.to_owned(),
        license: "GPL".to_owned(),
        programs: vec![program],
        maps: vec![map],
        ..Spec::default()
    })
}

const NAME: &str = "conformance";
/// What the first function returns when the case came back.
const RAN: u32 = 2;
/// An Ethernet header: test runs take no shorter packet.
const SHORTEST: usize = 14;

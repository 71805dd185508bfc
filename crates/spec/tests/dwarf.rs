//! Local variables from the DWARF of `locals.o`, and damaged ones.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![forbid(unsafe_code)]

use proptest::prelude::*;
use spec::Spec;
use spec::dwarf::{Content, Locals, Machine};

const OBJECT: &[u8] = include_bytes!("../../../bpf/prebuilt/test/locals.o");
const FRAMES: &[u8] = include_bytes!("../../../bpf/prebuilt/test/frames.o");
const FRAMES_SOURCE: &str = include_str!("../../../bpf/test/frames.bpf.c");
const STRIPPED: &[u8] = include_bytes!("../../../bpf/prebuilt/test/calls.o");

/// Registers hold their numbers, with one in the upper half; memory repeats the address.
struct Fixed;

impl Machine for Fixed {
    fn register(&self, number: u8) -> Option<u64> {
        Some(1 << 32 | u64::from(number))
    }

    fn register_at_entry(&self, _: u8) -> Option<u64> {
        None
    }

    fn stack(&self) -> u64 {
        0x40
    }

    fn read(&self, address: u64, size: usize) -> Option<Vec<u8>> {
        Some(vec![address as u8; size])
    }
}

/// Name, type and bytes of each variable.
fn read(locals: &Locals, function: &str, slot: usize, inlined: Option<usize>) -> Vec<Read> {
    let variables = locals.at(function, slot, inlined).into_iter();
    variables
        .map(|one| {
            let size = locals.types.size_of(one.type_id).unwrap() as usize;
            let text = locals.types.type_text(one.type_id);
            let content =
                one.place(slot).and_then(|place| place.read(size, text.ends_with('*'), &Fixed));
            Read { name: one.name.clone(), text, content }
        })
        .collect()
}

struct Read {
    name: String,
    text: String,
    content: Option<Content>,
}

#[track_caller]
fn find(all: &[Read], name: &str, text: &str) -> Option<Content> {
    let found = all.iter().find(|one| one.name == name).unwrap();
    assert_eq!(found.text, text);
    found.content.clone()
}

fn whole(bytes: &[u8]) -> Option<Content> {
    Some(Content { bytes: bytes.to_vec(), missing: Vec::new() })
}

#[test]
fn variables_have_names_types_and_places() {
    let locals = Locals::parse(OBJECT);
    assert!(!locals.is_empty() && locals.has("endpoint") && !locals.has("nothing"));
    let first = read(&locals, "locals_first", 25, None);
    assert_eq!(find(&first, "endpoint", "struct endpoint"), whole(&[0x48; 8]));
    assert_eq!(find(&first, "sum", "__u64"), whole(&[0x40; 8]));
    assert_eq!(find(&first, "data", "__u8 *"), whole(&[9, 0, 0, 0, 1, 0, 0, 0]));
    assert_eq!(find(&first, "weight", "int"), whole(&[8, 0, 0, 0]));
    assert_eq!(find(&first, "ctx", "struct xdp_md *"), None, "r1 holds another value by then");
    let start = read(&locals, "locals_first", 0, None);
    assert_eq!(find(&start, "ctx", "struct xdp_md *"), whole(&[1, 0, 0, 0, 1, 0, 0, 0]));
    let weigh = read(&locals, "weigh", 0, None);
    assert_eq!(find(&weigh, "factor", "int"), whole(&[3, 0, 0, 0]), "of the only call");
    assert!(locals.at("nothing", 0, None).is_empty());
}

/// Slots of `frames.o` are those of its disassembly, with the call in `fold` at 45.
#[test]
fn inlined_functions_have_their_variables() {
    let locals = Locals::parse(FRAMES);
    let names = |slot| {
        let inlined = locals.inlined_at("frames_first", slot).into_iter();
        inlined.map(|one| (one.name.as_str(), one.line)).collect::<Vec<_>>()
    };
    let line = |text: &str| 1 + FRAMES_SOURCE.lines().position(|line| line.contains(text)).unwrap();
    let describe = ("describe", line("= describe(") as u32);
    assert_eq!(names(45), [("fold", line("+= fold(") as u32), describe]);
    assert_eq!(names(28), [("measure", line("= measure(") as u32), describe]);
    assert_eq!(names(22), []);
    let inlined = locals.inlined_at("frames_first", 45);
    assert!(inlined[0].file.ends_with("bpf/test/frames.bpf.c"), "{}", inlined[0].file);
    let fold = read(&locals, "frames_first", 45, Some(inlined[0].number));
    assert_eq!(fold.len(), 3, "value, flags and folded");
    assert_eq!(find(&fold, "value", "__u32"), whole(&[9, 0, 0, 0]));
    assert_eq!(find(&fold, "flags", "struct flags *"), whole(&[0x58, 0, 0, 0, 0, 0, 0, 0]));
    let outer = read(&locals, "frames_first", 45, Some(inlined[1].number));
    // One member is in a register, the other one nowhere.
    let span = find(&outer, "span", "struct span").unwrap();
    assert_eq!(span.bytes, [0, 0, 0, 0, 6, 0, 0, 0]);
    assert_eq!((span.missing.len(), span.missing[0].clone()), (1, 0..4));
}

/// A pointer to the packet is 32 bits wide in `struct xdp_md`, and 64 in a register.
#[test]
fn pointers_are_not_truncated() {
    let locals = Locals::parse(FRAMES);
    let measure = locals.inlined_at("frames_first", 28)[0].number;
    let measure = read(&locals, "frames_first", 28, Some(measure));
    assert_eq!(find(&measure, "end", "__u8 *"), whole(&[6, 0, 0, 0, 1, 0, 0, 0]));
}

#[test]
fn types_keep_bit_fields_and_enumerators() {
    let locals = Locals::parse(FRAMES);
    let first = locals.at("frames_first", 45, None);
    let id = |name: &str| first.iter().find(|one| one.name == name).unwrap().type_id;
    let text = |name: &str, bytes: &[u8]| format!("{:?}", locals.types.value(id(name), bytes));
    let flags = text("flags", &[0xc3, 0x0d, 0, 0, 0xff, 0, 0, 0]);
    for part in
        [r#"("urgent", Uint(1))"#, r#"("class", Uint(1))"#, r#"("offset", Int(-9))"#, "LEVEL_LOW"]
    {
        assert!(flags.contains(part), "{flags}");
    }
    assert_eq!(text("kind", &[7, 0, 0, 0]), r#"Enum("KIND_LARGE", 7)"#);
    assert!(text("word", &[1, 2, 0, 0]).contains(r#"("halves", Array([Uint(513), Uint(0)]))"#));
}

/// The lowest byte that a function uses is where offsets of its variables start.
#[test]
fn the_size_of_a_stack_is_that_of_its_variables() {
    let (locals, spec) = (Locals::parse(OBJECT), Spec::parse("locals.o", OBJECT).unwrap());
    let program = spec.program("locals_first").unwrap();
    let sizes = program.functions.iter().map(|function| {
        let next = program.functions.iter().find(|next| next.slot > function.slot);
        let end = next.map_or(program.insns.len(), |next| next.slot);
        let insns = &program.insns[function.slot..end];
        (function.name.as_str(), locals.stack_bytes(&function.name, insns))
    });
    let mut sizes: Vec<_> = sizes.collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [("add", 0), ("count", 24), ("locals_first", 16), ("weigh", 0)]);
}

#[test]
fn objects_without_dwarf_have_no_variables() {
    for bytes in [STRIPPED, b"", b"\x7fELF", &OBJECT[..200]] {
        assert!(Locals::parse(bytes).is_empty());
    }
}

/// Where the DWARF is in a file: damage elsewhere only hides it.
fn sections(object: &[u8]) -> std::ops::Range<usize> {
    let start = object.windows(4).position(|bytes| bytes == [0x2a, 0x01, 0x11, 0x01]).unwrap_or(0);
    start.min(object.len() / 4)..object.len()
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    /// Damaged bytes are read without a panic, and what is read can be used.
    #[test]
    fn damage_is_survived(
        frames in any::<bool>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        slot in 0_usize..80,
    ) {
        let object = if frames { FRAMES } else { OBJECT };
        let (mut bytes, sections) = (object.to_vec(), sections(object));
        for (at, byte) in damage {
            bytes[sections.start + at.index(sections.len())] = byte;
        }
        let locals = Locals::parse(&bytes);
        for function in ["locals_first", "count", "weigh", "frames_first", "inspect"] {
            let inlined = locals.inlined_at(function, slot).into_iter().map(|one| Some(one.number));
            for inlined in inlined.chain([None]) {
                for variable in locals.at(function, slot, inlined) {
                    let size = locals.types.size_of(variable.type_id).unwrap_or(0).min(64) as usize;
                    let place = variable.place(slot);
                    let content = place.and_then(|place| place.read(size, false, &Fixed));
                    prop_assert!(content.is_none_or(|content| content.bytes.len() == size));
                    let _value = locals.types.value(variable.type_id, &vec![0; size]);
                    let _text = locals.types.type_text(variable.type_id);
                }
            }
            let _size = locals.stack_bytes(function, &[]);
        }
    }
}

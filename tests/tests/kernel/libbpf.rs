//! The object reader and the loader against libbpf: what both take must come out the same.
//!
//! Compared are each committed object's maps, programs, relocated instructions and loaded code,
//! apart from descriptors. Objects that libbpf refuses are named here and must load with ours.
//! Not here: what the programs do with packets.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd;

use kernel::{LoadOptions, Object, Program};
use spec::{MapDef, ProgramKind, Spec};
use support::{assert_same_code, names, open, spec_of};

/// Objects of which one program is loaded, not all: the kernel requires those that share a map of
/// devices or processors to take packets of several buffers all or none
/// (`bpf_prog_map_compatible`); one of `nature.o` never ends and is refused; one of `capture.o` has
/// arguments that only a chain passes.
const ONE_OF: [&str; 3] = ["capture.o", "filter.o", "test/nature.o"];

/// Objects that are too large for the verifier unless it verifies global functions one by one:
/// assembly source has no types of functions, which make them global.
const BY_FUNCTION: [&str; 3] = ["backend.o", "balancer.o", "balancer_nat.o"];

/// Objects that call kernel functions: libbpf 1.7 refuses them (`EINVAL`) before it loads any
/// program, some of which are not for the verifier anyhow, or only for one device. Their maps are
/// compared.
const UNLINKED: [&str; 3] = ["test/helpers_", "redirect.o", "route_conntrack.o"];
/// Why libbpf refuses them: map definitions from before 1.0, static maps.
const REFUSED: [&str; 4] =
    ["test/beyond.o", "test/old_inner.o", "test/old_maps.o", "test/paper_count.o"];
/// Reads fields of a context that no packet has: compared program by program.
const FIELDS: &str = "test/core.o";

/// Objects that libbpf loads whole.
fn taken() -> impl Iterator<Item = String> {
    names().into_iter().filter(|name| !REFUSED.contains(&&**name) && name != FIELDS)
}

fn is_unlinked(name: &str) -> bool {
    UNLINKED.iter().any(|start| name.starts_with(start))
}

fn kernel_types() -> spec::btf::Btf {
    spec::btf::Btf::parse(&sys::proc::kernel_btf().unwrap()).unwrap()
}

/// Type, sizes, entries, flags, node and first contents, as both sides report them.
type Shape = ([u32; 6], Option<Vec<u8>>);

fn shape(map: &MapDef) -> Shape {
    let MapDef { kind, key_size, value_size, max_entries, flags, numa_node, .. } = map;
    let numbers =
        [kind.0, *key_size, *value_size, *max_entries, *flags, numa_node.unwrap_or_default()];
    (numbers, map.contents.clone())
}

#[test]
fn maps_are_defined_alike() {
    for name in taken().chain([FIELDS.to_owned()]) {
        let spec = spec_of(&name);
        let theirs: BTreeMap<String, Shape> = open(&name, None).unwrap().maps();
        let ours: BTreeMap<_, _> =
            spec.maps.iter().map(|map| (map.name.clone(), shape(map))).collect();
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn programs_are_loaded_alike() {
    for name in taken().filter(|name| !is_unlinked(name)) {
        let (spec, theirs) = (spec_of(&name), open(&name, None).unwrap());
        assert_eq!(programs_of(&spec), theirs.programs(), "{name}");
        if !ONE_OF.contains(&&*name) {
            loaded_alike(&name, spec, theirs);
        }
    }
}

/// Objects that are written as assembly source, and assembled.
#[test]
fn assembled_objects_are_loaded_alike() {
    let path = std::env::temp_dir().join(format!("xway-assembled-{}.o", std::process::id()));
    let mut compared = 0;
    let is_alike = |name: &String| !is_unlinked(name) && !ONE_OF.contains(&&**name);
    for name in taken().filter(|name| is_alike(name) && !BY_FUNCTION.contains(&&**name)) {
        let Ok(source) = spec::disasm::source(&spec_of(&name)) else { continue };
        let object = spec::asm::source::assemble(&name, &source).unwrap();
        fs::write(&path, &object).unwrap();
        let theirs = support::open_file(&path, None);
        let _ = fs::remove_file(&path);
        let spec = Spec::parse(&name, &object).unwrap();
        loaded_alike(&name, spec, theirs.unwrap_or_else(|error| panic!("{name}: {error}")));
        compared += 1;
    }
    assert!(compared >= 10, "{compared}");
}

/// Instructions after relocation, and what the kernel has after both loaded all programs.
fn loaded_alike(name: &str, mut spec: Spec, theirs: support::Theirs) {
    let loaded = theirs.load_all().unwrap_or_else(|error| panic!("{name}: {error}"));
    spec.relocate(&kernel_types()).unwrap();
    let all = spec.programs.iter().map(|program| program.name.clone()).collect();
    let options = LoadOptions { programs: Some(all), ..LoadOptions::default() };
    let object = Object::load(&spec, &options).unwrap_or_else(|error| panic!("{error}"));
    for (ours, theirs) in spec.programs.iter().zip(loaded.progs()) {
        let label = format!("{name} {}", ours.name);
        let whole = assert_same_code(&label, ours, theirs.insns());
        let fd = theirs.as_fd().try_clone_to_owned().unwrap();
        let theirs = Program::from_fd(fd, &ours.name).unwrap();
        let [ours, theirs] = [object.program(&ours.name).unwrap(), &theirs].map(in_kernel);
        assert_eq!(ours.1, theirs.1, "{label}");
        assert!(ours.0 == theirs.0 || !whole, "{label}: {ours:?}, {theirs:?}");
    }
}

/// Names, sections, types where libbpf knows one, and whether they are loaded by default.
fn programs_of(spec: &Spec) -> Vec<support::Described> {
    let described = |program: &spec::Program| {
        let known = !support::is_old(&program.section);
        let kind = known.then_some(program.kind.program_type);
        let section = program.section.trim_start_matches('?').to_owned();
        (program.name.clone(), section, kind, program.autoload)
    };
    spec.programs.iter().map(described).collect()
}

/// Tag, which is a hash of the instructions, and names of the functions in their order.
fn in_kernel(program: &Program) -> (String, Vec<String>) {
    let functions = program.dump().unwrap().functions;
    let names = functions.into_iter().map(|function| function.name);
    (kernel::tag_text(&program.info().unwrap().tag), names.collect())
}

#[test]
fn what_libbpf_refuses_loads_here() {
    for name in REFUSED {
        let refused = match open(name, None) {
            Err(_) => true,
            Ok(theirs) => theirs.load_all().is_err(),
        };
        assert!(refused, "libbpf has learnt to take {name}: compare it");
        let object = Object::load(&spec_of(name), &LoadOptions::default());
        object.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// Programs of this type may read anything near their context, so that most of `core.o` loads.
const ANY_CONTEXT: ProgramKind = ProgramKind::SYSCALL;

#[test]
fn fields_are_relocated_alike() {
    let target = "test/core_target.o";
    let types = spec_of(target).btf.unwrap();
    let mut loaded = 0;
    for program in spec_of(FIELDS).programs {
        let label = &program.name;
        let theirs = open(FIELDS, Some(target)).unwrap().load_one(&program.name);
        let mut spec = spec_of(FIELDS);
        spec.programs.retain(|one| one.name == program.name);
        spec.relocate(&types).unwrap();
        let options = LoadOptions { kind: Some(ANY_CONTEXT), ..LoadOptions::default() };
        let ours = Object::load(&spec, &options);
        assert_eq!(ours.is_ok(), theirs.is_ok(), "{label}: {ours:?}, {theirs:?}");
        let Ok(theirs) = &theirs else { continue };
        let theirs = theirs.progs().find(|one| one.name() == &**label).unwrap();
        assert_same_code(label, &spec.programs[0], theirs.insns());
        loaded += 1;
    }
    assert!(loaded >= 20, "{loaded} programs were compared");
}

#[test]
fn what_several_types_answer_differently_is_refused_alike() {
    let target = "test/core_other.o";
    let types = spec_of(target).btf.unwrap();
    assert!(spec_of(FIELDS).relocate(&types).is_err());
    assert!(open(FIELDS, Some(target)).unwrap().load_one("read_length").is_err());
}

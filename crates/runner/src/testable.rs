//! Changes an object so that the kernel can run it in a test, and its maps can be read fast.
//!
//! Rule: instructions are not changed, only attributes of programs and maps.

use spec::btf::Kind;
use spec::{Initial, MapDef, MapKind, Program, ProgramKind, Spec};
use sys::bpf::uapi::map_flag;

/// The form of `spec` in which `program` is loaded for test runs.
pub fn testable(spec: &Spec, program: &Program) -> Spec {
    let mut spec = spec.clone();
    if is_redirected(program.kind) {
        let programs = spec.programs.iter_mut().filter(|program| is_redirected(program.kind));
        programs.for_each(|program| program.kind.attach_type = ProgramKind::XDP.attach_type);
    }
    for number in 0..spec.maps.len() {
        if is_mappable(&spec, number) {
            spec.maps[number].flags |= map_flag::MMAPABLE;
        }
    }
    spec
}

/// Whether a program is for entries of devmaps or cpumaps. The kernel refuses test runs of these,
/// but not of the same instructions as a plain XDP program.
pub fn is_redirected(kind: ProgramKind) -> bool {
    let entries = [ProgramKind::XDP_DEVMAP, ProgramKind::XDP_CPUMAP];
    kind.is_xdp() && entries.iter().any(|entry| entry.attach_type == kind.attach_type)
}

/// Whether the elements of a map can be read as memory: system calls for tens of millions of them
/// take minutes.
pub fn is_mapped(def: &MapDef) -> bool {
    is_large(def) && def.flags & map_flag::MMAPABLE != 0
}

fn is_large(def: &MapDef) -> bool {
    def.kind == MapKind::ARRAY && def.max_entries >= LARGE
}

/// Only maps of plain numbers, which no other object shares and no outer map holds.
fn is_mappable(spec: &Spec, number: usize) -> bool {
    let def = &spec.maps[number];
    let held = |outer: &MapDef| {
        let is_it =
            |initial: &Initial| matches!(initial, Initial::Map { map, .. } if *map == number);
        outer.initial.iter().any(is_it)
    };
    let type_of_value = spec.btf.as_ref().and_then(|btf| btf.resolve(def.value_type));
    let is_number = type_of_value.is_none_or(|ty| ty.kind() == Kind::Int);
    is_large(def) && is_number && def.flags == 0 && !def.pin_by_name && !spec.maps.iter().any(held)
}

/// Elements from which an array is read as memory.
const LARGE: u32 = 1 << 16;

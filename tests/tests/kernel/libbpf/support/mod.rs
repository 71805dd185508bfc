//! libbpf through its Rust binding: an object as it reads, relocates and loads it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use libbpf_rs::libbpf_sys::bpf_insn;
use libbpf_rs::{ObjectBuilder, OpenObject, ProgramAttachType, ProgramType};
use spec::{Insn, Spec, Target};
use xway_tests::xway::prebuilt;

use xway_tests::program::PinFolder;

/// An object that libbpf has read.
pub struct Theirs {
    object: OpenObject,
    /// Where it would pin maps.
    _pins: PinFolder,
}

/// Name, section, type if the section defines it, loaded by default.
pub type Described = (String, String, Option<u32>, bool);

/// All committed objects, by the name that `prebuilt` takes.
pub fn names() -> Vec<String> {
    let mut names = Vec::new();
    for folder in ["", "test/"] {
        for entry in fs::read_dir(prebuilt(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".o") {
                names.push(format!("{folder}{name}"));
            }
        }
    }
    names.sort();
    assert!(names.len() > 10, "{names:?}");
    names
}

/// As our reader sees it.
pub fn spec_of(name: &str) -> Spec {
    Spec::parse(name, &fs::read(prebuilt(name)).unwrap()).unwrap()
}

/// Section names from before libbpf 1.0, which define no type any more.
pub fn is_old(section: &str) -> bool {
    ["xdp1", "xdp_fwd"].contains(&section)
}

/// `target`: the object whose types stand for the kernel's.
pub fn open(name: &str, target: Option<&str>) -> libbpf_rs::Result<Theirs> {
    open_file(&prebuilt(name), target)
}

/// As [`open`], a file at any path.
pub fn open_file(path: &Path, target: Option<&str>) -> libbpf_rs::Result<Theirs> {
    // Its messages come with each error, too.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        libbpf_rs::set_print(None);
    });
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let pins = PinFolder::new(&format!("oracle-{}", NUMBER.fetch_add(1, Ordering::Relaxed)));
    let mut builder = ObjectBuilder::default();
    builder.pin_root_path(pins.path(""))?;
    if let Some(target) = target {
        builder.btf_custom_path(prebuilt(target))?;
    }
    Ok(Theirs { object: builder.open_file(path)?, _pins: pins })
}

impl Theirs {
    /// Type, sizes, entries, flags, node and first contents, by the object's own names.
    pub fn maps(&self) -> BTreeMap<String, ([u32; 6], Option<Vec<u8>>)> {
        let described = |map: libbpf_rs::OpenMap<'_>| {
            let name = map.name().to_str().unwrap();
            // Data sections get the object's name in front.
            let name = name.find('.').map_or(name, |dot| &name[dot..]).to_owned();
            let numbers = [
                map.map_type() as u32,
                map.key_size(),
                map.value_size(),
                map.max_entries(),
                map.map_flags(),
                map.numa_node(),
            ];
            (name, (numbers, map.initial_value().map(<[u8]>::to_vec)))
        };
        self.object.maps().map(described).collect()
    }

    pub fn programs(&self) -> Vec<Described> {
        let described = |program: libbpf_rs::OpenProgram<'_>| {
            let kind = program.prog_type() as u32;
            let [name, section] =
                [program.name(), program.section()].map(|text| text.to_str().unwrap().to_owned());
            (name, section, (kind != 0).then_some(kind), program.autoload())
        };
        self.object.progs().map(described).collect()
    }

    /// Loads all programs; those without a type as XDP.
    pub fn load_all(mut self) -> libbpf_rs::Result<libbpf_rs::Object> {
        for mut program in self.object.progs_mut() {
            program.set_autoload(true);
            if program.prog_type() == ProgramType::Unspec {
                program.set_prog_type(ProgramType::Xdp);
            }
        }
        self.object.load()
    }

    /// Only this program, as one that runs on a call from user space.
    pub fn load_one(mut self, name: &str) -> libbpf_rs::Result<libbpf_rs::Object> {
        for mut program in self.object.progs_mut() {
            program.set_autoload(program.name() == name);
            program.set_prog_type(ProgramType::Syscall);
            // The first of the enumeration, which is 0: none.
            program.set_attach_type(ProgramAttachType::CgroupInetIngress);
            program.set_flags(spec::ProgramKind::SYSCALL.flags);
        }
        self.object.load()
    }
}

/// Slot by slot, apart from numbers that only a running kernel gives out. Answers whether all that
/// the program calls is there; each loader has its own way to fill a call of nothing.
#[track_caller]
pub fn assert_same_code(label: &str, ours: &spec::Program, theirs: &[bpf_insn]) -> bool {
    let mut whole = ours.unresolved.is_empty();
    let mut theirs: Vec<Insn> = theirs.iter().map(insn).collect();
    let mut code = ours.insns.clone();
    assert_eq!(code.len(), theirs.len(), "{label}");
    for fixup in &ours.fixups {
        whole &= level(fixup.slot, &fixup.target, &mut code, &mut theirs);
    }
    for unresolved in &ours.unresolved {
        let slot = unresolved.slot;
        assert!(theirs[slot].is_call() && code[slot].is_call(), "{label}: {unresolved:?}");
        theirs[slot] = code[slot];
    }
    for (slot, (ours, theirs)) in code.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "{label}: slot {slot}");
    }
    whole
}

/// Clears what the kernel numbers, and all of a call of what it does not have: then `false`.
fn level(slot: usize, target: &Target, ours: &mut [Insn], theirs: &mut [Insn]) -> bool {
    match target {
        Target::Map { .. } => clear(slot, [ours, theirs]),
        Target::MapValue { offset, .. } => {
            ours[slot + 1].imm = offset.cast_signed();
            clear(slot, [ours, theirs]);
        }
        Target::Ksym { weak, .. } | Target::KfuncAddress { weak, .. } => {
            let absent =
                theirs[slot].src == 0 && theirs[slot].imm == 0 && theirs[slot + 1].imm == 0;
            if *weak && absent {
                ours[slot].src = 0;
            }
            clear(slot, [&mut *ours, &mut *theirs]);
            clear(slot + 1, [ours, theirs]);
        }
        Target::Kfunc { weak, .. } => {
            let absent = *weak && theirs[slot].src == 0;
            if absent {
                ours[slot].src = 0;
            }
            clear(slot, [ours, theirs]);
            return !absent;
        }
        Target::Field(field) => panic!("slot {slot}: {field:?}"),
    }
    true
}

fn clear(slot: usize, both: [&mut [Insn]; 2]) {
    both.into_iter().for_each(|insns| insns[slot].imm = 0);
}

fn insn(insn: &bpf_insn) -> Insn {
    Insn::new(insn.code, insn.dst_reg(), insn.src_reg(), insn.off, insn.imm)
}

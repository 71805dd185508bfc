//! Small programs and maps, and what tests of the kernel do with them.

use kernel::{LoadOptions, Object, Program};
use spec::asm::{self, Assembler, Reg::*};
use spec::{MapDef, MapKind, ProgramKind, Spec, Verdict};

use crate::xway::prebuilt;

/// Loads, or fails the test with the kernel's message.
pub fn load(spec: &Spec) -> Object {
    Object::load(spec, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A program that returns `verdict` for every packet.
pub fn constant(name: &str, verdict: Verdict) -> Assembler {
    let mut a = Assembler::new(name, ProgramKind::XDP);
    a.verdict(verdict);
    a
}

pub fn constant_program(name: &str, verdict: Verdict) -> Program {
    let spec = object(vec![], vec![constant(name, verdict)]);
    load(&spec).into_parts().0.remove(0)
}

/// A program that was not loaded by `xway`, called `drop_udp`.
pub fn foreign() -> Object {
    let name = "test/talk_drop.o";
    load(&Spec::parse(name, &std::fs::read(prebuilt(name)).unwrap()).unwrap())
}

/// Counts packets in slot 0 of the per-CPU array `seen`, then returns `verdict`.
pub fn counting(name: &str, verdict: Verdict) -> Assembler {
    let mut a = Assembler::new(name, ProgramKind::XDP);
    let absent = a.label();
    a.store32(R10.at(-4), 0).lookup("seen", R10.at(-4));
    a.jump_if(R0, asm::Cond::Eq, 0, absent).count(R0.at(0), 1, R1);
    a.bind(absent).verdict(verdict);
    a
}

pub fn seen() -> MapDef {
    map("seen", MapKind::PERCPU_ARRAY, [4, 8, 1])
}

pub fn object(maps: Vec<MapDef>, programs: Vec<Assembler>) -> Spec {
    let mut object = asm::Object::new("test.o", "Dual MIT/GPL");
    for map in maps {
        object.map(map);
    }
    for program in programs {
        object.program(program);
    }
    object.finish().unwrap()
}

/// `shape`: bytes of key, bytes of value, entries.
pub fn map(name: &str, kind: MapKind, shape: [u32; 3]) -> MapDef {
    let [key_size, value_size, max_entries] = shape;
    MapDef { name: name.to_owned(), kind, key_size, value_size, max_entries, ..Default::default() }
}

/// A bpf file system of its own, unmounted with all its pins at the end.
#[derive(Debug)]
pub struct PinFolder {
    mounted: std::path::PathBuf,
    pins: std::path::PathBuf,
}

impl PinFolder {
    pub fn new(test: &str) -> Self {
        let name = format!("/run/xway-test-{test}-{}", std::process::id());
        let mounted = std::path::PathBuf::from(name);
        let pins = sys::mount::bpffs(&mounted).unwrap();
        Self { mounted, pins }
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.pins.join(name)
    }

    /// Where it is mounted, which a private mount namespace may not see.
    pub fn mounted(&self) -> &std::path::Path {
        &self.mounted
    }
}

impl Drop for PinFolder {
    fn drop(&mut self) {
        let _ = sys::mount::unmount(&self.mounted);
        let _ = std::fs::remove_dir(&self.mounted);
    }
}

/// A UDP frame of 60 bytes, zero but for its Ethernet and IPv4 basics.
pub fn frame() -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    frame[14] = 0x45;
    frame
}

/// Waits until `done`, at most a few seconds; `what` is named when it never is.
pub fn wait_for(what: &str, done: impl Fn() -> bool) {
    let patience = std::time::Duration::from_secs(10);
    let ready = || Ok(done().then_some(()));
    lab::until(what, patience, ready).unwrap_or_else(|error| panic!("{error}"));
}

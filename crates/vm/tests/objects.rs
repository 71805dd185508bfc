//! The repository's own objects: what is meant to be loaded loads and runs, the rest is named.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use spec::btf::Btf;
use spec::{Input, Spec};
use vm::{Error, Machine, Options, SkipReason};

fn parse(name: &str) -> Spec {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/prebuilt/");
    Spec::parse(name, &std::fs::read(format!("{folder}{name}")).unwrap()).unwrap()
}

fn load(name: &str, options: &Options) -> Result<Machine, Error> {
    Machine::load(&parse(name), options)
}

#[test]
fn objects_load_and_run() {
    let names = [
        "drop.o",
        "route.o",
        "test/calls.o",
        "test/beyond.o",
        "test/globals.o",
        "test/old_inner.o",
        "test/old_maps.o",
        "test/paper_count.o",
        "test/parse.o",
        "test/talk_drop.o",
        "test/talk_forward.o",
    ];
    for name in names {
        let machine = load(name, &Options::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut worker = machine.worker(0);
        assert!(!machine.programs().is_empty(), "{name}");
        for program in machine.programs() {
            for len in [14, 15, 60, 1500] {
                worker.put(&Input { packet: vec![0x45; len], ..Input::default() }).unwrap();
                let verdict = worker.execute(program.number());
                assert!(verdict.is_ok(), "{name} {}: {verdict:?}", program.name());
            }
        }
    }
}

#[test]
fn programs_are_skipped_with_a_reason() {
    let machine = load("test/calls.o", &Options::default()).unwrap();
    assert_eq!(machine.skipped()[0].1, SkipReason::NoAutoload);
    let error = machine.program("calls_late").unwrap_err();
    assert!(matches!(error, Error::Skipped { .. }), "{error}");
    let wanted = Options { programs: Some(vec!["calls_late".to_owned()]), ..Options::default() };
    load("test/calls.o", &wanted).unwrap().program("calls_late").unwrap();
}

#[test]
fn fields_are_resolved_against_given_types() {
    let target: Option<Btf> = parse("test/core_target.o").btf;
    let options = Options { target, ..Options::default() };
    let mut worker = load("test/core.o", &options).unwrap().worker(0);
    worker.put(&Input { packet: vec![0; 60], ..Input::default() }).unwrap();
    // What is not resolved is a fault only where it is reached.
    let _ = worker.execute(0);
}

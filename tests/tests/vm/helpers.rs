//! Generic helpers and kfuncs, kernel against engine: the same answers in the same maps.
//!
//! The programs are those of `bpf/test/helpers_*.bpf.c`: each leaves every answer at a place of
//! its own in the map `answers`. Both arms run the same object on the same packet, and all of the
//! maps must be the same afterwards.

use kernel::{KernelRuntime, LoadOptions};
use spec::{Input, Map, Outcome, Runtime, Spec};
use vm::VmRuntime;

const TEXT: &[u8] = include_bytes!("../../../bpf/prebuilt/test/helpers_text.o");
const MEMORY: &[u8] = include_bytes!("../../../bpf/prebuilt/test/helpers_memory.o");
const OBJECTS: &[u8] = include_bytes!("../../../bpf/prebuilt/test/helpers_objects.o");
const LASTING: &[u8] = include_bytes!("../../../bpf/prebuilt/test/helpers_lasting.o");

/// What a run shows: outcome and contents of each map that both arms keep alike.
type Seen = (Outcome, Vec<(&'static str, Vec<Vec<u8>>)>);

fn run<R: Runtime>(runtime: &mut R, program: &str, len: usize, maps: &[&'static str]) -> Seen {
    let packet = (0..len).map(|at| (at * 7 + 3) as u8).collect();
    let outcome = runtime.run(program, &Input { packet, ..Input::default() });
    let outcome = outcome.unwrap_or_else(|error| panic!("{program}: {error}"));
    let contents = maps.iter().map(|name| (*name, contents(runtime.map(name).unwrap()))).collect();
    (outcome, contents)
}

/// Keys with values, sorted.
fn contents(map: &impl Map) -> Vec<Vec<u8>> {
    let entry = |key: Vec<u8>| {
        let value = map.lookup(&key).unwrap().unwrap();
        [key, value].concat()
    };
    let mut entries: Vec<_> = map.keys().unwrap().into_iter().map(entry).collect();
    entries.sort();
    entries
}

/// Runs a program of an object on both arms; what differs, in words.
fn differences(object: &[u8], program: &str, len: usize, maps: &[&'static str]) -> Vec<String> {
    let mut spec = Spec::parse("helpers.o", object).unwrap();
    spec.programs.retain(|own| own.name == program);
    let mut kernel = KernelRuntime::new(LoadOptions::default());
    kernel.load(&spec).unwrap_or_else(|error| panic!("{program}: {error}"));
    let mut vm = VmRuntime::default();
    vm.load(&spec).unwrap_or_else(|error| panic!("{program}: {error}"));
    let kernel = run(&mut kernel, program, len, maps);
    let vm = run(&mut vm, program, len, maps);
    let mut words = Vec::new();
    if kernel.0 != vm.0 {
        words.push(format!("{program}: kernel {:?}\n vm {:?}", kernel.0, vm.0));
    }
    for ((name, kernel), (_, vm)) in kernel.1.iter().zip(&vm.1) {
        words.extend(different_entries(program, name, kernel, vm));
    }
    words
}

fn different_entries(program: &str, map: &str, kernel: &[Vec<u8>], vm: &[Vec<u8>]) -> Vec<String> {
    let differ = kernel.iter().zip(vm).filter(|(kernel, vm)| kernel != vm);
    let mut words: Vec<_> = differ
        .map(|(kernel, vm)| {
            let word = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let (kernel, vm): (String, String) = (word(kernel), word(vm));
            format!("{program}: {map}:\n kernel {kernel}\n vm     {vm}")
        })
        .collect();
    if kernel.len() != vm.len() {
        words.push(format!("{program}: {map}: {} entries, vm {}", kernel.len(), vm.len()));
    }
    words
}

fn agree(object: &[u8], programs: &[&str], len: usize, maps: &[&'static str]) {
    let differ = programs.iter().flat_map(|program| differences(object, program, len, maps));
    let differ: Vec<_> = differ.collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn text_is_parsed_compared_and_printed_alike() {
    let programs = ["text_numbers", "text_compare", "text_print", "text_trace", "text_strings"];
    agree(TEXT, &programs, 60, &["answers"]);
}

#[test]
fn memory_is_summed_probed_and_sliced_alike() {
    let programs = ["memory_checksum", "memory_probe", "memory_dynptr"];
    agree(MEMORY, &programs, 60, &["answers", "rooms"]);
}

#[test]
fn what_is_not_there_is_missed_alike() {
    agree(MEMORY, &["memory_transform", "memory_counters"], 60, &["answers"]);
}

#[test]
fn packets_behind_dynptrs_are_equal() {
    agree(MEMORY, &["memory_packet"], 100, &["answers", "rooms"]);
    for len in [64, 1514, 5000] {
        agree(MEMORY, &["memory_fragments"], len, &["answers", "rooms"]);
    }
}

#[test]
fn iterators_walks_and_loops_turn_alike() {
    let maps = ["answers", "pairs", "row"];
    agree(MEMORY, &["memory_iterate", "memory_walk"], 60, &maps);
}

#[test]
fn an_exception_ends_both_with_its_cookie() {
    agree(MEMORY, &["memory_throw"], 60, &["answers"]);
}

#[test]
fn objects_are_listed_sorted_counted_and_kept_alike() {
    let programs =
        ["objects_list", "objects_tree", "objects_counted", "objects_kept", "objects_locks"];
    agree(OBJECTS, &programs, 60, &["answers"]);
}

#[test]
fn timers_answer_alike() {
    agree(LASTING, &["lasting_timer"], 60, &["answers", "clocks"]);
    agree(LASTING, &["lasting_guarded"], 60, &["guarded"]);
}

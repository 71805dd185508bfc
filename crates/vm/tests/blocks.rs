//! Programs whose blocks are counted do what they did, and the counts are those of the engine.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use spec::compose::{CountedBlocks, HITS_MAP, count_blocks};
use spec::{Input, Map as _, Program, Spec};
use vm::{Coverage, Machine, Options, Worker};

fn objects() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/prebuilt");
    let in_folder = |folder: &str| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|end| end == "o")).collect::<Vec<_>>()
    };
    let mut all = [in_folder(folder), in_folder(&format!("{folder}/test"))].concat();
    all.sort();
    all
}

/// Packets of several protocols and lengths, some of them cut short.
fn packets() -> Vec<Vec<u8>> {
    let ethernet = |ether_type: u16, rest: &[u8]| {
        let mut packet = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        packet.extend(ether_type.to_be_bytes());
        packet.extend(rest);
        packet
    };
    let ipv4 = |protocol: u8, length: usize| {
        let mut packet = vec![0x45, 0, 0, length as u8, 0, 0, 0, 0, 64, protocol, 0, 0];
        packet.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x1f, 0x90, 0, 7, 0, 8, 0, 0]);
        packet.resize(length, 0x5a);
        ethernet(0x0800, &packet)
    };
    let mut ipv6 = vec![0x60, 0, 0, 0, 0, 20, 6, 64];
    ipv6.resize(60, 0);
    let mut packets: Vec<_> = [17, 6, 1, 47].map(|protocol| ipv4(protocol, 60)).into();
    packets.extend([
        ipv4(17, 28),
        ipv4(6, 21),
        ethernet(0x86dd, &ipv6),
        ethernet(0x0806, &[0; 46]),
    ]);
    packets.extend([14, 15, 60, 1500].map(|length| vec![0x45; length]));
    packets.push(ethernet(0x8100, &[0, 5, 0x08, 0, 0x45, 0, 0, 20]));
    packets
}

/// It ends when the engine's budget is used up, which the counters share.
const ENDLESS: &str = "nature_endless";

/// What a run gave: the return code and the packet, or the fault.
fn runs(worker: &mut Worker, program: usize) -> Vec<Result<(u32, Vec<u8>), String>> {
    let run = |packet: Vec<u8>| {
        worker.put(&Input { packet, ..Input::default() }).unwrap();
        // An address of the stack may differ.
        let kind = |fault: Box<vm::Fault>| format!("{:?}", std::mem::discriminant(&fault.cause));
        let code = worker.execute(program).map_err(kind)?;
        Ok((code, worker.packet().into_owned()))
    };
    packets().into_iter().map(run).collect()
}

/// Compares a program with itself when it is counted. Returns the number of blocks that ran.
fn compare(spec: &Spec, name: &str) -> Option<usize> {
    let options = Options { programs: Some(vec![name.to_owned()]), ..Options::default() };
    let plain = Machine::load(spec, &options).ok()?;
    let number = plain.program(name).ok()?;
    let CountedBlocks { spec: counted, blocks } = count_blocks(spec, &[name]).unwrap();
    let counted = Machine::load(&counted, &options).unwrap();
    let coverage = Arc::new(Mutex::new(Coverage::new(&plain)));
    let mut worker = plain.worker(0);
    worker.set_hook(Some(Box::new(Arc::clone(&coverage))));
    let expected = runs(&mut worker, number);
    let found = runs(&mut counted.worker(0), counted.program(name).unwrap());
    assert_eq!(found, expected, "{} {name}", spec.name);

    let hits = counted.map(HITS_MAP).unwrap().lookup(&[0; 4]).unwrap().unwrap();
    let (hits, _) = hits.as_chunks::<8>();
    let coverage = coverage.lock().unwrap();
    let own = coverage.programs().find(|one| one.program.number() == number).unwrap();
    let mut ran = 0;
    for block in &blocks[0] {
        let Some(counter) = block.counter else { continue };
        let count = u64::from_le_bytes(hits[counter]);
        assert_eq!(count, own.hits[block.start], "{} {name} {block:?}", spec.name);
        ran += usize::from(count > 0);
    }
    Some(ran)
}

#[test]
fn counted_programs_do_what_they_did() {
    let (mut programs, mut blocks) = (0, 0);
    for path in objects() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let spec = Spec::parse(&name, &fs::read(&path).unwrap()).unwrap();
        let ends = |program: &&Program| program.kind.is_xdp() && program.name != ENDLESS;
        for program in spec.programs.iter().filter(ends) {
            if let Some(ran) = compare(&spec, &program.name) {
                programs += 1;
                blocks += ran;
            }
        }
    }
    assert!(programs >= 40 && blocks >= 400, "{programs} programs, {blocks} blocks");
}

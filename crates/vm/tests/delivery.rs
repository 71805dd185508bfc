//! Tests of delivery: outputs, losses, and programs after a redirect.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::{Arc, Mutex};

use spec::asm::Reg::{R0, R1, R2, R3, R4, R6, R10};
use spec::asm::{Assembler, Cond, Helper, Object};
use spec::{Input, MapDef, MapKind, ProgramKind, Runtime, Verdict};
use vm::world::{Interface, World};
use vm::{Cause, Error, Hook, Machine, Options, Output, Port, Reason, Run, Step, VmRuntime};

const BROADCAST: i32 = 8;
const EXCLUDE: i32 = 16;

fn map(name: &str, kind: MapKind, value_size: u32) -> MapDef {
    MapDef {
        name: name.to_owned(),
        kind,
        key_size: 4,
        value_size,
        max_entries: 8,
        ..MapDef::default()
    }
}

fn program(name: &str, kind: ProgramKind, write: impl FnOnce(&mut Assembler)) -> Assembler {
    let mut a = Assembler::new(name, kind);
    write(&mut a);
    a
}

fn says(name: &str, kind: ProgramKind, code: i32) -> Assembler {
    program(name, kind, |a| {
        a.mov32(R0, code).exit();
    })
}

fn through(map: &'static str, key: i32, flags: i32) -> impl FnOnce(&mut Assembler) {
    move |a| {
        a.load_map(R1, map).mov(R2, key).mov(R3, flags).call(Helper::REDIRECT_MAP).exit();
    }
}

/// Writes its egress interface into byte 0.
fn stamp() -> Assembler {
    program("stamp", ProgramKind::XDP_DEVMAP, |a| {
        let drop = a.label();
        a.mov(R6, R1).packet(R2, R3, R1).need(R2, R3, 14, R4, drop);
        a.load32(R4, R6.at(20)).store8(R2.at(0), R4).verdict(Verdict::Pass);
        a.bind(drop).verdict(Verdict::Drop);
    })
}

/// Programs `entry` and those that entries of maps name: `stamp` 2, `again` 3, `wild` 4, by id.
fn machine(entry: Assembler, world: World) -> Machine {
    let mut object = Object::new("delivery", "GPL");
    object.map(map("ports", MapKind::DEVMAP, 8));
    object.map(map("cpus", MapKind::CPUMAP, 8));
    object.map(map("sockets", MapKind::XSKMAP, 4));
    object.program(entry).program(stamp());
    object.program(program("again", ProgramKind::XDP_CPUMAP, through("cpus", 0, 0)));
    object.program(program("wild", ProgramKind::XDP_DEVMAP, |a| {
        a.mov(R1, 8).load64(R0, R1.at(0)).exit();
    }));
    let options = Options { cpus: 2, world, ..Options::default() };
    Machine::load(&object.finish().unwrap(), &options).unwrap()
}

fn set(machine: &Machine, map: &str, key: u32, words: &[u32]) {
    let value: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    machine.map(map).unwrap().write(&key.to_ne_bytes(), &value, 0).unwrap();
}

fn input(len: usize) -> Input {
    Input { packet: vec![9; len], ingress_ifindex: 4, ..Input::default() }
}

fn run(machine: &Machine, len: usize) -> Run {
    machine.worker(0).run(0, &input(len)).unwrap()
}

fn ports(run: &Run) -> Vec<Port> {
    run.outputs.iter().map(|output| output.port).collect()
}

fn reasons(run: &Run) -> Vec<Reason> {
    run.losses.iter().map(|loss| loss.reason).collect()
}

#[test]
fn every_code_has_its_place() {
    let table = [
        (0, Verdict::Aborted, None, Some(Reason::Aborted)),
        (1, Verdict::Drop, None, Some(Reason::Dropped)),
        (2, Verdict::Pass, Some(Port::Stack { ifindex: 4 }), None),
        (3, Verdict::Tx, Some(Port::Device { ifindex: 4 }), None),
        (4, Verdict::Redirect, None, Some(Reason::NoTarget)),
        (5, Verdict::Aborted, None, Some(Reason::BadVerdict)),
        (-1, Verdict::Aborted, None, Some(Reason::BadVerdict)),
    ];
    for (code, verdict, port, reason) in table {
        let run = run(&machine(says("entry", ProgramKind::XDP, code), World::default()), 60);
        assert_eq!((run.verdict, run.code), (verdict, code.cast_unsigned()));
        assert_eq!(run.output().map(|output| output.port), port, "{code}");
        assert_eq!(reasons(&run), Vec::from_iter(reason), "{code}");
        assert_eq!((run.packet, run.metadata), (vec![9; 60], vec![]));
    }
}

#[test]
fn a_broadcast_sends_copies_that_do_not_share_bytes() {
    for (flags, expected) in [(BROADCAST, vec![4, 5, 6]), (BROADCAST | EXCLUDE, vec![5, 6])] {
        let entry = program("entry", ProgramKind::XDP, through("ports", 0, flags));
        let machine = machine(entry, World::default());
        set(&machine, "ports", 1, &[4, 2]);
        set(&machine, "ports", 3, &[5, 0]);
        set(&machine, "ports", 7, &[6, 2]);
        let run = run(&machine, 60);
        let first: Vec<(Port, u8)> =
            run.outputs.iter().map(|output| (output.port, output.packet[0])).collect();
        let stamped = |ifindex: u32| if ifindex == 5 { 9 } else { ifindex as u8 };
        let wanted: Vec<(Port, u8)> =
            expected.iter().map(|&ifindex| (Port::Device { ifindex }, stamped(ifindex))).collect();
        assert_eq!(first, wanted);
        assert_eq!(run.packet, vec![9; 60], "as the entry program left it");
    }
}

/// A devmap of many targets; every second one runs a program of 1000 instructions.
fn wide_machine(targets: u32, budget: u64) -> Machine {
    let mut object = Object::new("wide", "GPL");
    object.map(MapDef { max_entries: targets, ..map("ports", MapKind::DEVMAP, 8) });
    object.program(program("entry", ProgramKind::XDP, through("ports", 0, BROADCAST)));
    object.program(program("long", ProgramKind::XDP_DEVMAP, |a| {
        let again = a.label();
        a.mov(R1, 500).bind(again).sub(R1, 1).jump_if(R1, Cond::Ne, 0, again);
        a.verdict(Verdict::Pass);
    }));
    let options = Options { budget, ..Options::default() };
    let machine = Machine::load(&object.finish().unwrap(), &options).unwrap();
    for key in 0..targets {
        set(&machine, "ports", key, &[5 + key, if key % 2 == 1 { 2 } else { 0 }]);
    }
    machine
}

/// Counts instructions over all programs of a packet.
#[derive(Default)]
struct Executed(u64);

impl Hook for Executed {
    fn step(&mut self, _: &Step<'_>) {
        self.0 += 1;
    }
}

#[test]
fn copies_of_a_broadcast_spend_one_budget() {
    const TARGETS: u32 = 4096;
    let all = run(&wide_machine(TARGETS, 1 << 30), 1500);
    assert_eq!((all.outputs.len(), all.losses.len()), (TARGETS as usize, 0));
    for budget in [1000, 10_000, 100_000] {
        let machine = wide_machine(TARGETS, budget);
        let executed = Arc::new(Mutex::new(Executed::default()));
        let mut worker = machine.worker(0);
        worker.set_hook(Some(Box::new(Arc::clone(&executed))));
        let run = worker.run(0, &input(1500)).unwrap();
        let copies = run.outputs.len() as u64;
        assert!(copies > 0 && copies < u64::from(TARGETS), "{budget}: {copies} copies");
        // A copy of 1500 bytes counts for about a hundred instructions.
        let executed = executed.lock().unwrap().0;
        assert!(executed + 90 * copies <= budget + 1100, "{budget}: {executed}, {copies} copies");
        let fault = run.losses.last().unwrap().fault.as_ref().unwrap();
        assert_eq!(fault.cause, Cause::Endless { budget }, "{fault}");
        assert!(reasons(&run).iter().all(|reason| *reason == Reason::Fault), "{budget}");
        assert_eq!(worker.run(0, &input(1500)).unwrap().outputs.len() as u64, copies, "repeats");
    }
}

#[test]
fn interfaces_take_what_the_world_says() {
    let world = World::default()
        .with_interface(Interface { mtu: 100, ..Interface::new(4, "small") })
        .with_interface(Interface { up: false, ..Interface::new(5, "down") });
    let table = [
        (4, 118, Ok(Port::Device { ifindex: 4 })),
        (4, 119, Err(Reason::TooLong)),
        (5, 60, Err(Reason::InterfaceDown)),
        (6, 60, Err(Reason::NoInterface)),
    ];
    for (ifindex, len, expected) in table {
        let entry = program("entry", ProgramKind::XDP, |a| {
            a.mov(R1, ifindex).mov(R2, 0).call(Helper::REDIRECT).exit();
        });
        let run = run(&machine(entry, world.clone()), len);
        match expected {
            Ok(port) => assert_eq!(ports(&run), [port], "{ifindex}, {len} bytes"),
            Err(reason) => assert_eq!(reasons(&run), [reason], "{ifindex}, {len} bytes"),
        }
    }
}

/// Without interfaces in the world, every number but 0 is one.
#[test]
fn an_empty_world_has_every_interface() {
    for (ifindex, reached) in [(0, false), (1, true), (77, true)] {
        let entry = program("entry", ProgramKind::XDP, |a| {
            a.mov(R1, ifindex).mov(R2, 0).call(Helper::REDIRECT).exit();
        });
        assert_eq!(run(&machine(entry, World::default()), 60).output().is_some(), reached);
    }
}

/// As in the kernel: the map's entry returns drop, but the program redirects.
#[test]
fn a_failed_lookup_leaves_the_interface_named_before() {
    let entry = program("entry", ProgramKind::XDP, |a| {
        a.mov(R1, 7).mov(R2, 0).call(Helper::REDIRECT);
        a.load_map(R1, "ports").mov(R2, 3).mov(R3, 1).call(Helper::REDIRECT_MAP);
        a.mov(R0, 4).exit();
    });
    assert_eq!(ports(&run(&machine(entry, World::default()), 60)), [Port::Device { ifindex: 7 }]);
}

#[test]
fn sockets_and_processors_are_ports() {
    let to_socket = program("entry", ProgramKind::XDP, through("sockets", 2, 0));
    let sockets = machine(to_socket, World::default());
    set(&sockets, "sockets", 2, &[1]);
    assert_eq!(ports(&run(&sockets, 60)), [Port::Xsk { map: 2, key: 2 }]);

    let to_cpu = program("entry", ProgramKind::XDP, through("cpus", 1, 0));
    let cpus = machine(to_cpu, World::default());
    set(&cpus, "cpus", 1, &[64, 0]);
    assert_eq!(ports(&run(&cpus, 60)), [Port::Cpu { cpu: 1 }]);
}

#[test]
fn a_packet_that_circles_between_processors_ends() {
    let entry = program("entry", ProgramKind::XDP, through("cpus", 0, 0));
    let machine = machine(entry, World::default());
    set(&machine, "cpus", 0, &[64, 3]);
    let run = run(&machine, 60);
    assert_eq!((ports(&run), reasons(&run)), (vec![], vec![Reason::TooManyHops]));
}

#[test]
fn faults_are_losses_with_their_cause() {
    let wild = |a: &mut Assembler| {
        a.mov(R1, 8).load64(R0, R1.at(0)).exit();
    };
    let of_entry = run(&machine(program("entry", ProgramKind::XDP, wild), World::default()), 60);
    assert_eq!((of_entry.verdict, reasons(&of_entry)), (Verdict::Aborted, vec![Reason::Fault]));
    assert!(of_entry.fault.unwrap().to_string().contains("null pointer"));

    let entry = program("entry", ProgramKind::XDP, through("ports", 0, BROADCAST));
    let machine = machine(entry, World::default());
    set(&machine, "ports", 0, &[5, 4]);
    set(&machine, "ports", 1, &[6, 2]);
    let of_entry_of_map = run(&machine, 60);
    assert_eq!(ports(&of_entry_of_map), [Port::Device { ifindex: 6 }]);
    let [loss] = &of_entry_of_map.losses[..] else { panic!("{of_entry_of_map:?}") };
    assert_eq!((loss.reason, loss.port), (Reason::Fault, Some(Port::Device { ifindex: 5 })));
    assert!(loss.fault.is_some() && of_entry_of_map.fault.is_none());
}

/// A driver hands a program without `xdp.frags` no frame of several buffers; a test run does.
#[test]
fn packets_of_several_buffers_are_for_programs_that_take_them() {
    for (kind, taken) in [(ProgramKind::XDP, false), (ProgramKind::XDP_FRAGS, true)] {
        let machine = machine(says("entry", kind, 3), World::default());
        assert_eq!(run(&machine, 3520).packet.len(), 3520);
        match machine.worker(0).run(0, &input(3521)) {
            Ok(run) => assert!(taken && run.output().unwrap().packet == vec![9; 3521]),
            Err(error) => assert!(!taken && matches!(error, Error::Packet(_)), "{error}"),
        }
    }
    let mut object = Object::new("plain", "GPL");
    object.program(says("entry", ProgramKind::XDP, 3));
    let mut runtime = VmRuntime::default();
    runtime.load(&object.finish().unwrap()).unwrap();
    assert_eq!(runtime.run("entry", &input(60_000)).unwrap().packet.len(), 60_000);
}

#[test]
fn results_can_be_used_again() {
    let entry = program("entry", ProgramKind::XDP, through("ports", 2, 1));
    let machine = machine(entry, World::default());
    let mut worker = machine.worker(0);
    let mut run = Run::default();
    for round in 0..3 {
        worker.run_into(0, &input(60), &mut run).unwrap();
        assert_eq!((run.outputs.len(), reasons(&run)), (0, vec![Reason::Dropped]), "{round}");
        set(&machine, "ports", 2, &[5, 2]);
        worker.run_into(0, &input(80), &mut run).unwrap();
        let packet = [vec![5], vec![9; 79]].concat();
        let port = Port::Device { ifindex: 5 };
        assert_eq!(run.output(), Some(&Output { port, packet, metadata: vec![] }));
        machine.map("ports").unwrap().remove(&2_u32.to_ne_bytes()).unwrap();
    }
}

/// Bytes that a program added before a packet and removed are not visible to the next.
#[test]
fn headroom_is_clean_for_every_packet() {
    let entry = program("entry", ProgramKind::XDP, |a| {
        let drop = a.label();
        a.mov(R6, R1).mov(R2, -16).call(Helper::XDP_ADJUST_HEAD);
        a.packet(R2, R3, R6).need(R2, R3, 16, R4, drop).load64(R4, R2.at(8));
        a.jump_if(R4, Cond::Ne, 0, drop).mov(R4, -1).store64(R2.at(8), R4);
        a.store64(R10.at(-8), 0).verdict(Verdict::Pass);
        a.bind(drop).verdict(Verdict::Drop);
    });
    let machine = machine(entry, World::default());
    let mut worker = machine.worker(0);
    for round in 0..3 {
        assert_eq!(worker.run(0, &input(60)).unwrap().verdict, Verdict::Pass, "{round}");
    }
}

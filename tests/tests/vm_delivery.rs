//! Verdicts acted on: frames that leave a real switch against those that the engine puts out.
//!
//! Each case is one program on `port-a` of the switch, with what its maps hold. Host `a` sends;
//! what arrives at each host, and at the switch's own stack, must be what the engine's outputs
//! say, byte for byte.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use kernel::{Attach, LoadOptions, Mode, Replace};
use lab::frame::{Flow, Side};
use lab::{Capture, Host, LinkOptions, ThreeHosts};
use spec::asm::{Assembler, Cond, Helper, Object, Reg::*};
use spec::{Expect, Input, Map, MapDef, MapKind, ProgramKind, Spec, Verdict};
use vm::world::{Interface, World};
use vm::{Machine, Options, Port, Reason, Run};

const PORT: u16 = 4242;
const SENTINEL: u16 = 4243;
const PATIENCE: Duration = Duration::from_secs(10);

/// `BPF_F_BROADCAST` and `BPF_F_EXCLUDE_INGRESS`.
const BROADCAST: i32 = 8;
const EXCLUDE: i32 = 16;

/// Where frames are looked for.
const PLACES: [&str; 4] = ["port-a", "port-b", "port-c", "stack"];

// ---- programs -------------------------------------------------------------------------------

/// Acts on test frames and passes all others; R6 is the context.
fn guarded(name: &str, kind: ProgramKind, act: impl FnOnce(&mut Assembler)) -> Assembler {
    let mut a = Assembler::new(name, kind);
    let pass = a.label();
    a.mov(R6, R1).packet(R2, R3, R1).need(R2, R3, 42, R4, pass);
    a.load16(R4, R2.at(36)).be16(R4).jump_if(R4, Cond::Ne, i32::from(PORT), pass);
    act(&mut a);
    a.bind(pass).verdict(Verdict::Pass);
    a
}

fn through(map: &'static str, key: i32, flags: i32) -> impl Fn(&mut Assembler) {
    move |a| {
        a.load_map(R1, map).mov(R2, key).mov(R3, flags).call(Helper::REDIRECT_MAP).exit();
    }
}

/// Puts four bytes of metadata in front, the first of them 0x5a.
fn label(a: &mut Assembler) {
    let short = a.label();
    a.mov(R1, R6).mov(R2, -4).call(Helper::XDP_ADJUST_META);
    a.load32(R2, R6.at(8)).load32(R3, R6.at(0)).mov(R4, R2).add(R4, 4);
    a.jump_if(R4, Cond::Gt, R3, short).store32(R2.at(0), 0x5a).bind(short);
}

/// Writes into the addresses where the frame came in and where it leaves.
fn stamp(name: &str, kind: ProgramKind) -> Assembler {
    let mut a = Assembler::new(name, kind);
    let pass = a.label();
    a.mov(R6, R1).packet(R2, R3, R1).need(R2, R3, 14, R4, pass);
    a.load32(R5, R6.at(12)).store8(R2.at(11), R5).load32(R5, R6.at(16)).store8(R2.at(10), R5);
    if kind == ProgramKind::XDP_DEVMAP {
        a.load32(R5, R6.at(20)).store8(R2.at(5), R5);
    } else {
        a.call(Helper::GET_SMP_PROCESSOR_ID).packet(R2, R3, R6).need(R2, R3, 14, R4, pass);
        a.store8(R2.at(5), R0);
    }
    a.bind(pass).verdict(Verdict::Pass);
    a
}

/// Writes the first byte of metadata into the source address, or drops.
fn read_label(name: &str, kind: ProgramKind) -> Assembler {
    let mut a = Assembler::new(name, kind);
    let drop = a.label();
    a.mov(R6, R1).load32(R2, R6.at(8)).load32(R3, R6.at(0)).mov(R4, R2).add(R4, 4);
    a.jump_if(R4, Cond::Gt, R3, drop).load8(R5, R2.at(0));
    a.packet(R2, R3, R6).need(R2, R3, 14, R4, drop).store8(R2.at(11), R5).verdict(Verdict::Pass);
    a.bind(drop).verdict(Verdict::Drop);
    a
}

/// Takes four bytes off the frame's tail and adds eight zero bytes in front.
fn reshape(name: &str, kind: ProgramKind) -> Assembler {
    let mut a = Assembler::new(name, kind);
    let drop = a.label();
    a.mov(R6, R1).mov(R2, -4).call(Helper::XDP_ADJUST_TAIL);
    a.mov(R1, R6).mov(R2, -8).call(Helper::XDP_ADJUST_HEAD);
    a.packet(R2, R3, R6).need(R2, R3, 14, R4, drop).store32(R2.at(0), 0).store32(R2.at(4), 0);
    a.verdict(Verdict::Pass).bind(drop).verdict(Verdict::Drop);
    a
}

fn says(name: &str, kind: ProgramKind, verdict: u32) -> Assembler {
    let mut a = Assembler::new(name, kind);
    a.mov32(R0, verdict as i32).exit();
    a
}

fn onward(name: &str, kind: ProgramKind, key: i32, flags: i32) -> Assembler {
    let mut a = Assembler::new(name, kind);
    a.load_map(R1, "ports").mov(R2, key).mov(R3, flags).call(Helper::REDIRECT_MAP).exit();
    a
}

fn spec(act: &dyn Fn(&mut Assembler)) -> Spec {
    const EGRESS: ProgramKind = ProgramKind::XDP_DEVMAP;
    const CPU: ProgramKind = ProgramKind::XDP_CPUMAP;
    let mut object = Object::new("delivery.o", "Dual MIT/GPL");
    for (name, kind, max_entries) in [
        ("ports", MapKind::DEVMAP, 8),
        ("hash", MapKind::DEVMAP_HASH, 8),
        ("cpus", MapKind::CPUMAP, 2),
    ] {
        let map = MapDef { name: name.to_owned(), kind, max_entries, ..MapDef::default() };
        object.map(MapDef { key_size: 4, value_size: 8, ..map });
    }
    object.program(guarded("entry", ProgramKind::XDP, act));
    object.program(stamp("stamp", EGRESS)).program(read_label("labelled", EGRESS));
    object.program(reshape("reshape", EGRESS));
    for (name, verdict) in [("aborts", 0), ("denies", 1), ("sends_back", 3), ("nonsense", 77)] {
        object.program(says(name, EGRESS, verdict));
        object.program(says(&format!("cpu_{name}"), CPU, verdict));
    }
    object.program(stamp("cpu_stamp", CPU)).program(read_label("cpu_labelled", CPU));
    object.program(onward("cpu_onward", CPU, 2, 0)).program(onward("cpu_lost", CPU, 5, 0));
    object.program(onward("cpu_all", CPU, 0, BROADCAST | EXCLUDE));
    object.finish().unwrap()
}

// ---- cases ----------------------------------------------------------------------------------

struct Case {
    name: &'static str,
    act: Box<dyn Fn(&mut Assembler)>,
    /// Map, key, interface or processor (`1`), the entry's program.
    entries: &'static [(&'static str, u32, &'static str, Option<&'static str>)],
    /// `ip` words for the switch before, and after.
    changes: Option<[&'static str; 2]>,
    /// What the engine says of the frame that is not put out.
    loss: Option<Reason>,
}

fn case(name: &'static str, act: impl Fn(&mut Assembler) + 'static) -> Case {
    Case { name, act: Box::new(act), entries: &[], changes: None, loss: None }
}

const ALL: &[(&str, u32, &str, Option<&str>)] =
    &[("ports", 1, "port-a", None), ("ports", 2, "port-b", None), ("ports", 4, "port-c", None)];
const PROGRAMS: &[(&str, u32, &str, Option<&str>)] = &[
    ("ports", 1, "port-a", Some("stamp")),
    ("ports", 2, "port-b", Some("reshape")),
    ("ports", 4, "port-c", Some("stamp")),
];
const HASHED: &[(&str, u32, &str, Option<&str>)] = &[
    ("hash", 1000, "port-a", None),
    ("hash", 7, "port-b", Some("denies")),
    ("hash", 0xffff_ffff, "port-c", Some("stamp")),
];

fn plain_cases() -> Vec<Case> {
    let lost = |name, act: Box<dyn Fn(&mut Assembler)>, loss| Case {
        act,
        loss: Some(loss),
        ..case(name, |_| ())
    };
    let says = |code: i32| -> Box<dyn Fn(&mut Assembler)> {
        Box::new(move |a| {
            a.mov32(R0, code).exit();
        })
    };
    vec![
        case("pass", |a| {
            a.verdict(Verdict::Pass);
        }),
        case("tx", |a| {
            a.verdict(Verdict::Tx);
        }),
        lost("drop", says(1), Reason::Dropped),
        lost("aborted", says(0), Reason::Aborted),
        lost("no verdict at all", says(99), Reason::BadVerdict),
        lost("redirect without a target", says(4), Reason::NoTarget),
        lost(
            "redirect to no interface",
            Box::new(|a| {
                a.mov(R1, 9999).mov(R2, 0).call(Helper::REDIRECT).exit();
            }),
            Reason::NoInterface,
        ),
        lost(
            "redirect with a flag",
            Box::new(|a| {
                a.mov(R1, 1).mov(R2, 1).call(Helper::REDIRECT).exit();
            }),
            Reason::Aborted,
        ),
    ]
}

fn devmap_cases() -> Vec<Case> {
    let on =
        |name, key, flags, entries| Case { entries, ..case(name, through("ports", key, flags)) };
    let lost = |name, key, flags, entries, loss| Case {
        loss: Some(loss),
        ..on(name, key, flags, entries)
    };
    vec![
        on("devmap", 2, 0, ALL),
        on("devmap with a verdict for nothing", 4, 2, ALL),
        on("absent: pass", 3, 2, ALL),
        on("absent: tx", 7, 3, ALL),
        lost("absent: drop", 5, 1, ALL, Reason::Dropped),
        lost("absent: aborted", 5, 0, ALL, Reason::Aborted),
        lost("a flag that is none", 2, 32, ALL, Reason::Aborted),
        on("to the own interface", 1, 0, ALL),
        on("egress program", 4, 0, PROGRAMS),
        on("egress program that reshapes", 2, 0, PROGRAMS),
        on("broadcast", 0, BROADCAST, ALL),
        on("broadcast but for the ingress", 0, BROADCAST | EXCLUDE, ALL),
        on("broadcast with programs", 0, BROADCAST, PROGRAMS),
        on("broadcast but for the ingress, with programs", 0, BROADCAST | EXCLUDE, PROGRAMS),
        lost("broadcast to nobody", 0, BROADCAST, &[], Reason::NobodyThere),
        lost(
            "broadcast only to the ingress, which is excluded",
            0,
            BROADCAST | EXCLUDE,
            &[("ports", 1, "port-a", None)],
            Reason::NobodyThere,
        ),
        lost("denied", 0, 0, &[("ports", 0, "port-b", Some("denies"))], Reason::EgressDropped),
        lost("aborted", 0, 0, &[("ports", 0, "port-b", Some("aborts"))], Reason::EgressAborted),
        lost(
            "sent back",
            0,
            0,
            &[("ports", 0, "port-b", Some("sends_back"))],
            Reason::EgressBadVerdict,
        ),
        lost("nonsense", 0, 0, &[("ports", 0, "port-b", Some("nonsense"))], Reason::EgressAborted),
        Case { entries: HASHED, ..case("hash", through("hash", -1, 0)) },
        Case { entries: HASHED, ..case("hash, absent", through("hash", 8, 2)) },
        Case {
            entries: HASHED,
            loss: Some(Reason::EgressDropped),
            ..case("hash, broadcast", through("hash", 0, BROADCAST))
        },
        Case {
            entries: &[("ports", 2, "port-b", Some("labelled"))],
            ..case("metadata reaches the egress program", |a| {
                label(a);
                through("ports", 2, 0)(a);
            })
        },
        Case {
            changes: Some(["link set port-c mtu 200", "link set port-c mtu 1500"]),
            loss: Some(Reason::TooLong),
            ..on("longer than the MTU", 4, 0, ALL)
        },
        Case {
            changes: Some(["link set port-c mtu 200", "link set port-c mtu 1500"]),
            ..on("broadcast, longer than one MTU", 0, BROADCAST, ALL)
        },
        Case {
            changes: Some(["link set port-c down", "link set port-c up"]),
            loss: Some(Reason::InterfaceDown),
            ..on("down", 4, 0, ALL)
        },
    ]
}

fn cpumap_cases() -> Vec<Case> {
    let on = |name, entries| Case { entries, ..case(name, through("cpus", 1, 0)) };
    let lost = |name, entries, loss| Case { loss: Some(loss), ..on(name, entries) };
    vec![
        on("cpu", &[("cpus", 1, "1", None)]),
        on("cpu with a program", &[("cpus", 1, "1", Some("cpu_stamp"))]),
        on(
            "cpu, then a devmap with a program",
            &[("cpus", 1, "1", Some("cpu_onward")), ("ports", 2, "port-b", Some("stamp"))],
        ),
        on(
            "cpu, then a broadcast",
            &[
                ("cpus", 1, "1", Some("cpu_all")),
                ("ports", 1, "port-a", None),
                ("ports", 2, "port-b", Some("stamp")),
                ("ports", 4, "port-c", None),
            ],
        ),
        lost("cpu, denied", &[("cpus", 1, "1", Some("cpu_denies"))], Reason::CpuDropped),
        lost("cpu, aborted", &[("cpus", 1, "1", Some("cpu_aborts"))], Reason::CpuAborted),
        lost("cpu, sent back", &[("cpus", 1, "1", Some("cpu_sends_back"))], Reason::CpuBadVerdict),
        lost("cpu, then nowhere", &[("cpus", 1, "1", Some("cpu_lost"))], Reason::CpuAborted),
        Case {
            entries: &[("cpus", 1, "1", Some("cpu_labelled"))],
            ..case("metadata reaches the other processor", |a| {
                label(a);
                through("cpus", 1, 0)(a);
            })
        },
    ]
}

// ---- both sides -----------------------------------------------------------------------------

/// Frames by place, in order of their bytes.
type Seen = BTreeMap<&'static str, Vec<Vec<u8>>>;

struct Switch {
    net: ThreeHosts,
    captures: Vec<(&'static str, Capture)>,
    /// To send sentinels: out of a port towards the host that listens.
    ports: Vec<Capture>,
    frames: Vec<Vec<u8>>,
    /// Passes all at host `a`: a veth wakes its peer after XDP_TX only if that has a program.
    _awake: kernel::Link,
}

impl Switch {
    fn new() -> Self {
        let net = ThreeHosts::build(&LinkOptions::default()).unwrap();
        let hosts = [("port-a", &net.a), ("port-b", &net.b), ("port-c", &net.c)];
        let mut captures: Vec<_> = hosts
            .iter()
            .map(|(port, host)| (*port, Capture::open(host, "eth0").unwrap()))
            .collect();
        captures.push(("stack", Capture::open(&net.switch, "br0").unwrap()));
        let ports =
            hosts.iter().map(|(port, _)| Capture::open(&net.switch, port).unwrap()).collect();
        // Addressed to the bridge itself, so that what is passed stays on the switch.
        let flow = |port| {
            let from = Side::new("02:78:77:00:00:01", "10.0.0.1", 1).unwrap();
            Flow::new(from, Side::new("02:78:77:00:01:ff", "10.0.0.9", port).unwrap())
        };
        let frames = [60, 300].map(|length| flow(PORT).udp_of_length(length).unwrap()).to_vec();
        let awake = kernel::Object::load(&spec(&|_| ()), &LoadOptions::default()).unwrap();
        let awake = attach(&net.a, "eth0", &awake);
        Self { net, captures, ports, frames, _awake: awake }
    }

    fn ifindex(&self, port: &str) -> u32 {
        self.net.switch.ifindex(port).unwrap().0
    }

    fn ip(&self, words: &str) {
        let mut ip = self.net.switch.command("ip").unwrap();
        assert!(ip.args(words.split(' ')).status().unwrap().success(), "ip {words}");
    }

    fn world(&self) -> World {
        let of = |port: &&str| {
            let index = self.ifindex(port);
            let link = self.net.switch.netlink().unwrap().link(port).unwrap();
            Interface { mtu: link.mtu, up: link.up, ..Interface::new(index, *port) }
        };
        PLACES[..3].iter().map(of).fold(World::default(), World::with_interface)
    }

    /// An entry's value; `program` gives what stands for a program.
    fn value(&self, to: &str, program: u32) -> Vec<u8> {
        let first = match to.parse::<u32>() {
            Ok(_) => 2048,
            Err(_) => self.ifindex(to),
        };
        [first, program].iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// What the engine puts out for every frame.
    fn engine(&self, case: &Case) -> (Seen, Vec<Run>) {
        let options = Options { cpus: 2, world: self.world(), ..Options::default() };
        let machine = Machine::load(&spec(&*case.act), &options).unwrap();
        for (map, key, to, program) in case.entries {
            let id = program.map_or(0, |name| machine.program(name).unwrap() as u32 + 1);
            let map = machine.map(map).unwrap();
            map.update(&key.to_ne_bytes(), &self.value(to, id), Expect::Any).unwrap();
        }
        let mut worker = machine.worker(0);
        let entry = machine.program("entry").unwrap();
        let ingress_ifindex = self.ifindex("port-a");
        let run = |packet: &Vec<u8>| {
            let packet = packet.clone();
            worker.run(entry, &Input { packet, ingress_ifindex, ..Input::default() }).unwrap()
        };
        let runs: Vec<Run> = self.frames.iter().map(run).collect();
        let mut seen = Seen::new();
        for output in runs.iter().flat_map(|run| &run.outputs) {
            seen.entry(self.place(output.port)).or_default().push(output.packet.clone());
        }
        seen.values_mut().for_each(|frames| frames.sort());
        (seen, runs)
    }

    fn place(&self, port: Port) -> &'static str {
        match port {
            Port::Stack { .. } | Port::Cpu { .. } => "stack",
            Port::Device { ifindex } => {
                PLACES[..3].iter().find(|port| self.ifindex(port) == ifindex).unwrap()
            }
            Port::Xsk { .. } => panic!("no case has sockets"),
        }
    }

    /// What really arrives. `expected` says how many frames to wait for before what a sentinel
    /// ends is taken for all.
    fn kernel(&self, case: &Case, expected: &Seen) -> Seen {
        let object = kernel::Object::load(&spec(&*case.act), &LoadOptions::default())
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let entries = case.entries;
        let fill = || {
            for (map, key, to, program) in entries {
                let fd =
                    program.map_or(-1, |name| object.program(name).unwrap().as_fd().as_raw_fd());
                let value = self.value(to, fd.cast_unsigned());
                object.map(map).unwrap().update(&key.to_ne_bytes(), &value, Expect::Any).unwrap();
            }
        };
        self.net.switch.run(fill).unwrap();
        let _link = attach(&self.net.switch, "port-a", &object);
        for frame in &self.frames {
            self.captures[0].1.send(frame).unwrap();
        }
        let places = self.captures.iter().map(|(place, capture)| {
            let count = expected.get(place).map_or(0, Vec::len);
            (*place, self.arrivals(place, capture, count))
        });
        places.filter(|(_, frames)| !frames.is_empty()).collect()
    }

    fn arrivals(&self, place: &str, capture: &Capture, expected: usize) -> Vec<Vec<u8>> {
        let ours = |frame: &[u8]| port_of(frame, PORT);
        let mut frames: Vec<Vec<u8>> =
            (0..expected).map_while(|_| capture.next(PATIENCE, ours).ok()).collect();
        self.send_sentinel(place);
        let either = |frame: &[u8]| ours(frame) || port_of(frame, SENTINEL);
        loop {
            let frame = capture.next(PATIENCE, either).expect("the sentinel arrives");
            if port_of(&frame, SENTINEL) {
                break;
            }
            frames.push(frame);
        }
        frames.sort();
        frames
    }

    fn send_sentinel(&self, place: &str) {
        let mut frame = self.frames[0].clone();
        frame[36..38].copy_from_slice(&SENTINEL.to_be_bytes());
        match PLACES.iter().position(|known| *known == place).unwrap() {
            // Host a's frames reach the switch's stack.
            3 => self.captures[0].1.send(&frame).unwrap(),
            port => self.ports[port].send(&frame).unwrap(),
        }
    }
}

fn attach(host: &Host, interface: &str, object: &kernel::Object) -> kernel::Link {
    let (ifindex, program) = (host.ifindex(interface).unwrap(), object.program("entry").unwrap());
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    host.run(|| kernel::attach(&attach)).unwrap().unwrap()
}

/// Whether that UDP port is where it is in a frame, or in one that eight bytes were put before.
fn port_of(frame: &[u8], port: u16) -> bool {
    let at = |place: usize| frame.get(place..place + 2) == Some(&port.to_be_bytes()[..]);
    at(36) || at(44)
}

fn agree(cases: Vec<Case>) {
    let switch = Switch::new();
    for case in cases {
        if let Some([before, _]) = case.changes {
            switch.ip(before);
        }
        let (engine, runs) = switch.engine(&case);
        if let Some([before, after]) = case.changes
            && before.ends_with("down")
        {
            // A port that is down takes no sentinel either: the frames are all that can be seen.
            let losses: Vec<_> = runs.iter().flat_map(|run| &run.losses).collect();
            assert!(losses.iter().all(|loss| Some(loss.reason) == case.loss), "{}", case.name);
            switch.ip(after);
            continue;
        }
        let kernel = switch.kernel(&case, &engine);
        assert_eq!(engine, kernel, "{}: the engine, then the kernel", case.name);
        let losses: Vec<Reason> =
            runs.iter().flat_map(|run| &run.losses).map(|loss| loss.reason).collect();
        assert_eq!(losses.last().copied(), case.loss, "{}: {losses:?}", case.name);
        if let Some([_, after]) = case.changes {
            switch.ip(after);
        }
    }
}

#[test]
fn verdicts() {
    agree(plain_cases());
}

#[test]
fn devmaps() {
    agree(devmap_cases());
}

#[test]
fn cpumaps() {
    agree(cpumap_cases());
}

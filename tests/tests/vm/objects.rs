//! Every XDP program of every object of this repository on kernel and engine: the same verdicts,
//! bytes, metadata and maps, for packets whole, cut, tagged, in fragments and made of nonsense.

use std::fs;
use std::path::{Path, PathBuf};

use functions::{drop, route};
use kernel::Object;
use lab::frame::{Flow, Side, TcpFlags};
use spec::btf::Btf;
use spec::{Input, Map, ProgramKind, Spec};
use vm::Machine;
use xway_tests::differential::{Arms, Fill, Job, Judgement};

/// Programs that differ for a reason: object, program, reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("capture.o", "capture_after", "reads arguments, which only a chain passes"),
    ("helpers_lasting.o", "lasting_clocks", "what clocks say"),
    ("helpers_lasting.o", "lasting_timer", "the kernel has no memory for many timers at once"),
    ("helpers_lasting.o", "lasting_taken_along", "leaves an address in its map"),
    ("externs.o", "ask", "which symbols the kernel has"),
    ("externs.o", "call", "looks at the kernel's own structures"),
    ("large.o", "large_ring", "tens of millions of elements: compared by cli_run"),
    ("large.o", "large_medium", "millions of elements: compared by cli_run"),
    ("large.o", "large_unused", "tens of millions of elements: compared by cli_run"),
    ("nature.o", "nature_values", "what clocks say"),
    ("nature.o", "nature_bytes", "random bytes"),
    ("nature.o", "nature_verdict", "random verdicts"),
    ("nature.o", "nature_endless", "the kernel refuses it"),
];

/// Maps whose contents are addresses (of heads of lists, of stored objects), or clock values: a TCP
/// sender without flows only notes when it looked for some.
const IGNORED: &[&str] = &[".data.lists", "tcp_senders"];

/// The minimum number of compared programs; with fewer the test has lost its objects.
const PROGRAMS: usize = 55;

// ---- packets --------------------------------------------------------------------------------

fn flow(from: &str, to: &str, port: u16) -> Flow {
    let side = |mac, ip, port| Side::new(mac, ip, port).unwrap();
    Flow::new(side("02:78:77:00:00:03", from, 4000), side("02:78:77:00:00:01", to, port))
}

/// Whole packets of all protocols that programs here know.
fn whole() -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    for flow in [
        flow("10.0.0.3", "10.1.0.2", 1234),
        flow("10.0.0.3", "10.2.7.7", 80),
        flow("10.0.0.3", "10.0.0.1", 23),
        flow("2001:db8::3", "2001:db8::2", 1234),
        flow("2001:db8::3", "2001:db8:1::1", 53),
    ] {
        for flow in [flow.clone(), flow.clone().vlan(42), flow.clone().vlan(1).vlan(2)] {
            packets.push(flow.udp(b"hello").unwrap());
            packets.push(flow.udp_of_length(1400).unwrap());
            packets.push(flow.tcp(TcpFlags::default(), 7, b"").unwrap());
            packets.push(flow.ping(1, 2, b"ping").unwrap());
        }
        packets.push(flow.clone().ttl(1).udp(b"last").unwrap());
        packets.push(flow.clone().ttl(0).udp(b"dead").unwrap());
    }
    packets
}

/// Packets with one malformed field of the network header: fragments, options, lengths.
fn odd(packet: &[u8]) -> Vec<Vec<u8>> {
    [(14, 0x4f), (14, 0x41), (14, 0x65), (17, 0xff), (20, 0x20), (20, 0x00), (21, 0x08), (23, 0)]
        .into_iter()
        .filter(|(at, _)| *at < packet.len())
        .map(|(at, byte)| {
            let mut changed = packet.to_vec();
            changed[at] = byte;
            changed
        })
        .collect()
}

fn packets() -> Vec<Input> {
    let whole = whole();
    let mut bytes = whole.clone();
    for packet in whole.iter().step_by(7) {
        bytes.extend((14..packet.len().min(90)).map(|len| packet[..len].to_vec()));
        bytes.extend(odd(packet));
    }
    bytes.extend([vec![0; 14], vec![0xff; 60], (0..=255).collect()]);
    let mut inputs: Vec<Input> =
        bytes.into_iter().map(|packet| Input { packet, ..Input::default() }).collect();
    let metadata: Vec<u8> = (0..32).collect();
    inputs.push(Input { metadata: metadata.clone(), ..inputs[0].clone() });
    inputs.push(Input { metadata: metadata[..4].to_vec(), ..inputs[3].clone() });
    inputs
}

/// Longer than a buffer.
fn jumbo() -> Vec<Input> {
    let lengths = [3500, 3521, 7616, 9000];
    let flow = flow("10.0.0.3", "10.1.0.2", 1234);
    lengths.map(|len| Input { packet: flow.udp_of_length(len).unwrap(), ..Input::default() }).into()
}

// ---- objects --------------------------------------------------------------------------------

fn objects() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bpf/prebuilt");
    let mut found: Vec<PathBuf> = [root.clone(), root.join("test")]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "o"))
        .collect();
    found.sort();
    found
}

/// For an object whose field accesses are made for the types of another, that other's; else the
/// kernel's.
fn arms(object: &str) -> Arms {
    let types = match object {
        "core.o" => {
            let target = objects().into_iter().find(|path| path.ends_with("core_target.o"));
            let target = fs::read(target.unwrap()).unwrap();
            Spec::parse("core_target.o", &target).unwrap().btf.unwrap()
        }
        _ => Btf::parse(&sys::proc::kernel_btf().unwrap()).unwrap(),
    };
    Arms::here().with_types(types)
}

/// In a network namespace of its own, which forwards nothing.
fn privately<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let work = || {
        fs::write("/proc/sys/net/ipv4/ip_forward", "0").unwrap();
        work()
    };
    sys::thread::in_private_network(work).unwrap()
}

#[test]
fn every_object() {
    let (compared, findings) = privately(|| {
        let (mut compared, mut findings) = (0, Vec::new());
        for path in objects() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let (arms, spec) =
                (arms(&name), Spec::parse(&name, &fs::read(&path).unwrap()).unwrap());
            let runs = |kind| kind == ProgramKind::XDP || kind == ProgramKind::XDP_FRAGS;
            for program in spec.programs.iter().filter(|program| runs(program.kind)) {
                let excepted = |(object, excepted, _): &(&str, &str, &str)| {
                    *object == name && *excepted == program.name
                };
                if let Some((.., why)) = EXCEPTIONS.iter().find(|row| excepted(row)) {
                    println!("{name} {}: not compared: {why}", program.name);
                    continue;
                }
                match judge(&arms, &spec, &program.name, program.kind) {
                    Judgement::Same => compared += 1,
                    Judgement::Refused(why) => println!("{name} {}: {why}", program.name),
                    Judgement::Differs(what) => {
                        findings.push(format!("{name} {}: {what}", program.name));
                    }
                }
            }
        }
        (compared, findings)
    });
    assert!(findings.is_empty(), "{findings:#?}");
    println!("{compared} programs agree");
    assert!(compared >= PROGRAMS, "only {compared} programs were compared");
}

fn judge(arms: &Arms, spec: &Spec, program: &str, kind: ProgramKind) -> Judgement {
    let mut packets = packets();
    if kind.flags & ProgramKind::XDP_FRAGS.flags != 0 {
        packets.extend(jumbo());
    }
    arms.judge_job(&Job {
        spec,
        program,
        packets: &packets,
        touches: &[],
        fill: Fill::NOTHING,
        ignored: IGNORED,
    })
}

// ---- configured -----------------------------------------------------------------------------

fn drop_config() -> drop::Config {
    let rules = ["10.1.0.2 udp 1234", "10.2.0.0/16", "any tcp 23", "2001:db8:1::/48"];
    let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    drop::Config { rules, ..drop::Config::default() }
}

fn fill_drop<M: Map>(shapes: &M, rules4: &M, rules6: &M) {
    let maps = drop::Maps { shapes, rules4, rules6 };
    drop::update(&drop_config(), &maps).unwrap();
}

#[test]
fn drop_with_rules() {
    let mut spec = Spec::parse("drop.o", drop::OBJECT).unwrap();
    drop_config().apply(&mut spec).unwrap();
    let fill = Fill {
        kernel: |object: &Object| {
            let map = |name| object.map(name).unwrap();
            fill_drop(map(drop::SHAPES), map(drop::RULES4), map(drop::RULES6));
        },
        engine: |machine: &Machine| {
            let map = |name| machine.map(name).unwrap();
            fill_drop(&*map(drop::SHAPES), &*map(drop::RULES4), &*map(drop::RULES6));
        },
    };
    for program in [drop::PROGRAM, drop::PROGRAM_FRAGS] {
        let packets = packets();
        let job = Job { spec: &spec, program, packets: &packets, touches: &[], fill, ignored: &[] };
        assert_eq!(privately(|| arms("").judge_job(&job)), Judgement::Same, "{program}");
    }
}

/// A router without routes: everything goes to the stack, for the same reasons.
#[test]
fn forward_without_routes() {
    let mut spec = Spec::parse("route.o", route::OBJECT).unwrap();
    route::Config::default().apply(&mut spec).unwrap();
    let packets = packets();
    let (program, fill) = (route::PROGRAM, Fill::NOTHING);
    let job = Job { spec: &spec, program, packets: &packets, touches: &[], fill, ignored: &[] };
    assert_eq!(privately(|| arms("").judge_job(&job)), Judgement::Same);
}

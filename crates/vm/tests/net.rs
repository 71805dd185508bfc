//! Tests of helpers that look up the environment; they need no root.
//!
//! `tests/tests/vm/net.rs` and `net_tracking.rs` compare the results with the kernel's; this
//! file tests what a scenario can express but a live namespace hardly can.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

use spec::asm::{Assembler, Cond, Helper, Object, Reg::*};
use spec::{Expect, Input, Map, MapDef, MapKind, ProgramKind, Runtime, Verdict};
use vm::{Options, VmRuntime, World};

/// Bytes of the one value of the map `io`; the last eight are the function's answer.
const IO: usize = 128;
const ANSWER: i16 = 120;

/// Runs one call, R6 the context and R7 `io`, in a world; what is in `io` afterwards.
fn run(world: &str, io: &[(usize, &[u8])], call: impl FnOnce(&mut Assembler)) -> Outcome {
    let mut runtime = load(world, call);
    ask(&mut runtime, io, 2)
}

fn load(world: &str, call: impl FnOnce(&mut Assembler)) -> VmRuntime {
    let mut a = Assembler::new("ask", ProgramKind::XDP);
    let absent = a.label();
    a.mov(R6, R1).store32(R10.at(-4), 0).lookup("io", R10.at(-4));
    a.jump_if(R0, Cond::Eq, 0, absent).mov(R7, R0);
    call(&mut a);
    a.store64(R7.at(ANSWER), R0).verdict(Verdict::Pass).bind(absent).verdict(Verdict::Aborted);
    let mut object = Object::new("net.o", "GPL");
    let (kind, value_size) = (MapKind::ARRAY, IO as u32);
    let map = MapDef { name: "io".to_owned(), kind, value_size, ..MapDef::default() };
    object.map(MapDef { key_size: 4, max_entries: 1, ..map });
    object.program(a);
    let world = World::from_toml(world).unwrap_or_else(|error| panic!("{error}"));
    let mut runtime = VmRuntime::new(Options { world, ..Options::default() });
    runtime.load(&object.finish().unwrap()).unwrap_or_else(|error| panic!("{error}"));
    runtime
}

fn ask(runtime: &mut VmRuntime, io: &[(usize, &[u8])], ingress_ifindex: u32) -> Outcome {
    let mut bytes = vec![0; IO];
    for (at, field) in io {
        bytes[*at..at + field.len()].copy_from_slice(field);
    }
    runtime.map("io").unwrap().update(&[0; 4], &bytes, Expect::Any).unwrap();
    let input = Input { packet: vec![0; 60], ingress_ifindex, ..Input::default() };
    let ran = runtime.run("ask", &input).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ran.verdict, Verdict::Pass);
    Outcome(runtime.map("io").unwrap().lookup(&[0; 4]).unwrap().unwrap())
}

struct Outcome(Vec<u8>);

impl Outcome {
    fn answer(&self) -> i64 {
        i64::from_ne_bytes(self.0[ANSWER as usize..].try_into().unwrap())
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0[at..at + 4].try_into().unwrap())
    }
}

const ROUTER: &str = r#"
    [[interfaces]]
    index = 2
    name = "eth0"
    mac = "02:00:00:00:00:01"
    addresses = ["10.0.1.1/24", "fd00:0:0:1::1/64"]
    forward_ipv4 = true
    forward_ipv6 = true
    [[interfaces]]
    index = 3
    name = "eth1"
    mac = "02:00:00:00:00:02"
    addresses = ["10.0.2.1/24"]
    [[interfaces]]
    index = 4
    name = "down"
    up = false
    [[routes]]
    to = "172.16.0.0/12"
    via = "10.0.2.2"
    [[routes]]
    to = "172.16.0.0/16"
    dev = "down"
    [[routes]]
    to = "fd01::/64"
    dev = "eth1"
    [[neighbours]]
    ip = "10.0.2.2"
    dev = "eth1"
    mac = "02:00:00:00:00:22"
"#;

fn fib_lookup(a: &mut Assembler) {
    a.mov(R1, R6).mov(R2, R7).mov(R3, 64).load32(R4, R7.at(64)).call(Helper::FIB_LOOKUP);
}

fn fib(destination: [u8; 4], flags: u32) -> Outcome {
    let index = 2_u32.to_ne_bytes();
    let io = [(0, &[2][..]), (8, &index), (32, &destination), (64, &flags.to_ne_bytes())];
    run(ROUTER, &io, fib_lookup)
}

#[test]
fn a_route_leads_to_the_routers_neighbour() {
    let out = fib([172, 20, 0, 1], 0);
    assert_eq!((out.answer(), out.u32(8)), (0, 3));
    assert_eq!(out.0[32..36], [10, 0, 2, 2]);
    assert_eq!(out.0[52..64], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0x22], "source, destination");
}

#[test]
fn a_route_through_an_interface_that_is_down_is_none() {
    // The longer prefix would win if its interface were up.
    assert_eq!(fib([172, 16, 0, 1], 0).u32(8), 3);
}

#[test]
fn addresses_make_routes() {
    assert_eq!(fib([10, 0, 2, 9], 4).u32(8), 3, "connected");
    assert_eq!(fib([10, 0, 2, 1], 0).answer(), 4, "its own address is not forwarded to");
    assert_eq!(fib([10, 0, 2, 255], 0).answer(), 4, "nor is the broadcast address");
    assert_eq!(fib([8, 8, 8, 8], 0).answer(), 4, "no route");
    assert_eq!(fib([10, 0, 2, 9], 0).answer(), 7, "no neighbour");
}

#[test]
fn an_interface_without_a_fitting_source_says_so() {
    let index = 2_u32.to_ne_bytes();
    let to = "fd01::1".parse::<std::net::Ipv6Addr>().unwrap().octets();
    let ask = |world: &str| {
        let io = [(0, &[10][..]), (8, &index), (32, &to), (64, &[0x14, 0, 0, 0])];
        run(world, &io, fib_lookup)
    };
    let some = ask(ROUTER);
    assert_eq!((some.answer(), some.0[16]), (0, 0xfd), "the other interface's");
    assert_eq!(ask(&ROUTER.replace(r#", "fd00:0:0:1::1/64""#, "")).answer(), 9);
}

#[test]
fn hardware_tells_what_the_scenario_gives() {
    let world = format!(
        "{ROUTER}
        [[interfaces]]
        index = 5
        name = \"nic\"
        [interfaces.received]
        hash = {{ value = 7, type = 9 }}
        timestamp_ns = 5
        vlan = {{ protocol = 0x8100, tci = 3 }}"
    );
    let hash = |a: &mut Assembler| {
        a.mov(R1, R6).mov(R2, R7).mov(R3, R7).add(R3, 4).call_kfunc("bpf_xdp_metadata_rx_hash");
    };
    let mut runtime = load(&world, hash);
    let out = ask(&mut runtime, &[], 5);
    assert_eq!((out.answer(), out.u32(0), out.u32(4)), (0, 7, 9));
    assert_eq!(ask(&mut runtime, &[], 2).answer(), -95, "an interface that cannot tell");

    let time = |a: &mut Assembler| {
        a.mov(R1, R6).mov(R2, R7).call_kfunc("bpf_xdp_metadata_rx_timestamp");
    };
    assert_eq!(ask(&mut load(&world, time), &[], 5).u32(0), 5);
    let vlan = |a: &mut Assembler| {
        a.mov(R1, R6).mov(R2, R7).mov(R3, R7).add(R3, 4).call_kfunc("bpf_xdp_metadata_rx_vlan_tag");
    };
    let out = ask(&mut load(&world, vlan), &[], 5);
    assert_eq!((out.answer(), &out.0[..2], out.u32(4)), (0, &[0x81, 0x00][..], 3));
}

const SOCKETS: &str = r#"
    [[interfaces]]
    index = 2
    name = "eth0"
    [[interfaces]]
    index = 3
    name = "eth1"
    [[sockets]]
    protocol = "tcp"
    local = "0.0.0.0:80"
    mark = 1
    [[sockets]]
    protocol = "tcp"
    local = "0.0.0.0:80"
    dev = "eth1"
    mark = 2
    [[sockets]]
    protocol = "tcp"
    local = "10.0.0.1:80"
    remote = "10.0.0.9:9"
    state = "time_wait"
    mark = 3
    [[sockets]]
    protocol = "tcp"
    local = "10.0.0.1:80"
    remote = "10.0.0.8:8"
    state = "new_syn_recv"
    mark = 4
    [[sockets]]
    protocol = "tcp"
    local = "10.0.0.1:80"
    netns = 5
    mark = 5
"#;

/// Answers one field of the socket that is found, 0 where none is.
fn field_of(lookup: Helper, field: i16) -> VmRuntime {
    load(SOCKETS, |a| {
        let none = a.label();
        a.mov(R1, R6).mov(R2, R7).mov(R3, 12).load32(R4, R7.at(16)).mov(R5, 0).call(lookup);
        a.jump_if(R0, Cond::Eq, 0, none).load32(R8, R0.at(field)).mov(R1, R0);
        a.call(Helper::SK_RELEASE).mov(R0, R8).bind(none);
    })
}

#[test]
fn sockets_are_found_by_interface_namespace_and_state() {
    const MARK: i16 = 16;
    const STATE: i16 = 72;
    let mut full = field_of(Helper::SK_LOOKUP_TCP, MARK);
    let mut any = field_of(Helper::SKC_LOOKUP_TCP, STATE);
    let here = -1_i32;
    let ask = |runtime: &mut VmRuntime, from, ifindex, netns: i32| {
        let tuple = [10, 0, 0, from, 10, 0, 0, 1, 0, from, 0, 80];
        ask(runtime, &[(0, &tuple), (16, &netns.to_ne_bytes())], ifindex).answer()
    };
    for (from, ifindex, netns, mark, what) in [
        (1, 2, here, 1, "the one that listens everywhere"),
        (1, 3, here, 2, "the one bound to the interface scores higher"),
        (1, 2, 5, 5, "that of another namespace"),
        (1, 2, 6, 0, "a namespace that is not there"),
        (9, 2, here, 0, "a connection that is over stands for nothing"),
        (8, 2, here, 1, "a request stands for its listener"),
    ] {
        assert_eq!(ask(&mut full, from, ifindex, netns), mark, "{what}");
    }
    assert_eq!(ask(&mut any, 9, 2, here), 6, "time wait, as it is");
    assert_eq!(ask(&mut any, 8, 2, here), 12, "a request, as it is");
}

#[test]
fn a_socket_is_seen_as_its_own_type_only() {
    let cast = |helper: Helper| {
        let call = |a: &mut Assembler| {
            let (none, released) = (a.label(), a.label());
            a.mov(R1, R6).mov(R2, R7).mov(R3, 12).mov(R4, -1).mov(R5, 0);
            a.call(Helper::SKC_LOOKUP_TCP).jump_if(R0, Cond::Eq, 0, none).mov(R8, R0);
            a.mov(R9, -1).mov(R1, R8).call(helper).jump_if(R0, Cond::Eq, 0, released);
            // Its port, in the kernel's own structure.
            a.load16(R9, R0.at(14)).bind(released).mov(R1, R8).call(Helper::SK_RELEASE);
            a.mov(R0, R9).bind(none);
        };
        let mut runtime = load(SOCKETS, call);
        [1, 9, 8].map(|from| {
            ask(&mut runtime, &[(0, &[10, 0, 0, from, 10, 0, 0, 1, 0, from, 0, 80])], 2).answer()
        })
    };
    assert_eq!(cast(Helper::SKC_TO_TCP_SOCK), [80, -1, -1]);
    assert_eq!(cast(Helper::SKC_TO_TCP_TIMEWAIT_SOCK), [-1, 80, -1]);
    assert_eq!(cast(Helper::SKC_TO_TCP_REQUEST_SOCK), [-1, -1, 80]);
    for none in [
        Helper::SKC_TO_TCP6_SOCK,
        Helper::SKC_TO_UDP6_SOCK,
        Helper::SKC_TO_UNIX_SOCK,
        Helper::SKC_TO_MPTCP_SOCK,
    ] {
        assert_eq!(cast(none), [-1; 3]);
    }
}

#[test]
fn a_socket_that_is_not_given_back_is_a_fault() {
    let keep = |a: &mut Assembler| {
        a.mov(R1, R6).mov(R2, R7).mov(R3, 12).mov(R4, -1).mov(R5, 0).call(Helper::SK_LOOKUP_TCP);
        a.mov(R0, 0);
    };
    let twice = |a: &mut Assembler| {
        a.mov(R1, R6).mov(R2, R7).mov(R3, 12).mov(R4, -1).mov(R5, 0).call(Helper::SK_LOOKUP_TCP);
        a.mov(R8, R0).mov(R1, R8).call(Helper::SK_RELEASE).mov(R1, R8).call(Helper::SK_RELEASE);
    };
    let tuple = [10, 0, 0, 1, 10, 0, 0, 1, 0, 1, 0, 80];
    for (mut runtime, words) in
        [(load(SOCKETS, keep), "is not released"), (load(SOCKETS, twice), "not a socket")]
    {
        let mut io = vec![0; IO];
        io[..12].copy_from_slice(&tuple);
        runtime.map("io").unwrap().update(&[0; 4], &io, Expect::Any).unwrap();
        let input = Input { packet: vec![0; 60], ingress_ifindex: 2, ..Input::default() };
        let error = runtime.run("ask", &input).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

const TRACKED: &str = r#"
    clock.step_ns = 1_000_000_000
    [[interfaces]]
    index = 2
    name = "eth0"
    [[connections]]
    protocol = "udp"
    original = { from = "10.0.0.1:1", to = "10.0.0.2:2" }
    reply = { from = "10.0.0.3:3", to = "10.0.0.1:1" }
    timeout_s = 5
"#;

/// Reads the clock, then looks up the connection.
fn track(a: &mut Assembler) {
    let none = a.label();
    a.call(Helper::KTIME_GET_NS).mov(R1, R6).mov(R2, R7).mov(R3, 12).mov(R4, R7).add(R4, 16);
    a.mov(R5, 16).call_kfunc("bpf_xdp_ct_lookup").jump_if(R0, Cond::Eq, 0, none);
    a.mov(R1, R0).call_kfunc("bpf_ct_release").mov(R0, 1).bind(none);
}

#[test]
fn a_connection_is_found_both_ways_until_its_time_is_over() {
    let mut runtime = load(TRACKED, track);
    let options = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 17, 9];
    let there = [10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2];
    let back = [10, 0, 0, 3, 10, 0, 0, 1, 0, 3, 0, 1];
    let mut look = |tuple: &[u8]| {
        let out = ask(&mut runtime, &[(0, tuple), (16, &options)], 2);
        (out.answer(), out.u32(20) as i32, out.0[16 + 9])
    };
    assert_eq!(look(&there), (1, 0, 0));
    assert_eq!(look(&back), (1, 0, 1), "the reply's direction");
    let unknown = [10, 0, 0, 2, 10, 0, 0, 1, 0, 2, 0, 1];
    assert_eq!(look(&unknown), (0, -2, 9), "its address is translated");
    assert_eq!(look(&there).0, 1);
    assert_eq!(look(&there), (0, -2, 9), "five looks at the clock are five seconds");
}

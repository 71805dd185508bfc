//! Connection tracking and SYN cookies: kernel and engine answer the same.
//!
//! Both start with no connection and execute the same calls in the same order. Cookies are of
//! two secrets, so their segment sizes and refusals are compared, and each takes back its own.

use std::collections::BTreeMap;

use spec::Spec;
use spec::asm::{Assembler, Cond, Helper, Reg::*};
use xway_tests::vm_net::{
    Dice, IO, Io, Pair, answer, asking, from, ip, object, put, router, snapshot,
};

/// Where programs find their arguments in `io`, and leave what functions answered.
const TUPLE: i32 = 0;
const OPTIONS: i32 = 40;
const TIMEOUT: i16 = 56;
const STATUS: i16 = 60;
const CHANGED: i16 = 64;
const NAT: i16 = 68;
const PORT: i16 = 72;
const ADDRESS: i32 = 80;
const RESULTS: [i16; 4] = [96, 104, 112, 120];

/// R6 the context, tuple and options in `io`.
fn tuple_and_options(a: &mut Assembler, tuple: i32, options: i32) {
    a.mov(R1, R6).mov(R2, R7).mov(R3, tuple).mov(R4, R7).add(R4, OPTIONS).mov(R5, options);
}

fn look(name: &str, tuple: i32, options: i32) -> Assembler {
    asking(name, |a| {
        let none = a.label();
        tuple_and_options(a, tuple, options);
        a.call_kfunc("bpf_xdp_ct_lookup").jump_if(R0, Cond::Eq, 0, none);
        a.mov(R1, R0).call_kfunc("bpf_ct_release").mov(R0, 1).bind(none);
    })
}

/// Allocates, sets timeout and status, translates if asked to, inserts, changes timeout and
/// status. Answers how far it came.
fn make(name: &str, tuple: i32, options: i32) -> Assembler {
    asking(name, |a| {
        let (none, plain) = (a.label(), a.label());
        tuple_and_options(a, tuple, options);
        a.call_kfunc("bpf_xdp_ct_alloc").jump_if(R0, Cond::Eq, 0, none).mov(R8, R0);
        a.mov(R1, R8).load32(R2, R7.at(TIMEOUT)).call_kfunc("bpf_ct_set_timeout");
        a.mov(R1, R8).load32(R2, R7.at(STATUS)).call_kfunc("bpf_ct_set_status");
        a.store32(R7.at(RESULTS[0]), R0);
        a.load32(R1, R7.at(NAT)).jump_if(R1, Cond::Gt, 1, plain);
        a.mov(R1, R8).mov(R2, R7).add(R2, ADDRESS).load32(R3, R7.at(PORT));
        a.load32(R4, R7.at(NAT)).call_kfunc("bpf_ct_set_nat_info");
        a.store32(R7.at(RESULTS[1]), R0).bind(plain);
        a.mov(R1, R8).call_kfunc("bpf_ct_insert_entry").mov(R8, R0);
        a.mov(R0, 1).jump_if(R8, Cond::Eq, 0, none);
        a.mov(R1, R8).load32(R2, R7.at(TIMEOUT)).call_kfunc("bpf_ct_change_timeout");
        a.store32(R7.at(RESULTS[2]), R0);
        a.mov(R1, R8).load32(R2, R7.at(CHANGED)).call_kfunc("bpf_ct_change_status");
        a.store32(R7.at(RESULTS[3]), R0);
        a.mov(R1, R8).call_kfunc("bpf_ct_release").mov(R0, 2).bind(none);
    })
}

/// Lengths of tuple and options, right and wrong ones.
const LENGTHS: [(i32, i32); 6] = [(12, 16), (12, 12), (36, 16), (36, 12), (20, 16), (12, 8)];

fn tracking() -> Spec {
    let of = |kind: &str, (tuple, options): (i32, i32)| format!("{kind}_{tuple}_{options}");
    let looks = LENGTHS.iter().map(|both| look(&of("look", *both), both.0, both.1));
    let makes = LENGTHS.iter().map(|both| make(&of("make", *both), both.0, both.1));
    object(looks.chain(makes).collect())
}

/// Few enough ends that connections meet.
fn ends(dice: &mut Dice, io: &mut Io, tuple: i32) {
    let width = if tuple == 36 { 16 } else { 4 };
    for end in 0..2 {
        let mut address = [0xfd; 16];
        address[width - 1] = dice.below(3) as u8;
        put(io, TUPLE as usize + end * width, &address[..width]);
        put(io, TUPLE as usize + 2 * width + 2 * end, &[0, 1 + dice.below(3) as u8]);
    }
}

fn options(dice: &mut Dice, io: &mut Io) {
    let netns = if dice.below(16) == 0 { dice.pick(&[-2, 7]) } else { -1_i32 };
    put(io, OPTIONS as usize, &netns.to_ne_bytes());
    let protocol = if dice.below(16) == 0 { 1 } else { dice.pick(&[6, 17]) };
    put(io, OPTIONS as usize + 8, &[protocol, 9]);
    if dice.below(4) == 0 {
        // Zone, its directions, and now and then something in the reserved bytes.
        let zone = [dice.pick(&[0, 0, 5]), 0, dice.pick(&[0, 1, 2, 3]), dice.pick(&[0, 0, 0, 1])];
        put(io, OPTIONS as usize + 10, &zone);
    }
}

#[test]
fn connections_are_tracked_alike() {
    let net = router();
    let mut pair = Pair::new(&tracking(), snapshot(&net.b));
    let eth0 = net.b.ifindex("eth0").unwrap().0;
    let mut seen = BTreeMap::new();
    let walk = || {
        let mut dice = Dice(0xc0ffee);
        for number in 0..4000 {
            let mut io = [0; IO];
            let usual = dice.below(8) != 0;
            let (tuple, len) = dice.pick(if usual { &LENGTHS[..4] } else { &LENGTHS[..] });
            ends(&mut dice, &mut io, tuple);
            options(&mut dice, &mut io);
            put(&mut io, TIMEOUT as usize, &dice.pick(&[600_000_u32, u32::MAX >> 4]).to_ne_bytes());
            let statuses = [0_u32, 0, 2, 6, 8, 0x400, 0x200, 0x30, 0x2000, u32::MAX];
            put(&mut io, STATUS as usize, &dice.pick(&statuses).to_ne_bytes());
            put(&mut io, CHANGED as usize, &(dice.pick(&statuses) | 8).to_ne_bytes());
            put(&mut io, NAT as usize, &dice.pick(&[0_u32, 1, 2, 2]).to_ne_bytes());
            // The kernel puts the port into network order itself.
            put(&mut io, PORT as usize, &(1 + dice.below(3) as u32).to_ne_bytes());
            let mut address = [0xfd; 16];
            address[if tuple == 36 { 15 } else { 3 }] = dice.below(3) as u8;
            put(&mut io, ADDRESS as usize, &address);
            let kind = if dice.below(4) == 0 { "make" } else { "look" };
            let program = format!("{kind}_{tuple}_{len}");
            let [kernel, engine] = pair.both(&program, &io, &from(eth0));
            assert_eq!(
                (answer(&kernel), &kernel[..128]),
                (answer(&engine), &engine[..128]),
                "step {number}, {program}: {:x?}",
                &io[..96]
            );
            *seen.entry((kind, answer(&kernel))).or_insert(0) += 1;
        }
    };
    net.b.run(walk).unwrap();
    println!("{seen:?}");
    for expected in [("look", 0), ("look", 1), ("make", 0), ("make", 1), ("make", 2)] {
        assert!(seen.contains_key(&expected), "{expected:?} never happened: {seen:?}");
    }
}

#[test]
fn a_snapshot_has_the_connections() {
    let net = router();
    let mut live = Pair::new(&tracking(), snapshot(&net.b));
    let eth0 = net.b.ifindex("eth0").unwrap().0;
    let grid = |dice: &mut Dice, tuple: i32| {
        let mut io = [0; IO];
        ends(dice, &mut io, tuple);
        put(&mut io, OPTIONS as usize, &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, dice.pick(&[6, 17])]);
        io
    };
    let fill = || {
        let mut dice = Dice(1);
        for _ in 0..30 {
            let (tuple, len) = dice.pick(&[(12, 12), (36, 12)]);
            let mut io = grid(&mut dice, tuple);
            put(&mut io, TIMEOUT as usize, &600_000_u32.to_ne_bytes());
            put(&mut io, CHANGED as usize, &8_u32.to_ne_bytes());
            put(&mut io, NAT as usize, &dice.pick(&[0_u32, 1, 2, 2]).to_ne_bytes());
            put(&mut io, PORT as usize, &[7]);
            put(&mut io, ADDRESS as usize, &[0xfd; 16]);
            live.both(&format!("make_{tuple}_{len}"), &io, &from(eth0));
        }
    };
    net.b.run(fill).unwrap();
    let world = snapshot(&net.b);
    println!("{} connections", world.connections.len());
    assert!(world.connections.len() > 10);
    let mut pair = Pair::new(&tracking(), world);
    let mut found = 0;
    let compare = || {
        let mut dice = Dice(2);
        for _ in 0..1000 {
            let (tuple, len) = dice.pick(&[(12, 12), (36, 16)]);
            let io = grid(&mut dice, tuple);
            let [kernel, engine] = pair.both(&format!("look_{tuple}_{len}"), &io, &from(eth0));
            assert_eq!(kernel, engine, "{:x?}", &io[..56]);
            found += answer(&kernel);
        }
    };
    net.b.run(compare).unwrap();
    println!("{found} of 1000 lookups found one");
    assert!((100..900).contains(&found), "{found}");
}

/// Where programs find headers, and the tuple of the socket.
const IP: i32 = 0;
const TCP: i32 = 40;
const SOCKET: i32 = 100;

/// The raw helpers: on headers of those lengths, or on none.
fn raw(name: &str, helper: Helper, tcp: i32) -> Assembler {
    asking(name, |a| {
        a.mov(R1, R7).mov(R2, R7).add(R2, TCP).mov(R3, tcp).call(helper);
    })
}

/// Looks the listener up and asks it.
fn listener(name: &str, helper: Helper, (tuple, ip, tcp): (i32, i32, i32)) -> Assembler {
    asking(name, |a| {
        let none = a.label();
        a.mov(R1, R6).mov(R2, R7).add(R2, SOCKET).mov(R3, tuple).mov(R4, -1).mov(R5, 0);
        a.call(Helper::SKC_LOOKUP_TCP).mov(R8, R0).mov(R0, 99).jump_if(R8, Cond::Eq, 0, none);
        a.mov(R1, R8).mov(R2, R7).mov(R3, ip).mov(R4, R7).add(R4, TCP).mov(R5, tcp).call(helper);
        a.mov(R9, R0).mov(R1, R8).call(Helper::SK_RELEASE).mov(R0, R9).bind(none);
    })
}

fn cookies() -> Spec {
    let mut programs = Vec::new();
    for tcp in [20, 24, 40] {
        programs.push(raw(&format!("raw4_{tcp}"), Helper::TCP_RAW_GEN_SYNCOOKIE_IPV4, tcp));
        programs.push(raw(&format!("raw6_{tcp}"), Helper::TCP_RAW_GEN_SYNCOOKIE_IPV6, tcp));
        for (tuple, ip) in [(12, 20), (12, 40), (36, 20), (36, 40), (36, 8)] {
            let bake = format!("gen_{tuple}_{ip}_{tcp}");
            programs.push(listener(&bake, Helper::TCP_GEN_SYNCOOKIE, (tuple, ip, tcp)));
            let check = format!("check_{tuple}_{ip}_{tcp}");
            programs.push(listener(&check, Helper::TCP_CHECK_SYNCOOKIE, (tuple, ip, tcp)));
        }
    }
    programs.push(raw("check4", Helper::TCP_RAW_CHECK_SYNCOOKIE_IPV4, 20));
    programs.push(raw("check6", Helper::TCP_RAW_CHECK_SYNCOOKIE_IPV6, 20));
    object(programs)
}

/// A SYN with options at random, to a listener or to a closed port.
fn syn(dice: &mut Dice, ipv4: bool) -> Io {
    let mut io = [0; IO];
    for byte in &mut io[..TCP as usize + 40] {
        *byte = dice.number() as u8;
    }
    let version = if dice.below(32) == 0 {
        5
    } else if ipv4 {
        4
    } else {
        6
    };
    put(&mut io, IP as usize, &[version << 4 | 5]);
    let tcp = TCP as usize;
    put(&mut io, tcp + 12, &[dice.pick(&[5_u8, 5, 6, 10, 10, 4, 15]) << 4]);
    put(&mut io, tcp + 13, &[dice.pick(&[2_u8, 2, 2, 0x42, 0x12, 3, 6, 0x10])]);
    let options: [&[u8]; 8] = [
        &[2, 4, 5, 180],
        &[2, 4, 2, 0, 1, 1, 2, 4, 35, 0],
        &[1, 1, 1, 2, 4, 5, 100, 0],
        &[0, 0, 2, 4, 5, 180],
        &[3, 3, 7, 2, 4, 4, 196],
        &[2, 4, 0, 0],
        &[2, 200, 5, 180],
        &[8, 1, 2, 4, 5, 180],
    ];
    if dice.below(8) != 0 {
        put(&mut io, tcp + 20, dice.pick(&options));
    }
    io
}

/// The listener's tuple: to a port that listens for IPv4, for both, for IPv6 alone, or to a closed
/// one.
fn towards(dice: &mut Dice, io: &mut Io, ipv4: bool) {
    let at = SOCKET as usize;
    let port = dice.pick(&[80_u16, 81, 82, 83]).to_be_bytes();
    if ipv4 {
        put(io, at, &[10, 0, 1, 2, 10, 0, 1, 1, 9, 9, port[0], port[1]]);
        return;
    }
    let mut host = [0; 16];
    host[..2].copy_from_slice(&[0xfd, 0]);
    host[7] = 1;
    host[15] = 2;
    put(io, at, &host);
    host[15] = 1;
    put(io, at + 16, &host);
    put(io, at + 32, &[9, 9, port[0], port[1]]);
}

/// What can be compared: an error as it is, of a cookie the segment size.
fn comparable(answer: i64) -> i64 {
    if answer < 0 { answer } else { answer >> 32 << 32 }
}

#[test]
fn cookies_carry_the_same_segment_sizes_and_refusals() {
    use std::net::TcpListener;
    let net = router();
    let _listening =
        net.b.run(|| ["10.0.1.1:80", "[::]:81"].map(|at| TcpListener::bind(at).unwrap()));
    net.b.set_sysctl("ipv6/bindv6only", "1").unwrap();
    let _only = net.b.run(|| TcpListener::bind("[::]:82").unwrap());
    ip(&net.b, "link set lo up");
    let eth0 = net.b.ifindex("eth0").unwrap().0;
    let mut seen = BTreeMap::new();
    for mode in ["0", "1", "2"] {
        net.b.set_sysctl("ipv4/tcp_syncookies", mode).unwrap();
        let mut pair = Pair::new(&cookies(), snapshot(&net.b));
        let walk = || {
            let mut dice = Dice(0xbeef);
            for number in 0..1500 {
                let ipv4 = dice.below(2) == 0;
                let mut io = syn(&mut dice, ipv4);
                let of_ipv4 = if dice.below(8) == 0 { !ipv4 } else { ipv4 };
                towards(&mut dice, &mut io, of_ipv4);
                let tcp = dice.pick(&[20, 20, 24, 40, 40]);
                let tuple = if of_ipv4 { 12 } else { 36 };
                let ip =
                    if tuple == 12 { dice.pick(&[20, 40]) } else { dice.pick(&[8, 20, 40, 40]) };
                let family = if ipv4 { 4 } else { 6 };
                let (program, check) = match dice.below(3) {
                    0 => (format!("raw{family}_{tcp}"), format!("check{family}")),
                    1 => (format!("gen_{tuple}_{ip}_{tcp}"), format!("check_{tuple}_{ip}_{tcp}")),
                    _ => (format!("check_{tuple}_{ip}_{tcp}"), format!("check{family}")),
                };
                let both = pair.both(&program, &io, &from(eth0));
                let [kernel, engine] = both.map(|io| answer(&io));
                let what = format!("mode {mode}, {number}, {program}: {:x?}", &io[..140]);
                assert_eq!(comparable(kernel), comparable(engine), "{what}");
                *seen.entry(comparable(kernel)).or_insert(0) += 1;
                // Each takes its own cookie back, and not another.
                for wrong in [0, 1_u32] {
                    let replies = [kernel, engine].map(|cookie| reply(io, cookie as u32, wrong));
                    let answers = [0, 1]
                        .map(|arm| answer(&pair.both(&check, &replies[arm], &from(eth0))[arm]));
                    assert_eq!(answers[0], answers[1], "back, off by {wrong}: {what}");
                    *seen.entry(answers[0]).or_insert(0) += 1;
                }
            }
        };
        net.b.run(walk).unwrap();
    }
    println!("{seen:?}");
    for expected in [0, -2, -13, -22, -93, 536 << 32, 1220 << 32, 1440 << 32, 1460 << 32] {
        assert!(seen.contains_key(&expected), "nothing answered {expected}: {seen:?}");
    }
}

/// The client's answer to a cookie: sequence one on, the cookie acknowledged.
fn reply(mut io: Io, cookie: u32, wrong: u32) -> Io {
    let tcp = TCP as usize;
    let sequence = u32::from_be_bytes(io[tcp + 4..tcp + 8].try_into().unwrap());
    put(&mut io, tcp + 4, &sequence.wrapping_add(1).to_be_bytes());
    put(&mut io, tcp + 8, &cookie.wrapping_add(1 + wrong).to_be_bytes());
    put(&mut io, tcp + 13, &[0x10]);
    io
}

//! A snapshot of a live namespace answers like the namespace: the proof of `--world host`.
//!
//! A router with every kind of route is set up, taken into a world, saved and read back; then the
//! same programs ask the kernel inside the namespace and the engine inside the world.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use spec::Spec;
use spec::asm::{Cond, Helper, Reg::*};
use xway_tests::vm_net::{
    self, Dice, Io, Pair, answer, asking, from, ip, object, put, router, snapshot,
};

/// Where the fields of `struct bpf_fib_lookup` are in `io`, followed by the flags.
const LENGTH: usize = 6;
const IFINDEX: usize = 8;
const TOS: usize = 12;
const SOURCE: usize = 16;
const DESTINATION: usize = 32;
const TABLE: usize = 48;
const MARK: usize = 52;
const FLAGS: usize = 64;

const OUTPUT: u32 = 1 << 1;
const ALL_FLAGS: u32 = 0x3f;

fn fib_lookup() -> Spec {
    object(vec![asking("fib", |a| {
        a.mov(R1, R6).mov(R2, R7).mov(R3, 64).load32(R4, R7.at(FLAGS as i16));
        a.call(Helper::FIB_LOOKUP);
    })])
}

const ROUTES: &str = "\
link set lo up
link set eth1 mtu 1400
addr add 10.0.1.77/24 dev eth0
addr add 10.9.0.1/16 dev eth0
addr add 192.0.2.1/32 dev lo
-6 addr add fd00:0:0:9::1/64 dev eth1 nodad
-6 addr add 2001:db8::1/64 dev eth0 nodad
route add 172.16.0.0/16 via 10.0.2.2 metric 50
route add 172.16.0.0/16 via 10.0.1.2 metric 10
route add 172.16.5.0/24 via 10.0.2.2 src 10.0.1.1
route add 172.16.6.0/24 via 10.0.2.2 mtu lock 900
route add 172.16.7.0/24 via 10.0.2.2 mtu 900
route add 172.17.0.0/16 via 10.0.2.99
route add blackhole 172.18.0.0/16
route add unreachable 172.19.0.0/16
route add prohibit 172.20.0.0/16
route add throw 172.21.0.0/16
route add 172.22.0.0/16 via inet6 fd00:0:0:2::2 dev eth1
route add 172.23.0.0/16 via 10.0.2.2
route add 172.23.0.0/16 tos 0x10 via 10.0.1.2
route add 172.24.0.0/16 dev eth1
route add default via 10.0.1.2
route add table 100 default via 10.0.2.2
route add table 100 blackhole 10.77.0.0/16
route add table 100 throw 10.78.0.0/16
neigh add 10.0.2.50 dev eth1 lladdr 02:00:00:00:00:50 nud stale
neigh add 10.0.2.51 dev eth1 lladdr 02:00:00:00:00:51 nud failed
neigh add 172.24.0.9 dev eth1 lladdr 02:00:00:00:00:09 nud permanent
-6 route add fd00:0:0:16::/64 via fd00:0:0:2::2 metric 50
-6 route add fd00:0:0:16::/64 via fd00:0:0:1::2 metric 10
-6 route add fd00:0:0:15::/64 via fd00:0:0:2::2 src fd00:0:0:9::1
-6 route add fd00:0:0:14::/64 via fd00:0:0:2::2 mtu lock 1300
-6 route add fd00:0:0:17::/64 via fd00:0:0:2::99
-6 route add blackhole fd00:0:0:18::/64
-6 route add unreachable fd00:0:0:19::/64
-6 route add prohibit fd00:0:0:20::/64
-6 route add throw fd00:0:0:21::/64
-6 route add fd00:0:0:22::/64 via fe80::22 dev eth1
-6 route add fd00:0:0:23::/64 dev eth0
-6 route append fd00:0:0:23::/64 dev eth1
-6 route add 2000::/3 via fd00:0:0:1::2
-6 route add table 100 default via fd00:0:0:2::2
-6 route add table 100 blackhole fd00:0:0:77::/64
-6 neigh add fe80::22 dev eth1 lladdr 02:00:00:00:00:22 nud permanent
-6 neigh add fd00:0:0:23::9 dev eth0 lladdr 02:00:00:00:00:23 nud permanent
";

const RULES: &str = "\
rule add fwmark 1 lookup 100 priority 100
rule add fwmark 0x10/0xf0 lookup 100 priority 101
rule add from 10.9.0.0/16 lookup 100 priority 110
rule add to 10.78.0.0/16 lookup 100 priority 120
rule add iif eth1 to 10.77.0.0/16 lookup 100 priority 130
rule add oif eth1 lookup 100 priority 140
-6 rule add fwmark 1 lookup 100 priority 100
-6 rule add from fd00:0:0:9::/64 lookup 100 priority 110
-6 rule add iif eth1 to fd00:0:0:77::/64 lookup 100 priority 130
";

/// Networks that are looked up, besides random addresses.
const NETWORKS: &[&str] = &[
    "10.0.1.0/24",
    "10.0.1.1/32",
    "10.0.1.2/32",
    "10.0.1.77/32",
    "10.0.1.255/32",
    "10.0.2.0/24",
    "10.0.2.2/32",
    "10.0.2.50/31",
    "10.9.0.0/16",
    "10.77.0.0/16",
    "10.78.0.0/16",
    "127.0.0.0/8",
    "172.16.0.0/12",
    "172.16.4.0/22",
    "172.17.0.0/16",
    "172.18.0.0/16",
    "172.19.0.0/16",
    "172.20.0.0/16",
    "172.21.0.0/16",
    "172.22.0.0/16",
    "172.23.0.0/16",
    "172.24.0.8/31",
    "192.0.2.0/24",
    "224.0.0.0/4",
    "255.255.255.255/32",
    "0.0.0.0/32",
];
const NETWORKS_IPV6: &[&str] = &[
    "fd00:0:0:1::/64",
    "fd00:0:0:1::/126",
    "fd00:0:0:2::/126",
    "fd00:0:0:9::/126",
    "fd00::/58",
    "fd00:0:0:14::/64",
    "fd00:0:0:15::/64",
    "fd00:0:0:16::/64",
    "fd00:0:0:17::/64",
    "fd00:0:0:18::/64",
    "fd00:0:0:19::/64",
    "fd00:0:0:20::/64",
    "fd00:0:0:21::/64",
    "fd00:0:0:22::/64",
    "fd00:0:0:23::8/125",
    "fd00:0:0:77::/64",
    "2001:db8::/64",
    "2001::/16",
    "fe80::/64",
    "ff02::/16",
    "::1/128",
    "::/128",
    "64:ff9b::/96",
];

/// An address of a network, with random host bits.
fn address(dice: &mut Dice, networks: &[&str]) -> IpAddr {
    let (network, length) = dice.pick(networks).split_once('/').unwrap();
    let length: u32 = length.parse().unwrap();
    let noise = u128::from(dice.number()) << 64 | u128::from(dice.number());
    match network.parse().unwrap() {
        IpAddr::V4(v4) => {
            let free = u32::MAX.checked_shr(length).unwrap_or(0);
            Ipv4Addr::from_bits(v4.to_bits() | noise as u32 & free).into()
        }
        IpAddr::V6(v6) => {
            let free = u128::MAX.checked_shr(length).unwrap_or(0);
            Ipv6Addr::from_bits(v6.to_bits() | noise & free).into()
        }
    }
}

fn put_ip(io: &mut Io, at: usize, ip: IpAddr) {
    match ip {
        IpAddr::V4(v4) => put(io, at, &v4.octets()),
        IpAddr::V6(v6) => put(io, at, &v6.octets()),
    }
}

/// A question with all fields at random, most of them sensible.
fn question(dice: &mut Dice, interfaces: &[u32]) -> Io {
    let mut io = [0; vm_net::IO];
    for byte in &mut io[..64] {
        *byte = dice.number() as u8;
    }
    let networks = if dice.below(2) == 0 { NETWORKS } else { NETWORKS_IPV6 };
    let destination = address(dice, networks);
    let family = if destination.is_ipv4() { 2 } else { 10 };
    io[0] = if dice.below(64) == 0 { dice.number() as u8 } else { family };
    put_ip(&mut io, DESTINATION, destination);
    put_ip(&mut io, SOURCE, address(dice, networks));
    let lengths: [u16; 10] = [0, 60, 899, 900, 901, 1280, 1300, 1301, 1401, 1501];
    put(&mut io, LENGTH, &dice.pick(&lengths).to_ne_bytes());
    put(&mut io, IFINDEX, &dice.pick(interfaces).to_ne_bytes());
    put(&mut io, TOS, &[dice.pick(&[0, 0x10, 0x08, 0xf3])]);
    put(&mut io, TABLE, &dice.pick(&[0_u32, 100, 253, 254, 255, 7, u32::MAX]).to_ne_bytes());
    put(&mut io, MARK, &dice.pick(&[0_u32, 1, 0x13, 0x20, u32::MAX]).to_ne_bytes());
    let flags =
        if dice.below(64) == 0 { dice.number() as u32 } else { dice.number() as u32 & ALL_FLAGS };
    put(&mut io, FLAGS, &flags.to_ne_bytes());
    io
}

/// Asks `count` questions; the answers, all 64 bytes included, must be the same. Counts them.
fn compare(pair: &mut Pair, interfaces: &[u32], seed: u64, count: usize) -> BTreeMap<i64, usize> {
    let mut dice = Dice(seed);
    let mut answers = BTreeMap::new();
    for number in 0..count {
        let io = question(&mut dice, interfaces);
        let [kernel, engine] = pair.both("fib", &io, &from(interfaces[0]));
        assert_eq!(
            (answer(&kernel), &kernel[..64]),
            (answer(&engine), &engine[..64]),
            "question {number} of seed {seed}: {:x?} to {}",
            &io[..68],
            shown(&io),
        );
        *answers.entry(answer(&kernel)).or_default() += 1;
    }
    answers
}

/// Family, destination and flags of a question.
fn shown(io: &Io) -> String {
    let bytes: [u8; 16] = io[DESTINATION..DESTINATION + 16].try_into().unwrap();
    let ip: IpAddr = match io[0] {
        2 => <[u8; 4]>::try_from(&bytes[..4]).unwrap().into(),
        _ => bytes.into(),
    };
    format!("{ip}, flags {:#x}", u32::from_ne_bytes(io[FLAGS..FLAGS + 4].try_into().unwrap()))
}

#[test]
fn route_lookups_agree_in_every_byte() {
    let net = router();
    ip(&net.b, ROUTES);
    for family in ["ipv4", "ipv6"] {
        net.b.set_sysctl(&format!("{family}/conf/lo/forwarding"), "0").unwrap();
    }
    let number = |name| net.b.ifindex(name).unwrap().0;
    let interfaces = [number("eth0"), number("eth1"), number("eth0"), number("eth1"), 1, 0, 999];
    for (stage, commands) in [("no rules", ""), ("rules", RULES)] {
        ip(&net.b, commands);
        let mut pair = Pair::new(&fib_lookup(), snapshot(&net.b));
        let answers = net.b.run(|| compare(&mut pair, &interfaces, 0x5eed, 10_000)).unwrap();
        println!("{stage}: {answers:?}");
        // Every answer that there is was given: success to no source, and the errors.
        for expected in [0, 1, 2, 3, 4, 5, 7, 8, -19, -22, -97] {
            assert!(answers.contains_key(&expected), "{stage}: nothing answered {expected}");
        }
    }
}

/// Where the socket program reads its tuple, and leaves what it read of the socket.
const SOCK: usize = 48;
/// Fields of `struct bpf_sock` that are compared: all but the queue, which packets decide.
const WORDS: [i16; 18] = [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 52, 56, 60, 64, 68, 72];

/// Looks the tuple at `io` up, `len` bytes of it, and copies the socket's fields.
fn socket_lookup(helper: Helper, len: i32) -> Spec {
    object(vec![asking("sock", |a| {
        let none = a.label();
        a.mov(R1, R6).mov(R2, R7).mov(R3, len).mov(R4, -1).mov(R5, 0).call(helper);
        a.jump_if(R0, Cond::Eq, 0, none);
        for word in WORDS {
            a.load32(R1, R0.at(word)).store32(R7.at(SOCK as i16 + word), R1);
        }
        a.load16(R1, R0.at(48)).store16(R7.at(SOCK as i16 + 48), R1);
        a.mov(R1, R0).call(Helper::SK_RELEASE).mov(R0, 1).bind(none);
    })])
}

/// Opens sockets of all kinds in `b` and connects to some from `a`; they live as long as this.
fn open_sockets(net: &lab::Router) -> (Vec<u16>, impl Sized) {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    let open = || {
        let listen = ["10.0.1.1:80", "10.0.2.1:80", "[::]:81", "[fd00:0:0:1::1]:84", "0.0.0.0:83"];
        let udp = ["10.0.1.1:90", "0.0.0.0:91", "[::]:92", "[fd00:0:0:1::1]:93", "0.0.0.0:94"];
        let connected =
            [("10.0.1.1:95", "10.0.1.2:1000"), ("[fd00:0:0:1::1]:95", "[fd00:0:0:1::2]:1000")];
        let connected = connected.map(|(at, to)| {
            let socket = UdpSocket::bind(at).unwrap();
            socket.connect(to).unwrap();
            socket
        });
        let listen = listen.map(|at| TcpListener::bind(at).unwrap());
        (listen, udp.map(|at| UdpSocket::bind(at).unwrap()), connected)
    };
    let (listening, udp, connected) = net.b.run(open).unwrap();
    net.b.set_sysctl("ipv6/bindv6only", "1").unwrap();
    let only = || (TcpListener::bind("[::]:82").unwrap(), UdpSocket::bind("[::]:96").unwrap());
    let only = net.b.run(only).unwrap();
    net.b.set_sysctl("ipv6/bindv6only", "0").unwrap();
    // Connections to the IPv4 and the dual socket, by both families.
    let reached = [("10.0.1.1:80", 0), ("10.0.1.1:81", 2), ("[fd00:0:0:1::1]:81", 2)];
    let reached = reached.map(|(to, number): (&str, usize)| {
        let client = net.a.run(|| TcpStream::connect(to).unwrap()).unwrap();
        (listening[number].accept().unwrap(), client)
    });
    let peers = reached.iter().map(|((_, peer), _)| peer.port()).collect();
    (peers, (listening, udp, connected, only, reached))
}

/// Hosts that packets may come from and go to, and the tuple's length.
const ENDS: [(&[&str], i32); 2] = [
    (&["10.0.1.1", "10.0.1.2", "10.0.2.1", "127.0.0.1"], 12),
    (&["fd00:0:0:1::1", "fd00:0:0:1::2", "::ffff:10.0.1.1", "::1"], 36),
];

/// A tuple; mostly from the peer to the host, as packets come.
fn tuple(dice: &mut Dice, hosts: &[&str], peers: &[u16]) -> Io {
    let mut io = [0; vm_net::IO];
    let towards = dice.below(4) != 0;
    let [source, sink] = if towards { [1, 0] } else { [dice.below(4), dice.below(4)] };
    let ip = |at: usize| hosts[at].parse::<IpAddr>().unwrap();
    let width = if ip(0).is_ipv4() { 4 } else { 16 };
    put_ip(&mut io, 0, ip(source));
    put_ip(&mut io, width, ip(sink));
    let from_port = if towards { dice.pick(peers) } else { 1000 };
    put(&mut io, 2 * width, &from_port.to_be_bytes());
    put(&mut io, 2 * width + 2, &(80 + dice.below(17) as u16).to_be_bytes());
    io
}

#[test]
fn socket_lookups_agree_in_every_field() {
    let net = router();
    let (peers, _open) = open_sockets(&net);
    let world = snapshot(&net.b);
    let eth0 = net.b.ifindex("eth0").unwrap().0;
    for helper in [Helper::SK_LOOKUP_TCP, Helper::SK_LOOKUP_UDP] {
        for (hosts, len) in ENDS {
            let mut pair = Pair::new(&socket_lookup(helper, len), world.clone());
            let mut dice = Dice(0xace);
            let mut hits = 0;
            let compare = || {
                for number in 0..2000 {
                    let io = tuple(&mut dice, hosts, &peers);
                    let [kernel, engine] = pair.both("sock", &io, &from(eth0));
                    assert_eq!(
                        (answer(&kernel), &kernel[SOCK..SOCK + 76]),
                        (answer(&engine), &engine[SOCK..SOCK + 76]),
                        "{helper:?} {number}: {:x?}",
                        &io[..36]
                    );
                    hits += answer(&kernel);
                }
            };
            net.b.run(compare).unwrap();
            println!("{helper:?} {len}: {hits} of 2000 found");
            assert!((200..2000).contains(&hits), "{helper:?} {len}: {hits}");
        }
    }
}

#[test]
fn mtu_checks_agree() {
    let net = router();
    ip(&net.b, "link set lo up\nlink set eth1 mtu 1400");
    let spec = object(vec![asking("mtu", |a| {
        a.mov(R1, R6).load32(R2, R7.at(0)).mov(R3, R7).add(R3, 4);
        a.load32(R4, R7.at(8)).load64(R5, R7.at(16)).call(Helper::CHECK_MTU);
    })]);
    let mut pair = Pair::new(&spec, snapshot(&net.b));
    let number = |name| net.b.ifindex(name).unwrap().0;
    let (eth0, eth1) = (number("eth0"), number("eth1"));
    let mut answers = BTreeMap::new();
    let compare = || {
        let mut dice = Dice(3);
        for _ in 0..2000 {
            let mut io = [0; vm_net::IO];
            put(&mut io, 0, &dice.pick(&[0, 1, eth0, eth1, 999]).to_ne_bytes());
            let lengths = [0_u32, 60, 1399, 1400, 1401, 1500, 1501, 65536, u32::MAX];
            put(&mut io, 4, &dice.pick(&lengths).to_ne_bytes());
            let differences = [0, 1, -1, 1340, 1440, 5000, -5000, i32::MAX, i32::MIN];
            put(&mut io, 8, &dice.pick(&differences).to_ne_bytes());
            put(&mut io, 16, &dice.pick(&[0_u64, 0, 0, 1, 2, 1 << 40]).to_ne_bytes());
            let input = from(dice.pick(&[eth0, eth1]));
            let [kernel, engine] = pair.both("mtu", &io, &input);
            assert_eq!(
                (answer(&kernel), &kernel[..24]),
                (answer(&engine), &engine[..24]),
                "{:x?} on {}",
                &io[..24],
                input.ingress_ifindex
            );
            *answers.entry(answer(&kernel)).or_insert(0) += 1;
        }
    };
    net.b.run(compare).unwrap();
    println!("{answers:?}");
    assert_eq!(answers.keys().copied().collect::<Vec<_>>(), [-22, -19, 0, 1]);
}

#[test]
fn several_next_hops_are_shared_by_weight() {
    let net = router();
    ip(
        &net.b,
        "route add 172.30.0.0/16 nexthop via 10.0.1.2 weight 3 nexthop via 10.0.2.2 weight 1\n\
         -6 route add fd00:0:0:30::/64 nexthop via fd00:0:0:1::2 nexthop via fd00:0:0:2::2",
    );
    let number = |name| net.b.ifindex(name).unwrap().0;
    let (eth0, eth1) = (number("eth0"), number("eth1"));
    let mut pair = Pair::new(&fib_lookup(), snapshot(&net.b));
    for (network, share) in [("172.30.0.0/16", 0.75), ("fd00:0:0:30::/64", 0.5)] {
        let mut dice = Dice(9);
        let mut first = [0_u32; 2];
        let mut ask = || {
            for _ in 0..1000 {
                let mut io = question(&mut dice, &[eth0]);
                let to = address(&mut dice, &[network]);
                io[0] = if to.is_ipv4() { 2 } else { 10 };
                put_ip(&mut io, DESTINATION, to);
                put_ip(&mut io, SOURCE, address(&mut dice, &[network]));
                put(&mut io, LENGTH, &[60, 0]);
                put(&mut io, FLAGS, &[0; 4]);
                let both = pair.both("fib", &io, &from(eth0));
                for (count, io) in first.iter_mut().zip(&both) {
                    assert_eq!(answer(io), 0, "{}", shown(io));
                    let out = u32::from_ne_bytes(io[IFINDEX..IFINDEX + 4].try_into().unwrap());
                    assert!(out == eth0 || out == eth1);
                    *count += u32::from(out == eth0);
                }
                // Asked for an interface, both take that one.
                put(&mut io, FLAGS, &OUTPUT.to_ne_bytes());
                put(&mut io, IFINDEX, &eth1.to_ne_bytes());
                let [kernel, engine] = pair.both("fib", &io, &from(eth0));
                assert_eq!(kernel[..64], engine[..64], "{}", shown(&io));
            }
        };
        net.b.run(&mut ask).unwrap();
        println!("{network}: {first:?} of 1000 took the first way");
        for count in first {
            assert!((f64::from(count) / 1000.0 - share).abs() < 0.08, "{network}: {first:?}");
        }
    }
}

//! What a change of the backends does to flows: those that are older remain with their backend,
//! those that are younger go to the new one, and nothing is remembered but where it is necessary.

use std::net::IpAddr;

use functions::balancer::abi::Kind;
use functions::balancer::{self, Backend, Config, Datagrams, Remembered, State};
use lab::frame::{Flow, TcpFlags};
use spec::{Expect, Map as _};
use sys::thread::monotonic_ns;
use xway_tests::bpf::balancer::{Balanced, Balancer};
use xway_tests::stories;

use super::delivery::client;

stories! {
    older_connections_stay_and_younger_ones_move
    a_second_change_keeps_both
    a_forged_syn_does_not_move_a_connection
    a_flood_of_syns_leaves_no_connection_and_displaces_none
    the_oldest_note_is_replaced_first
    a_dead_backend_loses_its_connections
    datagrams_move_at_once_or_stay
    what_is_settled_is_forgotten
    nothing_is_remembered_without_a_change
    numbers_of_backends_are_not_used_again_while_a_flow_names_them
}

const SYN: TcpFlags = TcpFlags { syn: true, ack: false, fin: false, rst: false };
const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };
const SERVICE: &str = "192.0.2.7";
/// Flows that are compared.
const FLOWS: std::ops::Range<u16> = 1000..1200;

fn config(protocol: &str, backends: &[u8]) -> Config {
    let text = format!(
        "source = ['10.0.2.1']\n[[service]]\nname = 'web'\naddress = '{SERVICE}'\n\
         protocol = '{protocol}'\nport = 80\n"
    );
    let mut config: Config = toml::from_str(&text).unwrap();
    config.services[0].backends = backends.iter().map(|number| backend(*number)).collect();
    config
}

fn backend(number: u8) -> Backend {
    Backend::new(IpAddr::from([10, 0, 2, number]))
}

fn number<R: Balanced>(balancer: &mut Balancer<R>, packet: &[u8]) -> u8 {
    match balancer.backend(packet) {
        IpAddr::V4(address) => address.octets()[3],
        IpAddr::V6(_) => panic!("the backends are IPv4"),
    }
}

fn flow(port: u16) -> Flow {
    client(SERVICE, port)
}

fn segment(port: u16, sequence: u32) -> Vec<u8> {
    flow(port).tcp(ACK, sequence, b"").unwrap()
}

fn syn(port: u16, sequence: u32) -> Vec<u8> {
    flow(port).tcp(SYN, sequence, b"").unwrap()
}

/// Backends of segments of all flows, with this sequence number.
fn all<R: Balanced>(balancer: &mut Balancer<R>, sequence: u32) -> Vec<u8> {
    FLOWS.map(|port| number(balancer, &segment(port, sequence))).collect()
}

fn remembered<R: Balanced>(balancer: &Balancer<R>) -> Vec<Remembered> {
    balancer::flows(balancer.maps().flows, monotonic_ns()).unwrap()
}

/// Opens each flow on the balancer, and returns the backends of the SYN and of what follows.
fn open<R: Balanced>(balancer: &mut Balancer<R>, sequence: u32) -> Vec<[u8; 2]> {
    let open = |port| {
        let first = number(balancer, &syn(port, sequence));
        [first, number(balancer, &segment(port, sequence + 1))]
    };
    FLOWS.map(open).collect()
}

fn older_connections_stay_and_younger_ones_move<R: Balanced>() {
    let mut balancer = Balancer::<R>::new(&config("tcp", &[10, 11, 12, 13]));
    let before = all(&mut balancer, 5_000_000);
    let change = balancer.update(&config("tcp", &[10, 11, 12])).unwrap();
    let [moved] = &change.moved[..] else { panic!("{change:?}") };
    assert_eq!(moved.slots, moved.kept);
    assert!((16384..20000).contains(&moved.slots), "{moved:?}");
    assert_eq!(all(&mut balancer, 6_000_000), before, "older connections");
    let fresh = Balancer::<R>::new(&config("tcp", &[10, 11, 12]));
    let after = {
        let mut fresh = fresh;
        all(&mut fresh, 1)
    };
    let opened = open(&mut balancer, 70_000_000);
    for ((opened, after), port) in opened.iter().zip(&after).zip(FLOWS) {
        assert_eq!(opened, &[*after; 2], "{port}");
    }
    assert_eq!(all(&mut balancer, 80_000_000), after, "younger connections remain");
    let moved = before.iter().zip(&after).filter(|(before, after)| before != after).count();
    assert_eq!(remembered(&balancer).len(), moved, "only those whose slot moved");
}

/// Connections of three ages are each where they began.
fn a_second_change_keeps_both<R: Balanced>() {
    let mut balancer = Balancer::<R>::new(&config("tcp", &[10, 11, 12, 13]));
    let oldest = all(&mut balancer, 1);
    balancer.update(&config("tcp", &[10, 11])).unwrap();
    let half: Vec<u16> = FLOWS.step_by(2).collect();
    let mut expected = oldest;
    for port in &half {
        expected[usize::from(port - FLOWS.start)] = number(&mut balancer, &syn(*port, 900_000));
        number(&mut balancer, &segment(*port, 900_001));
    }
    assert_eq!(all(&mut balancer, 950_000), expected);
    balancer.update(&config("tcp", &[12, 14, 15])).unwrap();
    assert_eq!(all(&mut balancer, 3_000_000), expected);
    balancer.update(&config("tcp", &[10, 11, 12, 13])).unwrap();
    assert_eq!(all(&mut balancer, 4_000_000), expected, "as it was at first");
}

/// A SYN with the addresses and ports of a connection goes to the new backend, which answers that
/// it knows nothing of it; the connection is not moved by that.
fn a_forged_syn_does_not_move_a_connection<R: Balanced>() {
    let mut balancer = Balancer::<R>::new(&config("tcp", &[10, 11, 12, 13]));
    let before = all(&mut balancer, 5_000_000);
    balancer.update(&config("tcp", &[14, 15])).unwrap();
    for port in FLOWS {
        number(&mut balancer, &syn(port, 0x7000_0000));
    }
    assert_eq!(all(&mut balancer, 5_000_001), before);
    assert_eq!(remembered(&balancer), []);
    let opened = open(&mut balancer, 100);
    for port in FLOWS {
        let backend = number(&mut balancer, &syn(port, 0x6000_0000));
        assert_eq!(backend, opened[usize::from(port - FLOWS.start)][0], "of a known connection");
    }
    let expected: Vec<_> = opened.iter().map(|[first, _]| *first).collect();
    assert_eq!(all(&mut balancer, 200_000), expected);
}

/// In a memory with 16 cells, which the flood overwrites many times.
fn a_flood_of_syns_leaves_no_connection_and_displaces_none<R: Balanced>() {
    let small = |backends: &[u8]| Config { flows: 8, ..config("tcp", backends) };
    let mut balancer = Balancer::<R>::new(&small(&[10, 11]));
    let before = all(&mut balancer, 1);
    balancer.update(&small(&[12, 13])).unwrap();
    let known: Vec<u16> = (1000..1004).collect();
    let open = |port: &u16| {
        number(&mut balancer, &syn(*port, 1000));
        number(&mut balancer, &segment(*port, 1001))
    };
    let opened: Vec<u8> = known.iter().map(open).collect();
    for port in 2000..2400 {
        number(&mut balancer, &syn(port, 77));
    }
    let still: Vec<u8> =
        known.iter().map(|port| number(&mut balancer, &segment(*port, 2000))).collect();
    assert_eq!(still, opened);
    assert_eq!(remembered(&balancer).len(), known.len());
    assert_eq!(all(&mut balancer, 1)[4..], before[4..], "older connections");

    // Once they are used at another time, floods that continue their SYNs do not displace them.
    age(&balancer);
    let again: Vec<u8> =
        known.iter().map(|port| number(&mut balancer, &segment(*port, 2001))).collect();
    assert_eq!(again, opened);
    assert!(remembered(&balancer).iter().all(|one| one.kind == Kind::Flow));
    for port in 3000..3400 {
        number(&mut balancer, &syn(port, 77));
        number(&mut balancer, &segment(port, 78));
    }
    let still: Vec<u8> =
        known.iter().map(|port| number(&mut balancer, &segment(*port, 3000))).collect();
    assert_eq!(still, opened);
}

/// In a memory with eight cells: a handshake continues if at most seven others began meanwhile.
fn the_oldest_note_is_replaced_first<R: Balanced>() {
    let small = |backends: &[u8]| Config { flows: 4, ..config("tcp", backends) };
    let mut balancer = Balancer::<R>::new(&small(&[10, 11]));
    balancer.update(&small(&[12, 13])).unwrap();
    let mut begin = |ports: std::ops::Range<u16>| {
        for port in ports {
            number(&mut balancer, &syn(port, 77));
            age(&balancer);
        }
    };
    begin(2000..2008);
    begin(1000..1001);
    begin(3000..3007);
    assert!([12, 13].contains(&number(&mut balancer, &segment(1000, 78))));
    let known = remembered(&balancer);
    assert!(matches!(&known[..], [one] if one.kind == Kind::Young), "{known:?}");
}

/// Makes everything that is remembered a unit of time older.
fn age<R: Balanced>(balancer: &Balancer<R>) {
    let map = balancer.maps().flows;
    for key in map.keys().unwrap() {
        let mut line = map.lookup(&key).unwrap().unwrap();
        for cell in line.chunks_exact_mut(8) {
            let old = u64::from_le_bytes(*cell.first_chunk().unwrap());
            if old != 0 {
                let aged = old & !0x3fff | old.wrapping_sub(1) & 0x3fff;
                cell.copy_from_slice(&aged.to_le_bytes());
            }
        }
        map.update(&key, &line, Expect::Any).unwrap();
    }
}

fn a_dead_backend_loses_its_connections<R: Balanced>() {
    let mut balancer = Balancer::<R>::new(&config("tcp", &[10, 11, 12]));
    let before = all(&mut balancer, 1);
    let mut dead = config("tcp", &[10, 11, 12]);
    dead.services[0].backends[1].state = State::Down;
    balancer.update(&dead).unwrap();
    let after = all(&mut balancer, 2);
    for (before, after) in before.iter().zip(&after) {
        assert_ne!(*after, 11);
        assert!(before == after || *before == 11, "no other one moves");
    }
    // The same for one that drained first, with connections that are remembered.
    let mut balancer = Balancer::<R>::new(&config("tcp", &[10, 11]));
    balancer.update(&config("tcp", &[12, 13])).unwrap();
    open(&mut balancer, 100);
    balancer.update(&config("tcp", &[10, 11, 14, 15])).unwrap();
    let mut dead = config("tcp", &[10, 11, 12, 13, 14, 15]);
    dead.services[0].backends[2].state = State::Down;
    dead.services[0].backends[3].state = State::Down;
    balancer.update(&dead).unwrap();
    assert!(all(&mut balancer, 200_000).iter().all(|number| ![12, 13].contains(number)));
}

fn datagrams_move_at_once_or_stay<R: Balanced>() {
    let packet = |port| flow(port).udp(b"x").unwrap();
    for datagrams in [Datagrams::Move, Datagrams::Keep] {
        let of = |backends: &[u8], datagrams| {
            let mut config = config("udp", backends);
            config.services[0].datagrams = datagrams;
            config
        };
        let mut balancer = Balancer::<R>::new(&of(&[10, 11], datagrams));
        let all = |balancer: &mut Balancer<R>| -> Vec<u8> {
            FLOWS.map(|port| number(balancer, &packet(port))).collect()
        };
        let before = all(&mut balancer);
        balancer.update(&of(&[12, 13], datagrams)).unwrap();
        let after = all(&mut balancer);
        if datagrams == Datagrams::Keep {
            assert_eq!(before, after);
            balancer.update(&of(&[12, 13], Datagrams::Move)).unwrap();
            assert_eq!(all(&mut balancer), before, "they are remembered");
            let other = number(&mut balancer, &packet(5000));
            assert!([12, 13].contains(&other), "{other}");
        } else {
            assert!(after.iter().all(|number| [12, 13].contains(number)));
            assert_eq!(remembered(&balancer), []);
        }
    }
}

fn what_is_settled_is_forgotten<R: Balanced>() {
    let mut balancer = Balancer::<R>::new(&config("tcp", &[10, 11]));
    let before = all(&mut balancer, 1);
    balancer.update(&config("tcp", &[12, 13])).unwrap();
    assert_eq!(all(&mut balancer, 2), before);
    let opened = open(&mut balancer, 900_000);
    let settle =
        |balancer: &Balancer<R>| balancer::settle(&balancer.maps(), monotonic_ns()).unwrap();
    assert_eq!(settle(&balancer), 0, "all are where their slot is");
    let now: Vec<_> = opened.iter().map(|[first, _]| *first).collect();
    assert_eq!(all(&mut balancer, 1_000_000), now);
    let count = |balancer: &Balancer<R>| {
        let maps = balancer.maps();
        let live = balancer::Live::read(&maps).unwrap();
        (live.backends.len(), live.services.values().next().unwrap().former)
    };
    assert_eq!(count(&balancer), (2, u32::MAX), "backends that are left");

    // Connections that are remembered for another backend than their slot's remain.
    balancer.update(&config("tcp", &[12, 14])).unwrap();
    let opened = open(&mut balancer, 5_000_000);
    balancer.update(&config("tcp", &[15])).unwrap();
    let expected: Vec<_> = opened.iter().map(|[first, _]| *first).collect();
    let elsewhere = settle(&balancer);
    assert_eq!(elsewhere, remembered(&balancer).len());
    for (port, expected) in FLOWS.zip(expected) {
        let number = number(&mut balancer, &segment(port, 6_000_000));
        assert!(number == expected || number == 15, "{port}");
    }
    assert!(elsewhere > 0 && count(&balancer).1 != u32::MAX);
}

fn nothing_is_remembered_without_a_change<R: Balanced>() {
    let mut balancer = Balancer::<R>::new(&config("tcp", &[10, 11]));
    open(&mut balancer, 1);
    balancer.update(&config("tcp", &[10, 11])).unwrap();
    open(&mut balancer, 1);
    assert_eq!(remembered(&balancer), []);
    let live = balancer::Live::read(&balancer.maps()).unwrap();
    assert_eq!(live.services.values().next().unwrap().former, u32::MAX);
}

fn numbers_of_backends_are_not_used_again_while_a_flow_names_them<R: Balanced>() {
    let mut balancer = Balancer::<R>::new(&config("tcp", &[10, 11]));
    let before = all(&mut balancer, 1);
    for round in 0..3 {
        balancer.update(&config("tcp", &[12 + round, 16 + round])).unwrap();
        assert_eq!(all(&mut balancer, 2), before, "{round}");
    }
    let live = balancer::Live::read(&balancer.maps()).unwrap();
    assert_eq!(live.backends.len(), 8);
}

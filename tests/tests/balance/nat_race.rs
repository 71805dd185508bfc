//! Flows that begin on two processors at the same time: none has two entries, no two have one
//! address and port, and none replaces one that another processor just wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use functions::balancer::{Constants, NAT_ENTRIES, NAT_GROUPS, NAT_OBJECT};
use kernel::TestRun;
use spec::{Expect, Input, Map as _, Spec, Verdict};
use xway_tests::bpf::balancer::{Balancer, CLIENTS};
use xway_tests::stage::PATIENCE;

use super::nat::{Ends, OPEN, SERVICES, change_cells, config, newest, others, request};
use super::nat_why::forth;

/// A packet that begins a flow, and the number of the flow.
type Packet = (usize, Vec<u8>);
/// Where the packets of a processor were sent; `None` for those that were dropped.
type Sent = Vec<(usize, Option<Ends>)>;

/// Lets both processors continue when both have come.
#[derive(Default)]
struct Gate(AtomicUsize);

impl Gate {
    fn pass(&self, time: usize) {
        self.0.fetch_add(1, Ordering::AcqRel);
        let start = Instant::now();
        while self.0.load(Ordering::Acquire) < 2 * (time + 1) {
            assert!(start.elapsed() < 6 * PATIENCE, "the other processor ended");
            std::thread::yield_now();
        }
    }
}

/// Runs lists of packets on a processor each; both begin each list together.
fn race(balancer: &Balancer, lists: [&[Vec<Packet>]; 2]) -> [Sent; 2] {
    let (program, host, gate) = (balancer.program(), &balancer.site().b, Gate::default());
    let cpus = sys::cpu::affinity().unwrap();
    let ingress_ifindex = balancer.ports[CLIENTS];
    let run = |number: usize| -> Sent {
        sys::cpu::set_affinity(&[cpus[number % cpus.len()]]).unwrap();
        let mut sent = Vec::new();
        for (time, list) in lists[number].iter().enumerate() {
            gate.pass(time);
            for (flow, packet) in list {
                let mut ends = None;
                // As clients do: the other processor may have been interrupted.
                for _ in 0..ATTEMPTS {
                    let input =
                        Input { packet: packet.clone(), ingress_ifindex, ..Input::default() };
                    let outcome = program.run(&TestRun { input, repeat: 1, cpu: None }).unwrap();
                    if outcome.verdict() == Verdict::Redirect {
                        ends = Some(Ends::of(&outcome.packet));
                        break;
                    }
                    std::thread::yield_now();
                }
                sent.push((*flow, ends));
            }
        }
        sent
    };
    std::thread::scope(|scope| {
        let racers = [0, 1].map(|number| scope.spawn(move || host.run(|| run(number)).unwrap()));
        racers.map(|one| one.join().unwrap())
    })
}

/// Flows of the entries that are in use, each with its index; `others` have none.
fn entries(balancer: &Balancer) -> Vec<(u32, [u8; 37])> {
    let entries = balancer.map(NAT_ENTRIES);
    let groups = balancer.map(NAT_GROUPS).array().unwrap();
    let cells = groups.iter().flat_map(|group| group.chunks_exact(8));
    let cells = cells.map(|cell| u64::from_le_bytes(*cell.first_chunk().unwrap()));
    let used = cells.enumerate().filter(|(_, cell)| cell >> 20 & 7 > 1 && cell >> 40 != OTHER);
    let read = |(index, _): (usize, u64)| {
        let entry = entries.lookup(&(index as u32).to_le_bytes()).unwrap().unwrap();
        // Client, service, their ports, and the protocol.
        let flow = [&entry[..32], &entry[48..52], &entry[54..55]].concat();
        (index as u32, *flow.first_chunk().unwrap())
    };
    used.map(read).collect()
}

/// Both processors get the same packets in the same order, so each flow begins on both.
#[test]
fn a_flow_that_begins_on_two_processors_has_one_entry() {
    let balancer: Balancer = Balancer::new(&config(&[10, 11, 12]));
    let flows = 1000..21_000_u16;
    let packets: Vec<Packet> = flows
        .map(|port| {
            (usize::from(port), request(SERVICES[0], ["tcp", "udp"][port as usize % 2], port))
        })
        .collect();
    let lists: Vec<_> = packets.chunks(50).map(<[Packet]>::to_vec).collect();
    let [one, other] = race(&balancer, [&lists, &lists]);
    let differing: Vec<_> = one.iter().zip(&other).filter(|(one, other)| one != other).collect();
    assert!(differing.is_empty(), "{} flows, such as {:?}", differing.len(), differing[0]);
    assert!(one.iter().all(|(_, ends)| ends.is_some()), "all are sent");
    let mut known = BTreeMap::new();
    for (index, flow) in entries(&balancer) {
        let before = known.insert(flow, index);
        assert_eq!(before, None, "a flow has entries {before:?} and {index}");
    }
}

/// Each processor gets flows of its own, all of which compete for the few groups with space.
#[test]
fn flows_of_two_processors_never_share_an_entry() {
    let config = config(&[10, 11, 12]);
    let balancer: Balancer = Balancer::new(&config);
    let mut spec = Spec::parse("balancer", NAT_OBJECT).unwrap();
    config.apply(&mut spec).unwrap();
    let constants = Constants::of(&spec).unwrap();
    let mut competing: BTreeMap<u32, Vec<Packet>> = BTreeMap::new();
    for port in 1024..=u16::MAX {
        for protocol in ["tcp", "udp"] {
            let flow = forth(SERVICES[0], protocol, port);
            let groups = constants.nat_groups(&flow).unwrap();
            let mut with_space = groups.into_iter().filter(|group| group % EVERY == 0);
            // No flow has to replace another one: each group has eight entries.
            if let (Some(group), None) = (with_space.next(), with_space.next()) {
                let number = usize::from(port) * 2 + usize::from(protocol == "udp");
                let packets = competing.entry(group).or_default();
                if packets.len() < 8 {
                    packets.push((number, request(SERVICES[0], protocol, port)));
                }
            }
        }
    }
    let [mut one, mut other] = [Vec::new(), Vec::new()];
    for packets in competing.values() {
        assert_eq!(packets.len(), 8);
        one.push(packets[..4].to_vec());
        other.push(packets[4..].to_vec());
    }
    balancer_is_full(&balancer);
    for _ in 0..ROUNDS {
        let empty = [0; 64];
        for group in competing.keys() {
            let groups = balancer.map(NAT_GROUPS);
            groups.update(&group.to_le_bytes(), &empty, Expect::Any).unwrap();
        }
        let sent = race(&balancer, [&one, &other]);
        let mut used = BTreeSet::new();
        for (flow, ends) in sent.iter().flatten() {
            let ends = ends.unwrap_or_else(|| panic!("flow {flow} has no entry"));
            assert!(used.insert(ends.from), "flow {flow} shares {:?}", ends.from);
        }
        assert_eq!(entries(&balancer).len(), used.len(), "each entry is of a packet that was sent");
    }
}

/// All cells have connections of others, which are not replaced.
fn balancer_is_full(balancer: &Balancer) {
    let mut unnamed: Balancer = Balancer::new(&config(&[10]));
    unnamed.judge(&request(SERVICES[0], "udp", 1));
    let now = newest(&unnamed);
    change_cells(balancer, |cell| others(cell, OPEN, now));
}

/// The tag of the flows that `others` makes.
const OTHER: u64 = 0xabcdef;
/// One of this number of groups has space.
const EVERY: u32 = 256;
const ROUNDS: usize = 12;
/// How often a packet is sent that is dropped.
const ATTEMPTS: usize = 100;

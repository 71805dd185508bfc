//! The simulated network itself, tested with a simple sender: what it must report, and must not.

use crate::tcp_sim::connection::{Manner, Reader, State};
use crate::tcp_sim::fate::{self, Fate};
use crate::tcp_sim::link::Link;
use crate::tcp_sim::peer::Peer;
use crate::tcp_sim::segment;
use crate::tcp_sim::simulation::Simulation;
use crate::tcp_sim::tiny::{Mischief, Tiny};
use crate::tcp_sim::{MS, SECOND};

const BYTES: u64 = 50_000;

fn network(sender: Tiny, manner: Manner) -> Simulation<Tiny> {
    let (there, back) = (Link::new(5 * MS), Link::new(5 * MS));
    Simulation::new(sender, there, back, Peer::new(manner))
}

#[test]
fn a_good_sender_is_not_complained_of() {
    let mut simulation = network(Tiny::new(BYTES), Manner::default());
    simulation.run(10 * SECOND);
    simulation.expect(BYTES);
    let count = simulation.flow().count;
    assert_eq!((count.bytes, count.again, count.data), (BYTES, 0, 50));
    let connection = simulation.peer.connections.values().next().unwrap();
    assert_eq!((connection.state, connection.repeated), (State::Closed, 0));
    let round = simulation.flow().log.acked_at(1).unwrap();
    assert_eq!(round, 10 * MS, "SYN and its answer take 5 ms each");
}

#[test]
fn every_fault_of_the_path_is_survived_by_going_back() {
    type Make = fn() -> fate::Fault;
    let faults: [(&str, Make); 6] = [
        ("each 7th lost", || fate::each(7, Fate::Lose)),
        ("each 7th twice", || fate::each(7, Fate::Twice)),
        ("each 5th late", || fate::each(5, Fate::Late(3 * MS))),
        ("a third lost", || fate::share(1, 0.3, Fate::Lose)),
        ("first SYN lost", || fate::flagged(segment::SYN, 1, Fate::Lose)),
        ("first FIN lost", || fate::flagged(segment::FIN, 1, Fate::Lose)),
    ];
    for (name, fault) in faults {
        for side in ["there", "back"] {
            let mut simulation = network(Tiny::new(BYTES), Manner::default());
            let link = if side == "there" { &mut simulation.there } else { &mut simulation.back };
            link.fault = fault();
            simulation.run_while(60 * SECOND, |simulation| {
                simulation.peer.connections.values().all(|connection| !connection.is_over())
            });
            let bytes: Vec<_> =
                simulation.peer.connections.values().map(|connection| connection.bytes()).collect();
            assert_eq!(bytes, [BYTES], "{name} {side}\n{}", simulation.tell());
        }
    }
}

#[test]
fn a_slow_reader_closes_the_window() {
    let manner =
        Manner { buffer: 3_000, scale: None, reader: Reader::Rate(10_000), ..Manner::default() };
    let mut simulation = network(Tiny::new(20_000), manner);
    simulation.run(20 * SECOND);
    simulation.expect(20_000);
    assert!(simulation.now > 15 * SECOND / 10, "{} ms", simulation.now / MS);
    assert!(simulation.flow().log.flights().iter().all(|(_, bytes)| *bytes <= 3_001));
}

#[test]
fn every_mischief_is_complained_of() {
    let table = [
        (Mischief::Greed, "exceeds the window"),
        (Mischief::Repeat, "again, acknowledged up to"),
        (Mischief::Gap, "leaves a gap"),
        (Mischief::Checksum, "checksum"),
    ];
    for (mischief, complaint) in table {
        let sender = Tiny::new(BYTES).with(mischief);
        let manner = Manner { buffer: 8_000, ..Manner::default() };
        let mut simulation = network(sender, manner);
        simulation.run_while(SECOND, |_| true);
        let complaints = simulation.complaints();
        let is_it = |text: &String| text.contains(complaint);
        assert!(complaints.iter().any(is_it), "{mischief:?}: {complaints:?}");
    }
}

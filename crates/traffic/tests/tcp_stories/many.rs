//! Many concurrent flows over one link.

use super::story::{FULL, Plan, Story};
use crate::tcp_sim::connection::Manner;
use crate::tcp_sim::link::Link;
use crate::tcp_sim::model::Algorithm;
use crate::tcp_sim::{MS, SECOND};

/// Jain's fairness index: 1 when all shares are equal.
fn fairness(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[test]
fn ten_thousand_flows_complete() {
    let bytes = 5 * FULL;
    let plan = Plan { flows: 10_000, ..Plan::bytes(bytes) };
    let mut story = Story::new(plan);
    story.keeps_logs = false;
    story.there(Link::new(MS).with_rate(10_000_000_000, 64 << 20)).back(Link::new(MS));
    let sim = story.run();
    sim.expect(bytes);
    assert_eq!(sim.peer.connections.len(), 10_000);
    assert_eq!(sim.total().again, 0);
    assert_eq!(story.ends(), [("closed", 10_000)]);
}

#[test]
fn flows_share_a_link_that_is_too_small() {
    for algorithm in [Algorithm::NewReno, Algorithm::Cubic] {
        let plan = Plan { flows: 8, algorithm, ..Plan::bytes(1 << 30) };
        let mut story = Story::new(plan);
        story.keeps_logs = false;
        // About four packets of each flow are in flight, and four in the queue.
        story.there(Link::new(10 * MS).with_rate(20_000_000, 50_000)).back(Link::new(10 * MS));
        story.start();
        let sim = story.sim();
        sim.run_while(8 * SECOND, |_| true);
        sim.expect_no_complaint();
        let shares: Vec<_> = sim.peer.connections.values().map(|one| one.bytes() as f64).collect();
        let (fair, used) = (fairness(&shares), shares.iter().sum::<f64>() * 8.0 / 8.0 / 20e6);
        assert_eq!(shares.len(), 8);
        assert!(fair > 0.8, "{algorithm:?}: fairness {fair}, {shares:?}");
        assert!(used > 0.85, "{algorithm:?}: {used} of the link is used");
        let total = sim.total();
        let again = total.again as f64 / total.data as f64;
        assert!(again < 0.05, "{algorithm:?}: {again} is sent again");
    }
}

#[test]
fn flows_of_both_address_families_are_distinguished() {
    for is_ipv6 in [false, true] {
        // Two addresses for 30 flows: 16 ports each.
        let plan = Plan { flows: 30, ports: 16, is_ipv6, ..Plan::bytes(5000) };
        let mut story = Story::new(plan).with_peer(Manner::default());
        let sim = story.run();
        sim.expect(5000);
        let mut ids: Vec<_> = sim.peer.connections.keys().map(|id| (id.0, id.1)).collect();
        ids.sort();
        ids.dedup_by_key(|id| id.0);
        assert_eq!((sim.peer.connections.len(), ids.len()), (30, 2));
    }
}

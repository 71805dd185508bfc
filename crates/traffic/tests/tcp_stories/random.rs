//! Random paths, peers and sizes: all data is delivered exactly, without complaints.

use super::story::{Plan, Story};
use crate::tcp_sim::connection::{Manner, Reader};
use crate::tcp_sim::fate::{self, Fate};
use crate::tcp_sim::link::Link;
use crate::tcp_sim::model::Algorithm;
use crate::tcp_sim::random::Random;
use crate::tcp_sim::{MS, SECOND, US};

#[test]
fn everything_is_delivered_whatever_happens() {
    let (first, count) = seeds();
    for seed in first..first + count {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let plan = plan(&mut random);
        let (bytes, manner) = (plan.bytes, peer(&mut random));
        println!("{plan:?} {manner:?}");
        let mut story = Story::new(plan).with_peer(manner);
        let (there, back) = (link(&mut random), link(&mut random));
        story.there(there).back(back);
        story.limit = 3000 * SECOND;
        story.run_on(200 * SECOND).expect(bytes);
    }
}

/// Seeds to run; `XWAY_SEEDS=FIRST,COUNT` selects others.
fn seeds() -> (u64, u64) {
    let text = std::env::var("XWAY_SEEDS").unwrap_or_default();
    let numbers: Vec<u64> = text.split(',').filter_map(|number| number.parse().ok()).collect();
    if let [first, count] = numbers[..] { (first, count) } else { (1, 40) }
}

fn one<T: Clone>(random: &mut Random, choices: &[T]) -> T {
    choices[random.within(0, choices.len() as u64 - 1) as usize].clone()
}

fn plan(random: &mut Random) -> Plan {
    Plan {
        flows: one(random, &[1, 1, 2, 5, 20]),
        algorithm: one(random, &[Algorithm::NewReno, Algorithm::Cubic]),
        is_ipv6: random.chance(0.5),
        quantum: one(random, &[1, 4, 32]),
        batch: one(random, &[1, 16, 64]),
        seed: random.next() as u32,
        retries: 100,
        ..Plan::bytes(one(random, &[0, 1, 5_000, 100_000, 400_000]))
    }
}

fn peer(random: &mut Random) -> Manner {
    let rate = random.within(100_000, 2_000_000);
    let pause = random.within(100, 3000) * MS;
    Manner {
        mss: one(random, &[536, 1000, 1460, 1460, 9000]),
        scale: one(random, &[None, Some(0), Some(7), Some(14)]),
        sack: random.chance(0.8),
        time: random.chance(0.8),
        tells_twice: random.chance(0.5),
        buffer: one(random, &[4_000, 30_000, 200_000, 4 << 20]),
        reader: one(random, &[Reader::Prompt, Reader::Rate(rate), Reader::Pause(20_000, pause)]),
        ack_delay: one(random, &[None, Some(40 * MS), Some(200 * MS)]),
        first: random.next() as u32,
        ..Manner::default()
    }
}

fn link(random: &mut Random) -> Link {
    let mut link = Link::new(one(random, &[10 * US, MS, 10 * MS, 60 * MS]));
    if random.chance(0.5) {
        let queue = random.within(5_000, 100_000);
        link = link.with_rate(random.within(2_000_000, 200_000_000), queue);
    }
    let mut faults = Vec::new();
    for fate in [Fate::Lose, Fate::Twice, Fate::Late(random.within(10, 30_000) * US)] {
        if random.chance(0.4) {
            let share = one(random, &[0.001, 0.01, 0.05, 0.2]);
            faults.push(fate::share(random.next(), share, fate));
        }
    }
    if random.chance(0.2) {
        let first = random.within(1, 100);
        faults.push(fate::frames(first..first + random.within(2, 50), Fate::Lose));
    }
    link.with_fault(fate::any(faults))
}

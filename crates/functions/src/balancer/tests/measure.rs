//! Movement, evenness and time of the table, of Maglev and of rendezvous hashing.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use super::{Backend, Table, equal, peers};

type Algorithm = fn(u64, &[Backend]) -> Vec<u64>;

const ALGORITHMS: [(&str, Algorithm); 3] =
    [("table", table), ("maglev", peers::maglev), ("rendezvous", peers::rendezvous)];
const SEEDS: u64 = 11;

fn table(seed: u64, backends: &[Backend]) -> Vec<u64> {
    let table = Table::new(seed, backends).expect("backends have weights");
    table.slots().iter().map(|&owner| table.backends()[usize::from(owner)].id).collect()
}

/// Changes of a set: name, backends before and after.
fn changes() -> Vec<(&'static str, Vec<Backend>, Vec<Backend>)> {
    let heavier = |mut backends: Vec<Backend>, index: usize, weight| {
        backends[index].weight = weight;
        backends
    };
    let mixed = || {
        let mut backends = equal(1000);
        backends.iter_mut().zip((1..=10).cycle()).for_each(|(one, weight)| one.weight = weight);
        backends
    };
    vec![
        ("1000 -> 999", equal(1000), equal(999)),
        ("1000 -> 1001", equal(1000), equal(1001)),
        ("1000 -> 900", equal(1000), equal(900)),
        ("994 -> 993", equal(994), equal(993)),
        ("100 -> 99", equal(100), equal(99)),
        ("10 -> 9", equal(10), equal(9)),
        ("3 -> 2", equal(3), equal(2)),
        ("1000, weight 1 -> 2", equal(1000), heavier(equal(1000), 500, 2)),
        ("1000, weights 1-10, one -> 0", mixed(), heavier(mixed(), 509, 0)),
        ("1000, weights 1-10, 9 -> 10", mixed(), heavier(mixed(), 508, 10)),
    ]
}

/// Share of all slots, in percent, that move at all, and that move between backends that stay.
fn movement(algorithm: Algorithm, seed: u64, old: &[Backend], new: &[Backend]) -> (f64, f64) {
    let weights = |set: &[Backend]| -> BTreeMap<u64, u16> {
        set.iter().filter(|one| one.weight > 0).map(|one| (one.id, one.weight)).collect()
    };
    let (before, after) = (weights(old), weights(new));
    let (old, new) = (algorithm(seed, old), algorithm(seed, new));
    let unchanged = |id| before.get(id) == after.get(id);
    let moved: Vec<_> = old.iter().zip(&new).filter(|(from, to)| from != to).collect();
    let others = moved.iter().filter(|(from, to)| unchanged(from) && unchanged(to)).count();
    let percent = |slots: usize| 100.0 * slots as f64 / old.len() as f64;
    (percent(moved.len()), percent(others))
}

/// Largest and smallest load over the share.
fn evenness(algorithm: Algorithm, seed: u64, backends: &[Backend]) -> (f64, f64) {
    let owners = algorithm(seed, backends);
    let mut loads: BTreeMap<u64, u32> = BTreeMap::new();
    owners.iter().for_each(|&owner| *loads.entry(owner).or_default() += 1);
    let total: f64 = backends.iter().map(|backend| f64::from(backend.weight)).sum();
    let relative = backends.iter().filter(|backend| backend.weight > 0).map(|backend| {
        let load = f64::from(loads.get(&backend.id).copied().unwrap_or(0));
        load * total / (owners.len() as f64 * f64::from(backend.weight))
    });
    relative.fold((0.0, f64::INFINITY), |(max, min), one| (one.max(max), one.min(min)))
}

/// Minimum, median and maximum.
fn spread(mut samples: Vec<f64>) -> [f64; 3] {
    samples.sort_by(f64::total_cmp);
    [samples[0], samples[samples.len() / 2], samples[samples.len() - 1]]
}

#[test]
#[ignore = "measures: cargo test --release -p xway-functions balancer -- --ignored --nocapture"]
fn movement_and_evenness() {
    println!("percent of the slots that move (min/median/max of {SEEDS} seeds); load over share");
    for (change, old, new) in changes() {
        for (name, algorithm) in ALGORITHMS {
            let seeds = if name == "rendezvous" { 1 } else { SEEDS };
            let moved: Vec<_> =
                (0..seeds).map(|seed| movement(algorithm, seed, &old, &new)).collect();
            let [least, usual, most] = spread(moved.iter().map(|&(_, others)| others).collect());
            let [_, all, _] = spread(moved.iter().map(|&(all, _)| all).collect());
            let loads: Vec<_> = (0..seeds).map(|seed| evenness(algorithm, seed, &new)).collect();
            let max = spread(loads.iter().map(|&(max, _)| max).collect())[2];
            let min = spread(loads.iter().map(|&(_, min)| min).collect())[0];
            println!(
                "{change:30} {name:10} all {all:7.3}  others {least:.3}/{usual:.3}/{most:.3}  \
                 max {max:.4} min {min:.4}"
            );
        }
    }
}

#[test]
#[ignore = "measures: cargo test --release -p xway-functions balancer -- --ignored --nocapture"]
fn time_from_scratch() {
    println!("milliseconds to compute a table (min/median/max of 31, interleaved)");
    for count in [2, 10, 100, 993, 1000, 10_000, 65_535] {
        let backends = equal(count);
        let mut times = [vec![], vec![], vec![]];
        for seed in 0..31 {
            for (times, (name, algorithm)) in times.iter_mut().zip(ALGORITHMS) {
                if name == "rendezvous" && (count > 1000 || seed > 2) {
                    continue;
                }
                let start = Instant::now();
                if name == "table" {
                    black_box(Table::new(seed, &backends)).expect("backends have weights");
                } else {
                    black_box(algorithm(seed, &backends));
                }
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
        for (times, (name, _)) in times.into_iter().zip(ALGORITHMS) {
            if !times.is_empty() {
                let [least, usual, most] = spread(times);
                println!("{count:6} backends {name:10} {least:.2}/{usual:.2}/{most:.2}");
            }
        }
    }
}

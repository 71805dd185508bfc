//! Movement, evenness and time of the table, of Maglev and of rendezvous hashing:
//! `cargo test --release -p xway-functions balancer -- --ignored --nocapture --test-threads 1`

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use super::sets::{equal, incidental, owners, reweighted, table, weighted};
use super::{Backend, SLOTS, Table, peers, plan};

type Algorithm = fn(u64, &[Backend]) -> Vec<u64>;

const ALGORITHMS: [(&str, Algorithm, u64); 3] = [
    ("table", |seed, backends| owners(&table(seed, backends)), 11),
    ("maglev", peers::maglev, 11),
    ("rendezvous", peers::rendezvous, 1),
];

/// Changes of a set: name, backends before and after.
fn changes() -> Vec<(&'static str, Vec<Backend>, Vec<Backend>)> {
    let mixed = || weighted((0..1000).map(|number| number % 10 + 1));
    vec![
        ("1000 -> 999", equal(1000), equal(999)),
        ("1000 -> 1001", equal(1000), equal(1001)),
        ("1000 -> 900", equal(1000), equal(900)),
        ("994 -> 993", equal(994), equal(993)),
        ("100 -> 99", equal(100), equal(99)),
        ("10 -> 9", equal(10), equal(9)),
        ("3 -> 2", equal(3), equal(2)),
        ("1000, weight 1 -> 2", equal(1000), reweighted(equal(1000), 500, 2)),
        ("1000, weights 1-10, 10 -> 0", mixed(), reweighted(mixed(), 509, 0)),
        ("1000, weights 1-10, 9 -> 10", mixed(), reweighted(mixed(), 508, 10)),
    ]
}

/// Largest and smallest load over the share.
fn evenness(owners: &[u64], backends: &[Backend]) -> (f64, f64) {
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
#[ignore = "measures for a minute"]
fn movement_and_evenness() {
    println!("percent of all slots that move, and that move between backends which do not change");
    println!("(min/median/max of 11 seeds; rendezvous: one); load over share after the change");
    for (change, old, new) in changes() {
        for (name, algorithm, seeds) in ALGORITHMS {
            let (mut all, mut others, mut max, mut min) = (vec![], vec![], vec![], vec![]);
            for seed in 0..seeds {
                let (before, after) = (algorithm(seed, &old), algorithm(seed, &new));
                let percent = |slots: usize| 100.0 * slots as f64 / before.len() as f64;
                all.push(percent(before.iter().zip(&after).filter(|(a, b)| a != b).count()));
                others.push(percent(incidental((&old, &before), (&new, &after))));
                let (most, least) = evenness(&after, &new);
                max.push(most);
                min.push(least);
            }
            let [least, usual, most] = spread(others);
            println!(
                "{change:28} {name:10} all {:.3}  others {least:.3}/{usual:.3}/{most:.3}  \
                 max {:.4} min {:.4}",
                spread(all)[1],
                spread(max)[2],
                spread(min)[0]
            );
        }
    }
}

#[test]
#[ignore = "measures for a minute"]
fn movement_in_sets_of_all_sizes() {
    println!("percent of the slots that move between others when one backend leaves a set");
    for (low, high) in [(2, 10), (11, 50), (51, 200), (201, 400), (401, 700), (701, 1300)] {
        for (name, algorithm, _) in &ALGORITHMS[..2] {
            let (mut found, mut old) = (vec![], algorithm(0, &equal(low - 1)));
            for count in low..=high {
                let new = algorithm(0, &equal(count));
                let moved = incidental((&equal(count - 1), &old), (&equal(count), &new));
                found.push(100.0 * moved as f64 / new.len() as f64);
                old = new;
            }
            let mean = found.iter().sum::<f64>() / found.len() as f64;
            let [least, usual, most] = spread(found);
            println!(
                "{low:4} to {high:4} {name:7} min {least:.3} median {usual:.3} mean {mean:.3} \
                 max {most:.3}"
            );
        }
    }
    for count in [10_000, 40_000, 65_535] {
        let (old, new) = (table(0, &equal(count)), table(0, &equal(count - 1)));
        let empty = new.loads().iter().filter(|&&load| load == 0).count();
        let moved = f64::from(plan(&old, &new).incidental()) * 100.0 / SLOTS as f64;
        println!("{count} table others {moved:.3}, {empty} backends without a slot");
    }
}

#[test]
#[ignore = "measures for a minute"]
fn time_from_scratch() {
    println!("milliseconds to compute a table (min/median/max of 31, interleaved)");
    for count in [2, 10, 100, 900, 993, 1000, 10_000, 65_535] {
        let backends = equal(count);
        let mut times = [vec![], vec![], vec![]];
        for seed in 0..31 {
            for (times, (name, algorithm, _)) in times.iter_mut().zip(ALGORITHMS) {
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
        for (times, (name, ..)) in times.into_iter().zip(ALGORITHMS) {
            if !times.is_empty() {
                let [least, usual, most] = spread(times);
                println!("{count:6} backends {name:10} {least:.2}/{usual:.2}/{most:.2}");
            }
        }
    }
}

//! Numbers: which are drawn, by which thread, and how often.

use std::collections::{BTreeMap, BTreeSet};

use super::engine::{Engine, job};
use crate::program::Job;
use crate::program::fixture::plain;
use crate::template::{Draw, Field, Order, Template, Values};

/// A stream whose frames contain the drawn number, in eight bytes.
fn stream(last: u64, order: Order) -> Template {
    let values = Values::Range { first: 0, step: 1 };
    let field = Field { name: "n".into(), bit_at: 160, bits: 64, draw: 0, values };
    Template { draws: vec![Draw { last, order }], fields: vec![field], ..plain(60) }
}

/// The numbers that one thread draws.
fn drawn(template: &Template, thread: u32, threads: u32, seed: u64, count: usize) -> Vec<u64> {
    let streams = [template.clone()];
    let mut engine = Engine::new(&Job { thread, threads, seed, ..job(&streams) });
    let number = |frame: Vec<u8>| u64::from_be_bytes(frame[20..28].try_into().unwrap());
    (0..count).map(|_| number(engine.send())).collect()
}

#[test]
fn threads_draw_different_numbers_and_all_of_them() {
    for order in [Order::Sequence, Order::Random, Order::Zipf { exponent: 0.5 }] {
        for (last, threads) in [(0, 1), (9, 1), (9, 3), (63, 4), (62, 4), (6, 7)] {
            let mut seen = BTreeSet::new();
            for thread in 0..threads {
                let numbers: BTreeSet<_> =
                    drawn(&stream(last, order), thread, threads, 1, 500).into_iter().collect();
                assert!(
                    numbers.iter().all(|number| number % u64::from(threads) == u64::from(thread))
                );
                seen.extend(numbers);
            }
            assert_eq!(seen, (0..=last).collect(), "{order:?} to {last} by {threads}");
        }
    }
}

#[test]
fn fewer_numbers_than_threads_are_drawn_by_all() {
    for thread in 0..5 {
        let numbers = drawn(&stream(3, Order::Sequence), thread, 5, 1, 8);
        assert_eq!(numbers, [0, 1, 2, 3, 0, 1, 2, 3]);
    }
}

#[test]
fn sequences_go_round() {
    assert_eq!(drawn(&stream(2, Order::Sequence), 0, 1, 1, 7), [0, 1, 2, 0, 1, 2, 0]);
    assert_eq!(drawn(&stream(6, Order::Sequence), 1, 2, 1, 5), [1, 3, 5, 1, 3]);
    assert_eq!(drawn(&stream(u64::MAX, Order::Sequence), 2, 3, 1, 3), [2, 5, 8]);
}

#[test]
fn seeds_repeat_and_differ() {
    for last in [9, 255, u64::from(u32::MAX), (1 << 40) - 1, u64::MAX] {
        for threads in [1, 2, 3] {
            let of = |seed| drawn(&stream(last, Order::Random), 0, threads, seed, 50);
            assert_eq!(of(1), of(1));
            assert_ne!(of(1), of(2));
            assert!(of(3).iter().all(|number| *number <= last));
        }
    }
}

#[test]
fn two_draws_of_one_frame_are_independent() {
    let mut template = stream(1, Order::Random);
    template.draws.push(template.draws[0]);
    let values = Values::Range { first: 0, step: 2 };
    template.fields.push(Field { name: "m".into(), bit_at: 320, bits: 8, draw: 1, values });
    let streams = [template];
    let mut engine = Engine::new(&job(&streams));
    let mut counts = BTreeMap::new();
    for _ in 0..4000 {
        let frame = engine.send();
        *counts.entry(frame[27] | frame[40]).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 4);
    assert!(counts.values().all(|count| (900..1100).contains(count)), "{counts:?}");
}

#[test]
fn random_numbers_are_even_and_zipf_falls() {
    let mut even = [0; 10];
    drawn(&stream(9, Order::Random), 0, 1, 1, 10_000).iter().for_each(|n| even[*n as usize] += 1);
    assert!(even.iter().all(|count| (880..1120).contains(count)), "{even:?}");

    let mut zipf = [0; 10];
    let order = Order::Zipf { exponent: 1.0 };
    drawn(&stream(9, order), 0, 1, 1, 10_000).iter().for_each(|n| zipf[*n as usize] += 1);
    let total: f64 = (1..=10).map(|rank| 1.0 / f64::from(rank)).sum();
    for (rank, count) in (1..).zip(zipf) {
        let wanted = 10_000.0 / f64::from(rank) / total;
        assert!((f64::from(count) - wanted).abs() < 5.0 * wanted.sqrt(), "{rank}: {count}");
    }
}

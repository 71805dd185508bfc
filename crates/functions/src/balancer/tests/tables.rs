//! What tables promise: agreement, evenness, little movement, and errors for other sets.

use proptest::prelude::*;

use super::sets::{assert_even, equal, incidental, owners, reweighted, table, weighted};
use super::{Error, SLOTS, Table, evenness, id, plan};

#[test]
fn tables_are_the_same_on_all_machines() {
    for (seed, backends, expected) in [
        (1, equal(1000), 0x22d0_a3e2_d06d_1ac8),
        (2, equal(10), 0xc4e2_cb5e_6822_7aeb),
        (3, weighted((0..300).map(|number| number % 7 * 100)), 0xdf5f_c66b_3384_8e33),
    ] {
        let slots: Vec<u8> =
            table(seed, &backends).slots().iter().flat_map(|slot| slot.to_le_bytes()).collect();
        assert_eq!(id(&slots), expected, "seed {seed}: {:#x}", id(&slots));
    }
}

#[test]
fn identifiers_are_the_same_on_all_machines() {
    for (bytes, expected) in
        [(&b"\n\0\0\x01"[..], 0x181d_439c_6ac4_a622), (b"nine byte", 0x89e4_de33_7376_b5e8)]
    {
        assert_eq!(id(bytes), expected, "{bytes:?}: {:#x}", id(bytes));
    }
    assert_ne!(id(&[0]), id(&[0, 0]));
}

#[test]
fn the_order_of_the_list_does_not_matter() {
    let backends = weighted((0..200).map(|number| number % 5));
    let mut other = backends.clone();
    other.reverse();
    other.swap(3, 150);
    let (one, other) = (table(4, &backends), table(4, &other));
    assert_eq!(owners(&one), owners(&other));
    assert_eq!(plan(&one, &other).moved, 0);
    assert_ne!(owners(&one), owners(&table(5, &backends)));
}

#[test]
fn only_ratios_of_weights_matter() {
    let (small, large) = (weighted([1, 2, 3, 0, 9]), weighted([7, 14, 21, 0, 63]));
    assert_eq!(table(6, &small).slots(), table(6, &large).slots());
}

#[test]
fn loads_are_even() {
    for count in [2, 3, 10, 100, 900, 993, 999] {
        let table = table(count, &equal(count));
        assert_even(&table);
        let even = evenness(&table);
        assert!(even.max < 1.0071 && even.min > 0.85, "{count}: {even:?}");
    }
}

#[test]
fn loads_follow_weights() {
    let table = table(1, &weighted([1, 2, 3, 0, 94]));
    assert_eq!(table.loads()[3], 0);
    let even = evenness(&table);
    assert!(even.max <= 1.007 && even.min > 0.97, "{even:?}");
}

#[test]
fn little_moves_between_backends_that_stay() {
    // Maglev: 0.57, 0.57, 3.56, 0.23, 0.58, 0.89.
    let mixed = || weighted((0..1000).map(|number| number % 10 + 1));
    for (seed, old, new, percent) in [
        (1, equal(1000), equal(999), 0.25),
        (3, equal(994), equal(993), 0.35),
        (4, equal(1000), equal(900), 2.6),
        (5, equal(10), equal(9), 0.2),
        (6, equal(1000), reweighted(equal(1000), 5, 2), 0.4),
        (7, mixed(), reweighted(mixed(), 9, 0), 0.5),
    ] {
        let (before, after) = (table(seed, &old), table(seed, &new));
        let change = plan(&before, &after);
        let found = f64::from(change.incidental()) * 100.0 / SLOTS as f64;
        assert!(found < percent, "seed {seed}: {found} %");
        let other = incidental((&old, &owners(&before)), (&new, &owners(&after)));
        assert_eq!(change.incidental() as usize, other);
    }
}

#[test]
fn a_plan_counts_what_has_to_move() {
    let old = table(8, &equal(20));
    let same = plan(&old, &old);
    assert_eq!((same.moved, same.required), (0, 0));

    let drained = table(8, &reweighted(equal(20), 7, 0));
    let load = old.loads()[7];
    let change = plan(&old, &drained);
    assert!(change.required == load && change.moved >= load, "{load}: {change:?}");
    assert_eq!((change.before, change.after), (evenness(&old), evenness(&drained)));

    let back = plan(&drained, &old);
    assert_eq!((back.moved, back.required), (change.moved, load));
}

#[test]
fn sets_without_a_table() {
    assert_eq!(Table::new(0, &[]), Err(Error::NoneAvailable));
    assert_eq!(Table::new(0, &weighted([0, 0, 0])), Err(Error::NoneAvailable));
    assert_eq!(Table::new(0, &equal(65_536)), Err(Error::TooMany(65_536)));
    let mut twice = equal(5);
    twice[4] = twice[1];
    assert_eq!(Table::new(0, &twice), Err(Error::Duplicate(twice[1].id)));
}

#[test]
fn the_smallest_and_the_largest_set() {
    let one = table(9, &weighted([0, 5, 0]));
    assert!(one.slots().iter().all(|&owner| owner == 1));
    let all = table(9, &equal(65_535));
    assert!(all.loads().iter().all(|&load| load <= 2));
    let without = all.loads().iter().filter(|&&load| load == 0).count();
    assert!(without < 655, "{without} backends have no slot");
}

#[test]
fn extreme_weights() {
    let mut weights = vec![1; 3000];
    weights[1234] = u16::MAX;
    let table = table(10, &weighted(weights));
    assert_even(&table);
    assert!(table.loads()[1234] > 62_200, "{}", table.loads()[1234]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn every_set_has_an_even_table(
        seed: u64,
        weights in prop::collection::vec(prop_oneof![0..4u16, any::<u16>()], 1..60),
    ) {
        let backends = weighted(weights);
        match Table::new(seed, &backends) {
            Ok(table) => assert_even(&table),
            Err(error) => {
                prop_assert_eq!(error, Error::NoneAvailable);
                prop_assert!(backends.iter().all(|backend| backend.weight == 0));
            }
        }
    }
}

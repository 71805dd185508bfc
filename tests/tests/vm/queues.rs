//! Queues, stacks and bloom filters as programs see them, kernel against engine.

use spec::asm::{Assembler, Helper, Reg::*};
use spec::{MapDef, MapKind, Spec};
use xway_tests::vm_io::{Both, Numbers, Writing, map, object, word};

const MAPS: [(&str, MapKind); 3] =
    [("queue", MapKind::QUEUE), ("stack", MapKind::STACK), ("bloom", MapKind::BLOOM_FILTER)];

/// `act_map`: value in word 0 (and out in word 5), flags in word 1, answer in word 4.
fn program(act: &str, on: &str, helper: Helper, value: usize) -> Assembler {
    let mut writing = Writing::begin(&format!("{act}_{on}"));
    writing.a.load64(R3, word(1)).mov(R2, R7).add(R2, (value * 8) as i32).load_map(R1, on);
    writing.a.call(helper).store64(word(4), R0);
    writing.end()
}

fn spec() -> Spec {
    // Without a seed that is drawn, the filter errs for the same values on both arms.
    let flags = |kind| if kind == MapKind::BLOOM_FILTER { 1 << 6 } else { 0 };
    let maps = MAPS.map(|(name, kind)| MapDef { flags: flags(kind), ..map(name, kind, [0, 8, 5]) });
    let mut programs = Vec::new();
    for (on, kind) in MAPS {
        programs.push(program("push", on, Helper::MAP_PUSH_ELEM, 0));
        let bloom = kind == MapKind::BLOOM_FILTER;
        programs.push(program("peek", on, Helper::MAP_PEEK_ELEM, if bloom { 0 } else { 5 }));
        if !bloom {
            programs.push(program("pop", on, Helper::MAP_POP_ELEM, 5));
        }
    }
    object(maps.to_vec(), programs)
}

#[test]
fn a_long_walk_gives_the_same_answers() {
    let mut both = Both::load(&spec());
    let mut numbers = Numbers(7);
    for _ in 0..3000 {
        let (on, kind) = numbers.pick(&MAPS);
        let act = numbers.pick(match kind {
            MapKind::BLOOM_FILTER => &["push", "peek", "peek", "peek"],
            _ => &["push", "push", "pop", "peek"],
        });
        let flags = numbers.pick(&[0, 0, 0, 1, 2, 2, 3, 4, 1 << 32]);
        // A filter that is pushed to more often than it was made for errs ever more.
        both.run(&format!("{act}_{on}"), &[numbers.below(60), flags]);
    }
}

#[test]
fn values_come_out_of_the_end_of_their_type() {
    let mut both = Both::load(&spec());
    for (on, order) in [("queue", [3, 4, 5, 6, 7]), ("stack", [7, 6, 5, 4, 3])] {
        for value in 1..=5 {
            assert_eq!(both.run(&format!("push_{on}"), &[value, 0])[0], 0);
        }
        assert_eq!(both.run(&format!("push_{on}"), &[6, 0])[0], errno(7), "full");
        assert_eq!(both.run(&format!("push_{on}"), &[6, 2])[0], 0, "in place of the oldest");
        assert_eq!(both.run(&format!("push_{on}"), &[7, 2])[0], 0);
        for value in order {
            assert_eq!(both.run(&format!("peek_{on}"), &[])[..2], [0, value]);
            assert_eq!(both.run(&format!("pop_{on}"), &[])[..2], [0, value]);
        }
        assert_eq!(both.run(&format!("pop_{on}"), &[0, 0, 0, 0])[..2], [errno(2), 0]);
    }
}

fn errno(number: i64) -> u64 {
    (-number).cast_unsigned()
}

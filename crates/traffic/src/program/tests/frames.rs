//! Compares every byte of every frame.

use super::engine::{Engine, job};
use crate::program::abi::OUT;
use crate::program::fixture::{Dice, plain, random};
use crate::program::{Clock, Frames, Job};
use crate::stamp::{Expect, Stamp};
use crate::stream::File;
use crate::template::{Checksum, Draw, Field, Order, Size, Template, Values};

/// Runs a job and compares `count` frames with the plan.
fn check(job: &Job, count: usize, label: &str) {
    let mut engine = Engine::new(job);
    let mut before = 0;
    for (index, planned) in Frames::new(job).unwrap().take(count).enumerate() {
        let frame = engine.send();
        let template = &job.templates[planned.stream];
        let stamp = template.stamp.and_then(|_| Stamp::read(&frame)).transpose();
        let time = stamp.unwrap().map_or(0, |stamp| stamp.time_ns);
        assert!(template.stamp.is_none() || time >= before, "{label}: frame {index}");
        before = before.max(time);
        let wanted = planned.bytes(u64::from(time));
        assert_eq!(frame, wanted, "{label}: frame {index} of stream {}", planned.stream);
        if job.rewrite && index % 3 == 2 {
            let headers = job.templates.iter().map(|it| it.headers).min().unwrap();
            engine.spoil(headers, [14, frame.len() - 1, frame.len() + 20][index / 3 % 3]);
        }
    }
}

/// A stream with one field and one draw.
fn field(bit_at: usize, bits: u32, draw: Draw, values: Values) -> Template {
    let name = "f".into();
    Template {
        draws: vec![draw],
        fields: vec![Field { name, bit_at, bits, draw: 0, values }],
        ..plain(60)
    }
}

#[test]
fn fields_of_every_width_at_every_bit() {
    for bits in 1..=64 {
        for bit in 0..8 {
            let draw = Draw { last: u64::MAX, order: Order::Random };
            let values = Values::Range { first: 0, step: 1 };
            let template = field(16 * 8 + bit, bits, draw, values);
            check(&job(&[template]), 3, &format!("{bits} bits at bit {bit}"));
        }
    }
}

#[test]
fn fields_that_share_bytes_keep_each_other() {
    for widths in [&[3, 5][..], &[1, 7, 12, 4], &[13, 51, 9, 64, 3, 7], &[4; 30], &[33, 33, 33]] {
        let mut template = field(1, 1, Draw { last: 9, order: Order::Sequence }, one());
        template.draws.push(Draw { last: u64::MAX, order: Order::Random });
        template.fields.clear();
        let mut bit_at = 99;
        for (index, bits) in widths.iter().enumerate() {
            let name = format!("f{index}");
            template.fields.push(Field {
                name,
                bit_at,
                bits: *bits,
                draw: index % 2,
                values: one(),
            });
            bit_at += *bits as usize;
        }
        check(&job(&[template]), 40, &format!("{widths:?}"));
    }
}

fn one() -> Values {
    Values::Range { first: 0, step: 1 }
}

#[test]
fn values_are_steps_or_lists_and_wrap() {
    let sequence = Draw { last: 9, order: Order::Sequence };
    for (first, step) in [(0, 0), (65_530, 1), (5, 65_535), (1 << 40, 3), (7, u64::MAX), (1, 8)] {
        for bits in [5, 16, 32, 33, 48, 64] {
            let values = Values::Range { first, step };
            let label = format!("{first} + {step} n in {bits} bits");
            check(&job(&[field(96, bits, sequence, values)]), 25, &label);
        }
    }
    let list = (0..10).map(|n| 0x1234_5678_9abc_def0u64.rotate_left(n)).collect();
    check(&job(&[field(99, 61, sequence, Values::List(list))]), 25, "list");
}

#[test]
fn sizes_change_lengths_and_checksums_and_leave_no_traces() {
    for order in [Order::Sequence, Order::Random, Order::Zipf { exponent: 1.0 }] {
        for stamp in [None, Some(Expect::Pass)] {
            let size = |len: usize| Size {
                len,
                words: vec![len as u16, !len as u16],
                sums: vec![len as u16, 0xffff],
            };
            let sum = |at, from, also| Checksum { at, from, to: None, also, never_zero: true };
            let template = Template {
                words: vec![16, 21],
                sizes: [60, 61, 300, 1514, 128].map(size).into(),
                size_draw: Some(1),
                checksums: vec![sum(40, 30, vec![]), sum(24, 14, vec![])],
                stamp,
                ..field(32 * 8, 16, Draw { last: 6, order: Order::Sequence }, one())
            };
            let bytes = plain(1514).bytes;
            let mut template = Template { bytes, ..template };
            template.draws.push(Draw { last: 4, order });
            for rewrite in [false, true] {
                let streams = [template.clone()];
                check(&Job { rewrite, ..job(&streams) }, 200, &format!("{order:?} {stamp:?}"));
            }
        }
    }
}

#[test]
fn streams_overwrite_what_others_left() {
    let big = Template { bytes: vec![0xab; 1400], name: "big".into(), ..plain(1400) };
    let small = Template { stamp: Some(Expect::Drop), weight: 3, ..plain(60) };
    let random = field(400, 64, Draw { last: u64::MAX, order: Order::Random }, one());
    check(&job(&[big, small, random, plain(14)]), 60, "four streams");
}

#[test]
fn random_templates_become_what_they_mean() {
    for seed in 0..150 {
        let templates = random(seed, 4);
        let mut dice = Dice(seed);
        let threads = 1 + dice.below(5) as u32;
        let job = Job {
            thread: dice.below(u64::from(threads)) as u32,
            threads,
            seed,
            rewrite: dice.once_in(2),
            clock: if dice.once_in(2) { Clock::Frame } else { Clock::Group },
            group: 1 + dice.below(5) as u32,
            ..job(&templates)
        };
        check(&job, 30, &format!("seed {seed}"));
    }
}

/// Every protocol, as described in files: tunnels, fragments, flows, unusual fields, wrong
/// checksums.
#[test]
fn described_streams_become_what_they_mean() {
    let zoo = File::parse(include_str!("../../../tests/stream/zoo.toml")).unwrap();
    let templates = zoo.templates(1600).unwrap();
    for template in &templates {
        let name = template.name.clone();
        for rewrite in [false, true] {
            let alone = [template.clone()];
            check(&Job { rewrite, ..job(&alone) }, 40, &name);
        }
    }
    for some in templates.chunks(7) {
        check(&Job { rewrite: true, ..job(some) }, 100, &some[0].name);
    }
}

#[test]
fn what_is_constant_is_counted_and_redirected_only() {
    let made = crate::program::compile(&job(&[plain(60)])).unwrap();
    let program = &made.spec.programs[0];
    assert!(program.insns.len() < 72, "{} instructions", program.insns.len());
    assert_eq!(made.frame, plain(60).bytes);
    assert_eq!(made.tables, [(OUT.to_owned(), vec![7u32.to_ne_bytes().to_vec()])]);
}

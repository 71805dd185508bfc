//! Generated programs in the kernel: all are taken by its verifier, and make the frames that the
//! engine makes.

use crate::fixture::{Dice, plain, random};
use kernel::{Ifindex, KernelRuntime};
use spec::{Expect, Input, Map as _, Runtime, Verdict};
use traffic::program::abi::{self, control, state};
use traffic::program::{Clock, Exit, Frames, Gaps, Job, Made, compile};
use traffic::{Stamp, Template, template};
use vm::VmRuntime;

use template::{Checksum, Draw, Field, Order, Size, Values};

fn job(templates: &[Template]) -> Job<'_> {
    Job {
        templates,
        exit: Exit::Redirect(Ifindex(1)),
        thread: 0,
        threads: 1,
        seed: 1,
        group: 1,
        pace: None,
        rewrite: false,
        clock: Clock::Frame,
    }
}

/// Loads it, fills its tables and lets it go.
fn load<R: Runtime>(runtime: &mut R, made: &Made) {
    runtime.load(&made.spec).unwrap_or_else(|error| panic!("{error:?}"));
    let put = |name: &str, value: &[u8]| {
        runtime.map(name).unwrap().update(&[0; 4], value, Expect::Any).unwrap();
    };
    for (name, values) in &made.tables {
        assert_eq!(values.len(), 1);
        put(name, &values[0]);
    }
    let mut words = [0u64; control::LEN / 8];
    (words[control::GO / 8], words[control::LIMIT / 8]) = (1, u64::MAX);
    put(abi::CONTROL, &words.map(u64::to_ne_bytes).concat());
}

/// Makes `count` frames, one after the other out of the same memory, and compares them with what
/// is planned.
fn check<R: Runtime>(mut runtime: R, job: &Job, count: usize, label: &str) {
    let made = compile(job).unwrap();
    load(&mut runtime, &made);
    let mut memory = made.frame.clone();
    for (index, planned) in Frames::new(job).unwrap().take(count).enumerate() {
        let input = Input { packet: memory.clone(), ..Input::default() };
        let frame = runtime.run(abi::PROGRAM, &input).unwrap();
        assert_eq!(frame.verdict, Verdict::Redirect, "{label}: frame {index}");
        memory[..frame.packet.len()].copy_from_slice(&frame.packet);
        let stamped = job.templates[planned.stream].stamp.is_some();
        let time = match Stamp::read(&frame.packet).filter(|_| stamped) {
            Some(stamp) => stamp.unwrap().time_ns,
            None => 0,
        };
        assert_eq!(frame.packet, planned.bytes(time.into()), "{label}: frame {index}");
    }
    let value = runtime.map(abi::STATE).unwrap().lookup(&[0; 4]).unwrap().unwrap();
    let sent = u64::from_ne_bytes(value[state::SENT..state::SENT + 8].try_into().unwrap());
    assert_eq!(sent, count as u64, "{label}");
}

/// On both runtimes.
fn check_both(job: &Job, count: usize, label: &str) {
    check(VmRuntime::default(), job, count, &format!("{label}, engine"));
    check(KernelRuntime::default(), job, count, &format!("{label}, kernel"));
}

#[test]
fn random_templates_become_the_same_frames_on_both() {
    for seed in 1000..1120 {
        let templates = random(seed, 5);
        let mut dice = Dice(seed);
        let threads = 1 + dice.below(4) as u32;
        let job = Job {
            thread: dice.below(threads.into()) as u32,
            threads,
            seed,
            rewrite: dice.once_in(2),
            clock: if dice.once_in(3) { Clock::Group } else { Clock::Frame },
            pace: dice.once_in(3).then_some(Gaps::Even),
            group: 1 + dice.below(4) as u32,
            ..job(&templates)
        };
        check_both(&job, 20, &format!("seed {seed}"));
    }
}

#[test]
fn every_kind_of_program_is_taken_by_the_kernel() {
    let streams = [Template { stamp: Some(traffic::Expect::Pass), ..plain(60) }, plain(60)];
    for pace in [None, Some(Gaps::Even), Some(Gaps::Poisson)] {
        for group in [1, 2, 64, 256] {
            for clock in [Clock::Frame, Clock::Group] {
                for exit in [Exit::Pass, Exit::Redirect(Ifindex(1))] {
                    for count in [1, 2] {
                        let templates = &streams[2 - count..];
                        let made =
                            compile(&Job { exit, pace, group, clock, ..job(templates) }).unwrap();
                        load(&mut KernelRuntime::default(), &made);
                    }
                }
            }
        }
    }
}

/// 64 streams, each with stamps, sizes, lists, and the largest possible number of fields.
fn largest(fields: usize) -> Vec<Template> {
    let size = |len| Size { len, words: vec![len as u16; 2], sums: vec![len as u16; 2] };
    let field = |index: usize| Field {
        name: format!("f{index}"),
        bit_at: 60 * 8 + index * 37,
        bits: 29,
        draw: index % 3,
        values: match index % 3 {
            0 => Values::List((0..1000).map(|n| n * 77).collect()),
            _ => Values::Range { first: 7, step: 3 },
        },
    };
    let sum = |at, from| Checksum { at, from, to: None, also: vec![], never_zero: true };
    let words = vec![16, 38];
    let stream = |id: u16| Template {
        name: format!("s{id}"),
        id,
        weight: 1 + u32::from(id),
        bytes: vec![id as u8; 1500],
        draws: vec![
            Draw { last: 999, order: Order::Random },
            Draw { last: 1 << 20, order: Order::Sequence },
            Draw { last: (1 << 15) - 1, order: Order::Zipf { exponent: 1.1 } },
            Draw { last: 9, order: Order::Random },
        ],
        fields: (0..fields).map(field).collect(),
        checksums: vec![sum(40, 34), sum(24, 14)],
        words: words.clone(),
        sizes: (0..10).map(|step| size(500 + 111 * step)).collect(),
        size_draw: Some(3),
        stamp: Some(traffic::Expect::Drop),
        ..plain(1500)
    };
    (0..64).map(stream).collect()
}

#[test]
fn the_largest_program_is_taken_and_right() {
    let templates = largest(20);
    let whole = Job { rewrite: true, threads: 64, thread: 63, ..job(&templates) };
    check_both(&whole, 300, "largest");
    let error = compile(&job(&largest(80))).unwrap_err().to_string();
    assert!(error.ends_with("than one program can hold: send fewer streams"), "{error}");
}

#[test]
fn draws_of_a_million_numbers_fit_a_kernel_map() {
    let draws = vec![Draw { last: (1 << 20) - 1, order: Order::Zipf { exponent: 1.0 } }];
    let values = Values::Range { first: 0, step: 1 };
    let field = Field { name: "f".into(), bit_at: 160, bits: 32, draw: 0, values };
    let streams = [Template { draws, fields: vec![field], ..plain(60) }];
    check(KernelRuntime::default(), &job(&streams), 20, "a million");
}

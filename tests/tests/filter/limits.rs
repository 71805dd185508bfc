//! Limits of the filter: the program does step for step what the model does.

use filter::compile::actions::Sizes;
use filter::model::limits::{Model, Sender};
use filter::runtime::actions;
use filter::{Action, Limit, PROGRAM, Per, Total, Unit, abi, maps};
use kernel::{KernelRuntime, LoadOptions};
use spec::{Input, Runtime, Verdict};
use xway_tests::bpf::packet::{IPV4, IPV6, TCP, UDP, V4, eth, v6};
use xway_tests::filter::act::{fill, filter};
use xway_tests::filter::engine::{Engine, SEED};
use xway_tests::random::Random;

const SECOND: u64 = 1_000_000_000;

fn limit(rate: u64, unit: Unit, burst: u64, per: Per) -> Limit {
    Limit { rate, unit, burst, per, total: None }
}

fn total(rate: u64, burst: u64, limit: Limit) -> Limit {
    Limit { total: Some(Total { rate, burst }), ..limit }
}

/// A packet and what limits see of it.
fn packet(random: &mut Random) -> (Vec<u8>, Sender) {
    // Few values, so that senders come again; far apart, so that all bits count.
    let mut one_of = |bound: usize| random.below(bound) as u32;
    let protocol = if one_of(2) == 0 { UDP } else { TCP };
    let (source_port, dest_port) = (one_of(3) as u16 * 1000 + 1, one_of(3) as u16 * 7 + 53);
    let mut payload = vec![0; 20 + one_of(40) as usize];
    payload[..2].copy_from_slice(&source_port.to_be_bytes());
    payload[2..4].copy_from_slice(&dest_port.to_be_bytes());
    payload[5] = payload.len() as u8;
    payload[12] = 0x50;
    let (source, dest) = (one_of(9) * 0x1c81_0103, one_of(3) * 0x0100_8001);
    let is_ipv6 = one_of(3) == 0;
    if is_ipv6 {
        let of =
            |address: u32| (0x2001 << 112) + (u128::from(address) << 64) + u128::from(address) * 5;
        let mut ip = v6("2001:db8::2", protocol, &payload);
        ip[8..24].copy_from_slice(&of(source).to_be_bytes());
        ip[24..40].copy_from_slice(&of(dest).to_be_bytes());
        let (source, dest) = (of(source), of(dest));
        let sender = Sender { is_ipv6, source, dest, source_port, dest_port, protocol };
        return (eth(&[], IPV6, &ip), sender);
    }
    let mut ip = V4::new("10.1.0.2", protocol).wrap(&payload);
    ip[12..16].copy_from_slice(&source.to_be_bytes());
    ip[16..20].copy_from_slice(&dest.to_be_bytes());
    let (source, dest) = (u128::from(source), u128::from(dest));
    let sender = Sender { is_ipv6, source, dest, source_port, dest_port, protocol };
    (eth(&[], IPV4, &ip), sender)
}

/// What coarse clocks of the engine make of a time.
const TICK_NS: u64 = 4_000_000;

#[test]
fn the_program_is_the_model_step_by_step() {
    let source = Per::Source { v4: 32, v6: 128 };
    for (number, limit) in [
        limit(10, Unit::Packets, 3, Per::Rule),
        limit(20, Unit::Packets, 5, source),
        limit(60, Unit::Packets, 1, source),
        limit(4, Unit::Packets, 2, Per::Source { v4: 17, v6: 65 }),
        limit(40_000, Unit::Bits, 16_000, Per::Source { v4: 0, v6: 0 }),
        limit(9, Unit::Packets, 2, Per::Dest { v4: 32, v6: 128 }),
        limit(9, Unit::Packets, 2, Per::DestPort),
        limit(3, Unit::Packets, 1, Per::Flow),
        limit(80, Unit::Bits, 1_000, Per::Flow),
        total(50, 4, limit(20, Unit::Packets, 5, source)),
        total(20, 9, limit(9, Unit::Packets, 2, Per::DestPort)),
        total(4_000, 20_000, limit(80, Unit::Bits, 1_000, Per::Flow)),
    ]
    .into_iter()
    .enumerate()
    {
        let (mut engine, acts) = Engine::new(&[Action::Limit(limit.clone())]);
        let mut model = Model::new(acts.limits(), abi::Seed::from_number(SEED));
        let mut random = Random::new(SEED + number as u64);
        let (mut now, mut dropped) = (SECOND, 0);
        let exact = acts.limits().needs_exact_clock();
        for step in 0..3000 {
            // Now and then a long rest, and once a day.
            now += match random.below(100) {
                0 => random.below(5) as u64 * SECOND,
                1 if step % 10 == 0 => 86_400 * SECOND,
                _ => random.below(3_000_000) as u64 + 1000,
            };
            let (packet, sender) = packet(&mut random);
            let seen = if exact { now } else { now / TICK_NS * TICK_NS };
            let over = model.is_over(0, &sender, packet.len() as u32, seen);
            let wanted = if over { Verdict::Drop } else { Verdict::Pass };
            assert_eq!(engine.run(&packet, now), wanted, "{limit:?}, step {step}, {sender:?}");
            dropped += u32::from(over);
        }
        assert!((50..2950).contains(&dropped), "{limit:?}: {dropped} tell nothing");
        for (place, line) in (0..).zip(model.lines()) {
            assert_eq!(engine.line(place), line, "{limit:?}, line {place}");
        }
        let counts = engine.map(maps::COUNTS);
        let count = actions::count(&*counts, 0).unwrap();
        assert_eq!((count.packets, count.taken), (3000, u64::from(dropped)));
    }
}

/// In the kernel the clock is the kernel's: slow rates, so that a burst is all that passes.
#[test]
fn the_kernel_counts_a_burst_for_each_sender() {
    let per = Per::Source { v4: 32, v6: 128 };
    let rule = Action::Limit(limit(1, Unit::Packets, 600, per));
    let (spec, acts) = filter(&[rule], Sizes::default());
    let programs = Some(vec![PROGRAM.to_owned()]);
    let mut runtime = KernelRuntime::new(LoadOptions { programs, ..LoadOptions::default() });
    runtime.load(&spec).unwrap();
    fill(&runtime, &acts);
    let mut passed = |source: [u8; 4]| {
        let mut ip = V4::new("10.1.0.2", UDP).wrap(&[0; 20]);
        ip[12..16].copy_from_slice(&source);
        let input = Input { packet: eth(&[], IPV4, &ip), ..Input::default() };
        let pass = |_: &u32| runtime.run(PROGRAM, &input).unwrap().verdict == Verdict::Pass;
        (0..900).filter(pass).count()
    };
    // The test may take some seconds on a busy machine; each is worth a token.
    for source in [[10, 0, 0, 1], [10, 0, 0, 2], [192, 0, 2, 1]] {
        let passed = passed(source);
        assert!((600..800).contains(&passed), "{source:?}: {passed}");
    }
}

//! Random frames in random order: program and tracker agree on each, and at the end.

use proptest::prelude::*;

use super::frames::Carrier;
use super::program::{Engine, judge_both};
use crate::sink::{Clocks, FrameAction, SinkConfig, Tracker};
use crate::stamp::{Expect, Kind, Stamp};

/// One frame and its arrival.
#[derive(Clone, Debug)]
struct Event {
    frame: Vec<u8>,
    cpu: usize,
    /// Time since the previous event.
    after_ns: u64,
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        12 => Just(Kind::Data(Expect::Pass)),
        2 => Just(Kind::Data(Expect::Drop)),
        2 => Just(Kind::Reflected(Expect::Pass)),
        1 => Just(Kind::End),
        1 => Just(Kind::ReflectedEnd),
    ]
}

/// Numbers close to each other, so that there are duplicates; close to a wrap of 32 bits; or any.
fn number() -> impl Strategy<Value = u32> {
    let near = 0..40_u32;
    prop_oneof![
        8 => near.clone(),
        4 => near.clone().prop_map(|number| number.wrapping_sub(20)),
        2 => near.prop_map(|number| number + (1 << 18)),
        1 => any::<u32>(),
    ]
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let carrier = prop::sample::select(Carrier::ALL.to_vec());
    let stamp = (0..4_u16, 0..3_u8, number(), any::<u32>(), kind());
    let turned = prop_oneof![3 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)];
    (carrier, 0..120_usize, stamp, turned, 0..8_u32).prop_map(
        |(carrier, length, (stream, source, number, time_ns, kind), turned, bit)| {
            let stamp = Stamp { stream, source, number, time_ns, kind };
            let mut frame = carrier.frame(length, &stamp);
            if let Some(index) = turned {
                // The changed bytes may be lengths and types.
                let at = index.index(frame.len());
                frame[at] ^= 1 << bit;
            }
            frame
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let after_ns = prop_oneof![4 => 0..2_000_u64, 1 => 0..1_u64 << 33];
    (frame(), 0..2_usize, after_ns).prop_map(|(frame, cpu, after_ns)| Event {
        frame,
        cpu,
        after_ns,
    })
}

fn config() -> impl Strategy<Value = SinkConfig> {
    let action =
        prop::sample::select(vec![FrameAction::Drop, FrameAction::Pass, FrameAction::Reflect]);
    let clocks = prop::sample::select(vec![Clocks::Shared, Clocks::Apart, Clocks::Ignored]);
    (action, clocks, any::<bool>(), 1..5_u32, 0..4_u32).prop_map(
        |(action, clocks, verify, streams, sources)| SinkConfig {
            action,
            clocks,
            verify,
            streams,
            sources: 1 << sources,
            ..SinkConfig::new("eth0")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        max_shrink_iters: 400,
        ..ProptestConfig::default()
    })]

    #[test]
    fn program_and_tracker_agree(
        config in config(),
        events in prop::collection::vec(event(), 1..120),
    ) {
        let (mut engine, mut tracker) = (Engine::new(&config), Tracker::new(&config));
        let mut now = 1 << 31;
        for event in &events {
            now += event.after_ns;
            judge_both(&mut engine, &mut tracker, &event.frame, now, event.cpu);
        }
        prop_assert_eq!(engine.report(), tracker.report());
    }
}

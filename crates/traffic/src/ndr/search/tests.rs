//! The search with simulated devices.

use proptest::prelude::*;

use super::*;

/// The share of a level that a device loses: 0 to 1.
type Device = fn(f64) -> f64;

fn options() -> Options {
    Options { floor: 1e3, ceiling: 10e6, ..Options::default() }
}

/// Searches a device with a generator that offers at most `most`.
fn search(options: Options, most: f64, mut device: impl FnMut(f64) -> f64) -> Outcome {
    let mut search = Search::new(options).unwrap();
    while let Some(level) = search.next() {
        let level = level.min(most);
        search.record(Seen { level, loss: device(level) });
    }
    search.outcome()
}

/// A device that forwards up to `limit` and drops the rest.
fn limit(limit: f64) -> impl Fn(f64) -> f64 {
    move |level| (1.0 - limit / level).max(0.0)
}

fn level(outcome: &Outcome) -> f64 {
    outcome.found.unwrap().level
}

#[test]
fn the_limit_is_found_within_the_resolution_and_in_few_trials() {
    for resolution in [0.05, 0.01, 0.001] {
        for at in [1_100.0, 9_999.0, 123_456.0, 1e6, 4.2e6, 9.9e6] {
            let outcome = search(Options { resolution, ..options() }, 1e9, limit(at));
            let found = level(&outcome);
            assert!(found <= at && found >= at * (1.0 - resolution), "{at}: {outcome:?}");
            let above = outcome.above.unwrap();
            assert!(above.level > at && above.loss > 0.0);
            assert_eq!((outcome.binding, outcome.steady), (Binding::Device, true), "{at}");
            assert!(outcome.trials <= 12, "{at}: {outcome:?}");
        }
    }
}

#[test]
fn devices_that_break_down_under_overload_are_searched_through() {
    let at = 730_000.0;
    let halves: Device = |level| if level > 730_000.0 { 0.9 } else { 0.0 };
    let nothing: Device = |level| if level > 730_000.0 { 1.0 } else { 0.0 };
    let slightly: Device = |level| if level > 730_000.0 { 1e-7 } else { 0.0 };
    for device in [halves, nothing, slightly] {
        let outcome = search(options(), 1e9, device);
        let found = level(&outcome);
        assert!(found <= at && found >= at * 0.99, "{outcome:?}");
        assert!(outcome.trials <= 30, "{outcome:?}");
    }
}

#[test]
fn the_limiting_factor_is_reported() {
    let fine = |_: f64| 0.0;
    for (label, most, device, binding, found) in [
        ("ceiling", 1e9, 1e9, Binding::Ceiling, 10e6),
        ("generator", 2e6, 1e9, Binding::Generator, 2e6),
        ("both, the device lower", 2e6, 1e6, Binding::Device, 1e6),
    ] {
        let outcome = search(options(), most, limit(device));
        assert_eq!(outcome.binding, binding, "{label}");
        assert!((level(&outcome) / found - 1.0).abs() < 0.01, "{label}: {outcome:?}");
    }
    let outcome = search(options(), 1e9, fine);
    assert_eq!((outcome.trials, outcome.above), (2, None), "once, and its confirmation");
}

#[test]
fn a_device_that_takes_nothing_has_no_rate() {
    let outcome = search(options(), 1e9, |_| 1.0);
    assert_eq!((outcome.found, outcome.binding), (None, Binding::Device));
    assert_eq!(outcome.above.unwrap().level, 1e3);
    let low = search(options(), 1e9, limit(999.0));
    assert_eq!(low.found, None, "below the floor");
}

#[test]
fn whole_numbers_are_found_exactly() {
    for most in [1, 2, 3, 10, 511, 512, 513, 99_999] {
        let options = Options { floor: 1.0, ceiling: 1e5, resolution: 1e-5, ..options() };
        let mut search = Search::new(options).unwrap();
        while let Some(level) = search.next() {
            let frames = level.round();
            let loss = (1.0 - f64::from(most) / frames).max(0.0);
            search.record(Seen { level: frames, loss });
        }
        let outcome = search.outcome();
        assert_eq!(level(&outcome), f64::from(most), "{outcome:?}");
        assert_eq!(outcome.above.unwrap().level, f64::from(most + 1));
    }
}

#[test]
fn accepted_loss_passes() {
    let lossy = |level: f64| if level > 5e5 { 0.01 } else { 1e-5 };
    let strict = search(options(), 1e9, lossy);
    assert_eq!(strict.found, None);
    let outcome = search(Options { loss: 1e-4, ..options() }, 1e9, lossy);
    let found = outcome.found.unwrap();
    assert!(found.level <= 5e5 && found.level > 4.9e5 && found.loss == 1e-5, "{outcome:?}");
}

#[test]
fn one_hiccup_is_no_limit() {
    let mut trial = 0;
    let outcome = search(options(), 1e9, |_| {
        trial += 1;
        if trial == 1 { 0.1 } else { 0.0 }
    });
    assert_eq!((level(&outcome), outcome.steady), (10e6, false), "passed the second time");
}

#[test]
fn a_level_that_fails_when_it_is_confirmed_is_left() {
    // Passes a trial of 1 Mpps once, and at most 0.6 Mpps afterwards.
    let mut lucky = true;
    let outcome = search(options(), 1e9, |level| {
        let at = if lucky { 1e6 } else { 6e5 };
        lucky &= !(6e5..=1e6).contains(&level);
        limit(at)(level)
    });
    let found = level(&outcome);
    assert!((6e5 * 0.99..=6e5).contains(&found) && !outcome.steady, "{outcome:?}");
}

#[test]
fn a_generator_that_stalls_now_and_then_is_no_limit() {
    for seed in 1..=50_u64 {
        let mut state = seed;
        let mut search = Search::new(Options { retries: 2, ..options() }).unwrap();
        while let Some(aim) = search.next() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // One trial in four offers much less on average, although it sends at the requested
            // rate.
            let share = if state >> 62 == 0 { 0.6 } else { 1.0 };
            search.record(Seen { level: aim * share, loss: limit(2.5e6)(aim) });
        }
        let outcome = search.outcome();
        let found = level(&outcome);
        assert!((2.4e6..=2.5e6).contains(&found), "seed {seed}: {outcome:?}");
        assert_eq!(outcome.binding, Binding::Device, "seed {seed}");
    }
}

#[test]
fn a_generator_that_becomes_slower_is_reported() {
    // Overloads the device at first, and then offers less than half of the requested level.
    let mut trial = 0;
    let mut search = Search::new(options()).unwrap();
    while let Some(aim) = search.next() {
        trial += 1;
        let share = if trial <= 2 { 1.0 } else { 0.4 };
        search.record(Seen { level: aim * share, loss: limit(2.5e6)(aim * share) });
    }
    let outcome = search.outcome();
    assert_eq!((outcome.binding, outcome.steady), (Binding::Generator, false), "{outcome:?}");
    assert!(outcome.trials <= 12, "{outcome:?}");
}

#[test]
fn noisy_devices_are_found_too() {
    for seed in 1..=50_u64 {
        let mut state = seed;
        let outcome = search(Options { retries: 3, ..options() }, 1e9, |level| {
            // One in ten trials loses a little without a cause (xorshift, from the seed).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let noise = if state.is_multiple_of(10) { 1e-4 } else { 0.0 };
            limit(2.5e6)(level).max(noise)
        });
        let found = level(&outcome);
        assert!((2.5e6 * 0.98..=2.5e6).contains(&found), "seed {seed}: {outcome:?}");
    }
}

#[test]
fn what_is_found_passed_where_loss_does_not_rise_with_the_rate() {
    // A device that sleeps between packets and wakes too late, at rates from 0.2 to 0.7 Mpps.
    let sleepy = |level: f64| match level {
        level if level > 3e6 => 1.0 - 3e6 / level,
        level if (2e5..7e5).contains(&level) => 0.01,
        _ => 0.0,
    };
    let outcome = search(options(), 1e9, sleepy);
    assert!((level(&outcome) / 3e6 - 1.0).abs() < 0.01, "{outcome:?}");
    let outcome = search(Options { ceiling: 6e5, ..options() }, 1e9, sleepy);
    assert!(level(&outcome) < 2e5 && sleepy(outcome.above.unwrap().level) > 0.0, "{outcome:?}");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for wrong in [
        Options { loss: -0.1, ..options() },
        Options { loss: 1.0, ..options() },
        Options { loss: f64::NAN, ..options() },
        Options { floor: 0.0, ..options() },
        Options { floor: 20e6, ..options() },
        Options { ceiling: f64::INFINITY, ..options() },
        Options { resolution: 0.0, ..options() },
        Options { resolution: 0.5, ..options() },
        Options { step: -1.0, ..options() },
        Options { trials: 0, ..options() },
    ] {
        assert!(Search::new(wrong.clone()).is_err(), "{wrong:?}");
    }
}

proptest! {
    #[test]
    fn it_ends_for_any_results(seen in prop::collection::vec((0.0..2.0f64, 0.0..1.0f64), 200)) {
        let mut search = Search::new(options()).unwrap();
        let mut answers = seen.into_iter();
        let mut trials = 0;
        while let Some(level) = search.next() {
            prop_assert!(level > 0.0 && level <= 10e6, "{level}");
            let (share, loss) = answers.next().unwrap();
            let loss = if loss < 0.5 { 0.0 } else { loss };
            search.record(Seen { level: level * share, loss });
            trials += 1;
        }
        let outcome = search.outcome();
        prop_assert_eq!(outcome.trials, trials);
        prop_assert!(trials <= options().trials);
    }
}

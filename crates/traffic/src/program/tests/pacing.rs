//! Schedules, with a clock that advances by 1 µs with each reading.

use spec::Verdict;

use super::engine::{Engine, job};
use crate::program::abi::{FRACTION, control, state};
use crate::program::fixture::{plain, random};
use crate::program::{Gaps, Job, compile};

/// A paced program, and the outcome of its batches.
struct Paced {
    engine: Engine,
    group: usize,
}

impl Paced {
    fn new(group: u32, gaps: Gaps, interval_ns: u64) -> Self {
        let streams = [plain(60)];
        let job = Job { group, pace: Some(gaps), ..job(&streams) };
        let mut engine = Engine::new(&job);
        engine.set(control::INTERVAL, interval_ns << FRACTION);
        Self { engine, group: group as usize }
    }

    /// Runs a batch; returns the number of frames that were sent.
    fn batch(&mut self) -> usize {
        let verdicts = (0..self.group).map(|_| self.engine.run().verdict);
        verdicts.filter(|verdict| *verdict == Verdict::Redirect).count()
    }

    /// Departure times of groups, from the first; each batch is sent completely or not at all.
    fn departures(&mut self, groups: usize) -> Vec<u64> {
        let mut times = Vec::new();
        while times.len() < groups {
            match self.batch() {
                0 => {}
                sent => {
                    assert_eq!(sent, self.group);
                    times.push(self.engine.state(state::LAST));
                }
            }
        }
        times
    }
}

#[test]
fn groups_leave_at_their_interval() {
    for (group, interval) in
        [(1, 10_000), (4, 33_000), (256, 90_000), (16, 777_777), (1, 5_000_000)]
    {
        let mut paced = Paced::new(group, Gaps::Even, interval);
        let times = paced.departures(40);
        let first = paced.engine.state(state::FIRST);
        for (index, time) in times.iter().enumerate() {
            let error = time.abs_diff(first + interval * index as u64);
            assert!(error <= 4000, "{group} in {interval} ns: group {index} is {error} ns off");
        }
        assert_eq!(paced.engine.state(state::SLIPPED), 0);
        let late = paced.engine.late();
        assert_eq!(late.count(), 40);
        assert!(late.max().unwrap() <= 4096, "{:?}", late.max());
        assert_eq!(paced.engine.sent(), 40 * u64::from(group));
    }
}

#[test]
fn fractions_of_a_nanosecond_add_up() {
    let mut paced = Paced::new(1, Gaps::Even, 0);
    paced.engine.set(control::INTERVAL, (20_000 << FRACTION) + (1 << (FRACTION - 1)));
    let times = paced.departures(1001);
    let whole = times[1000] - times[0];
    assert!(whole.abs_diff(20_000_500) <= 4000, "{whole}");
}

#[test]
fn who_is_held_up_catches_up_with_one_group_only() {
    let mut paced = Paced::new(2, Gaps::Even, 40_000);
    paced.departures(3);
    let late = paced.engine.now() + 1_000_000;
    paced.engine.set_now(late);
    let times = paced.departures(4);
    assert_eq!(paced.engine.state(state::SLIPPED), 1);
    assert!(times[1] - times[0] < 5_000, "one at once: {times:?}");
    for pair in times[1..].windows(2) {
        assert!((36_000..=44_000).contains(&(pair[1] - pair[0])), "{times:?}");
    }
    assert!(paced.engine.late().max().unwrap() > 900_000);
}

#[test]
fn a_rate_is_changed_and_taken_off_in_mid_run() {
    let mut paced = Paced::new(4, Gaps::Even, 50_000);
    paced.departures(5);
    paced.engine.set(control::INTERVAL, 200_000 << FRACTION);
    let slow = paced.departures(5);
    assert!(slow[4] - slow[1] >= 590_000, "{slow:?}");
    paced.engine.set(control::INTERVAL, 0);
    assert!((0..100).all(|_| paced.batch() == 4), "no frame is returned");
    let counted = paced.engine.late().count();
    assert_eq!(counted, 10, "unpaced frames are not late");
}

#[test]
fn poisson_gaps_have_the_mean_and_the_spread() {
    for group in [1, 8] {
        let interval = 400_000.0;
        let mut paced = Paced::new(group, Gaps::Poisson, 400_000);
        let times = paced.departures(2000);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let spread = square.sqrt() / mean * f64::from(group).sqrt();
        assert!((mean / interval - 1.0).abs() < 0.08, "{group}: mean {mean}");
        assert!((spread - 1.0).abs() < 0.1, "{group}: spread {spread}");
    }
}

#[test]
fn a_wait_is_never_long() {
    let mut paced = Paced::new(1, Gaps::Even, 1_000_000_000);
    paced.batch();
    for _ in 0..100 {
        let before = paced.engine.now();
        assert_eq!(paced.batch(), 0);
        let waited = paced.engine.now() - before;
        assert!((40_000..110_000).contains(&waited), "{waited} ns");
    }
}

#[test]
fn a_batch_whose_first_frame_is_held_is_returned() {
    let mut paced = Paced::new(4, Gaps::Even, 50_000);
    paced.engine.set(control::GO, 0);
    assert_eq!(paced.engine.run().verdict, Verdict::Drop);
    paced.engine.set(control::GO, 1);
    assert!((1..4).all(|_| paced.engine.run().verdict == Verdict::Drop));
    assert_eq!(paced.batch(), 4);
}

#[test]
fn another_pace_goes_on_with_the_same_maps() {
    for seed in 0..40 {
        let streams = random(seed, 4);
        let paces = [(256, None), (1, Some(Gaps::Even)), (16, Some(Gaps::Poisson))];
        let made = paces.map(|(group, pace)| {
            let made = compile(&Job { group, pace, ..job(&streams) }).unwrap();
            let own = |name: &str| name.starts_with("gen_gaps");
            let maps = made.spec.maps.into_iter().filter(|map| !own(&map.name));
            let tables = made.tables.into_iter().filter(|(name, _)| !own(name));
            (maps.collect::<Vec<_>>(), tables.collect::<Vec<_>>())
        });
        assert!(made[0] == made[1] && made[1] == made[2], "seed {seed}");
    }
}

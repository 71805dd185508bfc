//! The generator: exact counts at both ends, and every way to end and to change a run.

use std::time::Duration;

use lab::{LinkOptions, TwoHosts};
use traffic::Rate;
use traffic::generator::{Config, Snapshot};
use traffic::rate::{Profile, Spacing};
use xway_tests::generator::{Counter, LEN, SECONDS, config, start, stream, two_hosts};

fn profile(text: &str) -> Profile {
    text.parse().unwrap()
}

/// What the interface took and what it did not is all that there was.
fn given(totals: &Snapshot) -> u64 {
    assert_eq!(totals.blind, None);
    let given = totals.threads.iter().map(|thread| thread.sent).sum();
    assert_eq!(totals.sent + totals.not_sent, given, "{totals:?}");
    assert_eq!(totals.streams.iter().sum::<u64>(), given);
    given
}

#[test]
fn frames_arrive_once_in_order_and_the_end_is_announced() {
    let net = two_hosts();
    let counter = Counter::attach(&net.b);
    for (rate, count) in [("20kpps", 3_000), ("500kpps", 20_000)] {
        let before = counter.seen(0);
        let config = Config { profile: profile(rate), ..config(stream(&net.b), count) };
        let report = start(&net.a, config).unwrap().wait().unwrap();
        let totals = &report.totals;
        assert_eq!((totals.sent, totals.not_sent, &totals.blind), (count, 0, &None), "{rate}");
        assert_eq!((totals.bytes, &*totals.streams), (count * LEN as u64, &[count][..]));
        assert!(!report.stopped && totals.faults.is_empty(), "{report:?}");
        let seen = counter.wait(0, before.data + count);
        assert_eq!(seen.data, before.data + count, "{rate}");
        assert_eq!((seen.announced, seen.ends), (count, before.ends + ENDS), "{rate}");
        // Groups of one frame and of four.
        assert_eq!(report.pacing.unwrap().error_ns.count(), count);
    }
}

#[test]
fn threads_share_a_count_to_the_frame() {
    let net = TwoHosts::build(&LinkOptions { queues: 2, ..LinkOptions::default() }).unwrap();
    let counter = Counter::attach(&net.b);
    let cpus = sys::cpu::affinity().unwrap();
    let cpus = [cpus[0], *cpus.last().unwrap()].to_vec();
    let config =
        Config { cpus: cpus.clone(), profile: profile("50kpps"), ..config(stream(&net.b), 9_001) };
    let report = start(&net.a, config).unwrap().wait().unwrap();
    let shares: Vec<u64> = report.totals.threads.iter().map(|thread| thread.sent).collect();
    assert_eq!(shares, [4_501, 4_500]);
    let ran: Vec<_> = report.totals.threads.iter().map(|thread| thread.cpu.unwrap()).collect();
    assert_eq!(ran, cpus);
    for (source, share) in shares.into_iter().enumerate() {
        let seen = counter.wait(source, share);
        assert_eq!((seen.data, seen.disorder, seen.announced), (share, 0, share), "{source}");
    }
    assert_eq!(given(&report.totals), 9_001);
}

#[test]
fn a_stop_is_exact_without_a_rate() {
    let net = two_hosts();
    let counter = Counter::attach(&net.b);
    let endless = Config { count: None, ..config(stream(&net.b), 1) };
    let generator = start(&net.a, endless).unwrap();
    let some = || Ok((generator.snapshot().unwrap().sent > 10_000).then_some(()));
    lab::until("ten thousand frames", SECONDS, some).unwrap();
    assert!(!generator.is_done());
    let report = generator.stop().unwrap();
    assert!(report.stopped && report.pacing.is_none() && report.pps > 0.0, "{report:?}");
    assert!(report.totals.threads[0].cpu_time > Duration::ZERO);
    let all = given(&report.totals);
    let seen = counter.wait(0, report.totals.sent);
    assert_eq!((seen.data, seen.announced), (report.totals.sent, all));
}

#[test]
fn a_count_without_a_rate_is_exact_and_ends_by_itself() {
    let net = two_hosts();
    let counter = Counter::attach(&net.b);
    let report = start(&net.a, config(stream(&net.b), 100_003)).unwrap().wait().unwrap();
    assert_eq!(given(&report.totals), 100_003);
    assert!(!report.stopped);
    assert_eq!(counter.wait(0, report.totals.sent).data, report.totals.sent);
}

#[test]
fn time_ends_a_run_and_the_schedule_bounds_it() {
    let net = two_hosts();
    let duration = Duration::from_millis(300);
    let config = Config {
        count: None,
        duration: Some(duration),
        profile: profile("10kpps"),
        ..config(stream(&net.b), 1)
    };
    let report = start(&net.a, config).unwrap().wait().unwrap();
    assert!(!report.stopped, "it ended by itself");
    // Never ahead of the schedule by more than what it may catch up with, a frame or two.
    assert!(report.totals.sent as f64 <= report.seconds * 10_000.0 + 2.0, "{report:?}");
    assert!(report.totals.sent > 0);
}

#[test]
fn nothing_is_sent_while_held() {
    let net = two_hosts();
    let counter = Counter::attach(&net.b);
    let config = Config { held: true, profile: profile("10kpps"), ..config(stream(&net.b), 500) };
    let generator = start(&net.a, config).unwrap();
    // It runs, and yields its processor.
    let ran = || Ok((generator.snapshot().unwrap().threads[0].cpu_time > HELD).then_some(()));
    lab::until("a while of holding", SECONDS, ran).unwrap();
    assert_eq!(generator.snapshot().unwrap().sent, 0);
    generator.go();
    assert_eq!(generator.wait().unwrap().totals.sent, 500);
    assert_eq!(counter.wait(0, 500).data, 500);
}
const ENDS: u64 = (traffic::limits::END_RUNS * traffic::limits::END_FRAMES) as u64;
const HELD: Duration = Duration::from_millis(30);

#[test]
fn rates_change_while_frames_leave_and_none_is_lost() {
    let net = two_hosts();
    let counter = Counter::attach(&net.b);
    let config = Config { profile: profile("1pps"), ..config(stream(&net.b), 60_000) };
    let generator = start(&net.a, config).unwrap();
    let first = || Ok((generator.snapshot().unwrap().sent > 0).then_some(()));
    lab::until("the first frame", SECONDS, first).unwrap();
    // Other groups and no groups: other programs that continue with the same counters.
    for (rate, until) in [("50kpps", 2_000), ("1mpps", 10_000), ("60kpps", 15_000)] {
        generator.set_profile(profile(rate)).unwrap();
        let sent = || Ok((generator.snapshot().unwrap().streams[0] >= until).then_some(()));
        lab::until(rate, SECONDS, sent).unwrap();
    }
    let too_much = generator.set_profile(profile("300mpps")).unwrap_err().to_string();
    assert!(too_much.contains("300mpps"), "{too_much}");
    generator.set_profile(Rate::Max.into()).unwrap();
    let report = generator.wait().unwrap();
    assert_eq!(given(&report.totals), 60_000);
    let seen = counter.wait(0, report.totals.sent);
    assert_eq!((seen.data, seen.announced), (report.totals.sent, 60_000));
    if report.totals.not_sent == 0 {
        assert_eq!(seen.disorder, 0);
    }
}

#[test]
fn a_ramp_goes_through_all_groups_in_order() {
    let net = two_hosts();
    let counter = Counter::attach(&net.b);
    let ramp = Profile { ramp: Some((Rate::PacketsPerSecond(1e6), RAMP)), ..profile("1kpps") };
    let config = Config { profile: ramp, ..config(stream(&net.b), COUNT) };
    let report = start(&net.a, config).unwrap().wait().unwrap();
    assert_eq!(given(&report.totals), COUNT);
    // Half of the highest rate in the mean, and not ahead of it.
    assert!(report.seconds >= RAMP.as_secs_f64() * 0.5, "{report:?}");
    let pacing = report.pacing.unwrap();
    assert_eq!(pacing.group, 16);
    // Where a program takes over from another, the last group may be cut, and is not counted.
    let counted = pacing.error_ns.count();
    assert!((COUNT - 64..=COUNT).contains(&counted), "{counted}");
    assert_eq!(counter.wait(0, report.totals.sent).data, report.totals.sent);
}
const RAMP: Duration = Duration::from_millis(250);
const COUNT: u64 = 300_000;

#[test]
fn bursts_leave_whole_and_poisson_in_the_mean() {
    let net = two_hosts();
    let counter = Counter::attach(&net.b);
    let mut arrived = 0;
    for (spacing, group) in [(Spacing::Bursts(50), 50), (Spacing::Poisson, 1)] {
        let profile = Profile { spacing, ..profile("50kpps") };
        let config = Config { profile, ..config(stream(&net.b), 5_000) };
        let report = start(&net.a, config).unwrap().wait().unwrap();
        assert_eq!((report.totals.sent, report.totals.not_sent), (5_000, 0), "{spacing}");
        assert_eq!(report.pacing.unwrap().group, group, "{spacing}");
        arrived += 5_000;
        assert_eq!(counter.wait(0, arrived).data, arrived, "{spacing}");
    }
}

#[test]
fn dropped_it_ends() {
    let net = two_hosts();
    let counter = Counter::attach(&net.b);
    let endless = Config { count: None, profile: profile("10kpps"), ..config(stream(&net.b), 1) };
    drop(start(&net.a, endless).unwrap());
    let seen = counter.seen(0);
    assert_eq!(counter.seen(0), seen, "nothing comes behind it");
}

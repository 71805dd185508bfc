//! The generator: exact counts at both ends, and every way to end, fail and change a run.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

mod generator_support;

use std::time::Duration;

use generator_support::{Counter, LEN, config, stream};
use lab::{LinkOptions, TwoHosts};
use traffic::generator::{Config, Generator};

const SECONDS: Duration = Duration::from_secs(20);

fn two_hosts() -> TwoHosts {
    TwoHosts::build(&LinkOptions::default()).unwrap()
}

/// In the host that sends.
fn start(net: &TwoHosts, config: Config) -> Generator {
    net.a.run(|| Generator::start(config)).unwrap().unwrap()
}

#[test]
fn what_is_sent_arrives_once_in_order_and_its_end_is_told() {
    let net = two_hosts();
    let counter = Counter::attach(&net.b);
    for (rate, count) in [("20kpps", 3_000), ("500kpps", 20_000)] {
        let before = counter.seen(0);
        let config = Config { profile: rate.parse().unwrap(), ..config(stream(&net.b), count) };
        let report = start(&net, config).wait().unwrap();
        let totals = &report.totals;
        assert_eq!((totals.sent, totals.not_sent, &totals.blind), (count, 0, &None), "{rate}");
        assert_eq!((totals.bytes, &*totals.streams), (count * LEN as u64, &[count][..]));
        assert!(!report.stopped && totals.faults.is_empty(), "{report:?}");
        let seen = counter.wait(0, before.data + count);
        assert_eq!(seen.data, before.data + count, "{rate}");
        assert_eq!((seen.told, seen.ends), (count, before.ends + 10), "{rate}");
        assert_eq!(report.pacing.unwrap().error_ns.count(), count);
    }
}

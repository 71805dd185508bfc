//! What the tests of the sink share: stamped frames, sinks in hosts, devices under test.

pub mod device;

use std::time::Duration;

use kernel::{Attach, Link, Mode, Object, Replace};
use lab::Host;
use lab::frame::{Flow, Side};
use traffic::generator::{self, Generator, Load};
use traffic::sink::{Sink, SinkConfig, SinkReport};
use traffic::stream::File;
use traffic::{Expect, Kind, Stamp, Template};

const PATIENCE: Duration = Duration::from_secs(20);

/// A stamp of stream 1 and source 0.
pub fn stamp(number: u32) -> Stamp {
    let time_ns = sys::thread::monotonic_ns() as u32;
    Stamp { stream: 1, source: 0, number, time_ns, kind: Kind::Data(Expect::Pass) }
}

pub fn end(count: u32) -> Stamp {
    Stamp { kind: Kind::End, ..stamp(count) }
}

/// Between any two addresses, for frames that no stack sees.
pub fn flow(v6: bool) -> Flow {
    let [from, to] = if v6 { ["fd00::1", "fd00::2"] } else { ["10.0.0.1", "10.0.0.2"] };
    let side = |mac, ip| Side::new(mac, ip, 4242).unwrap();
    Flow::new(side("02:78:77:00:00:01", from), side("02:78:77:00:00:02", to))
}

/// From one host's `eth0` to another's.
pub fn between(from: &Host, to: &Host) -> Flow {
    let side = |host: &Host| {
        let ip = host.ipv4("eth0").unwrap().into();
        Side { mac: host.mac("eth0").unwrap(), ip, port: 4242 }
    };
    Flow::new(side(from), side(to))
}

/// UDP with a payload of `length` bytes followed by the stamp.
pub fn udp(flow: &Flow, length: usize, stamp: &Stamp) -> Vec<u8> {
    flow.udp(&[&vec![5; length], &stamp.bytes()[..]].concat()).unwrap()
}

pub fn start(host: &Host, config: &SinkConfig) -> Sink {
    host.run(|| Sink::start(config)).unwrap().unwrap_or_else(|error| panic!("{error}"))
}

/// Waits until the report is as wanted.
pub fn until(sink: &Sink, what: &str, wanted: impl Fn(&SinkReport) -> bool) -> SinkReport {
    let mut last = SinkReport::default();
    let looked = lab::until(what, PATIENCE, || {
        last = sink.snapshot().unwrap_or_else(|error| panic!("{error}"));
        Ok(wanted(&last).then_some(()))
    });
    if let Err(error) = looked {
        panic!("{error}: {}", summary(&last));
    }
    last
}

/// Waits for the end of all that was seen.
pub fn ended(sink: &Sink) {
    let all = || Ok(sink.all_ended().unwrap().then_some(()));
    lab::until("the end of all sources", PATIENCE, all).unwrap();
}

/// A report without its histograms.
pub fn summary(report: &SinkReport) -> String {
    let mut report = report.clone();
    for stream in &mut report.streams {
        (stream.latency_ns, stream.jitter_ns) = Default::default();
        stream.latency_ns = traffic::Histogram::from_counts([]);
    }
    let streams: Vec<String> = report
        .streams
        .iter()
        .map(|s| {
            format!(
                "{} ({} sources): received {} lost {} of {:?}, reordered {}, duplicated {}, \
                 corrupted {}, late {}",
                s.id,
                s.sources,
                s.received,
                s.lost,
                s.sent,
                s.reordered,
                s.duplicated,
                s.corrupted,
                s.late
            )
        })
        .collect();
    format!("{streams:?} foreign {} missed {}", report.foreign, report.missed)
}

/// Two streams of UDP, 60 and 200 bytes, from one host's `eth0` to another's, by way of `hop`.
pub fn streams(from: &Host, to: &Host, hop: &Host, more: &str) -> Vec<Template> {
    let (src_mac, dst_mac) = (from.mac("eth0").unwrap(), hop.mac("eth0").unwrap());
    let (src, dst) = (from.ipv4("eth0").unwrap(), to.ipv4("eth0").unwrap());
    let text = |name: &str, size: usize, ports: &str| {
        format!(
            "[[stream]]\nname = \"{name}\"\nstamp = true\nsize = {size}\n{more}\nlayers = [\n\
             {{ ethernet = {{ src = \"{src_mac}\", dst = \"{dst_mac}\" }} }},\n\
             {{ ipv4 = {{ src = \"{src}\", dst = \"{dst}\" }} }},\n\
             {{ udp = {{ src = {ports}, dst = 9 }} }} ]\n"
        )
    };
    let random = "{ random = \"1024..65535\" }";
    let file = File::parse(&(text("a", 60, "7") + &text("b", 200, random))).unwrap();
    file.templates(1500).unwrap()
}

/// Sends `count` frames out of a host's `eth0`, on these processors.
pub fn generate(host: &Host, streams: Vec<Template>, count: u64, cpus: &[usize]) -> Vec<u64> {
    let config = generator::Config {
        count: Some(count),
        duration: Some(PATIENCE),
        profile: "200kpps".parse().unwrap(),
        cpus: cpus.to_vec(),
        announce_end: true,
        ..generator::Config::new("eth0", Load::Streams(streams))
    };
    let generator = host.run(|| Generator::start(config)).unwrap();
    let report = generator.unwrap_or_else(|error| panic!("{error}")).wait().unwrap();
    assert_eq!((report.totals.sent, report.totals.not_sent), (count, 0), "{report:?}");
    report.totals.streams
}

fn attach(host: &Host, interface: &str, object: &Object, program: &str) -> Link {
    let ifindex = host.ifindex(interface).unwrap();
    let program = object.program(program).unwrap();
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    host.run(|| kernel::attach(&attach)).unwrap().unwrap()
}

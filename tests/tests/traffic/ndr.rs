//! The rate of devices whose rate is known: XDP programs that forward at a fixed rate.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kernel::{Attach, LoadOptions, Mode, Object, Replace};
use lab::{LinkOptions, Router};
use spec::asm::Reg::{R0, R1, R2, R3, R4, R6};
use spec::asm::{self, Assembler, Cond, Helper};
use spec::{MapDef, MapKind, ProgramKind, Verdict};
use sys::priority::Priority;
use traffic::generator;
use traffic::ndr::{
    self, Binding, Bursts, Config, FrameSize, Load, NdrReport, Options, Progress, Purpose, Row,
};
use traffic::sink::{Sink, SinkConfig};
use traffic::stream::{File, Quick, QuickProtocol};

const SECONDS: Duration = Duration::from_secs(120);

/// a sends, b is the device under test, c counts.
struct Net {
    hosts: Router,
    _device: kernel::Link,
    _alone: MutexGuard<'static, ()>,
}

/// Serializes tests: generators that share a processor offer less than requested.
static ONE: Mutex<()> = Mutex::new(());

/// What the device does.
#[derive(Clone, Copy)]
enum Device {
    /// Forwards one frame in each interval, and saves up to `depth`.
    Bucket { interval_ns: u32, depth: u32 },
    /// Forwards all but every n-th.
    Loses { every: u32 },
}

impl Net {
    fn build(device: Device) -> Self {
        let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let hosts = Router::build(&LinkOptions::default()).unwrap();
        let mut object = asm::Object::new("device", "GPL");
        object.map(MapDef {
            name: "state".into(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: 8,
            max_entries: 1,
            ..MapDef::default()
        });
        object.program(assemble(device, hosts.b.ifindex("eth1").unwrap().0));
        let object = Object::load(&object.finish().unwrap(), &LoadOptions::default()).unwrap();
        let attach = Attach {
            ifindex: hosts.b.ifindex("eth0").unwrap(),
            program: object.program("device").unwrap(),
            mode: Mode::Native,
            replace: Replace::No,
        };
        let link = hosts.b.run(|| kernel::attach(&attach)).unwrap().unwrap();
        Self { hosts, _device: link, _alone: alone }
    }

    fn config(&self, sizes: &[FrameSize], rate: Options) -> Config {
        let quick = Quick {
            src_mac: Some(self.hosts.a.mac("eth0").unwrap().to_string().as_str().into()),
            dst_mac: Some(self.hosts.b.mac("eth0").unwrap().to_string().as_str().into()),
            src: Some("10.0.1.2".into()),
            dst: Some("10.0.2.2".into()),
            sport: Some("9".into()),
            dport: Some("9".into()),
            ..Quick::new(QuickProtocol::Udp)
        };
        let file = File { streams: vec![quick.stream()] };
        let loads = sizes.iter().map(|size| Load::new(*size, &file, 1500).unwrap()).collect();
        let streams = generator::Load::Streams(Vec::new());
        let generator = generator::Config::new("eth0", streams);
        Config {
            rate,
            trial: Duration::from_millis(200),
            latency: Duration::from_millis(100),
            drain: Duration::from_millis(500),
            ..Config::new(generator::Config { cpus: vec![0], ..generator }, loads)
        }
    }

    /// Repeats the measurement if a busy machine kept the generator below the requested rate.
    fn measure(&self, config: &Config) -> NdrReport {
        let hindered = |row: &Row| row.binding == Binding::Generator;
        let measured = lab::until("a measurement that nothing hinders", SECONDS, || {
            let report = self.watch(config, |_| ControlFlow::Continue(()));
            Ok((!report.rows.iter().any(hindered)).then_some(report))
        });
        measured.unwrap()
    }

    fn watch(
        &self,
        config: &Config,
        mut tell: impl FnMut(Progress<'_>) -> ControlFlow<()> + Send,
    ) -> NdrReport {
        let sink = self.hosts.c.run(|| Sink::start(&SinkConfig::new("eth0"))).unwrap().unwrap();
        // Inherited by the generator's thread: what else runs here would hold it up.
        let measure = || {
            Priority::RealTime(1).give(0).unwrap();
            ndr::measure(config, &sink, &mut tell)
        };
        self.hosts.a.run(measure).unwrap().unwrap()
    }
}

/// R6 is the state: when the bucket will be empty, ns, or how many frames came.
fn assemble(device: Device, out: u32) -> Assembler {
    let mut a = Assembler::new("device", ProgramKind::XDP);
    let [drop, pass, full] = [a.label(), a.label(), a.label()];
    a.packet(R2, R3, R1).need(R2, R3, 14, R4, drop);
    a.load16(R4, R2.at(12)).be16(R4).jump_if(R4, Cond::Ne, 0x0800, pass);
    a.load_map_value(R6, "state", 0);
    match device {
        Device::Bucket { interval_ns, depth } => {
            a.call(Helper::KTIME_GET_NS).load64(R1, R6.at(0));
            a.load_imm64(R2, u64::from(interval_ns) * u64::from(depth));
            a.note("no more is saved").mov(R3, R0).sub(R3, R2).jump_if(R1, Cond::Ge, R3, full);
            a.mov(R1, R3).bind(full).jump_if(R1, Cond::Gt, R0, drop);
            a.load_imm64(R2, u64::from(interval_ns)).add(R1, R2).store64(R6.at(0), R1);
        }
        Device::Loses { every } => {
            a.load64(R1, R6.at(0)).add(R1, 1).store64(R6.at(0), R1);
            a.mov(R2, R1).rem(R2, every as i32).jump_if(R2, Cond::Eq, 0, drop).bind(full);
        }
    }
    a.load_imm64(R1, u64::from(out)).mov(R2, 0).call(Helper::REDIRECT).exit();
    a.bind(drop).verdict(Verdict::Drop);
    a.bind(pass).verdict(Verdict::Pass);
    a
}

fn options() -> Options {
    Options { floor: 5e3, ceiling: 200e3, resolution: 0.02, retries: 2, ..Options::default() }
}

#[test]
fn a_known_limit_is_found_for_each_size() {
    // 40000 a second, and 200 that are saved between trials: 40 ms of a trial of 200.
    let net = Net::build(Device::Bucket { interval_ns: 25_000, depth: 200 });
    let sizes = [FrameSize::Bytes(1518), FrameSize::Imix];
    let report = net.measure(&net.config(&sizes, options()));
    assert_eq!((report.rows.len(), report.stopped), (2, false));
    for (row, bytes) in report.rows.iter().zip([1514.0, 357.8]) {
        let pps = row.pps.unwrap();
        assert!((40e3 * 0.98..41e3 * 1.01).contains(&pps), "{row:#?}");
        let (above, loss) = (row.above_pps.unwrap(), row.above_loss.unwrap());
        assert!(above > pps && above < pps * 1.03 && loss > 0.0, "{row:#?}");
        assert_eq!((row.binding, row.loss), (Binding::Device, Some(0.0)));
        assert!((row.bytes - bytes).abs() < bytes * 0.01, "{}", row.bytes);
        assert!((row.gbit_per_second.unwrap() - pps * row.bytes * 8e-9).abs() < 1e-9);
        let shares: Vec<f64> = row.latencies.iter().map(|latency| latency.share).collect();
        assert_eq!(shares, [0.5, 0.9]);
        for latency in &row.latencies {
            // The reached rate is reported; on a machine that stalls it is below the requested one.
            assert!((0.0..pps * latency.share * 1.05).contains(&latency.pps), "{latency:?}");
            assert!(latency.lost > 0 || latency.latency_ns.count() as f64 > latency.pps * 0.09);
        }
        for trial in &row.trials {
            assert_eq!(trial.sent, trial.received + trial.lost, "{trial:?}");
            assert!(trial.passed == (trial.lost == 0), "{trial:?}");
        }
    }
}

#[test]
fn the_longest_burst_is_found_to_the_frame() {
    // Saves 50 frames; one more comes only every 20 ms.
    let net = Net::build(Device::Bucket { interval_ns: 20_000_000, depth: 50 });
    let config = Config {
        bursts: Some(Bursts { longest: 120, repeats: 2 }),
        trial: Duration::from_millis(100),
        shares: Vec::new(),
        ..net.config(&[FrameSize::Bytes(128)], Options { floor: 10.0, ceiling: 20.0, ..options() })
    };
    let report = net.measure(&config);
    let row = &report.rows[0];
    let burst = row.burst.unwrap();
    assert_eq!(burst.binding, Binding::Device, "{row:#?}");
    // What is saved when the last trial was less than a second ago is less.
    assert!((1..=51).contains(&burst.frames.unwrap()), "{row:#?}");
    let bursts = row.trials.iter().filter(|trial| trial.purpose == Purpose::Burst);
    for trial in bursts {
        assert_eq!(Some(trial.sent + trial.not_sent), trial.asked_frames, "{trial:?}");
        assert_eq!(trial.asked_pps, None);
    }
}

#[test]
fn a_device_that_always_loses_has_no_rate_unless_that_is_accepted() {
    let net = Net::build(Device::Loses { every: 100 });
    let strict = Options { ceiling: 40e3, trials: 20, ..options() };
    let report = net.measure(&net.config(&[FrameSize::Bytes(64)], strict.clone()));
    let row = &report.rows[0];
    assert_eq!((row.pps, row.binding), (None, Binding::Device), "{row:#?}");
    assert!(row.latencies.is_empty() && row.above_pps.is_some());

    let report =
        net.measure(&net.config(&[FrameSize::Bytes(64)], Options { loss: 0.02, ..strict }));
    let row = &report.rows[0];
    assert_eq!(row.binding, Binding::Ceiling, "{row:#?}");
    assert!((row.pps.unwrap() / 40e3 - 1.0).abs() < 0.02);
    assert!((0.009..0.011).contains(&row.loss.unwrap()), "{row:#?}");
}

#[test]
fn it_ends_when_it_is_stopped() {
    let net = Net::build(Device::Loses { every: 1_000_000 });
    let config = Config {
        trial: Duration::from_secs(60),
        ..net.config(&[FrameSize::Bytes(64), FrameSize::Bytes(128)], options())
    };
    let mut waits = 0;
    let report = net.watch(&config, |progress| match progress {
        Progress::Wait(Purpose::Rate) => {
            waits += 1;
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    assert_eq!((waits, report.rows.len(), report.stopped), (1, 0, true));
}

//! An invented run, with everything that a run can have: bars and curves, published
//! values near and far, absent hooks, marks, notes, noise, and an end before its time.

use report::figure::{Series, XAxis};
use report::{Bench, Error, Figure, Host, Run};

/// Returns the same values each time.
pub fn run() -> Result<Run, Error> {
    let mut run = Run::new("xway bench run drop cpu latency scale");
    for bench in [drop(), cpu(), latency(), scale()] {
        run.put(&bench, host())?;
    }
    Ok(run)
}

fn host() -> Host {
    let why = "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; RSB filling";
    Host {
        kernel: Some("6.18.0".into()),
        arch: Some("x86_64".into()),
        cpu: Some("Made-up Processor @ 3.00GHz".into()),
        cores: Some(2),
        virtual_machine: Some(true),
        clock_mhz: Some(3000.0),
        memory_bytes: Some(24 << 30),
        load: Some([2.7, 1.1, 0.4]),
        bpf_jit: Some(1),
        mitigations: [("spectre_v2".to_owned(), why.to_owned())].into(),
        date: Some("2026-11-22T12:00:00Z".into()),
        ..Host::default()
    }
}

/// Repeatable noise between -1 and 1.
fn noise(step: usize) -> f64 {
    (step as f64 * 12.9898).sin() * (step as f64 * 4.1414).cos()
}

fn rounds(bench: &mut Bench, name: &str, unit: &str, (median, spread): (f64, f64)) {
    for step in 0..5 {
        let seed = step + 5 * bench.rounds().len();
        let value = median * (1.0 + spread * noise(seed));
        bench.round(name, unit, if unit == "%" { value.min(100.0) } else { value });
    }
}

fn drop() -> Bench {
    let talk = "SOSCON 2019: one core, 10GbE ConnectX-4, offload Netronome";
    let hooks = [
        ("limit", 3.62e6),
        ("userspace", 0.41e6),
        ("iptables", 0.63e6),
        ("nft", 0.61e6),
        ("tc", 1.42e6),
        ("xdp-generic", 1.38e6),
        ("xdp-native", 3.11e6),
    ];
    let mut bench = Bench::new("drop");
    bench.about("packets that end a second, by hook: socket, netfilter, tc, XDP");
    for (name, rate) in hooks {
        rounds(&mut bench, name, "pps", (rate, 0.05));
        rounds(&mut bench, &format!("lost/{name}"), "%", (40.0, 0.05));
    }
    let rows = hooks.iter().map(|(name, _)| (*name).to_owned()).chain(["nft-netdev".into()]);
    let figure = Figure::bars("drop", "Packets that end a second, by hook", rows)
        .subtitle("UDP frames of 60 bytes on veth; longer is better")
        .reference("userspace", 783_063.0, talk)
        .reference("tc", 4_083_820.0, talk)
        .reference("xdp-native", 9_941_337.0, talk)
        .reference("xdp-offload", 14_883_153.0, talk);
    bench
        .figure(figure)
        .ratio("xdp-native", "xdp-generic")
        .ratio("xdp-native", "userspace")
        .absent("nft-netdev", "before the first round: nft: Operation not supported")
        .absent("xdp-offload", "no network card here runs XDP; it needs one with an eBPF machine")
        .mark("xdp-native", "the sender is the limit, so more may be possible")
        .note("sender on processor 0, receiver on processor 1: they share no core")
        .method("One sender floods with UDP frames of 60 bytes, made once and sent by XDP.")
        .method("Each hook in turn ends them; counted is what ended there, not what was sent.")
        .cut("interrupted in round 6 of 7");
    bench
}

fn along(label: &str, unit: &str, is_logarithmic: bool) -> XAxis {
    XAxis { label: label.into(), unit: unit.into(), is_logarithmic }
}

/// A curve through rows that are called after it and their places.
fn series(name: &str, places: &[f64]) -> Series {
    let points = places.iter().map(|place| (*place, format!("{name}@{place}"))).collect();
    Series { name: name.into(), points }
}

fn cpu() -> Bench {
    let paper = "The eXpress Data Path, 2018: one core of a Xeon E5-1650 v4, 100GbE ConnectX-5";
    let places = [0.0, 100e3, 250e3, 500e3, 1e6];
    let arms = [
        ("xdp", [99.0, 93.0, 84.0, 71.0, 48.0]),
        ("raw", [99.0, 85.0, 66.0, 38.0, 2.0]),
        ("af-xdp-busy", [0.0; 5]),
    ];
    let mut bench = Bench::new("cpu");
    bench.about("how idle a processor stays under a load");
    for (name, values) in arms {
        for (place, value) in places.iter().zip(values) {
            rounds(&mut bench, &format!("{name}@{place}"), "%", (value, 0.04));
        }
    }
    let curves =
        arms.iter().map(|(name, _)| series(name, &places)).chain([series("dpdk", &places)]);
    let published = [(0.0, 100.0), (0.25e6, 93.0), (0.5e6, 88.3), (1e6, 80.4), (2e6, 71.1)];
    let rest = [(5e6, 52.7), (10e6, 37.6), (20e6, 8.2), (24.8e6, 0.0)];
    let raw = [(0.0, 100.0), (0.25e6, 79.0), (0.5e6, 69.8), (1e6, 57.4), (2e6, 40.4), (5e6, 0.0)];
    let title = "How idle the processor stays";
    let x = along("offered load", "pps", false);
    bench.figure(
        Figure::curves("cpu", title, x, curves.collect())
            .subtitle("Share of one processor that is idle while packets are dropped")
            .reference_curve("xdp", [&published[..], &rest].concat(), paper)
            .reference_curve("raw", raw.to_vec(), paper),
    );
    bench
        .absent("dpdk", "not a part of this run")
        .mark("raw@1000000", "the receiver lost 12 % of the packets")
        .note("no core is shared");
    bench
}

fn latency() -> Bench {
    let places = [100.0, 10e3, 1e6];
    let arms = [
        ("bridge", [21_000.0, 19_000.0, 64_000.0]),
        ("xdp-redirect", [17_000.0, 15_000.0, 22_000.0]),
        ("af-xdp-busy", [9_000.0, 8_000.0, 11_000.0]),
    ];
    let mut bench = Bench::new("latency");
    bench.about("how long a packet takes there and back");
    for (name, values) in arms {
        for (place, value) in places.iter().zip(values) {
            rounds(&mut bench, &format!("{name}@{place}"), "ns", (value, 0.35));
        }
    }
    let curves = arms.iter().map(|(name, _)| series(name, &places)).collect();
    let x = along("offered load", "pps", true);
    bench.figure(
        Figure::curves("latency", "Round trip, median", x, curves).subtitle("Less is better"),
    );
    bench
}

fn scale() -> Bench {
    let mut bench = Bench::new("scale");
    let names = ["a-hook-with-quite-a-long-name", "b", "c", "d", "e", "f", "g"];
    for (index, name) in names.iter().enumerate() {
        for cores in [1.0, 2.0] {
            let rate = 1e6 * cores * (1.0 + index as f64 / 3.0);
            rounds(&mut bench, &format!("{name}@{cores}"), "pps", (rate, 0.03));
        }
    }
    let curves = names.iter().map(|name| series(name, &[1.0, 2.0])).collect();
    bench.figure(Figure::curves("scale", "Rate by cores", along("cores", "", false), curves));
    bench
}

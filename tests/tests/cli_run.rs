//! `xway run` with root: the kernel as runtime, and kernel and engine side by side.

#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::path::PathBuf;

use lab::frame::{Flow, Side};
use pcap::{LinkType, Packet, Writer};
use serde_json::Value;
use xway_tests::xway::{Answer, Xway};

/// A capture that is gone when the test ends.
struct Capture(PathBuf);

impl Capture {
    /// Sound frames of several kinds, some of them cut.
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xway-{test}-{}.pcapng", std::process::id()));
        let mut writer = Writer::pcapng(File::create(&path).unwrap(), &pcap::Options::default());
        let writer = writer.as_mut().unwrap();
        writer.interface("eth0", LinkType::ETHERNET).unwrap();
        for data in frames() {
            writer.write(&Packet { data, ..Packet::default() }).unwrap();
        }
        writer.flush().unwrap();
        Self(path)
    }

    fn run(&self, object: &str, words: &[&str]) -> Answer {
        let base = ["run", object, "--in", self.0.to_str().unwrap(), "--json"];
        Xway::new().run(&[&base[..], words].concat())
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _absent = fs::remove_file(&self.0);
    }
}

fn frames() -> Vec<Vec<u8>> {
    let side = |last, ip, port| Side::new(&format!("02:00:00:00:00:{last:02}"), ip, port).unwrap();
    let v4 = Flow::new(side(9, "10.0.0.9", 4000), side(1, "10.1.0.2", 1234));
    let v6 = Flow::new(side(9, "fd00::9", 4000), side(1, "fd01::2", 1234));
    let mut frames = vec![
        v4.udp(b"datagram").unwrap(),
        v6.udp(b"datagram").unwrap(),
        v4.clone().vlan(7).udp(b"tagged").unwrap(),
        v4.clone().ttl(1).udp(b"old").unwrap(),
        v4.ping(1, 1, b"ping").unwrap(),
        v4.tcp(lab::frame::TcpFlags::default(), 1, b"segment").unwrap(),
    ];
    for len in [14, 20, 33, 38, 41] {
        let cut = frames[0][..len].to_vec();
        frames.push(cut);
    }
    frames
}

/// Drops every packet where the timer ticks 250 times a second or the map holds an entry.
const TICKS: &str = r#"
extern int CONFIG_HZ __kconfig;
struct { int (*type)[BPF_MAP_TYPE_ARRAY]; int *key; int *value; } sizeless SEC(".maps");
static void *(*lookup)(void *, const void *) = (void *)BPF_FUNC_map_lookup_elem;
SEC("xdp") int ticks(struct xdp_md *ctx) {
    int last = 7;
    if (lookup(&sizeless, &last)) return XDP_TX;
    return CONFIG_HZ == 250 ? XDP_DROP : XDP_PASS;
}
"#;

#[test]
fn what_an_object_leaves_open_can_be_given() {
    let capture = Capture::new("run-open");
    let stem = capture.0.with_extension("");
    let name = stem.file_name().unwrap().to_str().unwrap();
    let object = xway_tests::clang::compile(stem.parent().unwrap(), name, TICKS);
    let run = |words: &[&str]| capture.run(object.to_str().unwrap(), words);
    for runtime in ["vm", "kernel"] {
        let runtime = ["--runtime", runtime];
        let with = |words: &[&str]| run(&[&runtime[..], words].concat());
        let answer = with(&["--kconfig", "CONFIG_HZ=250"]);
        assert_eq!(answer.code, 2);
        assert!(answer.stderr.contains("map `sizeless`: it has no entries"), "{}", answer.stderr);
        let (few, many) = (["--map-size", "sizeless=7"], ["--map-size", "sizeless=8"]);
        let verdicts = |words: &[&str]| with(words).json(0)["verdicts"].clone();
        let all = frames().len();
        let hz = verdicts(&[&few[..], &["--kconfig", "CONFIG_HZ=250"]].concat());
        assert_eq!(hz["drop"], all, "{hz}");
        let hz = verdicts(&[&few[..], &["--kconfig", "CONFIG_HZ=1000"]].concat());
        assert_eq!(hz["pass"], all, "{hz}");
        assert_eq!(verdicts(&[&many[..], &["--world", "host"]].concat())["tx"], all);
    }
    let lacking = run(&["--map-size", "sizeless=7"]);
    assert_eq!(lacking.code, 2);
    assert!(lacking.stderr.contains("--kconfig NAME=VALUE"), "{}", lacking.stderr);
    for path in [object.with_extension("c"), object] {
        fs::remove_file(path).unwrap();
    }
}

fn prebuilt(name: &str) -> String {
    format!("{}/../bpf/prebuilt/{name}.o", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn kernel_and_engine_agree_on_every_program_of_ours() {
    let capture = Capture::new("run-diff");
    let rule = ["--rule", "10.1.0.2 udp 1234"];
    let nat = ["--nat", "10.1.0.2 udp 1234 -> 10.1.1.2:5000"];
    let table: &[(&str, &[&str])] = &[
        ("drop", &rule),
        ("drop", &["--rule", "fd01::/64", "--program", "xway_drop_frags"]),
        ("forward", &nat),
        ("forward", &["--program", "xway_forward_frags"]),
        (&prebuilt("test/talk_drop"), &[]),
        (&prebuilt("test/talk_forward"), &[]),
        (&prebuilt("test/paper_count"), &[]),
        (&prebuilt("test/old_maps"), &[]),
        (&prebuilt("test/parse"), &[]),
        (&prebuilt("test/globals"), &[]),
        (&prebuilt("test/maps"), &["--program", "use_all"]),
        (&prebuilt("test/calls"), &["--program", "calls_all"]),
        (&prebuilt("test/helpers_memory"), &["--program", "memory_packet"]),
    ];
    for (object, words) in table {
        let answer = capture.run(object, &[words, &["--diff"][..]].concat());
        assert_eq!(answer.code, 0, "{object} {words:?}: {} {}", answer.stdout, answer.stderr);
        let json: Value = serde_json::from_str(&answer.stdout).unwrap();
        assert_eq!(json["packets"], frames().len());
        assert!(json["first_difference"].is_null());
    }
}

#[test]
fn a_difference_is_found_and_can_be_declared() {
    let capture = Capture::new("run-differs");
    let object = prebuilt("test/helpers_lasting");
    let clocks = ["--program", "lasting_taken_along", "--diff"];
    let answer = capture.run(&object, &clocks);
    assert_eq!(answer.code, 1, "addresses of objects differ: {}", answer.stdout);
    let json: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(json["first_difference"]["what"], "map", "{json}");
    let name = json["first_difference"]["map"].as_str().unwrap();
    let answer = capture.run(&object, &[&clocks[..], &["--ignore-map", name]].concat());
    assert_eq!(answer.code, 0, "{}", answer.stdout);
}

#[test]
fn the_kernel_counts_as_the_engine_does() {
    let capture = Capture::new("run-kernel");
    let counts = |runtime: &str| {
        let words = ["--rule", "10.1.0.2 udp 1234", "--runtime", runtime];
        let answer = capture.run("drop", &words);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        let json: Value = serde_json::from_str(&answer.stdout).unwrap();
        assert!(json["ns_per_packet"].as_f64().unwrap() > 0.0, "{json}");
        (json["verdicts"].clone(), json["maps"].clone())
    };
    let (kernel, vm) = (counts("kernel"), counts("vm"));
    assert_eq!(kernel.0, vm.0);
    assert_eq!(kernel.0["drop"], 3, "one plain, one tagged, one with a TTL of 1");
}

//! `xway run` with root: the kernel as runtime, and kernel and engine side by side.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lab::frame::{Flow, Side};
use pcap::{LinkType, Packet, Writer};
use serde_json::{Value, json};
use xway_tests::xway::{Answer, Xway};

/// A world with a way for the packets of `talk_forward`, which the host does not have.
const ROUTED: &str = r#"
[[interfaces]]
index = 1
name = "lo"
addresses = ["10.0.0.1/24"]
forward_ipv4 = true

[[interfaces]]
index = 7
name = "eth7"
mac = "02:00:00:00:00:07"
addresses = ["10.1.1.1/24"]
forward_ipv4 = true

[[neighbours]]
dev = "eth7"
ip = "10.1.1.2"
mac = "02:00:00:00:00:08"
"#;

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
        ("forward", &["--program", "xway_route_frags"]),
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
    let world = capture.0.with_extension("toml");
    fs::write(&world, ROUTED).unwrap();
    let words = ["--diff", "--world", world.to_str().unwrap()];
    let answer = capture.run(&prebuilt("test/talk_forward"), &words);
    fs::remove_file(world).unwrap();
    assert_eq!(answer.code, 1, "only the engine has the route: {}", answer.stdout);
    let json: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert!(json["first_difference"].is_object(), "{json}");
    assert_eq!(json["not_compared"]["causes"], json!([]), "{json}");
}

#[test]
fn what_differs_by_nature_is_left_out_and_reported() {
    let capture = Capture::new("run-nature");
    let all = json!(["address", "clock", "random"]);
    let table = [
        ("nature_values", json!({"kept": all})),
        ("nature_bytes", json!({})),
        ("nature_verdict", json!({"drawn": ["random"]})),
        ("nature_plain", json!({})),
    ];
    for (program, maps) in table {
        let answer = capture.run(&prebuilt("test/nature"), &["--program", program, "--diff"]);
        assert_eq!(answer.code, 0, "{program}: {} {}", answer.stdout, answer.stderr);
        let json: Value = serde_json::from_str(&answer.stdout).unwrap();
        let left_out = &json["not_compared"];
        assert_eq!(json["packets"], frames().len(), "{program}: {json}");
        assert_eq!(left_out["maps"], maps, "{program}: {left_out}");
        assert_eq!(left_out["packets"] != 0, program == "nature_bytes", "{program}: {left_out}");
        assert!(program == "nature_verdict" || left_out["verdicts"] == 0, "{program}: {left_out}");
    }
}

#[test]
fn programs_of_devmaps_and_cpumaps_are_compared() {
    let capture = Capture::new("run-entries");
    let object = prebuilt("test/nature");
    for program in ["nature_devmap", "nature_cpumap"] {
        let answer = capture.run(&object, &["--program", program, "--diff"]);
        assert_eq!(answer.code, 0, "{program}: {} {}", answer.stdout, answer.stderr);
        let json: Value = serde_json::from_str(&answer.stdout).unwrap();
        assert!(json["verdicts"]["drop"] != 0 && json["verdicts"]["pass"] != 0, "{json}");
    }
    let answer = capture.run(&object, &["--program", "nature_egress", "--diff"]);
    assert_eq!(answer.code, 2, "{}", answer.stdout);
    assert!(answer.stderr.contains("loaded as a plain XDP program"), "{}", answer.stderr);
}

/// Arrays of fifty million elements: with one system call for each, or a list of all, this takes
/// minutes and gigabytes.
#[test]
fn large_maps_are_read_where_they_hold_something() {
    let capture = Capture::new("run-large");
    let object = prebuilt("test/large");
    let packets = frames().len() as u64;
    let ring = json!([
        {"key": 0, "value": packets},
        {"key": 12_345_678, "value": 2 * packets},
        {"key": 49_999_999, "value": 3 * packets},
    ]);
    for words in [&[][..], &["--runtime", "kernel"]] {
        let words = [&["--program", "large_ring", "--repeat", "1"], words].concat();
        let json = capture.run(&object, &words).json(0);
        let maps = json["maps"].as_array().unwrap();
        let names: Vec<_> = maps.iter().map(|map| &map["map"]["name"]).collect();
        assert_eq!(names, ["ring", "flows"], "{words:?}: {json}");
        assert_eq!(maps[0]["entries"], ring, "{words:?}");
        let ignored = capture.run(&object, &[&words[..], &["--ignore-map", "ring"]].concat());
        assert_eq!(ignored.json(0)["maps"].as_array().unwrap().len(), 1, "{words:?}");
    }
    let json = capture.run(&object, &["--program", "large_medium", "--diff"]).json(0);
    assert_eq!(json["packets"], packets);
}

/// A program that never ends, in the middle of a packet.
#[test]
fn a_signal_ends_a_run_within_a_packet() {
    let capture = Capture::new("run-endless");
    let xway = Xway::new();
    let object = prebuilt("test/nature");
    let path = capture.0.to_str().unwrap();
    let words = ["run", &object, "--program", "nature_endless", "--in", path, "--json"];
    let mut command = xway.command(&words);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let pid = child.id();
    let status = format!("/proc/{pid}/status");
    wait_until("the run holds back signals", || {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let blocked = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).map(str::trim);
        let blocked = blocked.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
        blocked >> (SIGTERM - 1) & 1 == 1
    });
    assert!(Command::new("kill").args(["-TERM", &pid.to_string()]).status().unwrap().success());
    wait_until("the run ends", || child.try_wait().unwrap().is_some());
    let json = Answer::of(child.wait_with_output().unwrap()).json(0);
    assert_eq!((&json["interrupted"], &json["faults"]), (&json!(true), &json!(0)), "{json}");
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not within two minutes");
        std::thread::yield_now();
    }
}

const SIGTERM: i32 = 15;

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

/// The fourth packet changes an element in one runtime only: the kernel knows no interface 77777,
/// the engine has it in its world. The table is larger than what is compared after each packet.
const ONE_SIDED: &str = r#"
struct { int (*type)[BPF_MAP_TYPE_ARRAY]; int *key; int *value; int (*max_entries)[1]; }
    seen SEC(".maps");
struct { int (*type)[BPF_MAP_TYPE_HASH]; int *key; long *value; int (*max_entries)[20000]; }
    table SEC(".maps");
static void *(*lookup)(void *, const void *) = (void *)BPF_FUNC_map_lookup_elem;
static long (*update)(void *, const void *, const void *, long) = (void *)BPF_FUNC_map_update_elem;
static long (*check_mtu)(void *, int, int *, int, long) = (void *)BPF_FUNC_check_mtu;
static int count(struct xdp_md *ctx, int in_kernel) {
    int zero = 0, key = 7, mtu = 0;
    long value = 1;
    int *number = lookup(&seen, &zero);
    if (!number) return XDP_ABORTED;
    *number += 1;
    int is_kernel = check_mtu(ctx, 77777, &mtu, 0, 0) != 0;
    if (*number == 4 && is_kernel == in_kernel) update(&table, &key, &value, 0);
    return XDP_PASS;
}
SEC("xdp") int kernel_only(struct xdp_md *ctx) { return count(ctx, 1); }
SEC("xdp") int engine_only(struct xdp_md *ctx) { return count(ctx, 0); }
"#;

#[test]
fn the_packet_of_a_change_in_one_runtime_is_named() {
    let capture = Capture::new("run-one-sided");
    let stem = capture.0.with_extension("");
    let name = stem.file_name().unwrap().to_str().unwrap();
    let object = xway_tests::clang::compile(stem.parent().unwrap(), name, ONE_SIDED);
    let world = capture.0.with_extension("toml");
    fs::write(&world, "[[interfaces]]\nindex = 77777\nname = \"given\"\n").unwrap();
    let base = ["--diff", "--world", world.to_str().unwrap(), "--program"];
    // The kernel's change shows when all elements are compared, after the last packet.
    for (program, packets) in [("kernel_only", frames().len()), ("engine_only", 4)] {
        let words = [&base[..], &[program]].concat();
        let json = capture.run(object.to_str().unwrap(), &words).json(1);
        let difference = &json["first_difference"];
        assert_eq!(
            (&json["packets"], &difference["packet"]),
            (&json!(packets), &json!(4)),
            "{json}"
        );
        assert_eq!((&difference["map"], &difference["key"]), (&json!("table"), &json!("7")));
    }
    for path in [object.with_extension("c"), object, world] {
        fs::remove_file(path).unwrap();
    }
}

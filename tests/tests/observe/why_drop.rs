//! `xway why-drop`: lost frames with exact counts, causes and remedies.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lab::{Capture, Host};
use serde_json::Value;
use sys::net::ethtool::Ethtool;
use xway_tests::clang;
use xway_tests::stage::Stage;
use xway_tests::xway::Answer;

/// Redirects, or fails, by the destination port of UDP packets; everything else passes.
const SOURCE: &str = r#"
static long (*const bpf_redirect)(__u32, __u64) = (void *)BPF_FUNC_redirect;
static long (*const bpf_redirect_map)(void *, __u64, __u64) = (void *)BPF_FUNC_redirect_map;
struct { int (*type)[BPF_MAP_TYPE_DEVMAP]; __u32 *key; __u32 *value; int (*max_entries)[8]; }
	ports SEC(".maps");
const volatile __u32 quiet, low, dead;

SEC("xdp") int lossy(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 42 > end || data[12] != 8 || data[13] || data[23] != 17 || data[36])
		return XDP_PASS;
	switch (data[37]) {
	case 1: return XDP_ABORTED;
	case 2: return 77;
	case 3: return bpf_redirect(quiet, 0);
	case 4: bpf_redirect_map(&ports, 5, 0); return XDP_REDIRECT;
	case 5: return bpf_redirect(9999, 0);
	case 6: return bpf_redirect(low, 0);
	case 7: return bpf_redirect(dead, 0);
	case 8: return XDP_DROP;
	case 9: return bpf_redirect_map(&ports, 6, 0);
	}
	return XDP_PASS;
}
"#;
/// For everything that waits.
const LIMIT: &str = "60s";

/// A directory that is removed with its files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xway-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn object(&self) -> String {
        clang::compile(&self.0, "lossy", SOURCE).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

/// Makes a pair of interfaces within a host, both up.
fn pair(host: &Host, [one, other]: [&str; 2]) {
    for words in [
        format!("link add {one} type veth peer name {other}"),
        format!("link set {one} up"),
        format!("link set {other} up"),
    ] {
        ip(host, &words);
    }
}

fn ip(host: &Host, words: &str) {
    let mut command = host.command("ip").unwrap();
    assert!(command.args(words.split(' ')).status().unwrap().success(), "ip {words}");
}

fn index(host: &Host, interface: &str) -> u32 {
    host.netlink().unwrap().link(interface).unwrap().ifindex.0
}

/// Starts counting, and waits until the tracepoints are attached.
fn counting(mut command: Command) -> Child {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // The command ends by its `--time`, so this waits no longer.
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("counting lost frames"), "{line}");
    child.stderr = Some(stderr.into_inner());
    child
}

fn why_drop(stage: &Stage, interface: &str, count: u64) -> Child {
    let count = count.to_string();
    let words = ["--json", "why-drop", interface, "--count", &count, "--time", LIMIT];
    counting(stage.xway.command_in(&stage.net.b, &words))
}

#[track_caller]
fn report(child: Child) -> Value {
    Answer::of(child.wait_with_output().unwrap()).json(0)
}

/// Frames by cause.
fn causes(report: &Value) -> Vec<(&str, u64)> {
    let losses = report["losses"].as_array().unwrap().iter();
    let mut all: Vec<_> = losses
        .map(|loss| (loss["cause"].as_str().unwrap(), loss["frames"].as_u64().unwrap()))
        .collect();
    all.sort_unstable();
    all
}

fn loss<'a>(report: &'a Value, cause: &str) -> &'a Value {
    let mut losses = report["losses"].as_array().unwrap().iter();
    losses.find(|loss| loss["cause"] == cause).unwrap_or_else(|| panic!("{cause}: {report}"))
}

#[test]
fn each_cause_is_counted_exactly_and_named() {
    let (stage, folder) = (Stage::new(), Folder::new("why-drop"));
    let b = &stage.net.b;
    for (one, other) in [("quiet", "quiet-end"), ("low", "low-end"), ("dead", "dead-end")] {
        pair(b, [one, other]);
        let set = || Ethtool::open()?.set_feature(other, "gro", one != "quiet");
        b.run(set).unwrap().unwrap();
    }
    ip(b, "link set low mtu 68");
    ip(b, "link set dead down");
    let global = |name: &str| format!("{name}={}", index(b, name));
    let [quiet, low, dead] = ["quiet", "low", "dead"].map(global);
    let set = ["--set", &quiet, "--set", &low, "--set", &dead];
    stage.run(&[&["attach", "eth0", &folder.object()], &set[..]].concat()).ended(0);

    let sent = [(1, 100), (2, 7), (3, 100), (4, 13), (5, 9), (6, 21), (7, 17), (8, 5), (9, 3)];
    let lost = sent.iter().filter(|(port, _)| *port != 8).map(|(_, frames)| *frames as u64).sum();
    // The drops come first, so that they were counted when the last loss was.
    let child = why_drop(&stage, "eth0", lost);
    for (port, frames) in sent.iter().rev() {
        stage.send(&stage.flow(*port).udp(&[0; 100]).unwrap(), *frames);
    }
    let report = report(child);
    assert_eq!(report["lost"], lost);
    assert_eq!(report["uncounted"], 0);
    let expected = [
        ("aborted", 103),
        ("invalid-verdict", 7),
        ("no-target", 9),
        ("no-target", 13),
        ("peer-without-xdp", 100),
        ("target-down", 17),
        ("too-long", 21),
    ];
    assert_eq!(causes(&report), expected, "{report:#}");
    for (cause, field, value) in [
        ("peer-without-xdp", "target", "quiet"),
        ("too-long", "target", "low"),
        ("too-long", "errno", "EMSGSIZE"),
        ("target-down", "errno", "ENETDOWN"),
        ("aborted", "received_on", "eth0"),
    ] {
        assert_eq!(loss(&report, cause)[field], value, "{report:#}");
    }
    for (cause, words) in [
        ("peer-without-xdp", "ethtool -K quiet-end gro on"),
        ("too-long", "ip link set low mtu N"),
        ("target-down", "ip link set dead up"),
        ("aborted", "xway map dump ports"),
        ("no-target", "xway map dump ports"),
    ] {
        let remedy = loss(&report, cause)["remedy"].as_str().unwrap();
        assert!(remedy.contains(words), "{cause}: {remedy}");
    }
    let reason = loss(&report, "invalid-verdict")["reason"].as_str().unwrap();
    assert!(reason.contains("77"), "{reason}");
    assert_eq!(loss(&report, "aborted")["program"]["id"], stage.attached()[0].1);
    let drops = report["drops"].as_array().unwrap();
    assert_eq!((drops.len(), &drops[0]["packets"]), (1, &5.into()), "{report:#}");
}

#[test]
fn interfaces_and_namespaces_are_kept_apart() {
    let (stage, folder) = (Stage::new(), Folder::new("why-drop-apart"));
    let (a, b) = (&stage.net.a, &stage.net.b);
    pair(b, ["in", "out"]);
    let object = folder.object();
    for (host, interface) in [(b, "eth0"), (b, "in"), (a, "eth0")] {
        stage.xway.run_in(host, &["attach", interface, &object]).ended(0);
    }
    assert_eq!(a.ifindex("eth0").unwrap(), b.ifindex("eth0").unwrap(), "the same number twice");
    let [first, second] = [("eth0", 100), ("in", 37)].map(|(name, n)| why_drop(&stage, name, n));
    let frame = stage.flow(1).udp(b"content").unwrap();
    // Those of the other namespace come first: they are lost when the others are counted.
    let back = Capture::open(b, "eth0").unwrap();
    (0..11).for_each(|_| back.send(&frame).unwrap());
    let out = Capture::open(b, "out").unwrap();
    (0..37).for_each(|_| out.send(&frame).unwrap());
    stage.send(&frame, 100);
    for (child, name, frames) in [(first, "eth0", 100), (second, "in", 37)] {
        let report = report(child);
        assert_eq!(causes(&report), [("aborted", frames)], "{name}: {report:#}");
        assert_eq!(report["interface"], name);
    }
}

#[test]
fn frames_that_another_interface_redirects_count_at_their_target() {
    let (stage, folder) = (Stage::new(), Folder::new("why-drop-target"));
    let b = &stage.net.b;
    pair(b, ["quiet", "quiet-end"]);
    let quiet = format!("quiet={}", index(b, "quiet"));
    stage.run(&["attach", "eth0", &folder.object(), "--set", &quiet]).ended(0);
    let child = why_drop(&stage, "quiet", 8);
    stage.send(&stage.flow(1).udp(b"of eth0 alone").unwrap(), 4);
    stage.send(&stage.flow(3).udp(b"to quiet").unwrap(), 8);
    let report = report(child);
    assert_eq!(causes(&report), [("peer-without-xdp", 8)], "{report:#}");
    assert_eq!(loss(&report, "peer-without-xdp")["received_on"], "eth0");
}

#[test]
fn nothing_lost_is_a_negative_result_and_reports_follow_each_interval() {
    let stage = Stage::new();
    let text = stage.run(&["why-drop", "lo", "--time", "1ms"]).ended(1);
    assert!(text.contains("lo: 0 frames lost"), "{text}");
    let words = ["--json", "why-drop", "lo", "--interval", "1ms", "--time", LIMIT];
    let mut child = counting(stage.xway.command_in(&stage.net.b, &words));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(line["interface"], "lo");
    }
    // Its reader is gone, which ends it.
    drop(lines);
    let ended = lab::until("the end of the command", Duration::from_secs(50), || {
        Ok(child.try_wait().unwrap())
    });
    assert_eq!(ended.unwrap().code(), Some(1));
    let text = stage.run(&["why-drop", "eth7", "--time", "1ms"]).error();
    assert!(text.contains("no interface `eth7`"), "{text}");
}

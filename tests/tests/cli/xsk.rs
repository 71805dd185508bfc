//! `xway xsk` from outside: each role counts what really happened, to the packet.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use lab::{Capture, Host, LinkOptions, Router, until};
use serde_json::{Value, json};
use xway_tests::stage::PATIENCE;
use xway_tests::xway::{Answer, Xway, interrupt, prebuilt};

/// `b` is between `a` and `c`.
struct Net {
    net: Router,
    xway: Xway,
}

/// A role in a process that has reported that it is ready.
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Net {
    fn new() -> Self {
        Self::with(LinkOptions::default())
    }

    fn with(options: LinkOptions) -> Self {
        Self { net: Router::build(&options).unwrap(), xway: Xway::new() }
    }

    fn command(&self, host: &Host, words: &str) -> Command {
        let begin = ["--json", "xsk", "bench", "--force"];
        let words: Vec<_> = begin.into_iter().chain(words.split_whitespace()).collect();
        self.xway.command_in(host, &words)
    }

    /// A role that waits for packets.
    fn start(&self, host: &Host, words: &str) -> Running {
        let mut command = self.command(host, &format!("--ready {words}"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), r#"{"ready":true}"#, "{words}: {}", rest(&mut child));
        Running { child, lines }
    }

    /// A role that sends on its own, to its end.
    #[track_caller]
    fn run(&self, host: &Host, words: &str) -> Value {
        Answer::of(self.command(host, words).output().unwrap()).json(0)
    }

    fn programs(&self, host: &Host) -> usize {
        host.netlink().unwrap().link("eth0").unwrap().xdp.programs().count()
    }
}

impl Running {
    /// Its output; it ends without a signal.
    #[track_caller]
    fn end(mut self, code: i32) -> Value {
        let mut text = String::new();
        self.lines.read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(code), "{text}{}", rest(&mut self.child));
        serde_json::from_str(text.lines().last().unwrap()).unwrap()
    }

    #[track_caller]
    fn interrupt(self) -> Value {
        interrupt(&self.child);
        self.end(0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What it complained of.
fn rest(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

/// Numbers of an answer, by name.
#[track_caller]
fn numbers<const N: usize>(answer: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| answer[name].as_u64().unwrap_or_else(|| panic!("no {name} in {answer}")))
}

/// What a role counted as lost under a name.
fn loss(answer: &Value, name: &str) -> u64 {
    let losses = answer["losses"].as_array().unwrap();
    losses
        .iter()
        .find(|loss| loss["name"] == name)
        .map_or(0, |loss| loss["count"].as_u64().unwrap())
}

const ARRIVED: [&str; 4] = ["received", "missing", "duplicated", "reordered"];
/// Fewer frames than a ring has slots: a receiver that waits for a processor loses none of them.
const PACED: &str = "tx --dev eth0 --rate 20kpps --count 1000 --batch 16";

#[test]
fn nothing_is_missing_of_a_paced_sender() {
    let net = Net::new();
    for wait in ["spin", "poll", "adaptive", "busy-poll"] {
        let words = format!("rx --dev eth0 --count 1000 --time 20s --wait {wait}");
        let receiver = net.start(&net.net.b, &words);
        let sent = net.run(&net.net.a, PACED);
        let received = receiver.end(0);
        assert_eq!(numbers(&sent, ["sent", "completed"]), [1000, 1000], "{wait}: {sent}");
        assert_eq!(numbers(&received, ARRIVED), [1000, 0, 0, 0], "{wait}: {received}");
        assert_eq!((&received["zero_copy"], &received["role"]), (&json!(false), &json!("rx")));
        assert_eq!(net.programs(&net.net.b), 0, "{wait}: the interface is left as it was");
    }
}

#[test]
fn echo_and_forward_pass_every_packet_on() {
    let net = Net::new();
    let echo = net.start(&net.net.b, "echo --dev eth0 --count 1000 --time 20s");
    let sent = net.run(&net.net.a, PACED);
    let answer = echo.end(0);
    assert_eq!(numbers(&answer, ["received", "sent", "missing"]), [1000, 1000, 0], "{answer}");
    assert_eq!(numbers(&sent, ["sent"]), [1000]);

    let far = net.start(&net.net.c, "rx --dev eth0 --count 1000 --time 20s");
    let cable = net.start(&net.net.b, "forward --dev eth0 --out-dev eth1 --count 1000 --time 20s");
    net.run(&net.net.a, PACED);
    let (answer, arrived) = (cable.end(0), far.end(0));
    let names = ["received", "sent", "completed", "missing"];
    assert_eq!(numbers(&answer, names), [1000, 1000, 1000, 0], "{answer}");
    assert_eq!(numbers(&arrived, ARRIVED), [1000, 0, 0, 0], "{arrived}");
    assert_eq!(answer["interfaces"][1]["interface"], "eth1");
}

#[test]
fn round_trips_are_timed_one_by_one() {
    let net = Net::new();
    let echo = net.start(&net.net.b, "echo --dev eth0");
    let answer = net.run(&net.net.a, "rtt --dev eth0 --count 500 --time 20s");
    let names = ["sent", "received", "unanswered"];
    assert_eq!(numbers(&answer, names), [500, 500, 0], "{answer}");
    let times = ["min", "p50", "p99", "max"].map(|name| answer["round_trip_ns"][name].as_u64());
    assert!(times.is_sorted() && times[0] > Some(0), "{answer}");
    let echo = echo.interrupt();
    assert_eq!(numbers(&echo, ["received", "sent", "missing"]), [500, 500, 0], "{echo}");
}

#[test]
fn without_an_answer_round_trips_do_not_end() {
    let net = Net::new();
    let answer = net.run(&net.net.a, "rtt --dev eth0 --count 2 --time 20s");
    assert_eq!(numbers(&answer, ["sent", "unanswered", "received"]), [2, 2, 0], "{answer}");
    assert_eq!(answer["round_trip_ns"]["p50"], Value::Null);
}

#[test]
fn every_miss_is_counted_under_a_name() {
    let net = Net::new();
    // The smallest rings, and a receiver that sleeps: bursts are larger than the rings.
    let words = "rx --dev eth0 --rings 2 --batch 1 --wait poll --time 1s";
    let receiver = net.start(&net.net.b, words);
    let sent = net.run(&net.net.a, "tx --dev eth0 --count 50000");
    let answer = receiver.end(0);
    let [received, missing] = numbers(&answer, ["received", "missing"]);
    assert!(missing > 0, "{answer}");
    let first_and_last = numbers(&sent, ["sent"])[0] - received - missing;
    let named = loss(&answer, "rx_ring_full") + loss(&answer, "rx_dropped");
    let on_the_way = numbers(&sent["interfaces"][0], ["tx_dropped"])[0];
    let all = named + on_the_way;
    // The kernel may send a packet of its own, which is lost as the others are.
    let [arrived] = numbers(&answer["interfaces"][0], ["rx_packets"]);
    let of_others = arrived.saturating_sub(numbers(&sent, ["sent"])[0]);
    assert!(
        (missing..=missing + first_and_last + of_others).contains(&all),
        "{missing} missing, {named} named, {on_the_way} on the way: {answer} {sent}"
    );
}

#[test]
fn all_queues_work_in_parallel() {
    let net = Net::with(LinkOptions { queues: 2, ..LinkOptions::default() });
    let receiver = net.start(&net.net.b, "rx --dev eth0 --queue all --count 10000 --time 20s");
    let sent =
        net.run(&net.net.a, "tx --dev eth0 --queue all --rate 20kpps --count 10000 --batch 16");
    let received = receiver.end(0);
    assert_eq!(numbers(&sent, ["sent"]), [10_000]);
    assert_eq!(numbers(&received, ARRIVED), [10_000, 0, 0, 0], "{received}");
    let workers = received["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 2, "{received}");
}

#[test]
fn steering_leaves_the_rest_to_the_stack() {
    let net = Net::new();
    let mut command = net.xway.command_in(
        &net.net.b,
        &[
            "--json",
            "xsk",
            "bench",
            "--ready",
            "rx",
            "--dev",
            "eth0",
            "--steer",
            "any udp 5000",
            "--count",
            "1000",
            "--time",
            "20s",
        ],
    );
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut String::new()).unwrap();
    let receiver = Running { child, lines };
    let stack = Capture::open(&net.net.b, "eth0").unwrap();
    net.run(&net.net.a, "tx --dev eth0 --to 10.0.1.1:5001 --count 20 --rate 1kpps");
    let to_5001 = |frame: &[u8]| frame.len() > 38 && frame[36..38] == 5001u16.to_be_bytes();
    for _ in 0..20 {
        stack.next(PATIENCE, to_5001).unwrap();
    }
    net.run(&net.net.a, PACED);
    let answer = receiver.end(0);
    assert_eq!(numbers(&answer, ["received", "missing", "foreign"]), [1000, 0, 0], "{answer}");
}

#[test]
fn an_interrupt_ends_every_role_and_nothing_remains() {
    let net = Net::new();
    for role in ["tx", "rx", "echo", "forward", "rtt"] {
        let out = if role == "forward" { "--out-dev eth1" } else { "" };
        let running = net.start(&net.net.b, &format!("{role} --dev eth0 {out}"));
        let pid = running.child.id();
        let held = net.xway.run_in(&net.net.b, &["--json", "xsk", "list"]).json(0);
        let sockets = held["sockets"].as_array().unwrap();
        let queues: Vec<_> =
            sockets.iter().map(|held| held["interface"].as_str().unwrap()).collect();
        let expected: &[&str] = if role == "forward" { &["eth0", "eth1"] } else { &["eth0"] };
        assert_eq!(queues, expected, "{role}: {held}");
        assert_eq!(held["sockets"][0]["processes"][0]["pid"], pid, "{role}: {held}");
        let status = Command::new("kill").args(["-s", "INT", &pid.to_string()]).status().unwrap();
        assert!(status.success());
        // If nothing was received, the result is negative.
        let code = if matches!(role, "tx" | "rtt") { 0 } else { 1 };
        running.end(code);
        assert_eq!(net.programs(&net.net.b), 0, "{role}");
        // The kernel closes sockets in the background.
        let left = || {
            let held = net.xway.run_in(&net.net.b, &["--json", "xsk", "list"]).json(0);
            Ok((held["sockets"] == json!([])).then_some(()))
        };
        until("no socket", PATIENCE, left).unwrap();
    }
}

#[test]
fn impossible_requests_are_errors_with_a_reason() {
    let net = Net::new();
    let object = prebuilt("test/talk_drop.o");
    let words = ["attach", "eth1", object.to_str().unwrap()];
    net.xway.run_in(&net.net.b, &words).ended(0);
    let taken = net.start(&net.net.b, "rx --dev eth0");
    for (words, reason) in [
        ("rx --dev eth9", "existing: lo, eth0, eth1"),
        ("rx --dev eth0 --queue 1", "its only one is 0"),
        ("tx --dev eth0", "used by"),
        ("rx --dev eth1", "`drop_udp`"),
        ("tx --dev eth1 --mode zero-copy", "no zero copy"),
        ("tx --dev eth1 --rings 1000", "1024"),
        ("tx --dev eth1 --size 2000", "MTU"),
        ("rx --dev eth1 --rate 5kpps", "--rate requires the role tx or rtt"),
        ("tx --dev eth1 --cpus 1000", "sched_setaffinity"),
        ("tx --dev eth1 --to 192.0.2.1:9", "no route to 192.0.2.1"),
    ] {
        let answer = Answer::of(net.command(&net.net.b, words).output().unwrap());
        let said = answer.error();
        assert!(said.contains(reason), "{words}: {said}");
    }
    drop(taken);
    let said = net.xway.run_powerless(&["xsk", "bench", "tx", "--dev", "lo"]).error();
    assert!(said.contains("CAP_NET_RAW"), "{said}");
}

#[test]
fn an_interface_tells_what_it_can() {
    let net = Net::with(LinkOptions { queues: 2, ..LinkOptions::default() });
    let info = net.xway.run_in(&net.net.b, &["--json", "xsk", "info", "eth0"]).json(0);
    assert_eq!(info["driver"], "veth");
    assert_eq!(numbers(&info, ["rx_queues", "tx_queues", "mtu"]), [2, 2, 1500], "{info}");
    assert_eq!(info["abilities"]["zero_copy"], false);
    assert_eq!(info["why_copy"], "driver veth has no zero copy for AF_XDP");
    assert_eq!(info["workers"].as_array().unwrap().len(), 2);
    let text = net.xway.run_in(&net.net.b, &["xsk", "info", "eth0"]).ended(0);
    assert!(text.contains("packets are copied"), "{text}");
    let said = net.xway.run_in(&net.net.b, &["xsk", "info", "eth9"]).error();
    assert!(said.contains("there is no such interface"), "{said}");
}

//! `xway capture` of several interfaces: one file, one order, all interfaces or none.

use std::fs::File;
use std::process::{Child, Command, Stdio};

use kernel::{Attach, Link, Mode, Replace};
use lab::{Capture, until};
use pcap::Reader;
use serde_json::Value;
use spec::Verdict;
use xway_tests::capture::{Folder, LOAD, ended, packets, report};
use xway_tests::filter::{load, show};
use xway_tests::program::foreign;
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::{Answer, interrupt};

/// Two hosts, and two more interfaces in `b`: frames sent out of `out` are received by `in`.
fn stage() -> Stage {
    let stage = Stage::new();
    for words in ["add in type veth peer name out", "set in up", "set out up"] {
        let mut command = stage.net.b.command("ip").unwrap();
        assert!(command.arg("link").args(words.split(' ')).status().unwrap().success(), "{words}");
    }
    for name in ["in", "out"] {
        stage.net.b.set_sysctl(&format!("ipv6/conf/{name}/disable_ipv6"), "1").unwrap();
    }
    stage
}

/// The programs of eth0 and of `in`.
fn attached(stage: &Stage) -> [Vec<u32>; 2] {
    let mut netlink = stage.net.b.netlink().unwrap();
    let programs = |name| {
        let xdp = netlink.link(name).unwrap().xdp;
        xdp.programs().map(|(_, id)| id).collect()
    };
    ["eth0", "in"].map(programs)
}

/// Starts a capture of both, and waits until the second one's programs run, which come last.
fn capturing(stage: &Stage, words: &[&str]) -> Child {
    let [_, before] = attached(stage);
    let words = [&["--json", "capture", "eth0", "-i", "in", "--time", "120s"], words].concat();
    let mut command = stage.xway.command_in(&stage.net.b, &words);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let runs = until("the capture", LOAD, || Ok((attached(stage)[1] != before).then_some(())));
    if let Err(error) = runs {
        let _ended = child.kill();
        panic!("{error}: {:?}", child.wait_with_output());
    }
    child
}

fn udp(stage: &Stage, port: u16) -> Vec<u8> {
    stage.flow(port).udp(b"content").unwrap()
}

/// Sends frames that `in` receives.
fn send_in(stage: &Stage, frame: &[u8], count: usize) {
    let wire = Capture::open(&stage.net.b, "out").unwrap();
    (0..count).for_each(|_| wire.send(frame).unwrap());
}

fn counts(report: &Value, number: usize) -> [u64; 3] {
    let counts = &report["interfaces"][number];
    ["packets", "written", "lost"].map(|field| counts[field].as_u64().unwrap())
}

#[test]
fn one_file_has_the_packets_of_all_in_the_order_of_their_time() {
    let (stage, folder) = (stage(), Folder::new("several"));
    load(&stage, &["drop udp dport 7"]);
    let before = attached(&stage);
    let path = folder.file("both.pcapng");
    let capture = capturing(&stage, &["-w", &path, "--count", "40", "udp"]);
    for _ in 0..10 {
        stage.send(&udp(&stage, 7), 1);
        send_in(&stage, &udp(&stage, 7), 2);
        stage.send(&udp(&stage, 8), 1);
    }
    let report = report(capture);
    assert_eq!(attached(&stage), before, "the earlier programs run again");
    assert_eq!(counts(&report, 0), [20, 20, 0], "{report}");
    assert_eq!(counts(&report, 1), [20, 20, 0], "{report}");
    let names = [&report["interface"], &report["interfaces"][1]["interface"]];
    assert_eq!(names, ["eth0", "in"], "{report}");
    assert_eq!(["packets", "written", "lost"].map(|field| &report[field]), [40, 40, 0]);

    let mut reader = Reader::new(File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.by_ref().map(Result::unwrap).count(), 40);
    let described: Vec<_> = reader.interfaces().iter().map(|one| one.name.as_deref()).collect();
    assert_eq!(described, [Some("eth0"), Some("in")]);
    let all = packets(&path);
    assert!(all.is_sorted_by_key(|packet| packet.timestamp_ns), "{all:?}");
    for (number, packet) in all.iter().enumerate() {
        let (interface, port, verdict) = match number % 4 {
            0 => (0, 7, Verdict::Drop),
            3 => (0, 8, Verdict::Pass),
            // No program runs there.
            _ => (1, 7, Verdict::Pass),
        };
        let found = (packet.interface, &packet.data, packet.verdict, packet.id);
        let id = Some(number as u64 + 1);
        assert_eq!(found, (interface, &udp(&stage, port), Some(verdict as u64), id));
    }
    assert_eq!(show(&stage)["rules"][0]["packets"], 10);

    let mut tshark = Command::new("tshark");
    tshark.args(["-r", &path, "-T", "fields", "-e", "frame.interface_name", "-c", "4"]);
    let read = Answer::of(tshark.output().unwrap());
    assert_eq!(read.stdout.split_whitespace().collect::<Vec<_>>(), ["eth0", "in", "in", "eth0"]);
    let complaints = read.stderr.lines().filter(|line| !line.starts_with("Running as user"));
    assert_eq!(complaints.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn lines_name_the_interface() {
    let stage = stage();
    let capture = capturing(&stage, &["--count", "2", "udp"]);
    send_in(&stage, &udp(&stage, 9), 1);
    stage.send(&udp(&stage, 9), 1);
    let text = ended(capture, 0);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = lines.iter().map(|line| &line["interface"]).collect();
    // The last one is the result, which begins with the first interface.
    assert_eq!(names, ["in", "eth0", "eth0"], "{text}");
}

#[test]
fn losses_are_counted_for_each_interface() {
    let (stage, folder) = (stage(), Folder::new("several-lost"));
    let path = folder.file("lost.pcapng");
    let capture = capturing(&stage, &["--ring", "4KiB", "-w", &path, "udp"]);
    send_in(&stage, &udp(&stage, 7), 1);
    for _ in 0..20 {
        stage.send(&udp(&stage, 7), 100);
    }
    interrupt(&capture);
    let report = report(capture);
    let [packets_of_eth0, written, lost] = counts(&report, 0);
    assert_eq!((packets_of_eth0, written + lost), (2000, 2000), "{report}");
    assert_eq!(counts(&report, 1), [1, 1, 0], "{report}");
    let all = packets(&path);
    assert_eq!(all.len() as u64, written + 1, "{report}");
    // Losses of eth0 are noted with its packets alone.
    let noted = all.iter().filter(|packet| packet.interface == 1);
    assert!(noted.map(|packet| packet.dropped).all(|dropped| dropped.is_none()));
}

#[test]
fn a_killed_capture_leaves_no_probe_on_any_interface() {
    let stage = stage();
    load(&stage, &["drop udp dport 7"]);
    let before = attached(&stage);
    let mut capture = capturing(&stage, &[]);
    let error = stage.run(&["capture", "in"]).error();
    assert!(error.contains("another trial"), "{error}");
    capture.kill().unwrap();
    capture.wait().unwrap();
    stage.json(&["status", "--interval", "1ms"]);
    assert_eq!(attached(&stage), before, "the next command restores the earlier ones");
    stage.send(&udp(&stage, 7), 3);
    let dropped = || Ok((show(&stage)["rules"][0]["packets"] == 3).then_some(()));
    until("the rule", PATIENCE, dropped).unwrap();
}

/// Another owner's program on `in`.
fn occupied(stage: &Stage) -> Link {
    let object = foreign();
    let (program, ifindex) = (&object.programs()[0], stage.net.b.ifindex("in").unwrap());
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    stage.net.b.run(|| kernel::attach(&attach)).unwrap().unwrap()
}

#[test]
fn all_interfaces_are_captured_or_none() {
    let (stage, folder) = (stage(), Folder::new("none"));
    load(&stage, &["drop udp dport 7"]);
    let _link = occupied(&stage);
    let (before, pins) = (attached(&stage), stage.pins());
    let path = folder.file("none.pcapng");
    for (words, expected) in [
        (["-i", "in"], "in"),
        (["-i", "eth7"], "no interface `eth7`"),
        (["-i", "eth0"], "`eth0` is named twice"),
    ] {
        let words = [&["capture", "eth0", "-w", &path, "--time", "1ms"], &words[..]].concat();
        let error = stage.run(&words).error();
        assert!(error.contains(expected), "{error}");
        assert_eq!((attached(&stage), stage.pins()), (before.clone(), pins.clone()), "{words:?}");
    }
    // An interface whose program cannot be captured does not affect the others' packets.
    stage.send(&udp(&stage, 7), 3);
    let dropped = || Ok((show(&stage)["rules"][0]["packets"] == 3).then_some(()));
    until("the rule", PATIENCE, dropped).unwrap();
}

#[test]
fn a_removed_interface_ends_the_capture_and_its_packets_are_kept() {
    let (stage, folder) = (stage(), Folder::new("several-removed"));
    load(&stage, &["drop udp dport 7"]);
    let [before, _] = attached(&stage);
    let path = folder.file("series.pcapng");
    let capture = capturing(&stage, &["-w", &path, "--rotate-time", "1h", "udp"]);
    send_in(&stage, &udp(&stage, 7), 2);
    stage.send(&udp(&stage, 7), 3);
    let taken = || Ok((show(&stage)["rules"][0]["packets"] == 3).then_some(()));
    until("the rule", PATIENCE, taken).unwrap();
    let ifindex = stage.net.b.ifindex("in").unwrap();
    stage.net.b.netlink().unwrap().delete_link(ifindex).unwrap();
    let answer = Answer::of(capture.wait_with_output().unwrap());
    assert!(answer.error().contains("there is no interface `in`"));
    let kept = packets(folder.file("series-00001.pcapng"));
    let interfaces: Vec<_> = kept.iter().map(|packet| packet.interface).collect();
    assert_eq!(interfaces, [1, 1, 0, 0, 0]);
    let xdp = stage.net.b.netlink().unwrap().link("eth0").unwrap().xdp;
    let now: Vec<_> = xdp.programs().map(|(_, id)| id).collect();
    assert_eq!(now, before, "the earlier program runs again");
}

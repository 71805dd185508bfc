//! `xway capture`: packets before and after the programs, with their verdicts.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kernel::{Attach, Mode, Replace};
use lab::until;
use pcap::{Packet, Reader};
use serde_json::Value;
use spec::Verdict;
use xway_tests::capture::{Folder, LOAD, capturing, ended, packets, report};
use xway_tests::clang;
use xway_tests::filter::{load, show};
use xway_tests::program::foreign;
use xway_tests::stage::{PATIENCE, Stage};
use xway_tests::xway::{Answer, interrupt, prebuilt};

fn udp(stage: &Stage, port: u16) -> Vec<u8> {
    stage.flow(port).udp(b"content").unwrap()
}

fn object(name: &str) -> String {
    prebuilt(&format!("test/{name}.o")).to_str().unwrap().to_owned()
}

#[test]
fn packets_are_written_with_the_verdict_and_the_program_that_gave_it() {
    let (stage, folder) = (Stage::new(), Folder::new("verdicts"));
    load(&stage, &["drop udp dport 7"]);
    stage.run(&["chain", "eth0", "add", &object("seen"), "--priority", "50"]).ended(0);
    let before = stage.attached();
    let path = folder.file("all.pcapng");
    let capture =
        capturing(&stage, &["--json", "-w", &path, "--count", "30", "--time", "60s", "udp"]);
    let [seven, eight] = [7, 8].map(|port| udp(&stage, port));
    for _ in 0..15 {
        stage.send(&seven, 1);
        stage.send(&eight, 1);
    }
    let report = report(capture);
    assert_eq!((&report["packets"], &report["written"]), (&30.into(), &30.into()), "{report}");
    assert_eq!((&report["lost"], &report["ended"]), (&0.into(), &"count".into()));
    assert_eq!(stage.attached(), before, "the earlier program runs again");
    for (number, packet) in packets(&path).iter().enumerate() {
        let (frame, verdict) = match number % 2 {
            0 => (&seven, Verdict::Drop),
            _ => (&eight, Verdict::Pass),
        };
        assert_eq!((&packet.data, packet.verdict), (frame, Some(verdict as u64)), "{number}");
        let comment = match verdict {
            Verdict::Drop => "dropped by filter, rule 1: drop udp dport 7",
            _ => "passed by filter: default",
        };
        assert_eq!(packet.comment.as_deref(), Some(comment), "{number}");
        assert_eq!((packet.id, packet.queue), (Some(number as u64 + 1), Some(0)));
    }
    // Both members counted, and the filter as its rule.
    let rule = &show(&stage)["rules"][0];
    assert_eq!(rule["packets"], 15, "{rule}");
}

#[test]
fn reasons_select_and_are_shown() {
    let stage = Stage::new();
    load(&stage, &["drop udp dport 7", "drop udp dport 9"]);
    let capture = |words: &[&str], port| {
        let options = ["--json", "--count", "1", "--time", "120s"];
        let capture = capturing(&stage, &[&options[..], words].concat());
        [7, 8, 9].iter().for_each(|port| stage.send(&udp(&stage, *port), 1));
        let text = ended(capture, 0);
        let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert!(line["summary"].as_str().unwrap().contains(port), "{words:?}: {line}");
        line
    };
    let line = capture(&["--reason", "2"], "> 9 ");
    assert_eq!((&line["reason"], &line["rule"]["number"]), (&"rule".into(), &2.into()), "{line}");
    assert_eq!(line["rule"]["text"], "drop udp dport 9", "{line}");
    let line = capture(&["--reason", "default"], "> 8 ");
    assert_eq!((&line["reason"], &line["rule"]), (&"default".into(), &Value::Null), "{line}");
    let line = capture(&["--dropped"], "> 7 ");
    assert_eq!(line["rule"]["number"], 1, "{line}");

    let error = stage.run(&["capture", "eth0", "--reason", "3"]).error();
    assert!(error.contains("`3`") && error.contains("bad-header"), "{error}");
}

#[test]
fn tshark_reads_a_capture_from_a_pipe_without_a_complaint() {
    let stage = Stage::new();
    load(&stage, &["drop udp dport 7"]);
    let mut capture = capturing(&stage, &["-w", "-", "--time", "60s", "udp"]);
    let mut tshark = Command::new("tshark");
    tshark.args(["-l", "-r", "-", "-c", "2", "-T", "fields", "-e", "udp.dstport"]);
    tshark.args(["-e", "frame.verdict.ebpf_xdp"]);
    tshark.stdin(capture.stdout.take().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let reader = tshark.spawn().unwrap();
    // It has the end of the pipe as well.
    drop(tshark);
    stage.send(&udp(&stage, 7), 1);
    stage.send(&udp(&stage, 8), 1);
    let read = reader.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&read.stdout);
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["7", "1", "8", "2"], "{read:?}");
    // Its reader is gone, which the next packet shows.
    stage.send(&udp(&stage, 9), 1);
    let answer = capture.wait_with_output().unwrap();
    assert!(answer.status.success(), "{answer:?}");
    let summary = String::from_utf8(answer.stderr).unwrap();
    assert!(summary.contains("the reader closed the pipe"), "{summary}");
}

#[test]
fn expressions_verdicts_and_lengths_select() {
    let (stage, folder) = (Stage::new(), Folder::new("select"));
    load(&stage, &["drop udp dport 7", "drop udp dport 9"]);
    let path = folder.file("some.pcapng");
    let words = ["--dropped", "--snaplen", "20", "-w", &path, "--count", "1", "--time", "60s"];
    let capture = capturing(&stage, &[&words[..], &["udp", "dst", "port", "9"]].concat());
    for port in [7, 8, 9] {
        stage.send(&udp(&stage, port), 1);
    }
    ended(capture, 0);
    let all = packets(&path);
    let frame = udp(&stage, 9);
    assert_eq!((all.len(), &all[0].data[..]), (1, &frame[..20]));
    assert_eq!(all[0].original_len, frame.len() as u32);

    let error = stage.run(&["capture", "eth0", "udp port what"]).error();
    assert!(error.contains("udp port what"), "{error}");
}

#[test]
fn changed_bytes_are_noted_and_packets_are_seen_after_the_programs() {
    let (stage, folder) = (Stage::new(), Folder::new("changes"));
    let source = r#"
        SEC("xdp") int turn(struct xdp_md *ctx) {
            char *data = (void *)(long)ctx->data;
            if (data + 14 > (char *)(long)ctx->data_end) return XDP_PASS;
            data[0] ^= 2; data[1] ^= 1; data[5] ^= 1;
            return XDP_TX;
        }"#;
    let turn = clang::compile(&folder.0, "turn", source);
    stage.run(&["attach", "eth0", turn.to_str().unwrap()]).ended(0);
    let path = folder.file("both.pcapng");
    let words = ["--at", "both", "-w", &path, "--count", "2", "--time", "60s", "udp"];
    let capture = capturing(&stage, &words);
    let frame = udp(&stage, 7);
    stage.send(&frame, 2);
    ended(capture, 0);
    let mut turned = frame.clone();
    for (at, bits) in [(0, 2), (1, 1), (5, 1)] {
        turned[at] ^= bits;
    }
    let all = packets(&path);
    let seen: Vec<_> = all.iter().map(|packet| (packet.id, &packet.data)).collect();
    let [one, two] = [Some(1), Some(2)];
    assert_eq!(seen, [(one, &frame), (one, &turned), (two, &frame), (two, &turned)]);
    let comment = Some("sent back by turn; changed bytes 0-1, 5".to_owned());
    assert!(all.iter().all(|packet| packet.comment == comment), "{all:?}");
    assert_eq!(all[1].flags.map(|flags| flags & Packet::DIRECTION), Some(Packet::OUTBOUND));
}

#[test]
fn an_interface_without_programs_is_captured_and_left_as_it_was() {
    let stage = Stage::new();
    let capture = capturing(&stage, &["--json", "--count", "1", "--time", "60s", "udp"]);
    stage.send(&udp(&stage, 7), 1);
    let text = ended(capture, 0);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["verdict"], &lines[0]["program"]), (&"pass".into(), &Value::Null));
    assert_eq!(lines[1]["written"], 1);
    assert_eq!((stage.attached(), stage.pins()), (vec![], vec![]));
}

#[test]
fn it_follows_changes_and_a_program_that_is_attached_meanwhile_stays() {
    let (stage, folder) = (Stage::new(), Folder::new("follow"));
    load(&stage, &["drop udp dport 7"]);
    let path = folder.file("follow.pcapng");
    let capture = capturing(&stage, &["-w", &path, "--count", "2", "--time", "120s", "udp"]);
    stage.send(&udp(&stage, 8), 1);
    let probed = stage.attached();
    stage.run(&["filter", "add", "eth0", "drop udp dport 8"]).ended(0);
    let changed = stage.attached();
    assert_ne!(changed, probed);
    let again = || Ok((stage.attached() != changed).then_some(()));
    until("the capture of the new rules", LOAD, again).unwrap();
    stage.send(&udp(&stage, 8), 1);
    ended(capture, 0);
    let verdicts: Vec<_> = packets(&path).iter().map(|packet| packet.verdict.unwrap()).collect();
    assert_eq!(verdicts, [Verdict::Pass as u64, Verdict::Drop as u64]);
    assert_eq!(stage.attached(), changed, "the new rules remain");
}

#[test]
fn a_killed_capture_leaves_the_programs_and_one_runs_at_a_time() {
    let stage = Stage::new();
    load(&stage, &["drop udp dport 7"]);
    stage.run(&["chain", "eth0", "add", &object("seen"), "--priority", "50"]).ended(0);
    let before = stage.attached();
    let mut capture = capturing(&stage, &["--time", "120s"]);
    let error = stage.run(&["capture", "eth0"]).error();
    assert!(error.contains("another trial"), "{error}");
    let probed = stage.attached();
    capture.kill().unwrap();
    capture.wait().unwrap();
    assert_eq!(stage.attached(), probed, "the program goes on without its reader");
    stage.status();
    assert_eq!(stage.attached(), before, "the next command restores the earlier one");
    stage.send(&udp(&stage, 7), 3);
    let dropped = || Ok((show(&stage)["rules"][0]["packets"] == 3).then_some(()));
    until("the rule", PATIENCE, dropped).unwrap();

    let mut capture = capturing(&stage, &["--time", "120s"]);
    interrupt(&capture);
    capture.wait().unwrap();
    assert_eq!(stage.attached(), before);
}

#[test]
fn what_is_not_read_in_time_is_counted_as_lost() {
    let (stage, folder) = (Stage::new(), Folder::new("lost"));
    let path = folder.file("lost.pcapng");
    let words = ["--json", "--ring", "4KiB", "-w", &path, "--time", "120s", "udp"];
    let capture = capturing(&stage, &words);
    let frame = udp(&stage, 7);
    // The ring has room for a few of them.
    for _ in 0..20 {
        stage.send(&frame, 100);
    }
    interrupt(&capture);
    let report = report(capture);
    let number = |field: &str| report[field].as_u64().unwrap();
    assert_eq!(number("packets"), 2000, "{report}");
    assert_eq!(number("written") + number("lost"), 2000, "{report}");
    let all = packets(&path);
    assert_eq!(all.len() as u64, number("written"));
}

#[test]
fn losses_are_noted_with_the_next_packet() {
    let (stage, folder) = (Stage::new(), Folder::new("noted"));
    let path = folder.file("noted.pcapng");
    let words = ["--json", "--ring", "4KiB", "-w", &path, "--time", "120s", "udp"];
    let capture = capturing(&stage, &words);
    let signal = |name: &str| {
        let mut command = Command::new("kill");
        assert!(command.args([name, &capture.id().to_string()]).status().unwrap().success());
    };
    // While the command is stopped, its ring holds less than 100 of these packets.
    signal("-STOP");
    let state = || fs::read_to_string(format!("/proc/{}/stat", capture.id()));
    let stopped = || Ok(state().unwrap().contains(") T ").then_some(()));
    until("the stop", PATIENCE, stopped).unwrap();
    stage.send(&udp(&stage, 7), 200);
    signal("-CONT");
    interrupt(&capture);
    let report = report(capture);
    let lost = report["lost"].as_u64().unwrap();
    assert!(lost > 100, "{report}");
    let noted: Vec<_> = packets(&path).iter().map(|packet| packet.dropped.unwrap_or(0)).collect();
    assert_eq!(noted.iter().sum::<u64>(), lost, "{noted:?}");
    assert_eq!(noted.iter().filter(|count| **count > 0).count(), 1, "{noted:?}");
}

#[test]
fn files_are_rotated() {
    let (stage, folder) = (Stage::new(), Folder::new("rotated"));
    let path = folder.file("some.pcapng");
    let words = ["-w", &path, "--rotate-size", "2KiB", "--count", "100", "--time", "120s", "udp"];
    let capture = capturing(&stage, &words);
    stage.send(&udp(&stage, 7), 100);
    ended(capture, 0);
    let files = fs::read_dir(&folder.0).unwrap().flatten();
    let counts: BTreeMap<_, _> =
        files.map(|file| (file.file_name(), packets(file.path()).len())).collect();
    assert!(counts.len() > 3, "{counts:?}");
    assert!(counts.contains_key(std::ffi::OsStr::new("some-00001.pcapng")), "{counts:?}");
    assert_eq!(counts.values().sum::<usize>(), 100, "{counts:?}");
}

/// A named pipe.
fn pipe(folder: &Folder) -> String {
    let path = folder.file("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// A process that reads a pipe; it ends after a time in any case.
fn reader(path: &str, command: &[&str]) -> Child {
    let mut reader = Command::new("timeout");
    reader.arg("120").args(command).stdin(Stdio::null()).stdout(Stdio::piped());
    reader.arg(path).spawn().unwrap()
}

#[test]
fn a_named_pipe_is_written_to_and_not_replaced() {
    let (stage, folder) = (Stage::new(), Folder::new("pipe"));
    let path = pipe(&folder);
    let reader = reader(&path, &["cat"]);
    let words = ["--json", "-w", &path, "--count", "2", "--time", "120s", "udp"];
    let capture = capturing(&stage, &words);
    stage.send(&udp(&stage, 7), 2);
    assert_eq!(report(capture)["written"], 2);
    let read = reader.wait_with_output().unwrap().stdout;
    assert_eq!(Reader::new(&read[..]).unwrap().map(Result::unwrap).count(), 2);
    assert!(fs::metadata(&path).unwrap().file_type().is_fifo());

    // The user who made it would see the packets.
    chown(&path, Some(65534), None).unwrap();
    let error = stage.run(&["capture", "eth0", "-w", &path]).error();
    assert!(error.contains("a pipe of another user"), "{error}");
}

#[test]
fn a_reader_that_closes_a_pipe_ends_the_capture() {
    let (stage, folder) = (Stage::new(), Folder::new("closed"));
    let path = pipe(&folder);
    let mut reader = reader(&path, &["head", "-c", "8"]);
    let mut command = stage.xway.command_in(&stage.net.b, &["capture", "eth0", "-w", &path]);
    command.args(["--time", "120s", "udp"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    // No packet comes, so that only the state of the pipe shows it.
    let text = ended(command.spawn().unwrap(), 1);
    assert!(text.contains("the reader closed the pipe"), "{text}");
    assert!(reader.wait().unwrap().success());
    assert_eq!(stage.attached(), vec![]);
}

#[test]
fn a_pipe_without_a_reader_is_waited_for_until_the_time_is_over_or_a_signal_arrives() {
    let (stage, folder) = (Stage::new(), Folder::new("waiting"));
    let path = pipe(&folder);
    let error = stage.run(&["capture", "eth0", "-w", &path, "--time", "50ms"]).error();
    assert!(error.contains("no process reads the pipe"), "{error}");

    let mut command = stage.xway.command_in(&stage.net.b, &["capture", "eth0", "-w", &path]);
    let waiting = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let holds_signals = || {
        let status = fs::read_to_string(format!("/proc/{}/status", waiting.id())).unwrap();
        let held = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
        // SIGHUP, SIGINT and SIGTERM; before the process begins, all signals are held back.
        Ok(held.is_some_and(|held| held.trim() == "0000000000004003").then_some(()))
    };
    until("the wait", PATIENCE, holds_signals).unwrap();
    interrupt(&waiting);
    let error = Answer::of(waiting.wait_with_output().unwrap()).error();
    assert!(error.contains("no process reads the pipe"), "{error}");
}

/// tshark with the programs of another folder in place of its own, in a mount namespace: older
/// versions read one folder only.
const WITH_EXTCAP: &str = r#"
    own=$(tshark -G folders 2> /dev/null | sed -n 's/^Extcap path:[[:space:]]*//p')
    mount --bind "$EXTCAP" "$own" && exec tshark "$@"
"#;

#[test]
fn wireshark_lists_and_captures_the_interface() {
    let (stage, folder) = (Stage::new(), Folder::new("extcap"));
    load(&stage, &["drop udp dport 7"]);
    let script = folder.0.join("xway");
    let before = stage.attached();
    let program = stage.xway.command(&[]).get_program().to_str().unwrap().to_owned();
    let state = stage.xway.state().display();
    let text = format!("#!/bin/sh\nexec {program} --state {state} extcap \"$@\"\n");
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let tshark = |words: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["120", "unshare", "--mount", "sh", "-c", WITH_EXTCAP, "sh"]).args(words);
        command.env("EXTCAP", &folder.0).env("HOME", &folder.0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        stage.net.b.run(|| command.spawn()).unwrap().unwrap()
    };
    let list = tshark(&["-D"]).wait_with_output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(list.contains("xway-eth0 (eth0 with its XDP programs)"), "{list}");

    let fields = ["-T", "fields", "-e", "udp.dstport", "-e", "frame.verdict.ebpf_xdp"];
    let options = ["-l", "-i", "xway-eth0", "-c", "2", "-f", "udp"];
    let capture = tshark(&[&options[..], &fields].concat());
    let runs = || Ok((stage.attached() != before).then_some(()));
    until("the capture", LOAD, runs).unwrap();
    stage.send(&udp(&stage, 7), 1);
    stage.send(&udp(&stage, 8), 1);
    let read = capture.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&read.stdout);
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["7", "1", "8", "2"], "{read:?}");
    until("the end", LOAD, || Ok((stage.attached() == before).then_some(()))).unwrap();

    let checked = |expression: &str| {
        let words = ["extcap", "--extcap-interface=xway-eth0", "--extcap-capture-filter"];
        stage.run(&[&words[..], &[expression]].concat()).ended(0)
    };
    assert_eq!(checked("udp port 7"), "");
    assert!(checked("udp port what").contains("is not an expression of tcpdump"));
}

#[test]
fn a_full_disk_keeps_whole_packets() {
    let (stage, folder) = (Stage::new(), Folder::new("full"));
    let small = folder.0.join("small");
    fs::create_dir(&small).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=16k", "none"]).arg(&small);
    assert!(mount.status().unwrap().success());
    let path = small.join("full.pcapng");
    let capture = capturing(&stage, &["-w", path.to_str().unwrap(), "--time", "120s", "udp"]);
    stage.send(&udp(&stage, 7), 500);
    let answer = capture.wait_with_output().unwrap();
    let all = packets(&path);
    assert!(Command::new("umount").arg(&small).status().unwrap().success());
    let error = String::from_utf8(answer.stderr).unwrap();
    assert_eq!(answer.status.code(), Some(2), "{error}");
    assert!(error.contains("full.pcapng") && error.contains("No space left"), "{error}");
    assert!(!all.is_empty() && all.iter().all(|packet| packet.data == udp(&stage, 7)));
    assert_eq!(stage.attached(), vec![]);
}

#[test]
fn packets_of_an_interface_that_is_removed_are_kept() {
    let (stage, folder) = (Stage::new(), Folder::new("removed"));
    load(&stage, &["drop udp dport 7"]);
    let path = folder.file("series.pcapng");
    let words = ["-w", &path, "--rotate-time", "1h", "--time", "120s", "udp"];
    let capture = capturing(&stage, &words);
    stage.send(&udp(&stage, 7), 3);
    let taken = || Ok((show(&stage)["rules"][0]["packets"] == 3).then_some(()));
    until("the rule", PATIENCE, taken).unwrap();
    let ifindex = stage.net.b.ifindex("eth0").unwrap();
    stage.net.b.netlink().unwrap().delete_link(ifindex).unwrap();
    let answer = Answer::of(capture.wait_with_output().unwrap());
    assert!(answer.error().contains("there is no interface `eth0`"));
    assert_eq!(packets(folder.file("series-00001.pcapng")).len(), 3);
    assert!(!Path::new(&path).exists());
}

#[test]
fn another_owners_program_is_not_captured() {
    let stage = Stage::new();
    let object = foreign();
    let (program, ifindex) = (&object.programs()[0], stage.net.b.ifindex("eth0").unwrap());
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    let _link = stage.net.b.run(|| kernel::attach(&attach)).unwrap().unwrap();
    let error = stage.run(&["capture", "eth0", "--time", "1ms"]).error();
    assert!(error.contains("eth0"), "{error}");
}

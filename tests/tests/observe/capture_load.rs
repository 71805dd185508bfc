//! A capture under load: each packet that was sent is in the file or counted as lost.
//!
//! `XWAY_CAPTURE_PACKETS=1000000 XWAY_CAPTURE_RATE=1mpps cargo test --release -p xway-tests --test
//! capture_load -- --nocapture` sends a million packets instead of a few, and prints the result.
//! `XWAY_CAPTURE_PROGRAM` names another build of `xway` to run. Rule: nothing here depends on how
//! many packets are lost.
#![allow(clippy::print_stderr, reason = "the long run reports to who started it")]

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::{Host, until};
use pcap::{Packet, Reader};
use serde_json::Value;
use xway_tests::filter::{load, show};
use xway_tests::stage::Stage;
use xway_tests::xway::{Answer, interrupt};

/// For programs to be composed and verified, beside whatever else the machine does.
const LOAD: Duration = Duration::from_mins(2);

/// `xway` in a host: the build of this test, or the one that the caller chose.
fn command(stage: &Stage, host: &Host, words: &[&str]) -> Command {
    let Ok(program) = std::env::var("XWAY_CAPTURE_PROGRAM") else {
        return stage.xway.command_in(host, words);
    };
    let mut command = host.command(&program).unwrap();
    command.arg("--state").arg(stage.xway.state()).args(words);
    command
}

fn setting(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

#[test]
fn what_was_sent_is_captured_or_counted_as_lost() {
    let [count, rate] = [("XWAY_CAPTURE_PACKETS", "20000"), ("XWAY_CAPTURE_RATE", "100kpps")]
        .map(|(name, default)| setting(name, default));
    let stage = Stage::new();
    load(&stage, &["count udp", "drop udp dport 7"]);
    let path = stage.xway.state().join("load.pcapng");
    let file = path.to_str().unwrap();
    let before = stage.attached();
    let words = ["--json", "capture", "eth0", "-w", file, "--time", "300s", "udp"];
    let mut capture = command(&stage, &stage.net.b, &words);
    let capture = capture.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the capture", LOAD, || Ok((stage.attached() != before).then_some(()))).unwrap();

    let address = format!("{}:7", stage.net.b.ipv4("eth0").unwrap());
    let words = ["--json", "gen", "udp", &address, "--dev", "eth0", "--size", "60"];
    let words = [&words[..], &["--rate", &rate, "--count", &count]].concat();
    let sending = Answer::of(command(&stage, &stage.net.a, &words).output().unwrap());
    // A rate that a busy machine does not reach is a negative result.
    let sending: Value = serde_json::from_str(&sending.stdout).unwrap();
    let sent = sending["sent"].as_u64().unwrap();
    assert_eq!(sent.to_string(), count);
    interrupt(&capture);
    let text = Answer::of(capture.wait_with_output().unwrap()).ended(0);
    let report: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let number = |field: &str| report[field].as_u64().unwrap();
    let (written, lost) = (number("written"), number("lost"));
    eprintln!("sent {sent} with {} a second, written {written}, lost {lost}", sending["pps"]);

    assert_eq!(number("packets"), sent, "{report}");
    assert_eq!(number("written") + number("lost"), sent, "{report}");
    assert_eq!(show(&stage)["rules"][0]["packets"], sent, "the filter counted each of them");
    let mut reader = Reader::new(File::open(&path).unwrap()).unwrap();
    let (mut packet, mut read, mut noted) = (Packet::default(), 0, 0);
    while reader.next_into(&mut packet).unwrap() {
        read += 1;
        noted += packet.dropped.unwrap_or(0);
        assert_eq!((packet.id, packet.verdict), (Some(read), Some(1)));
        assert_eq!(packet.comment.as_deref(), Some("dropped by filter, rule 2: drop udp dport 7"));
    }
    assert_eq!(read, number("written"));
    // Losses after the last packet that was written have no record.
    assert!(noted <= number("lost"), "{noted} of {report}");
}

//! The report of tshark about a capture of every protocol: nothing is malformed, and no checksum is
//! wrong except those that are meant to be.

use std::path::{Path, PathBuf};
use std::process::Command;

use pcap::{LinkType, Packet, Resolution, Writer};

use crate::protocols::{examples, frames, zoo};

/// Number of frames of each stream.
const FRAMES: u64 = 25;

/// Columns of the report. The first are states of checksums: `1` correct, `0` wrong.
const FIELDS: [&str; 9] = [
    "ip.checksum.status",
    "udp.checksum.status",
    "tcp.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
    "gre.checksum.status",
    "_ws.malformed",
    "_ws.short",
    "_ws.expert.message",
];
const STATES: usize = 6;

#[test]
fn tshark_finds_nothing_malformed_and_no_wrong_checksum() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return eprintln!("skipped: tshark is not installed; `make setup` installs it");
    }
    let mut names = Vec::new();
    let mut capture = Vec::new();
    let files = examples().into_iter().chain([zoo()]);
    for template in files.flat_map(|file| file.templates(1600).expect("streams")) {
        for frame in frames(&template, FRAMES) {
            names.push(template.name.clone());
            capture.push(frame);
        }
    }
    let rows = dissect(&write("protocols.pcap", &capture));
    assert_eq!(rows.len(), names.len());
    let mut right = [0; STATES];
    for ((name, row), frame) in names.iter().zip(&rows).zip(&capture) {
        let is_wrong = row[..STATES].iter().any(|states| states.contains('0'));
        let is_bad = name.starts_with("wrong ") || name == "bad header";
        assert_eq!(is_wrong, is_bad, "{name}: {row:?}: {frame:02x?}");
        let complaint = row[STATES..].iter().any(|text| !text.is_empty() && !is_remark(text));
        assert!(is_bad || !complaint, "{name}: {row:?}: {frame:02x?}");
        for (count, states) in right.iter_mut().zip(row) {
            *count += states.matches('1').count();
        }
    }
    // Otherwise tshark did not check the checksums.
    assert!(right.iter().all(|count| *count >= FRAMES as usize), "{right:?}");
}

/// Whether an expert message only describes a packet, rather than reporting an error in it.
fn is_remark(text: &str) -> bool {
    const REMARKS: [&str; 8] = [
        "Connection establish request",
        "Connection finish",
        "Connection reset",
        // Caused by a stamp.
        "Didn't find padding of zeros, and an undecoded trailer exists.",
        "Duplicate IP address configured",
        "The acknowledgment number field is nonzero while the ACK flag is not set",
        "This frame initiates the connection closing",
        "\"Time To Live\" only",
    ];
    text.split(';').all(|one| REMARKS.iter().any(|remark| one.starts_with(remark)))
}

fn write(name: &str, frames: &[Vec<u8>]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = std::fs::File::create(&path).expect("a file");
    let mut writer = Writer::pcap(file, LinkType::ETHERNET, Resolution::Nano).expect("pcap");
    for (number, data) in frames.iter().enumerate() {
        // At a distance from each other, so that none is regarded as a retransmission.
        let timestamp_ns = number as u64 * 1_000_000_000;
        writer
            .write(&Packet { timestamp_ns, data: data.clone(), ..Packet::default() })
            .expect("ok");
    }
    writer.finish().expect("written");
    path
}

/// Returns a row of [`FIELDS`] for each frame.
fn dissect(capture: &Path) -> Vec<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r"]).arg(capture).args([
        "-T",
        "fields",
        "-E",
        "separator=|",
        "-E",
        "aggregator=;",
    ]);
    for preference in ["ip.check_checksum", "udp.check_checksum", "tcp.check_checksum"] {
        tshark.args(["-o", &format!("{preference}:TRUE")]);
    }
    // Random sequence numbers do not form a conversation, and payloads are not DNS.
    tshark.args(["-o", "tcp.analyze_sequence_numbers:FALSE"]);
    for protocol in ["dns", "echo"] {
        tshark.args(["--disable-protocol", protocol]);
    }
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

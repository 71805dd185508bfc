//! `xway gen --dry-run`: the first frames of a run as a capture. It needs no root.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Output};

use pcap::{Packet, Reader};
use traffic::Stamp;

/// A folder for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("xway-gen-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// `xway gen WORDS --dry-run --write x.pcapng`.
    fn run(&self, words: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xway"));
        command.arg("gen").args(words.split_whitespace()).current_dir(&self.0);
        command.args(["--dry-run", "--write", "x.pcapng"]).output().unwrap()
    }

    #[track_caller]
    fn frames(&self, words: &str) -> Vec<Packet> {
        let output = self.run(words);
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        let mut reader = Reader::new(File::open(self.0.join("x.pcapng")).unwrap()).unwrap();
        let mut frames = Vec::new();
        let mut packet = Packet::default();
        while reader.next_into(&mut packet).unwrap() {
            frames.push(packet.clone());
        }
        frames
    }

    #[track_caller]
    fn refused(&self, words: &str) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(2), "{words}");
        let left: Vec<_> = fs::read_dir(&self.0).unwrap().flatten().collect();
        assert!(left.iter().all(|file| file.file_name() == "s.toml"), "{words}: {left:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _absent = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn each_kind_has_its_frames() {
    let folder = Folder::new("kinds");
    for (words, ethertype, len) in [
        ("udp 10.0.0.2:53", [8, 0], 60),
        ("udp [fd00::2]:53", [0x86, 0xdd], 78),
        ("icmp 10.0.0.2", [8, 0], 60),
        ("syn 10.0.0.2:80", [8, 0], 60),
        ("arp 10.0.0.2", [8, 6], 60),
        ("udp 10.0.0.2 --vlan 100:7 --size 128", [0x88, 0xa8], 128),
        ("raw ffffffffffff0200000000010102 --size 64", [1, 2], 64),
    ] {
        let frames = folder.frames(&format!("{words} --first 3"));
        assert_eq!(frames.len(), 3, "{words}");
        for frame in &frames {
            assert_eq!(frame.data[12..14], ethertype, "{words}");
            assert!(frame.data.len() >= len && frame.data.len() < len + 24, "{words}: {frame:?}");
        }
    }
}

#[test]
fn frames_vary_as_they_were_told_and_are_stamped() {
    let folder = Folder::new("vary");
    let words = "udp 10.0.0.2:1000..1002 --rate 1kpps --first 6 --seed 7";
    let frames = folder.frames(words);
    let ports: Vec<_> =
        frames.iter().map(|one| u16::from_be_bytes([one.data[36], one.data[37]])).collect();
    assert_eq!(ports, [1000, 1001, 1002, 1000, 1001, 1002]);
    for (number, frame) in frames.iter().enumerate() {
        let stamp = Stamp::read(&frame.data).unwrap().unwrap();
        assert_eq!((stamp.stream, stamp.number as usize), (0, number));
        let since = frame.timestamp_ns - frames[0].timestamp_ns;
        assert_eq!(since, 1_000_000 * number as u64, "the pace is the rate");
    }
    let random = "udp 10.0.0.2 --sport random:1..65535 --no-stamp --first 9 --seed";
    let bytes = |seed: u32| -> Vec<Vec<u8>> {
        let frames = folder.frames(&format!("{random} {seed}"));
        frames.into_iter().map(|frame| frame.data).collect()
    };
    assert_eq!(bytes(3), bytes(3), "the same seed, the same frames");
    assert_ne!(bytes(3), bytes(4));
    assert!(bytes(3).iter().all(|frame| Stamp::read(frame).is_none()));
}

#[test]
fn a_run_that_is_shorter_writes_fewer() {
    let folder = Folder::new("short");
    assert_eq!(folder.frames("udp 10.0.0.2 --count 2 --first 5").len(), 2);
}

#[test]
fn a_capture_is_read_and_written_again() {
    let folder = Folder::new("again");
    let first = folder.frames("udp 10.0.0.2 --first 3 --rate 1kpps");
    fs::rename(folder.0.join("x.pcapng"), folder.0.join("y.pcapng")).unwrap();
    let words = "pcap y.pcapng --rounds 2 --speed 2 --map-mac dst:*=02:00:00:00:00:99";
    let again = folder.frames(words);
    assert_eq!(again.len(), 6);
    assert_eq!(again[0].data[..6], [2, 0, 0, 0, 0, 0x99]);
    assert_eq!(again[4].data[6..], first[1].data[6..]);
    assert_eq!(again[2].timestamp_ns - again[0].timestamp_ns, 1_000_000, "twice as fast");
}

#[test]
fn files_describe_streams_and_their_errors_say_where() {
    let folder = Folder::new("files");
    let file = |text: &str| fs::write(folder.0.join("s.toml"), text).unwrap();
    let layers = |udp: &str| {
        format!(
            "[[stream]]\nname = \"web\"\nlayers = [{{ ethernet = {{}} }}, \
             {{ ipv4 = {{ dst = \"10.0.0.2\" }} }}, {{ udp = {{ {udp} }} }}]\n"
        )
    };
    file(&layers("src = 7, dst = 53"));
    assert_eq!(folder.frames("file s.toml --first 2").len(), 2);
    assert_eq!(folder.frames("s.toml --first 2").len(), 2);
    fs::remove_file(folder.0.join("x.pcapng")).unwrap();
    file(&layers("src = 7, dts = 53"));
    let said = folder.refused("file s.toml");
    for words in ["s.toml", "stream \"web\"", "udp", "dts"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    file("[[steam]]\n");
    assert!(folder.refused("s.toml").contains("steam"));
}

#[test]
fn what_cannot_be_sent_is_refused_and_leaves_no_file() {
    let folder = Folder::new("refused");
    for (words, why) in [
        ("udp 10.0.0.2 --size 40", "need"),
        ("udp 10.0.0.2 --size 2000", "MTU"),
        ("udp 10.0.0.2:70000", "70000"),
        ("udp 10.0.0.2:1 --dport 2", "--dport"),
        ("udp host", "host"),
        ("udp 10.0.0.2 --src fd00::1", "not an IPv6 address"),
        ("icmp 10.0.0.2:7", "no ports"),
        ("syn 10.0.0.2", "port"),
        ("udp 10.0.0.2 --rate max --poisson", "number"),
        ("pcap absent.pcap", "absent.pcap"),
        ("absent.toml", "absent.toml"),
    ] {
        let said = folder.refused(words);
        assert!(said.contains(why), "{words}: {said}");
    }
}

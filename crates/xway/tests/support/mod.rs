//! Runs the binary without root; each test has its own folder and creates its captures.
#![allow(dead_code, reason = "each test uses its part")]

use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::frame::{Flow, Side};
use packet::Mac;
use pcap::{LinkType, Packet, Writer};
use serde_json::Value;

/// The output of the binary.
#[derive(Debug)]
pub struct Answer {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    /// # Panics
    /// If it is not valid JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs `xway` with these arguments.
pub fn xway(words: &[&str]) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_xway")).args(words).output().unwrap();
    Answer {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A folder that is removed when the test ends.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xway-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Writes a capture of these frames, a millisecond apart.
    pub fn capture(&self, name: &str, frames: &[Vec<u8>]) -> String {
        let path = self.file(name);
        let output = File::create(&path).unwrap();
        let mut writer = Writer::pcapng(output, &pcap::Options::default()).unwrap();
        writer.interface("eth0", LinkType::ETHERNET).unwrap();
        for (number, data) in (0_u64..).zip(frames) {
            let timestamp_ns = 1_767_300_000_000_000_000 + number * 1_000_000;
            let packet = Packet { timestamp_ns, data: data.clone(), ..Packet::default() };
            writer.write(&packet).unwrap();
        }
        writer.finish().unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _absent = fs::remove_dir_all(&self.0);
    }
}

/// A UDP frame from 10.0.0.9 to that address and port.
pub fn udp(to: [u8; 4], port: u16) -> Vec<u8> {
    let side = |ip: [u8; 4], port, last| Side {
        mac: Mac([2, 0, 0, 0, 0, last]),
        ip: IpAddr::V4(Ipv4Addr::from(ip)),
        port,
    };
    Flow::new(side([10, 0, 0, 9], 4000, 9), side(to, port, 1)).udp_of_length(60).unwrap()
}

/// A file of `bpf/prebuilt/`.
pub fn object(name: &str) -> String {
    format!("{}/../../bpf/prebuilt/{name}.o", env!("CARGO_MANIFEST_DIR"))
}

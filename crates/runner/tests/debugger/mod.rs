//! Captures and questions that tests of the debugger share.
#![allow(dead_code, reason = "each test uses its part")]

use std::fs::{self, File};
use std::path::PathBuf;

use pcap::{LinkType, Packet, Writer};
use runner::debug::{Debugger, Motion, Position, Reason, State, Stop};
use runner::{Callbacks, Options};

pub const SOURCE: &str = include_str!("../../../../bpf/test/locals.bpf.c");

pub fn open(options: &Options) -> Debugger<'_> {
    Debugger::open(options, Callbacks::default()).unwrap()
}

/// Registers, packet, variables and, beside them, the map.
pub fn state(debugger: &Debugger<'_>) -> State {
    let mut state = debugger.state().unwrap();
    if debugger.maps().iter().any(|map| map == "counts") {
        let counts = debugger.map("counts").unwrap();
        state.packet.summary.push_str(&format!("{:?}", counts.entries));
    }
    state
}

pub fn hits(debugger: &mut Debugger<'_>, direction: runner::debug::Direction) -> Vec<Position> {
    let mut hits = Vec::new();
    loop {
        let stop = debugger.go(Motion::Continue, direction).unwrap();
        if !matches!(stop.reason, Reason::Breakpoint { .. }) {
            return hits;
        }
        hits.push(stop.position);
        assert!(hits.len() < 1000);
    }
}

pub fn value(debugger: &Debugger<'_>, expression: &str) -> String {
    debugger.evaluate(&expression.parse().unwrap()).unwrap().text
}

pub fn line(stop: &Stop) -> usize {
    let source = stop.place.as_ref().and_then(|place| place.source.as_ref());
    source.map_or(0, |source| source.line as usize)
}

/// Number of the first line of the source that contains a text.
pub fn numbered(text: &str) -> usize {
    SOURCE.lines().position(|line| line.contains(text)).unwrap() + 1
}

/// A capture of UDP packets whose destination addresses end in these bytes; removed when dropped.
pub struct Capture(pub PathBuf);

impl Capture {
    pub fn new(name: &str, ends: &[u8]) -> Self {
        let path = std::env::temp_dir();
        let path = path.join(format!("xway-debug-{name}-{}.pcapng", std::process::id()));
        let file = File::create(&path).unwrap();
        let mut writer = Writer::pcapng(file, &pcap::Options::default()).unwrap();
        writer.interface("test", LinkType::ETHERNET).unwrap();
        for end in ends {
            writer.write(&Packet { data: frame(*end), ..Packet::default() }).unwrap();
        }
        writer.finish().unwrap();
        Self(path)
    }

    pub fn options(&self, object: &str, program: &str) -> Options {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/prebuilt/test");
        Options {
            object: format!("{folder}/{object}.o"),
            program: Some(program.to_owned()),
            input: self.0.clone(),
            ..Options::default()
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// A UDP packet from 10.0.0.1 to 10.1.0.2, port 53.
fn frame(end: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, end, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 1, 0, 2]);
    frame.extend([0, 7, 0, 53, 0, 8, 0, 0]);
    frame
}

//! A program outside of this project: an object, a capture, and the result, without root.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pcap::{LinkType, Packet, Writer};
use runner::{Callbacks, Error, Interrupt, Job, Notice, Options, Runtime, Traced};

#[test]
fn verdicts_maps_and_captures_of_a_run() {
    let file = Capture::new("run", &[53, 80, 53]);
    let out = file.0.with_extension("out");
    let options = Options { out: Some(out.clone()), repeat: 1, ..file.options() };
    let report = Job::open(&options, Callbacks::default()).unwrap().run().unwrap();
    assert_eq!((report.program.as_str(), report.runtime), ("xway_drop", "vm"));
    assert_eq!(report.tally.verdicts["drop"].packets, 2);
    assert_eq!((report.tally.verdicts["pass"].packets, report.tally.stack), (1, 1));
    assert!(report.maps.iter().any(|map| map.map.name == "drop_shapes"));
    assert!(report.rates.is_some() && report.coverage.is_none());
    let mut names: Vec<_> = report.files.iter().map(|file| file.file_name().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["drop.pcapng", "pass.pcapng", "stack.pcapng"]);
    fs::remove_dir_all(out).unwrap();
}

#[test]
fn one_packet_is_explained_and_all_are_traced() {
    let file = Capture::new("trace", &[53, 80]);
    let options = file.options();
    let explanation = open(&options).explain(2).unwrap();
    assert_eq!((explanation.packet, explanation.verdict), (2, "pass"));
    assert!(!explanation.path.is_empty() && explanation.fault.is_none());
    let verdicts = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&verdicts);
    let faults = open(&options).trace(move |line| {
        if let Traced::Verdict { verdict, .. } = line {
            seen.lock().unwrap().push(*verdict);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(faults.unwrap(), 0);
    assert_eq!(*verdicts.lock().unwrap(), ["drop", "pass"]);
    assert!(matches!(open(&options).explain(3), Err(Error::NoPacket { packets: 2, wanted: 3 })));
}

#[test]
fn a_trace_ends_when_its_receiver_breaks() {
    let file = Capture::new("break", &[53, 53, 53]);
    let lines = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&lines);
    let options = file.options();
    let traced = open(&options).trace(move |_| {
        *seen.lock().unwrap() += 1;
        ControlFlow::Break(())
    });
    assert_eq!(traced.unwrap(), 0);
    assert_eq!(*lines.lock().unwrap(), 1);
}

#[test]
fn coverage_is_that_of_the_engine() {
    let file = Capture::new("cover", &[53]);
    let options = Options { cover: true, ..file.options() };
    let coverage = open(&options).run().unwrap().coverage.unwrap();
    assert_eq!(coverage.runs, 1);
    assert!(runner::lcov(&coverage).contains("FNDA:1,xway_drop\n"));
    let options = Options { runtime: Runtime::Kernel, ..options };
    assert!(matches!(open(&options).run(), Err(Error::Unobservable)));
}

#[test]
fn a_request_ends_a_run_and_damage_is_noticed() {
    let file = Capture::new("early", &[53, 80, 53]);
    let mut bytes = fs::read(&file.0).unwrap();
    bytes.truncate(bytes.len() - 8);
    fs::write(&file.0, bytes).unwrap();
    let notices = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&notices);
    let observe = move |notice: &Notice| seen.lock().unwrap().push(notice.to_string());
    let options = file.options();
    let report = Job::open(&options, Callbacks::default().with_observer(observe)).unwrap().run();
    assert_eq!(report.unwrap().tally.packets, 2);
    let notices = notices.lock().unwrap();
    assert!(notices.len() == 1 && notices[0].contains("after packet 2: "), "{notices:?}");
    let callbacks = Callbacks::default().with_interrupt(Interrupt::new(|| 1));
    let report = Job::open(&options, callbacks).unwrap().run().unwrap();
    assert!(report.interrupted && report.tally.packets == 0);
}

fn open(options: &Options) -> Job<'_> {
    Job::open(options, Callbacks::default()).unwrap()
}

/// A capture of UDP packets, removed when it is dropped.
struct Capture(PathBuf);

impl Capture {
    fn new(name: &str, ports: &[u16]) -> Self {
        let path = std::env::temp_dir();
        let path = path.join(format!("xway-runner-{name}-{}.pcapng", std::process::id()));
        let file = File::create(&path).unwrap();
        let mut writer = Writer::pcapng(file, &pcap::Options::default()).unwrap();
        writer.interface("test", LinkType::ETHERNET).unwrap();
        for port in ports {
            let packet = Packet { data: frame(*port), ..Packet::default() };
            writer.write(&packet).unwrap();
        }
        writer.finish().unwrap();
        Self(path)
    }

    /// Options of a run that drops DNS queries.
    fn options(&self) -> Options {
        Options {
            object: "drop".to_owned(),
            input: self.0.clone(),
            rules: vec!["10.1.0.2 udp 53".to_owned()],
            ..Options::default()
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// A UDP packet from 10.0.0.1 to 10.1.0.2.
fn frame(port: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 1, 0, 2]);
    frame.extend([0, 7]);
    frame.extend(port.to_be_bytes());
    frame.extend([0, 8, 0, 0]);
    frame
}

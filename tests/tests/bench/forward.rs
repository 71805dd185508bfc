//! Every way of `xway bench run forward` carries packets as it should, what it spoils is seen, and
//! when it is gone the forwarder is as it was.

use std::net::UdpSocket;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bench::field::Line;
use bench::path::{self, Journey, Path, Sink};
use bench::{Harness, Scenario, Silent, Testbed};
use kernel::list::{self, Owners};
use report::Host;
use sys::net::PacketSocket;
use xway_tests::cell::is_held_up;

#[test]
fn every_way_carries_packets_and_leaves_nothing() {
    let _alone = alone();
    let line = Line::build(&Testbed::Lab).unwrap();
    let before = remains(&line);
    for path in path::ALL {
        for _ in 0..2 {
            let set = (path.set)(&line).unwrap_or_else(|fault| panic!("{}: {fault:#}", path.name));
            if path.journey != Journey::Stopped {
                assert_ne!(remains(&line), before, "what is {} made of?", path.name);
            }
            carries(&line, path);
            drop(set);
            assert_eq!(remains(&line), before, "what {} left", path.name);
        }
    }
}

/// A packet arrives, and looks as it should.
fn carries(line: &Line, path: &Path) {
    let sink = Sink::attach(path.journey.end(line)).unwrap();
    let frame = path.journey.frame(line).unwrap();
    let ifindex = line.sender.ifindex().unwrap();
    let socket = line.sender.run(|| PacketSocket::open(ifindex)).unwrap().unwrap();
    socket.send(&frame).unwrap();
    lab::until(path.name, PATIENCE, || Ok((sink.arrived().unwrap() == 1).then_some(()))).unwrap();
    let samples = sink.samples().unwrap();
    assert_eq!(samples.len(), 1, "{}", path.name);
    path.journey.judge(line, &frame, &samples[0]).unwrap();
}

#[test]
fn what_is_corrupted_on_its_way_is_seen() {
    let _alone = alone();
    let line = Line::build(&Testbed::Lab).unwrap();
    let judge = |journey: Journey, sent: &[u8], got: &[u8]| {
        journey.judge(&line, sent, got).map_err(|fault| fault.to_string())
    };
    let sent = Journey::Translated.frame(&line).unwrap();
    let right = line.frame(&line.sink, &line.sink).unwrap();
    assert_eq!(judge(Journey::Translated, &sent, &right), Ok(()));
    let changed = |at: usize, byte: u8| {
        let mut frame = right.clone();
        frame[at] ^= byte;
        frame
    };
    let mut without = right.clone();
    without[40..42].fill(0);
    let elsewhere = line.frame(&line.far, &line.sink).unwrap();
    for (got, fault) in [
        (sent.clone(), "another hardware address"),
        (elsewhere, "another hardware address"),
        (line.frame(&line.sink, &line.far).unwrap(), "another address"),
        (changed(24, 1), "IPv4 header checksum"),
        (changed(22, 1), "IPv4 header checksum"),
        (changed(45, 1), "the udp checksum is wrong"),
        (without, "the UDP checksum is gone"),
        (right[..30].to_vec(), "no IPv4 or IPv6 packet"),
    ] {
        let told = judge(Journey::Translated, &sent, &got).unwrap_err();
        assert!(told.contains(fault), "{told}");
    }
    let frame = Journey::Crossed.frame(&line).unwrap();
    let turned = [&frame[6..12], &frame[..6], &frame[12..]].concat();
    assert_eq!(judge(Journey::Crossed, &frame, &turned), Ok(()));
    assert_eq!(judge(Journey::Bridged, &frame, &frame), Ok(()));
    for journey in [Journey::Crossed, Journey::Returned, Journey::Routed] {
        assert!(judge(journey, &frame, &frame).unwrap_err().contains("arrived, not"));
    }
}

#[test]
fn a_failed_set_up_has_a_reason_and_leaves_nothing() {
    let _alone = alone();
    let line = Line::build(&Testbed::Lab).unwrap();
    let port = (line.near.ipv4().unwrap(), bench::field::PORT);
    let _taken = line.near.run(|| UdpSocket::bind(port)).unwrap().unwrap();
    let _there = Sink::attach(&line.near).unwrap();
    let before = remains(&line);
    for (name, reason) in [
        ("proxy", "in use"),
        ("nginx", "in use"),
        ("xdp-native", "program"),
        ("xdp-generic", "program"),
        ("xdp-redirect", "program"),
        ("af-xdp", "program"),
    ] {
        let path = path::ALL.iter().find(|path| path.name == name).unwrap();
        let Err(fault) = (path.set)(&line) else { panic!("{name} is set up in spite of all") };
        assert!(format!("{fault:#}").contains(reason), "{name}: {fault:#}");
        assert_eq!(remains(&line), before, "what {name} left");
    }
}

#[test]
fn a_short_run_has_a_row_for_every_way() {
    let _alone = alone();
    let mut silent = Silent;
    let mut harness = Harness::new(5, 0.05, &mut silent);
    let bench = Scenario::find("forward").unwrap().run(&mut harness, &Testbed::Lab).unwrap();
    let absent = &bench.notes().absent;
    assert!(absent.iter().all(|gone| is_held_up(&gone.reason)), "{absent:?}");
    let held_up: Vec<String> = absent.iter().map(|gone| gone.name.clone()).collect();
    let report = bench.finish(Host::default()).unwrap();
    for path in path::ALL.iter().filter(|path| !held_up.iter().any(|name| name == path.name)) {
        let row = |name: &str| report.rows.iter().find(|row| row.name == name).unwrap().clone();
        let (rate, lost) = (row(path.name), row(&format!("lost/{}", path.name)));
        assert_eq!((&*rate.unit, &*lost.unit), ("pps", "%"));
        assert!((3..=5).contains(&rate.stats.rounds), "{rate:?}");
        assert_eq!(rate.stats.rounds, lost.stats.rounds);
        assert!(rate.stats.min > 0.0);
        assert!((0.0..=100.0).contains(&lost.stats.max));
    }
    if held_up.is_empty() {
        assert_eq!(report.ratios.len(), path::ALL.len() - 1);
    }
    let figures: Vec<_> = report.notes.figures.iter().map(|figure| &*figure.name).collect();
    assert_eq!(figures, ["forward-translated", "forward-untouched"]);
}

/// Everything that a path could leave on the forwarder.
fn remains(line: &Line) -> String {
    let me = std::process::id();
    let owners = Owners::now();
    let links = list::links().unwrap();
    let ours = links.iter().filter(|link| owners.of_link(link.id).iter().any(|by| by.pid == me));
    let words = ["netns", "pids", line.forwarder.netns().name()];
    let processes = Command::new("ip").args(words).output().unwrap().stdout;
    let processes = String::from_utf8_lossy(&processes);
    let said = [
        &["ip", "-details", "-oneline", "link"][..],
        &["tc", "qdisc"],
        &["ip", "neighbour"],
        &["nft", "list", "ruleset"],
        &["ss", "--udp", "--listening", "--numeric", "--no-header"],
        &["sysctl", "net.ipv4.ip_forward"],
    ]
    .map(|words| {
        let mut command = line.forwarder.command(words[0]).unwrap();
        let output = command.args(&words[1..]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    format!("{}{processes}{} links", said.concat(), ours.count())
}

/// One story at a time: links of the whole process are counted.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

static ALONE: Mutex<()> = Mutex::new(());
const PATIENCE: Duration = Duration::from_secs(10);

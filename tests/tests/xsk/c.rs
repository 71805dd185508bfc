//! The C library as it is installed: header, symbols, manual, and C programs with a peer in Rust.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lab::{Host, LinkOptions, TwoHosts};
use support::{Installed, Linking, run};
use xsk::{Interface, Socket};

/// A packet of the tests' EtherType, with a number in it.
fn packet(number: u64) -> [u8; 60] {
    let mut bytes = [0; 60];
    bytes[..12].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1]);
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    bytes[16..24].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn socket(host: &Host) -> Socket {
    host.run(|| Interface::open("eth0").unwrap().socket(0).open().unwrap()).unwrap()
}

fn start(host: &Host, program: &Path, arguments: &[&str]) -> Child {
    let mut command = host.command(program.to_str().unwrap()).unwrap();
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("LD_LIBRARY_PATH", Installed::once().lib());
    host.start(command).unwrap()
}

/// The standard output of a program that succeeded.
fn said(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let (out, err) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success(), "{}: {err}", output.status);
    String::from_utf8(out).unwrap()
}

/// Sends `packets` now and then until the program has answered with `count` of the ethertype, or
/// `limit` is over; returns what arrived.
fn exchange(socket: &mut Socket, packets: &[[u8; 60]], count: usize) -> Vec<Vec<u8>> {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut answers = Vec::new();
    let (tx, rx) = socket.halves();
    while answers.len() < count && Instant::now() < deadline {
        for packet in packets {
            tx.send(packet).unwrap();
        }
        tx.flush().unwrap();
        rx.wait(Duration::from_millis(100)).unwrap();
        rx.for_each(64, |frame| {
            if frame[12..14] == [0x88, 0xb5] {
                answers.push(frame.to_vec());
            }
        });
    }
    answers
}

#[test]
fn the_header_is_clean_c99_and_cpp() {
    let installed = Installed::once();
    let folder = installed.folder();
    fs::write(folder.join("empty.c"), "#include <xway_xsk.h>\nint main(void) { return 0; }\n")
        .unwrap();
    fs::copy(folder.join("empty.c"), folder.join("empty.cc")).unwrap();
    let sources = [("cc", "-std=c99", "empty.c"), ("c++", "-std=c++11", "empty.cc")];
    for (compiler, standard, file) in sources {
        let mut command = Command::new(compiler);
        command.args([standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]);
        command.arg(format!("-I{}", installed.include().display())).arg(folder.join(file));
        match command.output() {
            Err(error) if compiler == "c++" => println!("skipped: no C++ compiler: {error}"),
            answer => {
                let answer = answer.unwrap();
                assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
            }
        }
    }
}

#[test]
fn what_is_declared_is_exported_documented_and_misused() {
    let installed = Installed::once();
    let header = fs::read_to_string(installed.include().join("xway_xsk.h")).unwrap();
    let declared = support::declared(&header);
    assert!(declared.len() > 30, "{declared:?}");

    let library = installed.lib().join("libxway_xsk.so");
    let library = library.to_str().unwrap();
    let symbols = run(Command::new("nm").args(["-D", "--defined-only", library]));
    let exported: BTreeSet<String> =
        symbols.lines().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect();
    assert_eq!(exported, declared, "nothing else is seen from outside");
    let dynamic = run(Command::new("readelf").args(["-d", library]));
    assert!(dynamic.contains("soname: [libxway_xsk.so.0]"), "{dynamic}");

    let manual = fs::read_to_string(installed.manual()).unwrap();
    let misuse = support::source("misuse.c");
    for name in &declared {
        assert!(manual.contains(&format!(".Fn {name}")), "{name} is not in the manual");
        assert!(misuse.contains(&format!("{name}(")), "{name} is not in misuse.c");
    }
    for name in support::called(&manual) {
        assert!(declared.contains(&name), "the manual has {name}, the library has not");
    }
}

#[test]
fn the_manual_is_clean() {
    let Ok(version) = Command::new("groff").arg("--version").output() else {
        return println!("skipped: no groff");
    };
    assert!(version.status.success());
    let manual = Installed::once().manual();
    let answer = Command::new("groff")
        .args(["-mandoc", "-Tutf8", "-ww", "-Wbreak", "-z"])
        .arg(manual)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&answer.stderr), "");
}

#[test]
fn ten_are_received_and_ten_are_sent() {
    for linking in [Linking::Shared, Linking::Static] {
        let program = Installed::once().example("02-receive-ten-send-ten", linking);
        let lab = TwoHosts::build(&LinkOptions::default()).unwrap();
        let mut peer = socket(&lab.a);
        let child = start(&lab.b, &program, &["eth0", "0", "ethertype 0x88b5"]);
        let answers = exchange(&mut peer, &[packet(1)], 10);
        let numbers: Vec<u8> = answers.iter().map(|answer| answer[14]).collect();
        assert_eq!(numbers, (0..10).collect::<Vec<_>>(), "{linking:?}");
        let said = said(child);
        assert_eq!(said.matches("received 60 bytes\n").count(), 10, "{said}");
        assert!(said.ends_with("sent 10 packets\n"), "{said}");
    }
}

#[test]
fn packets_come_back_with_their_addresses_swapped() {
    let program = Installed::once().example("01-echo", Linking::Shared);
    let lab = TwoHosts::build(&LinkOptions::default()).unwrap();
    let mut peer = socket(&lab.a);
    let child = start(&lab.b, &program, &["eth0", "0", "ethertype 0x88b5", "100"]);
    let packets: Vec<_> = (0..10).map(packet).collect();
    let answers = exchange(&mut peer, &packets, 100);
    assert!(said(child).starts_with("echoed 1"));
    for answer in &answers[..100] {
        assert_eq!(answer[..6], [2, 0, 0, 0, 0, 1]);
        assert_eq!(answer[6..12], [0xff; 6]);
    }
}

#[test]
fn an_example_reports_its_error() {
    let program = Installed::once().example("02-receive-ten-send-ten", Linking::Shared);
    let lab = TwoHosts::build(&LinkOptions::default()).unwrap();
    for (arguments, text) in [
        (["eth7", "0", "any"], "eth7"),
        (["eth0", "9", "any"], "queue 9"),
        (["eth0", "0", "10.0.0.1 icmp 80"], "icmp has no ports"),
    ] {
        let output = start(&lab.b, &program, &arguments).wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn two_halves_in_two_threads() {
    let program = Installed::once().checked("halves.c");
    let lab = TwoHosts::build(&LinkOptions::default()).unwrap();
    let (mut tx, mut rx) = socket(&lab.b).split();
    let mut child = start(&lab.a, &program, &["eth0", "20000"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        rx.wait(Duration::from_millis(100)).unwrap();
        let mut batch = tx.batch(64);
        for frame in rx.batch(64).filter(|frame| frame[12..14] == [0x88, 0xb5]) {
            batch.push_until(frame, Duration::from_secs(10)).unwrap();
        }
        batch.finish().unwrap();
    }
    let _ = child.kill();
    said(child);
}

#[test]
fn two_sockets_on_one_queue_pass_frames_on() {
    let program = Installed::once().checked("beside.c");
    let lab = TwoHosts::build(&LinkOptions::default()).unwrap();
    let mut peer = socket(&lab.a);
    let child = start(&lab.b, &program, &["eth0"]);
    let (first, mut second) = (packet(1), packet(2));
    second[13] = 0xb6;
    let answers = exchange(&mut peer, &[first, second], 1);
    said(child);
    assert_eq!(answers, [first]);
}

#[test]
fn a_packet_of_several_frames() {
    let program = Installed::once().checked("long.c");
    let lab = TwoHosts::build(&LinkOptions { mtu: 9000, ..LinkOptions::default() }).unwrap();
    let open = || Interface::open("eth0").unwrap().socket(0).multi_buffer(true).open().unwrap();
    let (mut tx, mut rx) = lab.b.run(open).unwrap().split();
    let mut child = start(&lab.a, &program, &["eth0"]);
    let deadline = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        rx.wait(Duration::from_millis(100)).unwrap();
        for frame in rx.batch(64).filter(|frame| frame.packet_len() == 3600) {
            tx.push(frame).unwrap();
        }
    }
    let _ = child.kill();
    assert_eq!(said(child), "3600 bytes\n");
}

#[test]
fn the_device_is_asked_and_tells() {
    let program = Installed::once().checked("metadata.c");
    let lab = TwoHosts::build(&LinkOptions::default()).unwrap();
    let (mut tx, mut rx) = socket(&lab.b).split();
    let child = start(&lab.a, &program, &["eth0"]);
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut echoed = None;
    while echoed.is_none() && Instant::now() < deadline {
        rx.wait(Duration::from_millis(100)).unwrap();
        for frame in rx.batch(64).filter(|frame| frame.ends_with(b"hi")) {
            echoed = Some(frame.to_vec());
            tx.push(frame).unwrap();
        }
    }
    assert_eq!(said(child), "number 7, sent, received\n");
    let packet = echoed.unwrap();
    assert_eq!(udp_sum(&packet[14..]), 0xffff, "the checksum was filled in: {packet:02x?}");
}

/// The sum of pseudo header and datagram, which is 0xffff with the right checksum.
fn udp_sum(ip: &[u8]) -> u32 {
    let words = ip[12..].as_chunks::<2>().0.iter().map(|word| u32::from(u16::from_be_bytes(*word)));
    let sum = words.sum::<u32>() + 17 + (ip.len() as u32 - 20);
    (sum & 0xffff) + (sum >> 16)
}

#[test]
fn invalid_input_is_refused() {
    let program = Installed::once().checked("misuse.c");
    let lab = TwoHosts::build(&LinkOptions::default()).unwrap();
    said(start(&lab.b, &program, &["eth0"]));
    let interface = lab.b.run(|| kernel::list::interface(lab.b.ifindex("eth0").unwrap()));
    assert_eq!(interface.unwrap().unwrap().programs.len(), 0, "the interface is as it was");
}

//! Frames whose memory their receiver works on: whatever it does to them, later ones come whole.

use std::time::Duration;

use lab::TwoHosts;
use traffic::Template;
use traffic::generator::{Config, Load, Rewrite};
use traffic::replay::{Frame, Recording};
use traffic::stream::{Quick, QuickProtocol, Value};
use xway_tests::generator::resizer::Resizer;
use xway_tests::generator::{config, start, stream, two_hosts};

/// The second host expects this number of a frame's first bytes.
struct Sent {
    label: &'static str,
    load: Load,
    begin: usize,
}

fn sent(net: &TwoHosts) -> Vec<Sent> {
    let same = stream(&net.b);
    let sizes = ["60", "64,128,1514", "60..400"].map(|sizes| sized(net, sizes));
    let [short, mixed, swept] = sizes;
    let streams = |list: &[&Template]| Load::Streams(list.iter().copied().cloned().collect());
    vec![
        Sent { label: "nothing varies", load: streams(&[&same]), begin: HEADERS },
        Sent { label: "a table of sizes", load: streams(&[&mixed]), begin: MACS },
        Sent { label: "a sweep", load: streams(&[&swept]), begin: MACS },
        Sent { label: "a mix of streams", load: streams(&[&short, &mixed]), begin: MACS },
        Sent { label: "a recording", load: recording(&mixed), begin: MACS },
    ]
}

/// UDP to the second host, without stamps.
fn sized(net: &TwoHosts, sizes: &str) -> Template {
    let value = |text: String| Some(Value::from(text.as_str()));
    let quick = Quick {
        name: sizes.to_owned(),
        src_mac: value(net.a.mac("eth0").unwrap().to_string()),
        dst_mac: value(net.b.mac("eth0").unwrap().to_string()),
        src: value("10.0.0.99".to_owned()),
        dst: value("10.0.0.2".to_owned()),
        sport: value("9".to_owned()),
        dport: value("9".to_owned()),
        size: Some(sizes.parse().unwrap()),
        ..Quick::new(QuickProtocol::Udp)
    };
    quick.stream().template(0, 1500).unwrap()
}

/// Frames of a stream's sizes, as fast as they go.
fn recording(template: &Template) -> Load {
    let mut all = Recording { rounds: 5_000, ..Recording::default() };
    for size in &template.sizes {
        let mut bytes = template.bytes[..size.len].to_vec();
        bytes[16..18].copy_from_slice(&(size.len as u16 - 14).to_be_bytes());
        all.frames.push(Frame { at: all.bytes.len(), len: size.len, due: Duration::ZERO });
        all.bytes.extend(bytes);
    }
    Load::Recording(all)
}

/// The bytes that every frame of a load begins with.
fn begin(load: &Load, count: usize) -> Vec<u8> {
    match load {
        Load::Streams(templates) => templates[0].bytes[..count].to_vec(),
        Load::Recording(recording) => recording.bytes[..count].to_vec(),
    }
}

/// Frames that did not come whole, of all that were sent.
fn wrong(net: &TwoHosts, sent: &Sent, rewrite: Rewrite, spoils: bool) -> [u64; 2] {
    let resizer = Resizer::attach(net, &begin(&sent.load, sent.begin), spoils);
    let rate = if matches!(sent.load, Load::Recording(_)) { "max" } else { "200kpps" };
    let config = Config {
        load: sent.load.clone(),
        rewrite,
        profile: rate.parse().unwrap(),
        ..config(stream(&net.b), COUNT)
    };
    let report = start(&net.a, config).unwrap().wait().unwrap();
    [resizer.wait(report.totals.sent), report.totals.sent]
}

#[test]
fn frames_come_whole_though_their_receiver_resizes_moves_and_overwrites_them() {
    let net = two_hosts();
    for sent in sent(&net) {
        let [wrong, all] = wrong(&net, &sent, Rewrite::Auto, true);
        assert!(all > COUNT / 10, "{}: {all} were sent", sent.label);
        assert_eq!(wrong, 0, "{} of {all}", sent.label);
    }
}

/// What the receiver does to their length alone is enough to spoil frames that are not made anew.
#[test]
fn frames_that_are_not_made_anew_keep_the_length_that_they_came_back_with() {
    let net = two_hosts();
    let [wrong, all] = wrong(&net, &sent(&net)[0], Rewrite::Never, false);
    assert!(wrong > all / 10, "{wrong} of {all}");
}

/// Frames of one load; nearly every one is recycled.
const COUNT: u64 = 15_000;
/// Bytes of Ethernet addresses, and of all headers, in whole words.
const MACS: usize = 12;
const HEADERS: usize = 40;

//! Hostile frames at a router that translates addresses: what leaves is byte for byte what Linux
//! sends on after nft has changed it; kernel and engine agree on every frame.
//!
//! The translations of nft are stateless, as those of `forward` are: connections that conntrack
//! would refuse are not part of the comparison.
//! `XWAY_HOSTILE_FRAMES=N XWAY_HOSTILE_SEED=S` set the number of frames and the seed.

use std::collections::BTreeMap;
use std::time::Duration;

use functions::route::{Config, IcmpErrors, OBJECT, PROGRAM_FRAGS};
use kernel::KernelRuntime;
use lab::frame::{Flow, TcpFlags, check};
use lab::{Capture, Router};
use spec::{Spec, Verdict};
use vm::VmRuntime;
use xway_tests::bpf::router::{A, B0, Forward, Port, from_a, side};
use xway_tests::bpf::{Arm, Judge, Judgement};
use xway_tests::hostile::{self, Hostile, OWN_SOURCE, ROUTER, Settings};
use xway_tests::random::Random;
use xway_tests::{nft, stories};

/// What is sent on although Linux drops it or sends something else: faults, and why.
const KNOWN: [(&str, &str); 3] = [
    (
        OWN_SOURCE,
        "forward does not look up sources: the reverse path is not checked, which `rp_filter` does \
         not ask for either",
    ),
    (
        NO_CHECKSUM,
        "a UDP checksum of zero says that there is none (RFC 768), and stays; nft changes it when \
         it sets a port",
    ),
    (
        LATER,
        "a later fragment has no ports: it is translated by its address alone, where nft takes its \
         payload for ports",
    ),
];
/// Frames between two checks of what arrived: this number fits in a socket's buffer.
const BATCH: u64 = 100;
const PATIENCE: Duration = Duration::from_secs(20);

const UDP: u8 = 17;
const NO_CHECKSUM: &str = "no UDP checksum";
const LATER: &str = "a later fragment";
/// A translation in the language of `forward`.
const TRANSLATIONS: [&str; 8] = [
    "10.1.0.2 udp 53 -> 10.0.2.2:5353",
    "10.1.0.2 tcp 80 -> 10.0.2.2:8080",
    "10.1.0.2 udp 7 -> 10.0.2.2",
    "10.1.0.3 -> 10.0.2.2",
    "10.1.0.3 tcp 7 -> 10.0.2.2:9",
    "fd01::2 udp 53 -> [fd00:0:0:2::2]:5353",
    "fd01::2 tcp 80 -> [fd00:0:0:2::2]:8080",
    "fd01::3 -> fd00:0:0:2::2",
];
/// The translations for nft: a destination is looked up first, then a source; ports before
/// addresses.
const RULES: &str = "\
table inet translations {
  chain translate {
    type filter hook prerouting priority raw;
    ip daddr 10.1.0.2 udp dport 53 ip daddr set 10.0.2.2 udp dport set 5353 accept
    ip daddr 10.1.0.2 tcp dport 80 ip daddr set 10.0.2.2 tcp dport set 8080 accept
    ip daddr 10.1.0.2 udp dport 7 ip daddr set 10.0.2.2 accept
    ip daddr 10.1.0.3 tcp dport 7 ip daddr set 10.0.2.2 tcp dport set 9 accept
    ip daddr 10.1.0.3 ip daddr set 10.0.2.2 accept
    ip6 daddr fd01::2 udp dport 53 ip6 daddr set fd00:0:0:2::2 udp dport set 5353 accept
    ip6 daddr fd01::2 tcp dport 80 ip6 daddr set fd00:0:0:2::2 tcp dport set 8080 accept
    ip6 daddr fd01::3 ip6 daddr set fd00:0:0:2::2 accept
    ip saddr 10.0.2.2 udp sport 5353 ip saddr set 10.1.0.2 udp sport set 53 accept
    ip saddr 10.0.2.2 tcp sport 8080 ip saddr set 10.1.0.2 tcp sport set 80 accept
    ip saddr 10.0.2.2 udp sport 7 ip saddr set 10.1.0.2 accept
    ip saddr 10.0.2.2 tcp sport 9 ip saddr set 10.1.0.3 tcp sport set 7 accept
    ip saddr 10.0.2.2 ip saddr set 10.1.0.3 accept
    ip6 saddr fd00:0:0:2::2 udp sport 5353 ip6 saddr set fd01::2 udp sport set 53 accept
    ip6 saddr fd00:0:0:2::2 tcp sport 8080 ip6 saddr set fd01::2 tcp sport set 80 accept
    ip6 saddr fd00:0:0:2::2 ip6 saddr set fd01::3 accept
  }
}
";

/// A router with nft and without any program of ours.
struct Linux {
    _net: Router,
    wire: Capture,
    out: Capture,
    receiver: [u8; 6],
}

impl Linux {
    fn new() -> Self {
        let net = Router::build(&hostile::in_order()).unwrap();
        nft::run(&net.b, &["-f", "-"], RULES).unwrap();
        for name in ["all", "eth0"] {
            net.b.set_sysctl(&format!("ipv4/conf/{name}/rp_filter"), "0").unwrap();
        }
        let (wire, out) =
            (Capture::open(&net.a, "eth0").unwrap(), Capture::open(&net.c, "eth0").unwrap());
        let receiver = net.c.mac("eth0").unwrap().0;
        let linux = Self { _net: net, wire, out, receiver };
        for to in ["10.0.2.2", "fd00:0:0:2::2"] {
            linux.last(to);
        }
        linux
    }

    /// Sends a frame that is routed, and gives those that arrived before it, by their numbers.
    fn last(&self, to: &str) -> BTreeMap<u16, Vec<u8>> {
        const LAST: &[u8] = b"the last of these";
        self.wire.send(&from_a(to, 9).udp(LAST).unwrap()).unwrap();
        let mut seen = BTreeMap::new();
        loop {
            let frame = self.out.next(PATIENCE, |_| true).unwrap();
            if frame.windows(LAST.len()).any(|part| part == LAST) {
                return seen;
            }
            let number = hostile::number(&frame).filter(|_| frame.starts_with(&self.receiver));
            seen.extend(number.map(|number| (number, frame)));
        }
    }

    /// What it sends on of these.
    fn routes(&self, frames: &[(u16, Hostile)]) -> BTreeMap<u16, Vec<u8>> {
        for (_, frame) in frames {
            // Longer ones than the link takes, and shorter ones than a header, are not sent.
            let _refused = self.wire.send(&frame.bytes);
        }
        self.last("10.0.2.2")
    }
}

/// Requests to addresses that are translated, to one that is not, and replies.
fn frame(random: &mut Random, number: u16) -> Hostile {
    let is_ipv6 = random.below(2) == 0;
    let (from, to) = if is_ipv6 {
        (
            ["fd00:0:0:1::2", "fd00:0:0:1::2", "fd00:0:0:2::2"],
            ["fd01::2", "fd01::3", "fd00:0:0:2::2"],
        )
    } else {
        (["10.0.1.2", "10.0.1.2", "10.0.2.2"], ["10.1.0.2", "10.1.0.3", "10.0.2.2"])
    };
    let port = |random: &mut Random| *random.one(&[7_u16, 9, 53, 80, 5353, 8080, 4000]);
    let from = side(A, random.text(&from), port(random));
    let flow = Flow::new(from, side(B0, random.text(&to), port(random)));
    let payload = vec![7; random.below(60)];
    let flags = TcpFlags { ack: true, ..TcpFlags::default() };
    let base = match random.below(5) {
        0 => flow.ping(1, 2, &payload),
        1 | 2 => flow.tcp(flags, 7, &payload),
        _ => flow.udp(&payload),
    };
    let mut base = base.unwrap();
    if !is_ipv6 && random.below(8) == 0 {
        base[20..22].copy_from_slice(&[0x20, 1]);
    }
    if !is_ipv6 && base[23] == UDP && random.below(8) == 0 {
        base[40..42].fill(0);
        let mut frame = hostile::spoiled(random, &ROUTER, number, base);
        frame.faults.push(NO_CHECKSUM);
        return frame;
    }
    let mut frame = hostile::spoiled(random, &ROUTER, number, base);
    if !is_ipv6 && frame.bytes.get(20..22).is_some_and(is_later) {
        frame.faults.push(LATER);
    }
    frame
}

/// The field of an IPv4 header has an offset.
fn is_later(field: &[u8]) -> bool {
    field[0] & 0x1f != 0 || field[1] != 0
}

/// The IP packet without padding.
fn packet(frame: &[u8]) -> &[u8] {
    let half = |at: usize| usize::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    let length = if frame[12..14] == [8, 0] { half(16) } else { 40 + half(18) };
    &frame[14..frame.len().min(14 + length)]
}

/// How what leaves is not what Linux sends; `None` where both may be right.
fn finding(frame: &Hostile, ours: &Judgement, linux: Option<&Vec<u8>>) -> Option<String> {
    if ours.verdict != Verdict::Redirect {
        return None;
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let what = match linux {
        None => "is sent on by forward alone".to_owned(),
        Some(other) if packet(other) != packet(&ours.packet) => {
            format!("is sent on as {}, by Linux as {}", hex(&ours.packet), hex(other))
        }
        Some(_) => return None,
    };
    Some(format!("{:?} {what}: {}", frame.faults, hex(&frame.bytes)))
}

#[test]
fn what_is_translated_leaves_as_from_linux() {
    let Settings { frames: total, seed } = Settings::from_environment(3000, 0x5eed_0029);
    let linux = Linux::new();
    // What is sent on is compared; errors about the rest are those of `route::nat`.
    let icmp_errors = IcmpErrors { send: false, ..IcmpErrors::default() };
    let translations = TRANSLATIONS.iter().map(|text| text.parse().unwrap()).collect();
    let config = Config { translations, icmp_errors, ..Config::default() };
    let mut kernel = Forward::<KernelRuntime>::with(&config);
    let mut engine = Forward::<VmRuntime>::with(&config);
    let mut random = Random::new(seed);
    let (mut findings, mut known) = (Vec::new(), BTreeMap::new());
    let (mut done, mut translated) = (0, 0_u64);
    while done < total {
        let numbers = 1..=BATCH.min(total - done) as u16;
        let batch: Vec<_> = numbers.map(|number| (number, frame(&mut random, number))).collect();
        let routed = linux.routes(&batch);
        for (number, frame) in &batch {
            let ours = kernel.judge(Port::Eth0, &frame.bytes);
            assert_eq!(ours, engine.judge(Port::Eth0, &frame.bytes), "seed {seed}: {frame:?}");
            if ours.verdict == Verdict::Redirect && check(&frame.bytes).is_err() {
                let message = "a wrong checksum was made right";
                assert!(check(&ours.packet).is_err(), "seed {seed}: {message}: {frame:?}");
            }
            if let Some(found) = finding(frame, &ours, routed.get(number)) {
                match KNOWN.iter().find(|(fault, _)| frame.faults.contains(fault)) {
                    Some((fault, _)) => *known.entry(*fault).or_insert(0) += 1,
                    None => findings.push(found),
                }
            }
            let addresses = |frame: &[u8]| frame.get(26..34).map(<[u8]>::to_vec);
            let is_changed = addresses(&ours.packet) != addresses(&frame.bytes);
            translated += u64::from(ours.verdict == Verdict::Redirect && is_changed);
        }
        done += batch.len() as u64;
    }
    assert!(
        findings.is_empty(),
        "seed {seed}: {}\n{:#?}",
        findings.len(),
        &findings[..findings.len().min(8)]
    );
    assert_eq!(known.len(), KNOWN.len(), "met of what is known: {known:?}");
    assert!(translated > total / 20, "{translated} of {total}: many frames are not so hostile");
    println!("{total} frames from seed {seed}: {translated} translated, by nft as well");
}

stories! { a_packet_longer_than_its_frame_is_not_routed }

/// The program for frames of several buffers, which sees the first one alone.
fn a_packet_longer_than_its_frame_is_not_routed<R: Arm>() {
    let mut spec = Spec::parse("forward", OBJECT).unwrap();
    Config::default().apply(&mut spec).unwrap();
    let mut judge = Judge::<R>::load_only(&spec, PROGRAM_FRAGS);
    for (to, field) in [("10.0.2.2", 17), ("fd00:0:0:2::2", 19)] {
        let mut frame = from_a(to, 7).udp(b"x").unwrap();
        assert_ne!(judge.judge(&frame, 1).reason, "truncated", "{to}");
        frame[field] += 40;
        assert_eq!(judge.judge(&frame, 1).reason, "truncated", "{to}");
    }
}

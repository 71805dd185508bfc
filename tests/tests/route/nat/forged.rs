//! Errors whose quote has no translation: forged, or about other packets. They reach nothing that
//! they would not reach without translations.

use lab::frame::{Flow, check};
use spec::Verdict;
use xway_tests::bpf::router::{A, B0, B1, C, Forward, Port, Routed, side};
use xway_tests::stories;

use super::{FAMILIES, TRANSLATIONS};
use crate::quote::message;

stories! {
    errors_without_a_translated_quote_are_left
}

/// The ICMP error does not change, but for the TTL and the MAC addresses of a frame that is sent.
pub fn is_left<R: Routed>(forward: &mut Forward<R>, name: &str, port: Port, packet: &[u8]) {
    let judgement = forward.judge(port, packet);
    assert!(matches!(judgement.verdict, Verdict::Redirect | Verdict::Pass), "{name}");
    let addresses = if packet[12] == 8 { 26 } else { 22 };
    assert_eq!(judgement.packet[addresses..], packet[addresses..], "{name}");
}

/// Translations of services alone.
pub fn services<R: Routed>() -> Forward<R> {
    Forward::new(&[TRANSLATIONS[0], TRANSLATIONS[1], TRANSLATIONS[4], TRANSLATIONS[5]])
}

/// An error of the type "time exceeded".
pub fn exceeded(flow: &Flow, quote: &[u8]) -> Vec<u8> {
    let kind = if flow.source.ip.is_ipv6() { 3 } else { 11 };
    message(flow, kind, 0, 0, quote)
}

fn errors_without_a_translated_quote_are_left<R: Routed>() {
    let mut forward = services::<R>();
    for family in FAMILIES {
        let to = |client| Flow::new(side(C, family.hop_c, 0), side(B1, client, 0));
        let to_vip = |vip| Flow::new(side(A, family.hop_a, 0), side(B0, vip, 0));
        let [_, received, _, replied] = family.flows(family.service, 1234, 5678);
        let there = received.udp(b"text").unwrap()[14..].to_vec();
        let back = replied.udp(b"text").unwrap()[14..].to_vec();
        let [_, other, _, answer] = family.flows(family.service, 53, 5679);
        let (other, answer) = (other.udp(b"text").unwrap(), answer.udp(b"text").unwrap());
        let edited = |at: usize, value: u8| {
            let mut quote = there.clone();
            quote[at] = value;
            quote
        };
        let stranger = if family.is_ipv6() { "fd00:0:0:1::77" } else { "10.0.1.77" };
        let (protocol, version) = if family.is_ipv6() { (6, 0x40) } else { (9, 0x65) };
        let (at, client) = (Port::Eth1, to(family.client));
        let mut cases = vec![
            ("another receiver", at, exceeded(&to(stranger), &there)),
            ("another port", at, exceeded(&client, &other[14..])),
            ("another protocol", at, exceeded(&client, &edited(protocol, 132))),
            ("another version", at, exceeded(&client, &edited(0, version))),
            ("no quote", at, exceeded(&client, b"")),
            ("noise", at, exceeded(&client, &[0xff; 80])),
            ("another port of the service", Port::Eth0, {
                exceeded(&to_vip(family.service), &answer[14..])
            }),
            (
                "the service as the sender alone",
                Port::Eth0,
                exceeded(&to_vip(family.server), &back),
            ),
            ("another address of the service", Port::Eth0, exceeded(&to_vip(family.whole), &back)),
        ];
        let kinds: &[u8] = if family.is_ipv6() { &[5, 100, 127, 128, 137] } else { &[5, 6, 0, 8] };
        cases.extend(kinds.iter().map(|kind| ("kind", at, message(&client, *kind, 0, 0, &there))));
        if !family.is_ipv6() {
            cases.push(("options in the quote", at, exceeded(&client, &edited(0, 0x46))));
        }
        for (name, port, packet) in cases {
            is_left(&mut forward, &format!("{name}, {}", family.client), port, &packet);
        }
        let judgement = forward.judge(at, &exceeded(&client, &there));
        assert_ne!(
            judgement.packet[26..],
            exceeded(&client, &there)[26..],
            "else it is translated"
        );
    }
    // A checksum that is wrong remains wrong: the receiver drops the error.
    let [_, received, ..] = FAMILIES[0].flows(FAMILIES[0].service, 1234, 5678);
    let hop = Flow::new(side(C, "10.0.2.9", 0), side(B1, "10.0.1.2", 0));
    let mut wrong = exceeded(&hop, &received.udp(b"text").unwrap()[14..]);
    wrong[36] ^= 1;
    assert!(check(&forward.judge(Port::Eth1, &wrong).packet).is_err());
}

//! Quotes that are truncated or of fragments.

use lab::frame::{Flow, check};
use packet::checksum;
use spec::Verdict;
use xway_tests::bpf::router::{B1, C, Forward, Port, Routed, side};
use xway_tests::stories;

use super::forged::{exceeded, is_left, services};
use super::{FAMILIES, SYN, translating};
use crate::quote::repair;

stories! {
    truncated_quotes_are_not_read
    fragments_are_translated_by_address_alone
}

fn truncated_quotes_are_not_read<R: Routed>() {
    let mut forward = services::<R>();
    for family in FAMILIES {
        let client = Flow::new(side(C, family.hop_c, 0), side(B1, family.client, 0));
        let [_, received, ..] = family.flows(family.service, 80, 8080);
        let quote = received.tcp(SYN, 7, b"text").unwrap()[14..].to_vec();
        let least = if family.is_ipv6() { 48 } else { 28 };
        for length in 0..=quote.len() {
            let packet = exceeded(&client, &quote[..length]);
            let name = format!("{length} bytes to {}", family.client);
            if length < least {
                is_left(&mut forward, &name, Port::Eth1, &packet);
                // The rest is after the IP packet.
                let padded = [&packet, &quote[length..]].concat();
                is_left(&mut forward, &format!("{name}, padded"), Port::Eth1, &padded);
            } else {
                let judgement = forward.judge(Port::Eth1, &packet);
                assert_eq!(check(&judgement.packet), Ok(()), "{name}");
                assert_ne!(judgement.packet[54..], packet[54..], "{name}");
            }
        }
    }
}

fn fragments_are_translated_by_address_alone<R: Routed>() {
    let config = translating(true, true);
    let (mut all, mut services) = (Forward::<R>::with(&config), services::<R>());
    for family in FAMILIES {
        let client = Flow::new(side(C, family.hop_c, 0), side(B1, family.client, 0));
        let [_, received, ..] = family.flows(family.service, 1234, 5678);
        let [_, other, ..] = family.flows(family.whole, 99, 99);
        for (offset, is_service) in [(0x2000, true), (1, true), (0x2000, false), (1, false)] {
            let flow = if is_service { &received } else { &other };
            let quote = fragment(flow.udp(b"some text").unwrap()[14..].to_vec(), offset);
            let packet = exceeded(&client, &quote);
            let name = format!("{offset:#x}, {is_service}, {}", family.client);
            is_left(&mut services, &name, Port::Eth1, &packet);
            // A later fragment has no ports: the whole address.
            let judgement = all.judge(Port::Eth1, &packet);
            let is_translated = !is_service || offset == 1;
            assert_eq!(judgement.packet[54..] != packet[54..], is_translated, "{name}");
            assert_eq!(check(&judgement.packet), Ok(()), "{name}");
        }
    }
    // Errors in fragments are the stack's.
    let hop = Flow::new(side(C, "10.0.2.9", 0), side(B1, "10.0.1.2", 0));
    let [_, received, ..] = FAMILIES[0].flows(FAMILIES[0].service, 1234, 5678);
    let quote = received.udp(b"some text").unwrap()[14..].to_vec();
    let mut packet = exceeded(&hop, &quote);
    packet[20] = 0x20;
    repair(&mut packet);
    let judgement = services.judge(Port::Eth1, &packet);
    assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Pass, "fragment"));
    assert_eq!(judgement.packet, packet);
}

/// The packet as a fragment: with "more fragments", or at an offset, in the form of IPv4.
fn fragment(mut packet: Vec<u8>, offset: u16) -> Vec<u8> {
    if packet[0] >> 4 == 4 {
        packet[6..8].copy_from_slice(&offset.to_be_bytes());
        packet[10..12].fill(0);
        let check = !checksum::fold(checksum::sum(&packet[..20]));
        packet[10..12].copy_from_slice(&check.to_be_bytes());
        return packet;
    }
    let offset = if offset == 0x2000 { 1_u16 } else { offset << 3 };
    let header = [packet[6], 0, (offset >> 8) as u8, offset as u8, 0, 0, 0, 7];
    packet[6] = 44;
    packet[5] += 8;
    packet.splice(40..40, header);
    packet
}

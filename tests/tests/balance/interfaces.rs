//! What a balancer knows of its interfaces: which frames are sent to it, and which VLAN tags frames
//! to backends have.

use functions::balancer::{self, Ingress, OWN, PROGRAM_FRAGS, TX, VLANS};
use functions::route::{Port, Tags};
use lab::frame::check;
use packet::{EtherType, VlanTag};
use spec::{Expect, Input, Map as _, Spec, Verdict};
use vm::VmRuntime;
use xway_tests::bpf::Judge;
use xway_tests::bpf::balancer::{Balanced, Balancer, CLIENTS, with_mtu};
use xway_tests::stories;

use super::delivery::{client, config, kinds};

stories! {
    frames_to_other_hosts_go_to_the_stack
    an_address_that_changes_is_learned
    a_route_by_a_vlan_device_has_its_tags
    tags_that_a_frame_came_with_are_removed
    errors_are_sent_to_where_the_quoted_packet_came_from
    no_error_is_sent_to_what_is_not_one_host
}

const SERVICE4: &str = "192.0.2.1";
const SERVICE6: &str = "2001:db8::1";
const BACKEND4: &str = "10.0.2.10";
const BACKEND6: &str = "fd00:0:0:2::10";
/// As `client()` writes it: the address of the interface towards the clients.
const OWN_MAC: [u8; 6] = [2, 0x78, 0x77, 0, 1, 1];

fn own<R: Balanced>(balancer: &Balancer<R>, macs: &[[u8; 6]]) {
    let ingress = Ingress { ifindex: balancer.ports[CLIENTS], macs: macs.to_vec() };
    balancer::set_own(balancer.map(OWN), &[ingress]).unwrap();
}

fn frames_to_other_hosts_go_to_the_stack<R: Balanced>() {
    let mut balancer = Balancer::<R>::of(&config(BACKEND4, "'ipip'"));
    let device = [2, 0, 0x5e, 0, 1, 7];
    own(&balancer, &[OWN_MAC, device]);
    for to in [SERVICE4, SERVICE6] {
        for (name, mut packet) in kinds(&client(to, 1000)) {
            for (mac, verdict, reason) in [
                (OWN_MAC, Verdict::Redirect, "balanced"),
                (device, Verdict::Redirect, "balanced"),
                ([2, 0x78, 0x77, 0, 1, 9], Verdict::Pass, "other-host"),
                ([0; 6], Verdict::Pass, "other-host"),
                ([0xff; 6], Verdict::Pass, "no-service"),
                ([1, 0, 0x5e, 0, 1, 7], Verdict::Pass, "no-service"),
                ([0x33, 0x33, 0, 0, 0, 1], Verdict::Pass, "no-service"),
            ] {
                packet[..6].copy_from_slice(&mac);
                let judgement = balancer.judge(&packet);
                let found = (judgement.verdict, &*judgement.reason);
                assert_eq!(found, (verdict, reason), "{name} to {to}, {mac:x?}");
                assert!(verdict != Verdict::Pass || judgement.packet == packet);
            }
        }
    }
    // More addresses than there is space for, and none.
    let frame = client(SERVICE4, 7).udp(b"x").unwrap();
    let many: Vec<_> = (0..9).map(|n| [2, 0, 0, 0, 0, n]).collect();
    for macs in [&many[..], &[]] {
        own(&balancer, macs);
        assert_eq!(balancer.judge(&frame).reason, "balanced");
    }
}

fn an_address_that_changes_is_learned<R: Balanced>() {
    for to in [SERVICE4, SERVICE6] {
        let mut balancer = Balancer::<R>::of(&config(BACKEND4, "'ipip'"));
        let before = [2, 0, 0, 0, 0, 9];
        own(&balancer, &[before]);
        let mut packet = client(to, 7).udp(b"x").unwrap();
        assert_eq!(balancer.judge(&packet).reason, "balanced", "{to}");
        packet[..6].copy_from_slice(&before);
        assert_eq!(balancer.judge(&packet).reason, "other-host", "{to}");
    }
}

/// Both interfaces are one for the kernel's routes; frames of the second have tags on the first.
fn behind<R: Balanced>(balancer: &Balancer<R>, tags: Tags) {
    let [device, vlan] = balancer.ports;
    let port = Port { ifindex: vlan, mac: None, device, tags };
    balancer::set_vlans(balancer.map(VLANS), &[port]).unwrap();
}

fn tag(protocol: EtherType, id: u16) -> VlanTag {
    VlanTag::new(protocol, id).unwrap()
}

/// Services of one family.
fn only6(delivery: &str) -> String {
    let text = config(BACKEND6, delivery);
    let parts = text.split("[[service]]\n");
    parts.filter(|part| !part.contains(SERVICE4)).collect::<Vec<_>>().join("[[service]]\n")
}

fn a_route_by_a_vlan_device_has_its_tags<R: Balanced>() {
    let (inner, outer) = (tag(EtherType::VLAN, 5), tag(EtherType::SERVICE_VLAN, 9));
    for delivery in ["'ipip'", "{ gue = {} }", "{ geneve = {} }", "'mac'"] {
        for (tags, words) in
            [(Tags::single(inner), vec![inner]), (Tags::double(outer, inner), vec![outer, inner])]
        {
            let text = only6(delivery);
            let [mut plain, mut tagged] = [(); 2].map(|()| Balancer::<R>::of(&text));
            behind(&tagged, tags);
            for (name, packet) in kinds(&client(SERVICE6, 1000)) {
                let name = format!("{name} by {delivery}, {words:?}");
                let expected = plain.judge(&packet);
                let sent = tagged.judge(&packet);
                assert_eq!(expected.verdict, Verdict::Redirect, "{name}");
                assert_eq!((sent.verdict, &*sent.reason), (Verdict::Tx, "balanced"), "{name}");
                let bytes: Vec<u8> = words.iter().flat_map(|one| one.to_bytes()).collect();
                let end = 12 + bytes.len();
                assert_eq!(sent.packet[12..end], bytes, "{name}");
                assert_eq!(sent.packet[..12], expected.packet[..12], "{name}");
                assert_eq!(sent.packet[end..], expected.packet[12..], "{name}");
            }
        }
    }
    let mut balancer = Balancer::<R>::of(&only6("'ipip'"));
    behind(&balancer, Tags::single(inner));
    balancer.map(TX).delete(&balancer.ports[0].to_le_bytes()).unwrap();
    let packet = client(SERVICE6, 7).udp(b"x").unwrap();
    let judgement = balancer.judge(&packet);
    assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Drop, "no-egress"));
}

fn tags_that_a_frame_came_with_are_removed<R: Balanced>() {
    for delivery in ["'ipip'", "'mac'"] {
        let mut balancer = Balancer::<R>::of(&only6(delivery));
        let packet = client(SERVICE6, 1000).udp(b"x").unwrap();
        let plain = balancer.judge(&packet).packet;
        let mut tagged = packet.clone();
        for id in [5, 9] {
            tagged.splice(12..12, tag(EtherType::VLAN, id).to_bytes());
            assert_eq!(balancer.judge(&tagged).packet, plain, "{delivery}");
        }
    }
}

fn errors_are_sent_to_where_the_quoted_packet_came_from<R: Balanced>() {
    let mut balancer = Balancer::<R>::of(&config(BACKEND4, "'ipip'"));
    for (to, kind, other) in [(SERVICE4, 3, "10.0.1.1"), (SERVICE6, 1, "fd00:0:0:1::1")] {
        let quoted = client(to, 9).reversed().udp(b"answer").unwrap();
        let header = if to == SERVICE4 { 20 } else { 40 };
        for (dest, reason) in [(to, "balanced"), (other, "no-service")] {
            let mut error = client(dest, 9).ping(0, 0, &quoted[14..]).unwrap();
            error[14 + header] = kind;
            assert_eq!(balancer.judge(&error).reason, reason, "to {dest}");
        }
    }
}

fn no_error_is_sent_to_what_is_not_one_host<R: Balanced>() {
    let mut balancer = Balancer::<R>::of(&config(BACKEND4, "'ipip'"));
    for (to, from) in [
        (SERVICE4, "224.0.0.9"),
        (SERVICE4, "255.255.255.255"),
        (SERVICE4, "0.0.0.0"),
        (SERVICE4, "127.0.0.1"),
        (SERVICE6, "ff02::1"),
        (SERVICE6, "::"),
        (SERVICE6, "::1"),
    ] {
        let mut flow = client(to, 9);
        flow.source.ip = from.parse().unwrap();
        let mut packet = flow.udp(&[7; 1460]).unwrap();
        if to == SERVICE4 {
            packet[20] = 0x40;
        }
        let judgement = balancer.judge(&packet);
        assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Drop, "too-big"), "{from}");
    }
}

/// Above 16 KiB, only frames of several buffers have a sum.
#[test]
fn sums_of_large_packets_are_right() {
    let text = config(BACKEND6, "{ geneve = {} }");
    let config: balancer::Config = toml::from_str(&text).unwrap();
    let mut spec = Spec::parse("balancer", config.object()).unwrap();
    config.apply(&mut spec).unwrap();
    let mut judge: Judge<VmRuntime> = with_mtu(&spec, PROGRAM_FRAGS, 65_535);
    let maps = balancer::Maps::find(|name| Ok::<_, std::convert::Infallible>(judge.map(name)));
    balancer::update(&config, &maps.unwrap()).unwrap();
    for port in [2_u32, 3] {
        judge.map(TX).update(&port.to_le_bytes(), &port.to_le_bytes(), Expect::Any).unwrap();
    }
    for length in [16_340, 16_356, 16_357, 16_384, 16_385, 17_000, 32_768, 40_001, 65_451] {
        let payload: Vec<u8> = (0..length).map(|n| (n * 37 + n / 256) as u8).collect();
        let mut packet = client(SERVICE4, 9).udp(&payload).unwrap();
        // Without a checksum, that of the tunnel is of all bytes.
        packet[40..42].fill(0);
        let input = Input { packet, ingress_ifindex: 2, ..Input::default() };
        let judgement = judge.judge_input(&input);
        assert_eq!(judgement.reason, "balanced", "{length} bytes");
        assert_eq!(check(&judgement.packet), Ok(()), "{length} bytes");
    }
}

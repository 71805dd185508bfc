//! redirect on the kernel and on the engine: packet in, to a socket or to the stack.

use spec::{Input, Runtime, Verdict};
use xsk::steer::Rule;
use xsk::steer::redirect::{Form, GROUPS, RULES, Work, abi};
use xway_tests::bpf::Arm;
use xway_tests::bpf::packet::*;
use xway_tests::random::Random;
use xway_tests::steer::model;
use xway_tests::steer::redirect::{QUEUES, Redirect, rules};
use xway_tests::stories;

stories! {
    all_of_a_queue_with_a_socket
    parts_of_ipv4
    parts_of_ipv6
    fragments_and_what_is_broken
    tags_and_ethertypes
    ports_at_the_ends_of_ranges
    a_packet_cut_at_any_length
    random_packets_go_as_by_the_model
    groups_are_asked_in_order
    rules_without_a_socket_match_nothing
    as_many_rules_as_fit
    jumbo_frames
    metadata_precedes_packets_to_sockets
}

/// One rule, one packet, and whether it goes to the socket.
fn table<R: Arm>(cases: &[(&str, &str, Vec<u8>, bool)]) {
    let mut redirect = Redirect::<R>::with_rules(&[]);
    for (name, rule, packet, expected) in cases {
        let rules = rules(&[rule]);
        redirect.write(0, &rules);
        assert_eq!(redirect.takes(packet), *expected, "{name}: `{rule}`");
        assert_eq!(model::matches(packet, &rules), *expected, "{name}: the model");
    }
}

/// From 10.1.0.1, port 12345.
fn udp4(to: &'static str, port: u16) -> Vec<u8> {
    eth(&[], IPV4, &V4::new(to, UDP).wrap(&udp(port)))
}

fn all_of_a_queue_with_a_socket<R: Arm>() {
    let mut redirect = Redirect::<R>::load(Form::Plain, Work::None);
    let packets =
        [udp4("10.1.0.2", 1234), eth(&[], ARP, &[0; 28]), eth(&[VLAN; 9], 3, &[]), vec![7; 14]];
    for packet in &packets {
        assert!(!redirect.takes(packet), "there is no socket");
    }
    redirect.put(1);
    assert!(!redirect.takes(&packets[0]), "that of another queue is none");
    redirect.put(0);
    for packet in &packets {
        assert!(redirect.takes(packet));
    }
    redirect.take_out(0);
    assert!(!redirect.takes(&packets[0]), "taken out again");
}

fn parts_of_ipv4<R: Arm>() {
    let flow = || udp4("10.1.0.2", 1234);
    let icmp = || eth(&[], IPV4, &V4::new("10.3.0.1", ICMP).wrap(&[8; 8]));
    let all = "10.1.0.2 udp 1234 from 10.1.0.1 12345";
    table::<R>(&[
        ("anything", "any", flow(), true),
        ("address", "10.1.0.2", flow(), true),
        ("other address", "10.1.0.3", flow(), false),
        ("prefix", "10.0.0.0/8", flow(), true),
        ("other prefix", "11.0.0.0/8", flow(), false),
        ("all addresses", "0.0.0.0/0", flow(), true),
        ("all IPv6 addresses", "::/0", flow(), false),
        ("source", "from 10.1.0.1", flow(), true),
        ("destination is no source", "from 10.1.0.2", flow(), false),
        ("source prefix", "from 10.1.0.0/31", flow(), true),
        ("both", "10.1.0.2 from 10.1.0.1", flow(), true),
        ("both, swapped", "10.1.0.1 from 10.1.0.2", flow(), false),
        ("protocol", "any udp", flow(), true),
        ("other protocol", "any tcp", flow(), false),
        ("without ports", "any icmp", icmp(), true),
        ("to a prefix without ports", "10.3.0.0/24 icmp", icmp(), true),
        ("port", "any any 1234", flow(), true),
        ("port of another protocol", "any tcp 1234", flow(), false),
        ("port in the other order", "any udp 53764", flow(), false),
        ("source port", "any udp from any 12345", flow(), true),
        ("destination port is no source port", "any udp from any 1234", flow(), false),
        ("no port", "any any 0..65535", icmp(), false),
        ("all of a flow", all, flow(), true),
        ("other port", all, udp4("10.1.0.2", 1235), false),
        ("other destination", all, udp4("10.1.0.3", 1234), false),
        ("other TCP", all, eth(&[], IPV4, &V4::new("10.1.0.2", TCP).wrap(&tcp(1234))), false),
        (
            "options",
            all,
            eth(&[], IPV4, &V4 { options: 40, ..V4::new("10.1.0.2", UDP) }.wrap(&udp(1234))),
            true,
        ),
    ]);
}

fn parts_of_ipv6<R: Arm>() {
    let to = "2001:db8::2";
    let ip = |next, payload: &[u8]| eth(&[], IPV6, &v6(to, next, payload));
    let behind = |count| ip(DESTINATION, &extensions(count, UDP, &udp(1234)));
    let mixed = extension(AH, DESTINATION, 4, &extension(DESTINATION, UDP, 1, &udp(1234)));
    let rule = "2001:db8::2 udp 1234 from 2001:db8::1 12345";
    table::<R>(&[
        ("flow", rule, ip(UDP, &udp(1234)), true),
        ("other port", rule, ip(UDP, &udp(1235)), false),
        ("prefix", "2001:db8::/32", ip(NOTHING, &[]), true),
        ("prefix within a word", "2001:db8:8000::/33", ip(NOTHING, &[]), false),
        ("last bit", "2001:db8::3", ip(NOTHING, &[]), false),
        ("source", "from 2001:db8::/127", ip(NOTHING, &[]), true),
        ("IPv4 in its first bytes", "32.1.13.184", ip(NOTHING, &[]), false),
        ("any family", "any udp 1234", ip(UDP, &udp(1234)), true),
        ("one extension", rule, behind(1), true),
        ("eight", rule, behind(8), true),
        ("nine", rule, behind(9), false),
        ("nine, by address", "2001:db8::2", behind(9), false),
        ("nine, by EtherType", "ethertype 0x86dd", behind(9), true),
        ("an extension is no protocol", "any 60", behind(1), false),
        ("hop by hop, AH", rule, ip(HOP_BY_HOP, &extension(0, AH, 0, &mixed)), true),
        ("longest", rule, ip(ROUTING, &extension(ROUTING, UDP, 255, &udp(1234))), true),
        ("no next header", "any 59", ip(NOTHING, &udp(1234)), true),
        ("extension cut short", "2001:db8::2", ip(DESTINATION, &[UDP, 0, 0, 0]), false),
    ]);
}

fn fragments_and_what_is_broken<R: Arm>() {
    let v4 = V4::new("10.1.0.2", UDP);
    let wrap = |v4: V4| eth(&[], IPV4, &v4.wrap(&udp(1234)));
    let v6 =
        |offset| eth(&[], IPV6, &v6("2001:db8::2", FRAGMENT, &fragment6(UDP, offset, &udp(1234))));
    let later = || wrap(V4 { fragment: 0x2001, ..v4.clone() });
    let port = "any udp 1234";
    table::<R>(&[
        ("first fragment", port, wrap(V4 { fragment: 0x2000, ..v4.clone() }), true),
        ("don't fragment", port, wrap(V4 { fragment: 0x4000, ..v4.clone() }), true),
        ("later, by port", port, later(), false),
        ("later, by any port", "any udp 0..65535", later(), false),
        ("later, by protocol", "any udp", later(), true),
        ("later, by address", "10.1.0.2 from 10.1.0.1", later(), true),
        ("last", port, wrap(V4 { fragment: 1, ..v4.clone() }), false),
        ("atomic fragment", port, v6(0), true),
        ("first fragment", port, v6(1), true),
        ("later, by port", port, v6(9), false),
        ("later, by protocol", "any udp", v6(9), true),
        ("version 5", "10.1.0.2", wrap(V4 { version: 5, ..v4.clone() }), false),
        ("version 5", "ethertype 0x0800", wrap(V4 { version: 5, ..v4.clone() }), true),
        ("header of 16 bytes", "any udp", wrap(V4 { ihl: Some(4), ..v4.clone() }), false),
        ("total length beyond", "any udp", wrap(V4 { excess: 1, ..v4.clone() }), false),
        ("total length without ports", port, wrap(V4 { excess: -23, ..v4.clone() }), false),
        ("total length without ports", "any udp", wrap(V4 { excess: -23, ..v4.clone() }), true),
        ("total length with ports", port, wrap(V4 { excess: -22, ..v4.clone() }), true),
        ("padding is no port", "any any 0", eth(&[], IPV4, &v4.wrap(&[])), false),
        ("padding is no port", "any udp", eth(&[], IPV4, &v4.wrap(&[])), true),
    ]);
}

fn tags_and_ethertypes<R: Arm>() {
    let ip = || V4::new("10.1.0.2", UDP).wrap(&udp(1234));
    let rule = "10.1.0.2 udp 1234";
    let arp = |tags: &[u16]| eth(tags, ARP, &[0; 28]);
    table::<R>(&[
        ("one tag", rule, eth(&[VLAN], IPV4, &ip()), true),
        ("two tags", rule, eth(&[QINQ, VLAN], IPV4, &ip()), true),
        ("four tags", rule, eth(&[QINQ, VLAN, VLAN, QINQ], IPV4, &ip()), true),
        ("five tags", rule, eth(&[VLAN; 5], IPV4, &ip()), false),
        ("five tags", "any", eth(&[VLAN; 5], IPV4, &ip()), false),
        ("ARP", "ethertype 0x0806", arp(&[]), true),
        ("tagged ARP", "ethertype 0x0806", arp(&[QINQ, VLAN]), true),
        ("other EtherType", "ethertype 0x0806", eth(&[], IPV4, &ip()), false),
        ("swapped", "ethertype 0x0608", arp(&[]), false),
        ("IPv4", "ethertype 0x0800", eth(&[], IPV4, &ip()), true),
        ("IPv4 in a frame of IPv6", rule, eth(&[], IPV6, &ip()), false),
        ("802.3 length", "ethertype 46", eth(&[], 46, &ip()), true),
        ("ARP has no protocol", "any 0", arp(&[]), false),
        ("ARP has no address", "0.0.0.0/0", arp(&[]), false),
        ("both", "any udp 1234 ethertype 0x86dd", eth(&[], IPV4, &ip()), false),
        ("half a tag", "any", unpadded(&[], VLAN, &[0, 1]), false),
        ("only Ethernet", "ethertype 0x0800", unpadded(&[], IPV4, &[]), true),
        ("only Ethernet", "any udp", unpadded(&[], IPV4, &[]), false),
    ]);
}

fn ports_at_the_ends_of_ranges<R: Arm>() {
    for (range, port, expected) in [
        ("1000..2000", 999, false),
        ("1000..2000", 1000, true),
        ("1000..2000", 2000, true),
        ("1000..2000", 2001, false),
        ("0..0", 0, true),
        ("0..0", 65535, false),
        ("65535", 65535, true),
        ("65535", 0, false),
        ("1..65535", 0, false),
        ("0..65534", 65535, false),
        ("0..65535", 65535, true),
    ] {
        table::<R>(&[
            ("UDP", &format!("any udp {range}"), udp4("10.1.0.2", port), expected),
            (
                "TCP",
                &format!("any tcp {range}"),
                eth(&[], IPV4, &V4::new("10.1.0.2", TCP).wrap(&tcp(port))),
                expected,
            ),
        ]);
    }
}

fn a_packet_cut_at_any_length<R: Arm>() {
    let texts = ["any udp 1234", "10.1.0.2", "2001:db8::2", "any", "any udp"];
    let mut redirect = Redirect::<R>::with_rules(&[]);
    for whole in frames_to_cut() {
        for text in texts {
            let rules = rules(&[text]);
            redirect.write(0, &rules);
            for length in 14..=whole.len() {
                let cut = &whole[..length];
                let expected = model::matches(cut, &rules);
                assert_eq!(redirect.takes(cut), expected, "`{text}`, {length} of {}", whole.len());
                assert!(!expected || text == "any" || length == whole.len());
            }
        }
    }
}

fn random_packets_go_as_by_the_model<R: Arm>() {
    const SEED: u64 = 0x5eed_0002;
    let seeds = [
        udp4("10.1.0.2", 1234),
        eth(&[VLAN], IPV4, &V4 { options: 4, ..V4::new("10.2.0.2", TCP) }.wrap(&tcp(23))),
        eth(&[QINQ, VLAN], IPV6, &v6("2001:db8::2", UDP, &udp(1234))),
        eth(&[], IPV6, &v6("2001:db8:1::2", DESTINATION, &extensions(8, UDP, &udp(1234)))),
        eth(
            &[],
            IPV6,
            &v6("2001:db8::2", AH, &extension(AH, FRAGMENT, 3, &fragment6(UDP, 0, &udp(1234)))),
        ),
        eth(&[], ARP, &[0; 28]),
    ];
    let rules = rules(&[
        "10.1.0.2 udp 1000..2000",
        "10.2.0.0/16 tcp from 10.1.0.0/16",
        "2001:db8::2 udp 1234 from 2001:db8::1 12345",
        "2001:db8:1::/48 from any 12345",
        "any icmp",
        "ethertype 0x0806",
    ]);
    let mut redirect = Redirect::<R>::with_rules(&rules);
    let mut random = Random::new(SEED);
    let mut taken = 0;
    for round in 0..20_000 {
        let mut packet = seeds[random.below(seeds.len())].clone();
        for _ in 0..random.below(4) {
            let at = 12 + random.below(packet.len() - 12);
            packet[at] = match random.below(3) {
                0 => random.below(256) as u8,
                1 => [0, 6, 8, 17, 43, 44, 51, 60, 0x81, 0x88, 0xff][random.below(11)],
                _ => packet[at] ^ 1 << random.below(8),
            };
        }
        if random.below(4) == 0 {
            packet.truncate(14 + random.below(packet.len() - 13));
        }
        let expected = model::matches(&packet, &rules);
        taken += u32::from(expected);
        let what = format!("seed {SEED:#x}, round {round}: {packet:02x?}");
        assert_eq!(redirect.takes(&packet), expected, "{what}");
    }
    assert!((2000..18_000).contains(&taken), "{taken} of 20000 went to the socket");
}

/// Which of the slots 0, 1, … of queue 0 a packet goes to is not seen here: only whether any.
fn groups_are_asked_in_order<R: Arm>() {
    let mut redirect = Redirect::<R>::load(Form::Plain, Work::Rules);
    let last = GROUPS as usize - 1;
    redirect.write(0, &rules(&["any udp 1"]));
    redirect.write(last, &rules(&["any udp 1", "any udp 2"]));
    let (first, second) = (udp4("10.1.0.2", 1), udp4("10.1.0.2", 2));
    assert!(!redirect.takes(&first) && !redirect.takes(&second), "no group has a socket");
    redirect.put(0);
    assert!(redirect.takes(&first) && !redirect.takes(&second));
    redirect.put(last as u32 * QUEUES);
    assert!(redirect.takes(&first) && redirect.takes(&second));
    redirect.take_out(0);
    assert!(redirect.takes(&first), "the next group with a socket gets it");
    redirect.write(last, &[]);
    assert!(!redirect.takes(&first) && !redirect.takes(&second), "a group without rules");
}

/// Slots of other groups, of other queues, and claims.
fn rules_without_a_socket_match_nothing<R: Arm>() {
    let mut redirect = Redirect::<R>::load(Form::Plain, Work::Rules);
    redirect.write(3, &rules(&["any"]));
    let own = 3 * QUEUES;
    for slot in (0..GROUPS * QUEUES + GROUPS).filter(|slot| *slot != own) {
        redirect.put(slot);
    }
    let packet = udp4("10.1.0.2", 1234);
    assert!(!redirect.takes(&packet));
    redirect.put(own);
    assert!(redirect.takes(&packet));
}

/// On the engine alone: a test run of the kernel knows queue 0.
#[test]
fn each_queue_has_slots_of_its_own() {
    let mut redirect = Redirect::<vm::VmRuntime>::load(Form::Plain, Work::Rules);
    redirect.write(1, &rules(&["any"]));
    redirect.put(QUEUES + 2);
    redirect.put(2 * QUEUES);
    let mut queue_takes = |rx_queue| {
        let input = Input { packet: udp4("10.1.0.2", 1), rx_queue, ..Input::default() };
        let outcome = redirect.runtime.run(Form::Plain.program(), &input).unwrap();
        outcome.verdict == Verdict::Redirect
    };
    let taken: Vec<u32> = (0..3 * QUEUES).filter(|queue| queue_takes(*queue)).collect();
    assert_eq!(taken, [2], "a queue beyond the last is in no slot of the next group");
}

fn as_many_rules_as_fit<R: Arm>() {
    let mut redirect = Redirect::<R>::with_rules(&[]);
    let full: Vec<Rule> =
        (0..RULES).map(|port| format!("any udp {port}").parse().unwrap()).collect();
    redirect.write(0, &full);
    for port in 0..RULES as u16 {
        assert!(redirect.takes(&udp4("10.1.0.2", port)), "port {port}");
    }
    assert!(!redirect.takes(&udp4("10.1.0.2", RULES as u16)));
    // A count beyond the rules, which is never written, is taken for all of them.
    redirect.write(1, &rules(&["any tcp 9"]));
    redirect.state.rules[0] = u64::MAX;
    redirect.write(1, &[]);
    assert!(!redirect.takes(&udp4("10.1.0.2", RULES as u16)));
}

/// Frames of several buffers, which only the other entry sees: its program knows the headers alone.
fn jumbo_frames<R: Arm>() {
    let mut redirect = Redirect::<R>::load(Form::Frags, Work::Rules);
    redirect.write(0, &rules(&["10.1.0.2 udp 1234", "2001:db8::2"]));
    redirect.put(0);
    let jumbo = [udp(1234), vec![7; 8000]].concat();
    for (name, packet, expected) in [
        ("IPv4", eth(&[], IPV4, &V4::new("10.1.0.2", UDP).wrap(&jumbo)), true),
        ("IPv6", eth(&[], IPV6, &v6("2001:db8::2", UDP, &jumbo)), true),
        ("other", eth(&[VLAN], IPV4, &V4::new("1.1.1.1", UDP).wrap(&jumbo)), false),
        ("small", udp4("10.1.0.2", 1234), true),
        ("cut", unpadded(&[], IPV4, &V4::new("10.1.0.2", UDP).wrap(&[])[..19]), false),
    ] {
        assert_eq!(redirect.takes(&packet), expected, "{name}");
    }
}

fn metadata_precedes_packets_to_sockets<R: Arm>() {
    const TIME: u32 = 2;
    const VLAN_TAG: u32 = 4;
    const SOFTWARE: u32 = 8;
    const INSIDE: u32 = 16;
    for (form, work) in [(Form::Plain, Work::Metadata), (Form::Frags, Work::Both)] {
        let mut redirect = Redirect::<R>::load(form, work);
        redirect.write(0, &rules(&["any udp 1234"]));
        let ip = V4::new("10.1.0.2", UDP).wrap(&udp(1234));
        let outcome = redirect.run(&eth(&[], IPV4, &ip));
        assert!(outcome.metadata.is_empty(), "nothing in front of what goes to the stack");
        redirect.put(0);
        let mut last = 0;
        for (name, tags, valid, tci, proto) in [
            ("untagged", &[][..], TIME | SOFTWARE, 0, 0),
            ("tagged", &[VLAN], TIME | SOFTWARE | VLAN_TAG | INSIDE, 42, VLAN),
            ("twice", &[QINQ, VLAN], TIME | SOFTWARE | VLAN_TAG | INSIDE, 42, QINQ),
        ] {
            let outcome = redirect.run(&eth(tags, IPV4, &ip));
            let bytes = outcome.metadata.as_slice().try_into().unwrap();
            let known = abi::Metadata::from_bytes(bytes);
            assert_eq!(
                (known.valid, known.vlan_tci, known.vlan_proto),
                (valid, tci, proto),
                "{name}"
            );
            assert_eq!((known.hash, known.hash_type, known.zero), (0, 0, 0), "{name}");
            assert_eq!(known.magic, 0x6d79_6178, "{name}");
            assert!(known.timestamp_ns >= last, "{name}: time goes on");
            last = known.timestamp_ns;
        }
    }
}

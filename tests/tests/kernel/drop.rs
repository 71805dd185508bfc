//! drop on the kernel and on the engine: packet in, verdict and reason out.

use functions::drop::{
    self, Config, Maps, OBJECT, PROGRAM, PROGRAM_FRAGS, RULES4, RULES6, Reason, SHAPES,
};
use functions::{PassOrDrop, stats};
use kernel::TestRun;
use spec::{Input, Map, Spec, Verdict};
use xway_tests::bpf::packet::*;
use xway_tests::bpf::{Arm, Judge, model};
use xway_tests::random::Random;
use xway_tests::stories;

stories! {
    ipv4
    malformed_ipv4
    ipv6
    extension_headers_without_number_pass_if_no_rule_is_about_ipv6
    tags_and_other_protocols
    a_packet_cut_at_any_length_is_judged
    random_packets_are_judged_as_by_the_model
    policies_are_those_of_the_configuration
    rules_change_while_the_program_is_loaded
    a_full_table_still_judges_by_the_old_rules
    jumbo_frames
}

const RULES: &[&str] = &[
    "10.1.0.2 udp 1234",
    "10.1.0.3 udp 1234",
    "10.1.0.9 udp 0",
    "10.2.0.0/16",
    "any tcp 23",
    "10.3.0.0/16 icmp",
    "2001:db8::2 udp 1234",
    "2001:db8:1::/48",
    "2001:db8:2::/48 icmpv6",
];

fn config() -> Config {
    let rules = RULES.iter().map(|rule| rule.parse().unwrap()).collect();
    Config { rules, ..Config::default() }
}

fn load<R: Arm>(config: &Config) -> Judge<R> {
    let mut spec = Spec::parse("drop", OBJECT).unwrap();
    config.apply(&mut spec).unwrap();
    let judge = Judge::load(&spec, PROGRAM);
    update(&judge, config);
    judge
}

fn update<R: Arm>(judge: &Judge<R>, config: &Config) {
    let maps =
        Maps { shapes: judge.map(SHAPES), rules4: judge.map(RULES4), rules6: judge.map(RULES6) };
    drop::update(config, &maps).unwrap();
}

fn udp4(to: &'static str, port: u16) -> Vec<u8> {
    V4::new(to, UDP).wrap(&udp(port))
}

fn drops<R: Arm>(cases: &[(&str, Vec<u8>, Reason)]) {
    let mut judge = load::<R>(&config());
    for (name, packet, reason) in cases {
        let is_dropped = matches!(reason, Reason::Rule | Reason::TooManyExtensions);
        let verdict = if is_dropped { Verdict::Drop } else { Verdict::Pass };
        let judgement = judge.judge(packet, 0);
        assert_eq!((judgement.verdict, &*judgement.reason), (verdict, reason.label()), "{name}");
        assert_eq!(&judgement.packet, packet, "{name}: drop changes nothing");
        assert_eq!(model::reason(packet, &config().rules), *reason, "{name}: the model");
    }
}

fn ipv4<R: Arm>() {
    let v4 = V4::new("10.1.0.2", UDP);
    let wrap = |v4: V4| eth(&[], IPV4, &v4.wrap(&udp(1234)));
    drops::<R>(&[
        ("the talk's flow", eth(&[], IPV4, &udp4("10.1.0.2", 1234)), Reason::Rule),
        ("second rule of a shape", eth(&[], IPV4, &udp4("10.1.0.3", 1234)), Reason::Rule),
        ("other address", eth(&[], IPV4, &udp4("10.1.0.4", 1234)), Reason::NoRule),
        ("other port", eth(&[], IPV4, &udp4("10.1.0.2", 1235)), Reason::NoRule),
        ("swapped port", eth(&[], IPV4, &udp4("10.1.0.2", 1234u16.swap_bytes())), Reason::NoRule),
        ("other protocol", wrap(V4 { protocol: TCP, ..v4.clone() }), Reason::NoRule),
        ("prefix", eth(&[], IPV4, &udp4("10.2.255.1", 9)), Reason::Rule),
        ("any address", eth(&[], IPV4, &V4::new("1.1.1.1", TCP).wrap(&tcp(23))), Reason::Rule),
        ("no ports", eth(&[], IPV4, &V4::new("10.3.0.1", ICMP).wrap(&[8; 8])), Reason::Rule),
        ("options", wrap(V4 { options: 40, ..v4.clone() }), Reason::Rule),
        ("first fragment", wrap(V4 { fragment: 0x2000, ..v4.clone() }), Reason::Rule),
        ("later fragment", wrap(V4 { fragment: 0x2001, ..v4.clone() }), Reason::LaterFragment),
        ("last fragment", wrap(V4 { fragment: 1, ..v4.clone() }), Reason::LaterFragment),
        ("don't fragment", wrap(V4 { fragment: 0x4000, ..v4.clone() }), Reason::Rule),
        ("port zero", eth(&[], IPV4, &udp4("10.1.0.9", 0)), Reason::Rule),
        (
            "an unknown port is not zero",
            wrap(V4 { fragment: 1, to: "10.1.0.9", ..v4.clone() }),
            Reason::LaterFragment,
        ),
        (
            "later fragment to a prefix",
            wrap(V4 { fragment: 9, to: "10.2.0.1", ..v4.clone() }),
            Reason::Rule,
        ),
    ]);
}

fn malformed_ipv4<R: Arm>() {
    let v4 = V4::new("10.1.0.2", UDP);
    let wrap = |v4: V4| eth(&[], IPV4, &v4.wrap(&udp(1234)));
    drops::<R>(&[
        ("total length beyond the frame", wrap(V4 { excess: 1, ..v4.clone() }), Reason::Truncated),
        ("total length without ports", wrap(V4 { excess: -23, ..v4.clone() }), Reason::Truncated),
        ("total length with ports", wrap(V4 { excess: -22, ..v4.clone() }), Reason::Rule),
        ("total length in the header", wrap(V4 { excess: -27, ..v4.clone() }), Reason::BadHeader),
        ("version 5", wrap(V4 { version: 5, ..v4.clone() }), Reason::BadHeader),
        ("version 6", wrap(V4 { version: 6, ..v4.clone() }), Reason::BadHeader),
        ("header of 16 bytes", wrap(V4 { ihl: Some(4), ..v4.clone() }), Reason::BadHeader),
        (
            "prefix, version 6",
            wrap(V4 { version: 6, to: "10.2.0.1", ..v4.clone() }),
            Reason::BadHeader,
        ),
        (
            "prefix, header of 16 bytes",
            wrap(V4 { ihl: Some(4), to: "10.2.0.1", ..v4.clone() }),
            Reason::Rule,
        ),
        (
            "prefix, total length beyond the frame",
            wrap(V4 { excess: 1, to: "10.2.0.1", ..v4.clone() }),
            Reason::Rule,
        ),
        ("header beyond total", wrap(V4 { ihl: Some(15), ..v4.clone() }), Reason::BadHeader),
        (
            "no port, but a rule without",
            eth(&[], IPV4, &V4::new("10.2.0.1", UDP).wrap(&[1, 2])),
            Reason::Rule,
        ),
        (
            "padding is no port",
            eth(&[], IPV4, &V4::new("10.1.0.2", UDP).wrap(&[])),
            Reason::Truncated,
        ),
        (
            "nonsense behind the ports",
            eth(&[], IPV4, &v4.wrap(&[[0x30, 0x39, 4, 210], [0xff; 4]].concat())),
            Reason::Rule,
        ),
    ]);
}

fn ipv6<R: Arm>() {
    let to = "2001:db8::2";
    let ip = |to, next, payload: &[u8]| eth(&[], IPV6, &v6(to, next, payload));
    let long = extension(ROUTING, UDP, 255, &udp(1234));
    let mixed = extension(AH, DESTINATION, 4, &extension(DESTINATION, UDP, 1, &udp(1234)));
    drops::<R>(&[
        ("flow", ip(to, UDP, &udp(1234)), Reason::Rule),
        ("other address", ip("2001:db8::3", UDP, &udp(1234)), Reason::NoRule),
        ("prefix", ip("2001:db8:1:ffff::1", NOTHING, &[]), Reason::Rule),
        ("prefix and protocol", ip("2001:db8:2::1", ICMPV6, &[128; 8]), Reason::Rule),
        ("any address", ip("::1", TCP, &tcp(23)), Reason::Rule),
        ("one extension", ip(to, DESTINATION, &extensions(1, UDP, &udp(1234))), Reason::Rule),
        ("eight", ip(to, DESTINATION, &extensions(8, UDP, &udp(1234))), Reason::Rule),
        ("nine", ip(to, DESTINATION, &extensions(9, UDP, &udp(1234))), Reason::TooManyExtensions),
        ("longest", ip(to, ROUTING, &long), Reason::Rule),
        ("hop by hop, AH", ip(to, HOP_BY_HOP, &extension(0, AH, 0, &mixed)), Reason::Rule),
        ("atomic fragment", ip(to, FRAGMENT, &fragment6(UDP, 0, &udp(1234))), Reason::Rule),
        ("first fragment", ip(to, FRAGMENT, &fragment6(UDP, 1, &udp(1234))), Reason::Rule),
        ("later", ip(to, FRAGMENT, &fragment6(UDP, 9, &udp(1234))), Reason::LaterFragment),
        (
            "later, extension first",
            ip(to, FRAGMENT, &fragment6(DESTINATION, 8, &udp(1234))),
            Reason::NoRule,
        ),
        ("no next header", ip(to, NOTHING, &udp(1234)), Reason::NoRule),
        ("extension cut short", ip(to, DESTINATION, &[UDP, 0, 0, 0]), Reason::Truncated),
        (
            "prefix, extension cut short",
            ip("2001:db8:1::1", DESTINATION, &[UDP, 0, 0, 0]),
            Reason::Rule,
        ),
        (
            "prefix, nine",
            ip("2001:db8:1::1", DESTINATION, &extensions(9, UDP, &udp(1234))),
            Reason::Rule,
        ),
        ("a length of zero before hop-by-hop options", of_no_length(to, 0), Reason::Rule),
        ("a jumbogram's options", of_no_length(to, 0xc2), Reason::Rule),
        (
            "extension says more",
            ip(to, DESTINATION, &[UDP, 1, 0, 0, 0, 0, 0, 0]),
            Reason::Truncated,
        ),
    ]);
}

/// A packet that states a length of zero, and has hop-by-hop options of one kind. Linux delivers
/// them.
fn of_no_length(to: &str, option: u8) -> Vec<u8> {
    let options = [&[UDP, 0, option, 4, 0, 0, 0, 0][..], &udp(1234)].concat();
    let mut packet = v6(to, HOP_BY_HOP, &options);
    packet[4..6].fill(0);
    unpadded(&[], IPV6, &packet)
}

fn extension_headers_without_number_pass_if_no_rule_is_about_ipv6<R: Arm>() {
    let packet = v6("2001:db8::2", DESTINATION, &extensions(9, UDP, &udp(1234)));
    for (rule, verdict, reason) in [
        ("10.1.0.2 udp 1234", Verdict::Pass, "no-rule"),
        ("any udp 9", Verdict::Drop, "too-many-extensions"),
    ] {
        let rules = vec![rule.parse().unwrap()];
        let mut judge = load::<R>(&Config { rules, ..Config::default() });
        let judgement = judge.judge(&eth(&[], IPV6, &packet), 0);
        assert_eq!((judgement.verdict, &*judgement.reason), (verdict, reason), "{rule}");
    }
}

fn tags_and_other_protocols<R: Arm>() {
    let ip = udp4("10.1.0.2", 1234);
    drops::<R>(&[
        ("one tag", eth(&[VLAN], IPV4, &ip), Reason::Rule),
        ("two tags", eth(&[QINQ, VLAN], IPV4, &ip), Reason::Rule),
        ("four tags", eth(&[QINQ, VLAN, VLAN, QINQ], IPV4, &ip), Reason::Rule),
        ("five tags", eth(&[VLAN; 5], IPV4, &ip), Reason::TooManyTags),
        ("tagged IPv6", eth(&[VLAN], IPV6, &v6("2001:db8::2", UDP, &udp(1234))), Reason::Rule),
        ("IPv4 in a frame of IPv6", eth(&[], IPV6, &ip), Reason::BadHeader),
        ("ARP", eth(&[], ARP, &[0; 28]), Reason::NotIp),
        ("802.3 length", eth(&[], 46, &ip), Reason::NotIp),
        ("only Ethernet", unpadded(&[], IPV4, &[]), Reason::Truncated),
        ("half a tag", unpadded(&[], VLAN, &[0, 1]), Reason::Truncated),
    ]);
}

fn a_packet_cut_at_any_length_is_judged<R: Arm>() {
    let rules = config().rules;
    for action in [PassOrDrop::Pass, PassOrDrop::Drop] {
        let mut judge = load::<R>(&Config { malformed: action, ..config() });
        for whole in frames_to_cut() {
            assert_eq!(judge.judge(&whole, 0).verdict, Verdict::Drop);
            for length in 14..whole.len() {
                let judgement = judge.judge(&whole[..length], 0);
                assert_eq!(judgement.reason, "truncated", "{length} of {}", whole.len());
                assert_eq!(judgement.verdict, action.verdict());
                assert_eq!(model::reason(&whole[..length], &rules), Reason::Truncated);
            }
        }
    }
}

fn random_packets_are_judged_as_by_the_model<R: Arm>() {
    const SEED: u64 = 0x5eed_0001;
    let seeds = [
        eth(&[], IPV4, &udp4("10.1.0.2", 1234)),
        eth(&[VLAN], IPV4, &V4 { options: 4, ..V4::new("10.2.0.2", TCP) }.wrap(&tcp(23))),
        eth(&[QINQ, VLAN], IPV6, &v6("2001:db8::2", UDP, &udp(1234))),
        eth(&[], IPV6, &v6("2001:db8:1::2", DESTINATION, &extensions(8, UDP, &udp(1234)))),
        eth(
            &[],
            IPV6,
            &v6("2001:db8::2", AH, &extension(AH, FRAGMENT, 3, &fragment6(UDP, 0, &udp(1234)))),
        ),
    ];
    let rules = config().rules;
    let mut judge = load::<R>(&config());
    let mut random = Random::new(SEED);
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
        packet.truncate(14 + random.below(packet.len() - 13));
        let expected = model::reason(&packet, &rules).label();
        let judgement = judge.judge(&packet, 0);
        assert_eq!(judgement.reason, expected, "seed {SEED:#x}, round {round}: {packet:02x?}");
        assert_ne!(judgement.verdict, Verdict::Aborted);
    }
}

fn policies_are_those_of_the_configuration<R: Arm>() {
    let later = V4 { fragment: 1, ..V4::new("10.1.0.2", UDP) }.wrap(&udp(1234));
    let later = eth(&[], IPV4, &later);
    let broken = eth(&[], IPV4, &V4 { version: 5, ..V4::new("10.1.0.2", UDP) }.wrap(&udp(1234)));
    for (malformed, later_fragments) in [
        (PassOrDrop::Pass, PassOrDrop::Pass),
        (PassOrDrop::Drop, PassOrDrop::Pass),
        (PassOrDrop::Pass, PassOrDrop::Drop),
    ] {
        let mut judge = load::<R>(&Config { malformed, later_fragments, ..config() });
        assert_eq!(judge.judge(&broken, 0).verdict, malformed.verdict());
        assert_eq!(judge.judge(&later, 0).verdict, later_fragments.verdict());
    }
}

fn rules_change_while_the_program_is_loaded<R: Arm>() {
    let packets: [(&str, Vec<u8>); 3] = [
        ("10.1.0.2 udp 1234", eth(&[], IPV4, &udp4("10.1.0.2", 1234))),
        ("10.9.0.0/16", eth(&[], IPV4, &udp4("10.9.1.1", 5))),
        ("2001:db8::2 udp 1234", eth(&[], IPV6, &v6("2001:db8::2", UDP, &udp(1234)))),
    ];
    let mut judge = load::<R>(&Config::default());
    for chosen in [0b000, 0b111, 0b010, 0b101, 0b110, 0b001, 0b000] {
        let wanted = |number: &usize| chosen >> number & 1 == 1;
        let rules = (0..3).filter(wanted).map(|number| packets[number].0.parse().unwrap());
        update(&judge, &Config { rules: rules.collect(), ..Config::default() });
        for (number, (rule, packet)) in packets.iter().enumerate() {
            let expected = if wanted(&number) { Verdict::Drop } else { Verdict::Pass };
            assert_eq!(judge.judge(packet, 0).verdict, expected, "{rule} in {chosen:03b}");
        }
    }
}

fn a_full_table_still_judges_by_the_old_rules<R: Arm>() {
    let mut spec = Spec::parse("drop", OBJECT).unwrap();
    let map = spec.map_index(RULES4).unwrap();
    spec.maps[map].max_entries = 2;
    let mut judge = Judge::<R>::load(&spec, PROGRAM);
    let rules = |range: std::ops::Range<u16>| Config {
        rules: range.map(|port| format!("10.1.0.2 udp {port}").parse().unwrap()).collect(),
        ..Config::default()
    };
    update(&judge, &rules(1..3));
    let maps =
        Maps { shapes: judge.map(SHAPES), rules4: judge.map(RULES4), rules6: judge.map(RULES6) };
    assert!(drop::update(&rules(3..6), &maps).is_err());
    for (port, verdict) in [(1, Verdict::Drop), (2, Verdict::Drop), (3, Verdict::Pass)] {
        let packet = eth(&[], IPV4, &udp4("10.1.0.2", port));
        assert_eq!(judge.judge(&packet, 0).verdict, verdict, "port {port}");
    }
    assert_eq!(judge.map(RULES4).keys().unwrap().len(), 2);
}

/// Frames of several buffers, which only the other entry sees: its program knows the headers alone.
fn jumbo_frames<R: Arm>() {
    let mut spec = Spec::parse("drop", OBJECT).unwrap();
    config().apply(&mut spec).unwrap();
    let mut judge = Judge::<R>::load_only(&spec, PROGRAM_FRAGS);
    update(&judge, &config());
    let jumbo = [udp(1234), vec![7; 8000]].concat();
    let v4 = V4::new("10.1.0.2", UDP);
    for (name, packet, verdict, reason) in [
        ("IPv4", eth(&[], IPV4, &v4.wrap(&jumbo)), Verdict::Drop, "rule"),
        ("IPv6", eth(&[], IPV6, &v6("2001:db8::2", UDP, &jumbo)), Verdict::Drop, "rule"),
        (
            "other",
            eth(&[VLAN], IPV4, &V4::new("1.1.1.1", UDP).wrap(&jumbo)),
            Verdict::Pass,
            "no-rule",
        ),
        ("small", eth(&[], IPV4, &udp4("10.1.0.2", 1234)), Verdict::Drop, "rule"),
        ("cut", unpadded(&[], IPV4, &v4.wrap(&[])[..19]), Verdict::Pass, "truncated"),
    ] {
        let judgement = judge.judge(&packet, 0);
        assert_eq!((judgement.verdict, &*judgement.reason), (verdict, reason), "{name}");
        assert_eq!(judgement.packet, packet, "{name}");
    }
}

/// Not a promise, only printed (`--nocapture`): the mean of many runs, as the kernel measures it.
#[test]
fn cost_of_the_talks_flow() {
    let judge: Judge =
        load(&Config { rules: vec![RULES[0].parse().unwrap()], ..Config::default() });
    let packet = eth(&[], IPV4, &udp4("10.1.0.2", 1234));
    assert_eq!(packet.len(), 60);
    let run = TestRun {
        input: Input { packet, ..Input::default() },
        repeat: 100_000,
        ..TestRun::default()
    };
    let mut rounds: Vec<u32> =
        (0..15).map(|_| judge.program().run(&run).unwrap().duration_ns).collect();
    rounds.sort_unstable();
    println!("drop: min {} median {} max {} ns a packet", rounds[0], rounds[7], rounds[14]);
    let counted = stats::Stats::read(judge.map(stats::MAP), &labels()).unwrap();
    assert_eq!(counted.reason("rule").packets, 15 * 100_000);
    assert_eq!(counted.verdict(Verdict::Drop).bytes, 15 * 100_000 * 60);
}

fn labels() -> Vec<String> {
    Reason::ALL.iter().map(|reason| reason.label().to_owned()).collect()
}

//! Descriptions that cannot be sent: each error has the place and the reason.

use traffic::stream::{Error, File, FlowsError, Reason, SizesError, ValueError};

const ETHERNET: &str =
    "{ ethernet = { src = \"02:00:00:00:00:01\", dst = \"02:00:00:00:00:02\" } }";
const IPV4: &str = "{ ipv4 = { src = \"10.0.0.1\", dst = \"10.0.0.2\" } }";
const IPV6: &str = "{ ipv6 = { src = \"fd00::1\", dst = \"fd00::2\" } }";

/// The error of a stream `a` with these keys and these layers.
fn error(keys: &str, layers: &[&str]) -> Error {
    let text = format!("[[stream]]\nname = \"a\"\n{keys}\nlayers = [{}]\n", layers.join(", "));
    match File::parse(&text).and_then(|file| file.templates(1500)) {
        Ok(_) => panic!("not rejected:\n{text}"),
        Err(error) => error,
    }
}

fn assert_reason(error: &Error, place: &str, reason: &Reason) {
    assert!(error.place.starts_with(place), "{:?} is not at {place:?}", error.place);
    assert_eq!(error.reason, *reason, "{error}");
}

/// For errors of the parsers of TOML and JSON, which are text.
fn assert_syntax(error: &Error, place: &str, text: &str) {
    assert!(error.place.starts_with(place), "{:?} is not at {place:?}", error.place);
    assert!(matches!(error.reason, Reason::Syntax(_)), "{error:?}");
    let message = error.to_string();
    assert!(message.contains(text), "{message:?} does not contain {text:?}");
}

#[test]
fn invalid_files() {
    let unknown = |key: &str| Reason::UnknownKey { key: key.to_owned() };
    let cases = [
        ("", "streams", Reason::NoStreams),
        ("stream = 3", "streams", Reason::NoStreams),
        ("[[streams]]\nname = \"a\"", "streams", unknown("streams")),
        ("rate = 7", "streams", unknown("rate")),
        ("stream = [3]", "stream 1", Reason::StreamNotATable),
        ("stream = []", "streams", Reason::StreamCount { count: 0 }),
        ("[[stream]]\nlayers = 3", "stream 1", Reason::LayersNotAList),
    ];
    let refused = |text: &str| {
        let result = File::parse(text).and_then(|file| file.templates(1500));
        result.expect_err(text)
    };
    for (text, place, reason) in cases {
        assert_reason(&refused(text), place, &reason);
    }
    assert_syntax(&refused("[[stream]"), "streams", "TOML parse error at line 1");
    assert_syntax(&refused("{ \"stream\": ["), "streams", "EOF while parsing");
}

#[test]
fn two_streams_of_one_name_and_too_many() {
    let one = format!("[[stream]]\nname = \"a\"\nlayers = [{ETHERNET}, {IPV4}]\n");
    let twice = File::parse(&format!("{one}{one}")).expect("a file").templates(1500);
    let duplicate = Reason::DuplicateName { name: "a".into() };
    assert_reason(&twice.expect_err("twice"), "streams", &duplicate);
    let many: String = (0..65).map(|id| one.replace("\"a\"", &format!("\"{id}\""))).collect();
    let many = File::parse(&many).expect("a file").templates(1500);
    assert_reason(&many.expect_err("many"), "streams", &Reason::StreamCount { count: 65 });
}

#[test]
fn keys_of_a_stream() {
    let udp = "{ udp = { dst = 9 } }";
    let too_short = |size, needed| Reason::Sizes(SizesError::TooShort { size, needed });
    let over_mtu = Reason::OverMtu { len: 1515, mtu: 1500, max: 1514 };
    let cases = [
        ("weight = 0", "weight", Reason::ZeroWeight),
        ("expect = \"drop\"", "expect", Reason::ExpectWithoutStamp),
        ("size = 41", "size", too_short(41, 42)),
        ("size = 57\nstamp = true", "size", too_short(57, 58)),
        ("size = [64, 41]", "size", too_short(41, 42)),
        ("size = 1515", "size", over_mtu.clone()),
        ("size = \"60..1515\"", "size", over_mtu),
        ("size = { to = 3368 }", "size", SizesError::SweepTooLong { to: 3368 }.into()),
        ("flows = { count = 9 }", "flows", FlowsError::NoField.into()),
    ];
    for (keys, field, reason) in cases {
        let error = error(keys, &[ETHERNET, IPV4, udp]);
        assert_reason(&error, &format!("stream \"a\", field \"{field}\""), &reason);
    }
    let cases = [
        ("wieght = 3", "wieght", "unknown field `wieght`, expected one of `name`"),
        ("weight = \"3\"", "weight", "expected u32"),
        ("expect = \"pas\"", "expect", "expected `pass` or `drop`"),
        ("size = \"imux\"", "size", "\"imux\" is not a size in bytes"),
        ("size = { too = 70 }", "size", "a size such as 128"),
        ("flows = { count = 9, ordr = 1 }", "flows", "unknown field `ordr`"),
    ];
    for (keys, field, text) in cases {
        let error = error(keys, &[ETHERNET, IPV4, udp]);
        assert_syntax(&error, &format!("stream \"a\", field \"{field}\""), text);
    }
    assert_reason(&error("", &[]), "stream \"a\", field \"layers\"", &Reason::NoLayers);
}

#[test]
fn fields_of_flows() {
    let src = "src = { flow = \"1..9\" }";
    let udp = "stream \"a\", layer 3 (udp), field \"src\"";
    let cases = [
        ("", udp, FlowsError::NoFlows.into()),
        ("flows = { count = 0 }", udp, FlowsError::ZeroCount.into()),
        (
            "flows = { count = 10 }",
            "stream \"a\", field \"flows\"",
            FlowsError::Repeats { count: 10, period: 9 }.into(),
        ),
        ("flows = { count = 70_000 }", udp, FlowsError::Values { values: 9, count: 70_000 }.into()),
        ("flows = { count = 2, exponent = 1.0 }", udp, FlowsError::Exponent.into()),
        (
            "flows = { count = 2, order = \"zipf\", exponent = -1.0 }",
            udp,
            Reason::Value(ValueError::ZipfExponent { exponent: -1.0 }),
        ),
    ];
    for (keys, place, reason) in cases {
        let layer = format!("{{ udp = {{ dst = 9, {src} }} }}");
        assert_reason(&error(keys, &[ETHERNET, IPV4, &layer]), place, &reason);
    }
}

#[test]
fn invalid_layers() {
    let cases: [(&[&str], &str, Reason); 3] = [
        (&["3"], "stream \"a\", layer 1", Reason::LayerNotATable),
        (&["{}"], "stream \"a\", layer 1", Reason::LayerKeys),
        (&["{ udp = {}, tcp = {} }"], "stream \"a\", layer 1", Reason::LayerKeys),
    ];
    for (layers, place, reason) in cases {
        assert_reason(&error("", layers), place, &reason);
    }
    let unknown = error("", &[ETHERNET, "{ sctp = {} }"]);
    assert_eq!(unknown.place, "stream \"a\", layer 2");
    assert!(matches!(unknown.reason, Reason::UnknownProtocol { name, .. } if name == "sctp"));
    let cases = [
        ("{ ethernet = 3 }", "", "expected struct Ethernet"),
        (
            "{ ethernet = { scr = 1 } }",
            ", field \"scr\"",
            "unknown field `scr`, expected one of `src`",
        ),
        ("{ ethernet = { src = 1.5 } }", ", field \"src\"", "a number, text, or a table"),
        (
            "{ ethernet = { src = { random = \"1..9\", stp = 3 } } }",
            ", field \"src\"",
            "unknown field `stp`",
        ),
    ];
    for (layer, field, text) in cases {
        let place = format!("stream \"a\", layer 1 (ethernet){field}");
        assert_syntax(&error("", &[layer]), &place, text);
    }
}

#[test]
fn layers_that_cannot_follow_each_other() {
    let (udp, tcp) = ("{ udp = { dst = 9 } }", "{ tcp = { dst = 9 } }");
    let arp = "{ arp = { sender_ip = \"10.0.0.1\", target_ip = \"10.0.0.2\" } }";
    let asks = "{ neighbour_solicitation = { target = \"fd00::9\" } }";
    let later = "{ ipv4 = { src = \"10.0.0.1\", dst = \"10.0.0.2\", fragment_offset = 1 } }";
    let (start, ipv4) = ("the beginning", "layer 2 (ipv4)");
    let cases: [(&[&str], &str, &str); 17] = [
        (&[IPV4], "layer 1 (ipv4)", start),
        (&["{ payload = {} }"], "layer 1 (payload)", start),
        (&[ETHERNET, udp], "layer 2 (udp)", "layer 1 (ethernet)"),
        (&[ETHERNET, IPV4, arp], "layer 3 (arp)", ipv4),
        (&[ETHERNET, IPV4, "{ icmpv6 = {} }"], "layer 3 (icmpv6)", ipv4),
        (&[ETHERNET, IPV4, asks], "layer 3 (neighbour_solicitation)", ipv4),
        (&[ETHERNET, IPV4, "{ hop_by_hop = {} }"], "layer 3 (hop_by_hop)", ipv4),
        (&[ETHERNET, IPV6, "{ icmp = {} }"], "layer 3 (icmp)", "layer 2 (ipv6)"),
        (
            &[ETHERNET, IPV6, "{ fragment = {} }", "{ hop_by_hop = {} }"],
            "layer 4 (hop_by_hop)",
            "layer 3 (fragment)",
        ),
        (&[ETHERNET, IPV4, udp, tcp], "layer 4 (tcp)", "layer 3 (udp)"),
        (&[ETHERNET, IPV4, tcp, IPV4], "layer 4 (ipv4)", "layer 3 (tcp)"),
        (&[ETHERNET, arp, "{ payload = {} }"], "layer 3 (payload)", "layer 2 (arp)"),
        (
            &[ETHERNET, IPV6, asks, "{ raw = { hex = \"00\" } }"],
            "layer 4 (raw)",
            "layer 3 (neighbour_solicitation)",
        ),
        (&[ETHERNET, IPV4, udp, "{ payload = {} }", udp], "layer 5 (udp)", "layer 4 (payload)"),
        (&[ETHERNET, IPV4, "{ gre = {} }", arp], "layer 4 (arp)", "layer 3 (gre)"),
        (
            &[ETHERNET, IPV4, "{ udp = {} }", "{ vxlan = { vni = 1 } }", IPV4],
            "layer 5 (ipv4)",
            "layer 4 (vxlan)",
        ),
        (&[ETHERNET, ETHERNET], "layer 2 (ethernet)", "layer 1 (ethernet)"),
    ];
    for (layers, place, previous) in cases {
        let reason = Reason::CannotFollow { previous: previous.to_owned() };
        assert_reason(&error("", layers), &format!("stream \"a\", {place}"), &reason);
    }
    let fragment = "{ fragment = { offset = { random = \"0..9\" } } }";
    let cases: [(&[&str], &str); 2] = [
        (&[ETHERNET, later, udp], "layer 3 (udp)"),
        (&[ETHERNET, IPV6, fragment, udp], "layer 4 (udp)"),
    ];
    for (layers, place) in cases {
        let place = format!("stream \"a\", {place}");
        assert_reason(&error("", layers), &place, &Reason::AfterFragment);
    }
}

#[test]
fn fields_that_are_missing() {
    let cases: [(&[&str], &str); 12] = [
        (&["{ ethernet = { src = \"02:00:00:00:00:01\" } }"], "layer 1 (ethernet), field \"dst\""),
        (&["{ ethernet = { dst = \"02:00:00:00:00:01\" } }"], "layer 1 (ethernet), field \"src\""),
        (&[ETHERNET], "layer 1 (ethernet), field \"ethertype\""),
        (&[ETHERNET, "{ raw = { hex = \"00\" } }"], "layer 1 (ethernet), field \"ethertype\""),
        (&[ETHERNET, IPV4], "layer 2 (ipv4), field \"protocol\""),
        (&[ETHERNET, IPV4, "{ payload = {} }"], "layer 2 (ipv4), field \"protocol\""),
        (&[ETHERNET, IPV6], "layer 2 (ipv6), field \"next_header\""),
        (&[ETHERNET, "{ vlan = {} }", IPV4], "layer 2 (vlan), field \"id\""),
        (&[ETHERNET, "{ ipv4 = { src = \"10.0.0.1\" } }"], "layer 2 (ipv4), field \"dst\""),
        (&[ETHERNET, IPV4, "{ udp = {} }"], "layer 3 (udp), field \"dst\""),
        (&[ETHERNET, IPV4, "{ tcp = {} }"], "layer 3 (tcp), field \"dst\""),
        (
            &[ETHERNET, "{ arp = { sender_ip = \"10.0.0.1\" } }"],
            "layer 2 (arp), field \"target_ip\"",
        ),
    ];
    for (layers, place) in cases {
        let error = error("", layers);
        assert_eq!(error.place, format!("stream \"a\", {place}"));
        let names_next = ["ethertype", "protocol", "next_header"]
            .iter()
            .any(|name| place.ends_with(&format!("field \"{name}\"")));
        let reason = if names_next { Reason::MissingNext } else { Reason::Missing };
        assert_eq!(error.reason, reason, "{error}");
    }
}

fn ip(field: &str) -> String {
    format!("{{ ipv4 = {{ src = \"10.0.0.1\", dst = \"10.0.0.2\", {field} }} }}")
}

fn ip6(field: &str) -> String {
    format!("{{ ipv6 = {{ dst = \"fd00::1\", {field} }} }}")
}

fn udp(field: &str) -> String {
    format!("{{ udp = {{ dst = 9, {field} }} }}")
}

fn too_wide(number: u64, bits: u32) -> Reason {
    Reason::Value(ValueError::TooWide { text: number.to_string(), bits })
}

fn kind(text: &str, expected: &str) -> Reason {
    let (text, expected) = (text.to_owned(), expected.to_owned());
    Reason::Value(ValueError::Kind { text, expected })
}

fn overlap(field: &str) -> Reason {
    Reason::Overlap { field: field.to_owned() }
}

/// Each layer has a field with a value for which its stream is rejected.
fn assert_rejected(cases: impl IntoIterator<Item = (String, &'static str, Reason)>) {
    for (layer, field, reason) in cases {
        let name = layer.split_whitespace().nth(1).expect("a name");
        let carrier: &[&str] = match name {
            "ipv4" | "ipv6" | "vlan" => &[ETHERNET],
            _ => &[ETHERNET, IPV4],
        };
        let place = format!("layer {} ({name}), field \"{field}\"", carrier.len() + 1);
        let error = error("", &[carrier, &[&layer]].concat());
        assert_reason(&error, &format!("stream \"a\", {place}"), &reason);
    }
}

const CHECKSUM: Reason = Reason::ChecksumWord { expected: "\"right\", \"broken\"" };

#[test]
fn invalid_values_of_ipv4_fields() {
    assert_rejected([
        (ip("ttl = 256"), "ttl", too_wide(256, 8)),
        (ip("ttl = \"x\""), "ttl", kind("x", "a number")),
        (ip("dscp = { list = [63, 64] }"), "dscp", too_wide(64, 6)),
        (ip("dscp = 1, tos = 4"), "tos", overlap("dscp")),
        (
            ip("id = { random = \"9..1\" }"),
            "id",
            ValueError::Descending { text: "9..1".into() }.into(),
        ),
        (
            ip("id = { zipf = -0.5, of = \"1..9\" }"),
            "id",
            ValueError::ZipfExponent { exponent: -0.5 }.into(),
        ),
        (ip("options = \"012\""), "options", Reason::NotHex),
        (ip("options = \"0g\""), "options", Reason::NotHex),
        (
            ip(&format!("options = \"{}\"", "00".repeat(41))),
            "options",
            Reason::OptionsTooLong { len: 41, max: 40 },
        ),
        (ip("header_length = { random = \"5..6\" }"), "header_length", Reason::CannotVary),
        (ip("total_length = { random = \"20..60\" }"), "total_length", Reason::CannotVary),
        (ip("checksum = \"none\""), "checksum", CHECKSUM),
        (ip("checksum = 65536"), "checksum", too_wide(65_536, 16)),
    ]);
}

#[test]
fn invalid_values_of_other_fields() {
    let v4 = "an IPv4 address";
    let optional = "\"right\", \"broken\", \"none\"";
    let flags = "a number or a combination of fin, syn, rst, psh, ack, urg, ece, cwr";
    assert_rejected([
        ("{ ipv4 = { src = 7, dst = \"10.0.0.1\" } }".into(), "src", kind("7", v4)),
        ("{ ipv4 = { src = \"fd00::1\" } }".into(), "src", kind("fd00::1", v4)),
        (ip6("src = { random = \"fd00::/63\" }"), "src", ValueError::TooManyBits.into()),
        (
            ip6("src = { sequence = \"fd00::ffff:ffff:ffff:ffff..fd00:0:0:1::\" }"),
            "src",
            ValueError::HighBits.into(),
        ),
        (
            ip6("src = { zipf = 1.0, of = \"fd00::/107\" }"),
            "src",
            ValueError::ZipfCount { count: 1 << 21 }.into(),
        ),
        (
            ip6("src = { sequence = \"fd00::..fd00::1:0000:0000\" }"),
            "src",
            ValueError::NotPowerOfTwo { count: (1 << 32) + 1 }.into(),
        ),
        (udp("checksum = \"borken\""), "checksum", Reason::ChecksumWord { expected: optional }),
        (udp("length = { list = [1] }"), "length", Reason::CannotVary),
        ("{ tcp = { dst = 9, flags = \"syn,akc\" } }".into(), "flags", kind("syn,akc", flags)),
        ("{ tcp = { dst = 9, options = [{ hex = \"0\" }] } }".into(), "options", Reason::NotHex),
        (
            format!("{{ tcp = {{ dst = 9, options = [{{ hex = \"{}\" }}] }} }}", "01".repeat(41)),
            "options",
            Reason::OptionsTooLong { len: 44, max: 40 },
        ),
        ("{ icmp = { id = 1, rest = 7 } }".into(), "rest", overlap("id")),
        (
            "{ icmp = { type = \"ehco\" } }".into(),
            "type",
            kind("ehco", "a number or one of echo, echo-reply"),
        ),
        ("{ vlan = { id = 4096 } }".into(), "id", too_wide(4096, 12)),
        ("{ gre = { checksum = \"wrong\" } }".into(), "checksum", CHECKSUM),
    ]);
}

#[test]
fn fields_that_others_need() {
    let ip =
        "{ ipv4 = { src = \"10.0.0.1\", dst = \"10.0.0.2\", protocol = { random = \"1..9\" } } }";
    let tcp = error("", &[ETHERNET, ip, "{ tcp = { dst = 9 } }"]);
    let place = "stream \"a\", layer 3 (tcp), field \"checksum\"";
    assert_reason(&tcp, place, &Reason::ChecksumVaries);
    let udp = error("", &[ETHERNET, IPV6, "{ udp = { dst = 9, checksum = \"none\" } }"]);
    let place = "stream \"a\", layer 3 (udp), field \"checksum\"";
    assert_reason(&udp, place, &Reason::ChecksumRequired);
}

#[test]
fn invalid_bytes() {
    let raw = |keys: &str| format!("{{ raw = {{ {keys} }} }}");
    let field = |keys: &str| raw(&format!("hex = \"00112233\", fields = [{{ {keys} }}]"));
    let fields = "[{ at = 0, bits = 9, value = 1 }, { at = 1, bits = 1, value = 1 }]";
    let one_of_two = || Reason::OneOf { keys: "`hex` and `text`" };
    let one_of_three = Reason::OneOf { keys: "`hex`, `text` and `pattern`" };
    let outside = |at| Reason::FieldOutside { at };
    let overlap = Reason::Overlap { field: "fields".into() };
    let cases = [
        (raw(&format!("hex = \"0011\", fields = {fields}")), "raw", overlap),
        (raw(""), "raw", one_of_two()),
        (raw("hex = \"00\", text = \"a\""), "raw", one_of_two()),
        (raw("hex = \"\""), "raw", Reason::NoBytes),
        (raw("hex = \"é0\""), "raw", Reason::NotHex),
        (raw(&format!("text = \"{}\"", "a".repeat(3367))), "raw", Reason::LayersTooLong),
        (field("at = 3, bits = 9, value = 1"), "raw", outside(3)),
        (field("at = 18446744073709551615, bits = 9, value = 1"), "raw", outside(usize::MAX)),
        (field("at = 0, bit = 8, bits = 1, value = 1"), "raw", outside(0)),
        (field("at = 0, value = 1"), "raw", Reason::NumberBits),
        (field("at = 0, bits = 65, value = 1"), "raw", Reason::NumberBits),
        (
            field("at = 0, bits = 3, kind = \"ipv4\", value = \"10.0.0.1\""),
            "raw",
            Reason::AddressBits,
        ),
        (field("at = 0, kind = \"mac\", value = \"02:00:00:00:00:01\""), "raw", outside(0)),
        ("{ payload = { hex = \"00\", text = \"a\" } }".into(), "payload", one_of_three),
        ("{ payload = { pattern = \"0\" } }".into(), "payload", Reason::NotHex),
    ];
    for (layer, name, reason) in cases {
        let error = error("", &[ETHERNET, IPV4, "{ udp = { dst = 9 } }", &layer]);
        assert_reason(&error, &format!("stream \"a\", layer 4 ({name})"), &reason);
    }
}

#[test]
fn mtus_and_tags() {
    let udp = "{ udp = { dst = 9 } }";
    let templates = |size: usize, tags: usize, mtu: usize| {
        let tag = vec!["{ vlan = { id = 1 } }"; tags];
        let layers = [&[ETHERNET][..], &tag, &[IPV4, udp]].concat().join(", ");
        let text = format!("[[stream]]\nsize = {size}\nlayers = [{layers}]\n");
        File::parse(&text).expect("a file").templates(mtu)
    };
    let cases = [
        (1514, 0, 1500, true),
        (1515, 0, 1500, false),
        (1518, 1, 1500, true),
        (1519, 1, 1500, false),
        (1518, 2, 1500, true),
        (1522, 2, 1500, false),
        (3367, 0, 9000, true),
        (3368, 0, 9000, false),
        (60, 0, 45, false),
    ];
    for (size, tags, mtu, fits) in cases {
        assert_eq!(templates(size, tags, mtu).is_ok(), fits, "{size} bytes, {tags} tags, {mtu}");
    }
}

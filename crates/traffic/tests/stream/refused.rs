//! Descriptions that cannot be sent: each says where and why.

use traffic::stream::File;

const ETHERNET: &str =
    "{ ethernet = { src = \"02:00:00:00:00:01\", dst = \"02:00:00:00:00:02\" } }";
const IPV4: &str = "{ ipv4 = { src = \"10.0.0.1\", dst = \"10.0.0.2\" } }";
const IPV6: &str = "{ ipv6 = { src = \"fd00::1\", dst = \"fd00::2\" } }";

/// What is said of a stream `a` with these keys, and these layers.
fn said(keys: &str, layers: &[&str]) -> String {
    let text = format!("[[stream]]\nname = \"a\"\n{keys}\nlayers = [{}]\n", layers.join(", "));
    match File::parse(&text).and_then(|file| file.templates(1500)) {
        Ok(_) => panic!("not refused:\n{text}"),
        Err(error) => error.to_string(),
    }
}

fn assert_said(said: &str, place: &str, why: &str) {
    let at = if place.is_empty() { "stream \"a\"" } else { place };
    assert!(said.starts_with(at), "{said:?} is not at {at:?}");
    assert!(said.contains(why), "{said:?} does not say {why:?}");
}

#[test]
fn files_that_are_none() {
    let cases = [
        ("", "no streams"),
        ("stream = 3", "no streams"),
        ("[[stream]", "TOML parse error at line 1"),
        ("{ \"stream\": [", "EOF while parsing"),
        ("[[streams]]\nname = \"a\"", "unknown key \"streams\""),
        ("rate = 7", "unknown key \"rate\""),
        ("stream = [3]", "stream 1: is no table"),
        ("stream = []", "1 to 64 in one run, not 0"),
        ("[[stream]]\nlayers = 3", "stream 1: `layers` is no list"),
    ];
    for (text, why) in cases {
        let refused = File::parse(text).and_then(|file| file.templates(1500));
        let said = refused.expect_err(text).to_string();
        assert!(said.contains(why), "{text:?}: {said:?} does not say {why:?}");
    }
}

#[test]
fn two_streams_of_one_name_and_too_many() {
    let one = format!("[[stream]]\nname = \"a\"\nlayers = [{ETHERNET}, {IPV4}]\n");
    let twice = File::parse(&format!("{one}{one}")).expect("a file").templates(1500);
    assert_eq!(twice.expect_err("twice").to_string(), "streams: two are called \"a\"");
    let many: String = (0..65).map(|id| one.replace("\"a\"", &format!("\"{id}\""))).collect();
    let many = File::parse(&many).expect("a file").templates(1500);
    assert!(many.expect_err("many").to_string().contains("1 to 64 in one run, not 65"));
}

#[test]
fn keys_of_a_stream() {
    let udp = "{ udp = { dst = 9 } }";
    let fields = [
        ("wieght = 3", "field \"wieght\"", "unknown field `wieght`, expected one of `name`"),
        ("weight = \"3\"", "field \"weight\"", "expected u32"),
        ("weight = 0", "field \"weight\"", "would never be sent"),
        ("expect = \"pas\"", "field \"expect\"", "expected `pass` or `drop`"),
        ("expect = \"drop\"", "field \"expect\"", "say stamp = true"),
        ("size = 41", "field \"size\"", "41 bytes, but headers, payload and stamp need 42"),
        ("size = 57\nstamp = true", "field \"size\"", "need 58"),
        ("size = [64, 41]", "field \"size\"", "41 bytes"),
        ("size = 1515", "field \"size\"", "1515 bytes, but the interface's MTU 1500 allows 1514"),
        ("size = \"60..1515\"", "field \"size\"", "MTU 1500 allows 1514"),
        ("size = \"imux\"", "field \"size\"", "\"imux\" is no size in bytes"),
        ("size = { to = 3368 }", "field \"size\"", "at most 3367 bytes"),
        ("size = { too = 70 }", "field \"size\"", "a size such as 128"),
        ("flows = { count = 9 }", "field \"flows\"", "no field varies by flow"),
        ("flows = { count = 9, ordr = 1 }", "field \"flows\"", "unknown field `ordr`"),
    ];
    for (keys, field, why) in fields {
        let said = said(keys, &[ETHERNET, IPV4, udp]);
        assert_said(&said, &format!("stream \"a\", {field}: "), why);
    }
    assert_said(&said("", &[]), "stream \"a\", field \"layers\": ", "there are none");
}

#[test]
fn fields_of_flows() {
    let flows = |keys: &str, udp: &str| {
        let said = said(keys, &[ETHERNET, IPV4, &format!("{{ udp = {{ dst = 9, {udp} }} }}")]);
        said.strip_prefix("stream \"a\", ").map(str::to_owned).expect("its stream")
    };
    let cases = [
        ("", "src = { flow = \"1..9\" }", "layer 3 (udp), field \"src\"", "has no `flows`"),
        ("flows = { count = 0 }", "src = { flow = \"1..9\" }", "layer 3", "a count of 0"),
        (
            "flows = { count = 10 }",
            "src = { flow = \"1..9\" }",
            "field \"flows\"",
            "10 flows, but the fields are the same again after 9",
        ),
        (
            "flows = { count = 70_000 }",
            "src = { flow = \"1..9\" }",
            "layer 3",
            "9 values for 70000 flows",
        ),
        (
            "flows = { count = 2, exponent = 1.0 }",
            "src = { flow = \"1..9\" }",
            "layer 3",
            "only `order = \"zipf\"`",
        ),
        (
            "flows = { count = 2, order = \"zipf\", exponent = -1.0 }",
            "src = { flow = \"1..9\" }",
            "layer 3",
            "exponent -1 of Zipf's law is not 0 or above",
        ),
    ];
    for (keys, udp, place, why) in cases {
        assert_said(&flows(keys, udp), place, why);
    }
}

#[test]
fn layers_that_are_none() {
    let cases: [(&[&str], &str, &str); 8] = [
        (&["3"], "stream \"a\", layer 1: ", "is no table such as"),
        (&["{}"], "stream \"a\", layer 1: ", "has one key"),
        (&["{ udp = {}, tcp = {} }"], "stream \"a\", layer 1: ", "has one key"),
        (&[ETHERNET, "{ sctp = {} }"], "stream \"a\", layer 2: ", "no protocol is called \"sctp\""),
        (&["{ ethernet = 3 }"], "stream \"a\", layer 1 (ethernet): ", "expected struct Ethernet"),
        (
            &["{ ethernet = { scr = 1 } }"],
            "stream \"a\", layer 1 (ethernet), field \"scr\": ",
            "unknown field `scr`, expected one of `src`",
        ),
        (
            &["{ ethernet = { src = 1.5 } }"],
            "stream \"a\", layer 1 (ethernet), field \"src\": ",
            "a number, text, or a table",
        ),
        (
            &["{ ethernet = { src = { random = \"1..9\", stp = 3 } } }"],
            "stream \"a\", layer 1 (ethernet), field \"src\": ",
            "unknown field `stp`",
        ),
    ];
    for (layers, place, why) in cases {
        assert_said(&said("", layers), place, why);
    }
}

#[test]
fn layers_that_cannot_follow_each_other() {
    let (udp, tcp) = ("{ udp = { dst = 9 } }", "{ tcp = { dst = 9 } }");
    let arp = "{ arp = { sender_ip = \"10.0.0.1\", target_ip = \"10.0.0.2\" } }";
    let asks = "{ neighbour_solicitation = { target = \"fd00::9\" } }";
    let later = "{ ipv4 = { src = \"10.0.0.1\", dst = \"10.0.0.2\", fragment_offset = 1 } }";
    let cases: [(&[&str], &str, &str); 19] = [
        (&[IPV4], "layer 1 (ipv4)", "cannot follow the beginning"),
        (&["{ payload = {} }"], "layer 1 (payload)", "cannot follow the beginning"),
        (&[ETHERNET, udp], "layer 2 (udp)", "cannot follow layer 1 (ethernet)"),
        (&[ETHERNET, IPV4, arp], "layer 3 (arp)", "cannot follow layer 2 (ipv4)"),
        (&[ETHERNET, IPV4, "{ icmpv6 = {} }"], "layer 3 (icmpv6)", "cannot follow"),
        (&[ETHERNET, IPV4, asks], "layer 3 (neighbour_solicitation)", "cannot follow"),
        (&[ETHERNET, IPV4, "{ hop_by_hop = {} }"], "layer 3 (hop_by_hop)", "cannot follow"),
        (&[ETHERNET, IPV6, "{ icmp = {} }"], "layer 3 (icmp)", "cannot follow layer 2 (ipv6)"),
        (
            &[ETHERNET, IPV6, "{ fragment = {} }", "{ hop_by_hop = {} }"],
            "layer 4 (hop_by_hop)",
            "cannot follow layer 3 (fragment)",
        ),
        (&[ETHERNET, IPV4, udp, tcp], "layer 4 (tcp)", "cannot follow layer 3 (udp)"),
        (&[ETHERNET, IPV4, tcp, IPV4], "layer 4 (ipv4)", "cannot follow layer 3 (tcp)"),
        (&[ETHERNET, arp, "{ payload = {} }"], "layer 3 (payload)", "cannot follow layer 2 (arp)"),
        (&[ETHERNET, IPV6, asks, "{ raw = { hex = \"00\" } }"], "layer 4 (raw)", "cannot follow"),
        (&[ETHERNET, IPV4, udp, "{ payload = {} }", udp], "layer 5 (udp)", "cannot follow layer 4"),
        (&[ETHERNET, IPV4, "{ gre = {} }", arp], "layer 4 (arp)", "cannot follow layer 3 (gre)"),
        (
            &[ETHERNET, IPV4, "{ udp = {} }", "{ vxlan = { vni = 1 } }", IPV4],
            "layer 5 (ipv4)",
            "cannot follow layer 4 (vxlan)",
        ),
        (&[ETHERNET, later, udp], "layer 3 (udp)", "a later fragment, which has no headers"),
        (
            &[ETHERNET, IPV6, "{ fragment = { offset = { random = \"0..9\" } } }", udp],
            "layer 4 (udp)",
            "a later fragment",
        ),
        (&[ETHERNET, ETHERNET], "layer 2 (ethernet)", "cannot follow layer 1 (ethernet)"),
    ];
    for (layers, place, why) in cases {
        assert_said(&said("", layers), &format!("stream \"a\", {place}: "), why);
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
        assert_said(&said("", layers), &format!("stream \"a\", {place}: "), "is not given");
    }
}

#[test]
fn values_that_do_not_fit_their_field() {
    let ip =
        |field: &str| format!("{{ ipv4 = {{ src = \"10.0.0.1\", dst = \"10.0.0.2\", {field} }} }}");
    let ip6 = |field: &str| format!("{{ ipv6 = {{ dst = \"fd00::1\", {field} }} }}");
    let udp = |field: &str| format!("{{ udp = {{ dst = 9, {field} }} }}");
    let cases = [
        (ip("ttl = 256"), "ttl", "256 does not fit 8 bits"),
        (ip("ttl = \"x\""), "ttl", "\"x\" is no number"),
        (ip("dscp = { list = [63, 64] }"), "dscp", "64 does not fit 6 bits"),
        (ip("dscp = 1, tos = 4"), "tos", "overlaps field \"dscp\""),
        (ip("id = { random = \"9..1\" }"), "id", "ends below its first value"),
        (ip("id = { zipf = -0.5, of = \"1..9\" }"), "id", "exponent -0.5 of Zipf's law"),
        (ip("options = \"012\""), "options", "two hexadecimal digits"),
        (ip("options = \"0g\""), "options", "two hexadecimal digits"),
        (ip(&format!("options = \"{}\"", "00".repeat(41))), "options", "41 bytes, more than 40"),
        (ip("header_length = { random = \"5..6\" }"), "header_length", "cannot vary"),
        (ip("total_length = { random = \"20..60\" }"), "total_length", "cannot vary"),
        (ip("checksum = \"none\""), "checksum", "\"right\", \"broken\" or a number"),
        (ip("checksum = 65536"), "checksum", "65536 does not fit 16 bits"),
        ("{ ipv4 = { src = 7, dst = \"10.0.0.1\" } }".into(), "src", "7 is no IPv4 address"),
        ("{ ipv4 = { src = \"fd00::1\" } }".into(), "src", "\"fd00::1\" is no IPv4 address"),
        (ip6("src = { random = \"fd00::/63\" }"), "src", "more than 64 bits"),
        (ip6("src = { sequence = \"fd00::ffff:ffff:ffff:ffff..fd00:0:0:1::\" }"), "src", "last 64"),
        (ip6("src = { zipf = 1.0, of = \"fd00::/107\" }"), "src", "2097152 values, but Zipf's law"),
        (
            ip6("src = { sequence = \"fd00::..fd00::1:0000:0000\" }"),
            "src",
            "4294967297 values: more than 2^32 have to be a power of two",
        ),
        (udp("checksum = \"borken\""), "checksum", "\"right\", \"broken\", \"none\" or a number"),
        (udp("length = { list = [1] }"), "length", "cannot vary"),
        ("{ tcp = { dst = 9, flags = \"syn,akc\" } }".into(), "flags", "not made of fin, syn"),
        ("{ tcp = { dst = 9, options = [{ hex = \"0\" }] } }".into(), "options", "hexadecimal"),
        (
            format!("{{ tcp = {{ dst = 9, options = [{{ hex = \"{}\" }}] }} }}", "01".repeat(41)),
            "options",
            "have 44 bytes, more than 40",
        ),
        ("{ icmp = { id = 1, rest = 7 } }".into(), "rest", "overlaps field \"id\""),
        ("{ icmp = { type = \"ehco\" } }".into(), "type", "none of echo, echo-reply"),
        ("{ vlan = { id = 4096 } }".into(), "id", "4096 does not fit 12 bits"),
        ("{ gre = { checksum = \"wrong\" } }".into(), "checksum", "\"right\", \"broken\""),
    ];
    for (layer, field, why) in cases {
        let name = layer.split_whitespace().nth(1).expect("a name");
        let carrier: &[&str] = match name {
            "ipv4" | "ipv6" | "vlan" => &[ETHERNET],
            _ => &[ETHERNET, IPV4],
        };
        let place = format!("layer {} ({name}), field \"{field}\": ", carrier.len() + 1);
        let said = said("", &[carrier, &[&layer]].concat());
        assert_said(&said, &format!("stream \"a\", {place}"), why);
    }
}

#[test]
fn fields_that_others_need() {
    let ip =
        "{ ipv4 = { src = \"10.0.0.1\", dst = \"10.0.0.2\", protocol = { random = \"1..9\" } } }";
    let said_of_tcp = said("", &[ETHERNET, ip, "{ tcp = { dst = 9 } }"]);
    assert_said(&said_of_tcp, "stream \"a\", layer 3 (tcp), field \"checksum\"", "which varies");
    let said_of_udp = said("", &[ETHERNET, IPV6, "{ udp = { dst = 9, checksum = \"none\" } }"]);
    assert_said(&said_of_udp, "stream \"a\", layer 3 (udp), field \"checksum\"", "over IPv6");
}

#[test]
fn bytes_that_are_none() {
    let raw = |keys: &str| format!("{{ raw = {{ {keys} }} }}");
    let field = |keys: &str| raw(&format!("hex = \"00112233\", fields = [{{ {keys} }}]"));
    let fields = "[{ at = 0, bits = 9, value = 1 }, { at = 1, bits = 1, value = 1 }]";
    let cases = [
        (raw(&format!("hex = \"0011\", fields = {fields}")), "raw", "overlaps field"),
        (raw(""), "raw", "has one of `hex` and `text`"),
        (raw("hex = \"00\", text = \"a\""), "raw", "has one of"),
        (raw("hex = \"\""), "raw", "has no bytes"),
        (raw("hex = \"é0\""), "raw", "hexadecimal"),
        (raw(&format!("text = \"{}\"", "a".repeat(3367))), "raw", "ends behind 3367 bytes"),
        (field("at = 3, bits = 9, value = 1"), "raw", "the one at 3 ends outside"),
        (field("at = 18446744073709551615, bits = 9, value = 1"), "raw", "ends outside"),
        (field("at = 0, bit = 8, bits = 1, value = 1"), "raw", "ends outside"),
        (field("at = 0, value = 1"), "raw", "1 to 64 `bits`"),
        (field("at = 0, bits = 65, value = 1"), "raw", "1 to 64 `bits`"),
        (field("at = 0, bits = 3, kind = \"ipv4\", value = \"10.0.0.1\""), "raw", "has no `bits`"),
        (field("at = 0, kind = \"mac\", value = \"02:00:00:00:00:01\""), "raw", "ends outside"),
        ("{ payload = { hex = \"00\", text = \"a\" } }".into(), "payload", "has one of `hex`"),
        ("{ payload = { pattern = \"0\" } }".into(), "payload", "hexadecimal"),
    ];
    for (layer, name, why) in cases {
        let said = said("", &[ETHERNET, IPV4, "{ udp = { dst = 9 } }", &layer]);
        assert_said(&said, &format!("stream \"a\", layer 4 ({name})"), why);
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

//! Each protocol as a file describes it, rendered and dissected by another program.

use traffic::Template;
use traffic::stream::{File, Quick, QuickProtocol, Value};

use crate::judge::judge;

/// Frames of a template: `count` of them, with numbers all over their draws.
pub fn frames(template: &Template, count: u64) -> Vec<Vec<u8>> {
    template.check().expect("a template that can be compiled");
    let number = |draw: usize, frame: u64| {
        let spread = frame.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(draw as u32 * 7);
        let last = template.draws[draw].last;
        if frame == 0 { last } else { spread % last.saturating_add(1).max(1) }
    };
    let frame = |frame: u64| {
        let numbers: Vec<_> = (0..template.draws.len()).map(|draw| number(draw, frame)).collect();
        let size = match template.size_draw {
            Some(draw) => numbers[draw] as usize,
            None => 0,
        };
        template.render(&numbers, size, None)
    };
    (0..count).map(frame).collect()
}

#[test]
fn quick_streams_are_right() {
    let value = |text: &str| Some(text.parse::<Value>().expect(text));
    let protocols = [
        (QuickProtocol::Udp, ["udp", "udp"]),
        (QuickProtocol::TcpSyn, ["tcp", "tcp"]),
        (QuickProtocol::Icmp, ["icmp", "icmpv6"]),
        (QuickProtocol::Arp, ["arp", "icmpv6"]),
    ];
    let addresses = [("random:10.0.0.0/8", "10.1.0.1"), ("random:fd00::/64", "fd00:1::1")];
    for (protocol, names) in protocols {
        for ((src, dst), name) in addresses.iter().zip(names) {
            for (vlans, size, stamp) in [
                (&[][..], None, false),
                (&["7"], Some("128"), false),
                (&["1..9", "8"], Some("imix"), true),
            ] {
                let quick = Quick {
                    src_mac: value("02:00:00:00:00:01"),
                    dst_mac: value("02:00:00:00:00:02"),
                    src: value(src),
                    dst: value(dst),
                    dport: value("1000..1999"),
                    vlans: vlans.iter().map(|id| id.parse().expect("an id")).collect(),
                    size: size.map(|size: &str| size.parse().expect("a size")),
                    stamp,
                    ..Quick::new(protocol.clone())
                };
                let template = quick.stream().template(3, 1500).expect("a stream");
                for frame in frames(&template, 200) {
                    let seen = judge(&frame).unwrap_or_else(|why| panic!("{why}: {frame:02x?}"));
                    assert_eq!(seen.last().expect("a layer"), name);
                    assert_eq!(
                        seen.iter().filter(|it| it.starts_with("vlan")).count(),
                        vlans.len()
                    );
                }
            }
        }
    }
}

#[test]
fn a_file_is_right() {
    let text = r#"
        [[stream]]
        name = "dns"
        stamp = true
        size = "imix"
        flows = { count = 1000, order = "zipf", exponent = 1.1 }
        layers = [
            { ethernet = { src = "02:00:00:00:00:01", dst = "02:00:00:00:00:02" } },
            { ipv4 = { src = { flow = "10.0.0.0/16" }, dst = "10.1.0.1", ttl = { random = "1..9" } } },
            { udp = { src = { flow = "1024..2047" }, dst = 4789 } },
            { vxlan = { vni = { sequence = "1..100" } } },
            { ethernet = { src = "02:00:00:00:00:01", dst = "02:00:00:00:00:02" } },
            { ipv6 = { src = { random = "fd00::/64" }, dst = "fd00:1::1" } },
            { tcp = { dst = 80, seq = { random = "0..0xffffffff" } } },
            { payload = { pattern = "a55a01" } },
        ]
    "#;
    let templates = File::parse(text).expect("a file").templates(1500).expect("streams");
    for frame in frames(&templates[0], 500) {
        judge(&frame).unwrap_or_else(|why| panic!("{why}: {frame:02x?}"));
    }
}

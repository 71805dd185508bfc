//! Random streams: the checksums in all frames of an accepted stream are correct, and nothing
//! panics.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use traffic::stream::File;

use crate::judge::judge;
use crate::protocols::frames;

/// A number of at most `bits` bits, in any of its notations.
fn number(bits: u32) -> BoxedStrategy<Value> {
    let last = u64::MAX >> (64 - bits);
    let pair = (0..=last, 0..=last, 1..=9u64);
    let range = |(a, b, _): (u64, u64, u64)| format!("{}..{}", a.min(b), a.max(b));
    prop_oneof![
        (0..=last).prop_map(|number| json!(number)),
        pair.clone().prop_map(move |it| json!({ "sequence": range(it), "step": it.2 })),
        pair.clone().prop_map(move |it| json!({ "random": range(it) })),
        vec(0..=last, 1..9).prop_map(|list| json!({ "list": list })),
        (0..=last, 0..=1000u64).prop_map(move |(first, width)| {
            json!({ "zipf": 1.1, "of": range((first, first.saturating_add(width).min(last), 1)) })
        }),
        (0..=last / 2).prop_map(move |first| json!({ "flow": format!("{first}..{last}") })),
    ]
    .boxed()
}

fn address(v6: bool) -> BoxedStrategy<Value> {
    let texts = match v6 {
        true => ["fd00::1", "fd00::/64", "fd00:1::/120", "fd00::1..fd00::ffff", "fd00:2::/96"],
        false => ["10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "10.0.0.1..10.0.1.9", "10.0.0.0/24"],
    };
    let ways = select(&["sequence", "random", "flow"][..]);
    (select(texts.to_vec()), ways)
        .prop_map(|(text, way)| match text.contains('/') || text.contains("..") {
            true => json!({ way: text }),
            false => json!(text),
        })
        .boxed()
}

fn ethernet() -> impl Strategy<Value = Value> {
    let mac = select(&["02:00:00:00:00:01", "02:00:00:00:00:00/24", "02:00:00:00:00:00/8"][..]);
    (mac, prop::bool::ANY).prop_map(|(mac, random)| {
        let src = match (mac.contains('/'), random) {
            (true, true) => json!({ "random": mac }),
            (true, false) => json!({ "sequence": mac }),
            (false, _) => json!(mac),
        };
        json!({ "ethernet": { "src": src, "dst": "02:00:00:00:00:02" } })
    })
}

/// An IP header, and whether it is IPv6.
fn ip() -> impl Strategy<Value = (Vec<Value>, bool)> {
    let v4 = (address(false), address(false), number(8), number(16), 0..10usize).prop_map(
        |(src, dst, ttl, id, options)| {
            let options = "01".repeat(options);
            let ip = json!({ "src": src, "dst": dst, "ttl": ttl, "id": id, "options": options });
            (vec![json!({ "ipv4": ip })], false)
        },
    );
    let extensions = vec(0..3usize, 0..3);
    let v6 = (address(true), address(true), number(8), number(20), extensions).prop_map(
        |(src, dst, class, label, extensions)| {
            let ip = json!({ "src": src, "dst": dst, "traffic_class": class, "flow_label": label });
            let all = [
                json!({ "destination_options": {} }),
                json!({ "routing": { "addresses": ["fd00::9", "fd00::8"] } }),
                json!({ "fragment": { "id": 7 } }),
            ];
            let rest = extensions.into_iter().map(|which| all[which].clone());
            ([json!({ "ipv6": ip })].into_iter().chain(rest).collect(), true)
        },
    );
    prop_oneof![v4, v6]
}

fn transport(is_v6: bool) -> BoxedStrategy<Value> {
    let icmp = if is_v6 { "icmpv6" } else { "icmp" };
    // Any port but VXLAN's.
    let udp = (number(16), 1..4000u64)
        .prop_map(|(src, dst)| json!({ "udp": { "src": src, "dst": dst } }));
    let tcp = (number(16), number(32), number(32), number(16)).prop_map(|(src, seq, ack, window)| {
        json!({ "tcp": { "src": src, "dst": 80, "seq": seq, "ack": ack, "window": window } })
    });
    let echo = (number(16), number(16))
        .prop_map(move |(id, sequence)| json!({ icmp: { "id": id, "sequence": sequence } }));
    prop_oneof![udp, tcp, echo].boxed()
}

/// Ethernet, VLAN tags, IP and its payload.
fn packet() -> impl Strategy<Value = Vec<Value>> {
    let inner = ip().prop_flat_map(|(ip, is_v6)| (Just(ip), transport(is_v6)));
    (ethernet(), vec(number(12), 0..3), inner).prop_map(|(ethernet, tags, (ip, transport))| {
        let tags = tags.into_iter().map(|id| json!({ "vlan": { "id": id } }));
        [ethernet].into_iter().chain(tags).chain(ip).chain([transport]).collect()
    })
}

fn layers() -> impl Strategy<Value = Vec<Value>> {
    let outer = (ethernet(), ip(), number(24), number(32), 0..3usize);
    let tunneled = (outer, packet()).prop_map(|((ethernet, (ip, _), vni, key, which), inner)| {
        let tunnel = match which {
            0 => vec![json!({ "udp": {} }), json!({ "vxlan": { "vni": vni } })],
            1 => vec![json!({ "gre": { "key": key, "checksum": "right" } })],
            _ => vec![json!({ "gre": {} })],
        };
        [ethernet].into_iter().chain(ip).chain(tunnel).chain(inner).collect()
    });
    prop_oneof![packet(), tunneled]
}

/// A payload, and sizes for it.
fn rest() -> impl Strategy<Value = (Option<Value>, Option<Value>, bool)> {
    let payload = prop_oneof![
        Just(json!({})),
        Just(json!({ "pattern": "a5 01 ff" })),
        Just(json!({ "text": "odd" })),
        (number(13), 0..8usize).prop_map(|(value, bit)| {
            let field = json!({ "at": 0, "bit": bit, "bits": 13, "value": value });
            json!({ "text": "raw", "fields": [field] })
        }),
    ];
    let payload = prop::option::of(payload.prop_map(|payload| {
        let name = if payload.get("fields").is_some() { "raw" } else { "payload" };
        json!({ name: payload })
    }));
    // The longest headers, a payload and a stamp need 331 bytes.
    let size = prop_oneof![
        Just(None),
        Just(Some(json!("imix"))),
        (340..1400usize).prop_map(|size| Some(json!(size))),
        vec(340..600usize, 2..9).prop_map(|sizes| Some(json!(sizes))),
        (340..400usize, 1..9usize).prop_map(|(from, step)| {
            Some(json!({ "from": from, "to": from + 40, "step": step, "order": "random" }))
        }),
    ];
    (payload, size, prop::bool::ANY)
}

fn stream(layers: Vec<Value>, rest: (Option<Value>, Option<Value>, bool)) -> Value {
    let (payload, size, stamp) = rest;
    let layers: Vec<_> = layers.into_iter().chain(payload).collect();
    let has_flows = json!(layers).to_string().contains("\"flow\"");
    let flows = has_flows.then(|| json!({ "count": 100, "order": "zipf" }));
    json!({ "stream": [{ "stamp": stamp, "size": size, "flows": flows, "layers": layers }] })
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_checksum_of_every_frame_is_right(layers in layers(), rest in rest()) {
        let text = stream(layers, rest).to_string();
        let file = File::parse(&text).expect(&text);
        let templates = file.templates(1600).unwrap_or_else(|error| panic!("{error}: {text}"));
        for frame in frames(&templates[0], 12) {
            judge(&frame).unwrap_or_else(|why| panic!("{why}: {text}"));
        }
    }

    /// Layers in any order, with any text in their fields.
    #[test]
    fn nothing_panics(
        layers in vec((select(LAYERS), vec((select(FIELDS), select(VALUES)), 0..5)), 0..6),
        size in select(VALUES),
        mtu in 0..4000usize,
    ) {
        let layer = |(name, fields): (&str, Vec<(&str, &str)>)| {
            let fields: Vec<_> =
                fields.iter().map(|(field, value)| format!("\"{field}\": {value}")).collect();
            format!("{{ \"{name}\": {{ {} }} }}", fields.join(", "))
        };
        let layers: Vec<_> = layers.into_iter().map(layer).collect();
        let keys = format!("\"size\": {size}, \"flows\": {{ \"count\": 3 }}");
        let text = format!("{{ \"stream\": [{{ {keys}, \"layers\": [{}] }}] }}", layers.join(", "));
        if let Ok(templates) = File::parse(&text).and_then(|file| file.templates(mtu)) {
            frames(&templates[0], 3);
        }
    }

    /// Valid streams in which some fields have other values; many remain valid.
    #[test]
    fn no_value_panics(
        mut layers in layers(),
        changes in vec((any::<usize>(), select(FIELDS), select(VALUES)), 1..4),
        size in select(SIZES),
        stamp in prop::bool::ANY,
        mtu in 40..4000usize,
    ) {
        for (index, field, value) in changes {
            let index = index % layers.len();
            let fields = layers[index].as_object_mut().and_then(|it| it.values_mut().next());
            let value: Value = serde_json::from_str(value).expect(value);
            if let Some(fields) = fields.filter(|fields| takes(fields, field)) {
                fields[field] = value;
            }
        }
        let size = serde_json::from_str(size).expect(size);
        let text = stream(layers, (None, size, stamp)).to_string();
        if let Ok(templates) = File::parse(&text).and_then(|file| file.templates(mtu)) {
            frames(&templates[0], 3);
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}") {
        let _refused = File::parse(&text);
        let _refused = File::parse(&format!("{{{text}"));
    }
}

/// Mostly fields that the layer has already; most layers do not support the others.
fn takes(fields: &Value, field: &str) -> bool {
    fields.get(field).is_some() || matches!(field, "checksum" | "options" | "protocol" | "flags")
}

const SIZES: &[&str] = &["null", "60", "100", "1514", "\"imix\"", "\"60..1514\"", "[99, 1001]"];

const LAYERS: &[&str] = &[
    "ethernet",
    "ethernet",
    "ethernet",
    "vlan",
    "arp",
    "ipv4",
    "ipv4",
    "ipv6",
    "hop_by_hop",
    "destination_options",
    "routing",
    "fragment",
    "icmp",
    "icmpv6",
    "neighbour_solicitation",
    "udp",
    "tcp",
    "vxlan",
    "gre",
    "raw",
    "payload",
];

const FIELDS: &[&str] = &[
    "src",
    "dst",
    "src",
    "dst",
    "id",
    "checksum",
    "protocol",
    "ethertype",
    "next_header",
    "hex",
    "text",
    "pattern",
    "options",
    "fragment_offset",
    "offset",
    "total_length",
    "length",
    "vni",
    "key",
    "sequence",
    "addresses",
    "kind",
    "segments_left",
    "target",
    "link",
    "sender_ip",
    "target_ip",
    "type",
    "rest",
    "flags",
];

const VALUES: &[&str] = &[
    "0",
    "7",
    "60",
    "1500",
    "65535",
    "18446744073709551615",
    "\"10.0.0.1\"",
    "\"fd00::1\"",
    "\"02:00:00:00:00:01\"",
    "\"broken\"",
    "\"none\"",
    "\"imix\"",
    "\"00\"",
    "\"0011223344\"",
    "{\"random\": \"10.0.0.0/8\"}",
    "{\"random\": \"fd00::/64\"}",
    "{\"sequence\": \"::/0\"}",
    "{\"random\": \"02:00:00:00:00:00/8\"}",
    "{\"flow\": \"10.0.0.0/30\"}",
    "{\"flow\": \"1..2\"}",
    "{\"sequence\": \"1..9\", \"step\": 18446744073709551615}",
    "{\"list\": [1, 2]}",
    "{\"flow\": [\"fd00::1\", \"fe00::1\", \"fd00::1\"]}",
    "[\"fd00::1\"]",
    "{}",
    "null",
    "[]",
    "{\"zipf\": 2.5, \"of\": \"0..255\"}",
    "{\"from\": 0, \"to\": 99, \"step\": 98}",
];

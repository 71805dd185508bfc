//! Hand-made packets, whole, cut at every byte, and bytes of no meaning.

use proptest::prelude::*;

use super::*;

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(char::is_ascii_hexdigit).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

const MACS: &str = "020000000001 020000000002";
const UDP: &str = "0fa0 04d2 001a 0000";
const TEXT: &str = "616263646566676869 6a6b6c6d6e6f707172";

fn ipv4(protocol: &str, total: u16, behind: &str) -> String {
    format!("45 00 {total:04x} 0001 4000 40 {protocol} 1234 0a000001 0a010002 {behind}")
}

fn ipv6(next: &str, payload: u16, behind: &str) -> String {
    let (src, dst) = ("20010db8000000000000000000000001", "20010db8000000000000000000000002");
    format!("60000000 {payload:04x} {next} 40 {src} {dst} {behind}")
}

type Row = (String, &'static str);

/// Each packet with its line.
fn table() -> Vec<Row> {
    [plain(), tunnels(), fragments(), strange()].concat()
}

fn udp_packet() -> String {
    ipv4("11", 46, &format!("{UDP} {TEXT}"))
}

fn plain() -> Vec<Row> {
    let udp = udp_packet();
    let tcp = "0fa0 0050 00000001 00000000 a0 02 fffe 0000 0000 020405b4 0402 0103 0307 \
               080a 0000 0001 0000 0000 01 01";
    vec![
        (format!("{MACS} 0800 {udp}"), "IPv4 10.0.0.1 > 10.1.0.2 UDP 4000 > 1234 len 18"),
        (
            format!("{MACS} 8100 600a 0800 {udp}"),
            "VLAN 10 IPv4 10.0.0.1 > 10.1.0.2 UDP 4000 > 1234 len 18",
        ),
        (
            format!("{MACS} 88a8 0005 8100 000a 86dd {}", ipv6("3a", 8, "80 00 1111 0001 0002")),
            "VLAN 5 VLAN 10 IPv6 2001:db8::1 > 2001:db8::2 ICMPv6 echo request id 1 seq 2 len 0",
        ),
        (
            format!("{MACS} 0806 0001 0800 06 04 0001 020000000002 0a000001 000000000000 0a010002"),
            "ARP who has 10.1.0.2 tell 10.0.0.1",
        ),
        (
            format!("{MACS} 0800 {}", ipv4("06", 60, tcp)),
            "IPv4 10.0.0.1 > 10.1.0.2 TCP 4000 > 80 [S] seq 1 win 65534 len 0",
        ),
    ]
}

/// Packets in packets, each of one inside.
fn tunnels() -> Vec<Row> {
    let udp = udp_packet();
    let quoted = format!("0303 0000 00000000 {}", &udp[..udp.len() - TEXT.len()]);
    let vxlan = format!("c000 12b5 004c 0000 08000000 00002a 00 {MACS} 0800 {udp}");
    let geneve = "c000 17c1 0050 0000 01 00 6558 00002a 00 00000000";
    let geneve = format!("{geneve} {MACS} 0800 {udp}");
    vec![
        (
            format!("{MACS} 0800 {}", ipv4("01", 56, &quoted)),
            "IPv4 10.0.0.1 > 10.1.0.2 ICMP port unreachable about \
             IPv4 10.0.0.1 > 10.1.0.2 UDP 4000 > 1234 len 18",
        ),
        (
            format!("{MACS} 0800 {}", ipv4("11", 96, &vxlan)),
            "IPv4 10.0.0.1 > 10.1.0.2 UDP 49152 > 4789 len 68 VXLAN 42: \
             IPv4 10.0.0.1 > 10.1.0.2 UDP 4000 > 1234 len 18",
        ),
        (
            format!("{MACS} 0800 {}", ipv4("11", 100, &geneve)),
            "IPv4 10.0.0.1 > 10.1.0.2 UDP 49152 > 6081 len 72 Geneve 42: \
             IPv4 10.0.0.1 > 10.1.0.2 UDP 4000 > 1234 len 18",
        ),
        (
            format!("{MACS} 0800 {}", ipv4("2f", 74, &format!("2000 0800 00000007 {udp}"))),
            "IPv4 10.0.0.1 > 10.1.0.2 GRE key 7: IPv4 10.0.0.1 > 10.1.0.2 \
             UDP 4000 > 1234 len 18",
        ),
    ]
}

fn fragments() -> Vec<Row> {
    let first = format!("2c 00 010400000000 11 00 0001 00000009 {UDP} {}", "00".repeat(10));
    let later = "45 00 0020 0001 00b9 40 11 0000 0a000001 0a010002";
    vec![
        (
            format!("{MACS} 86dd {}", ipv6("00", 34, &first)),
            "IPv6 2001:db8::1 > 2001:db8::2 hop-by-hop first fragment UDP 4000 > 1234 len 18",
        ),
        (
            format!("{MACS} 0800 {later} {}", "aa".repeat(12)),
            "IPv4 10.0.0.1 > 10.1.0.2 fragment at 1480 len 12",
        ),
    ]
}

fn strange() -> Vec<Row> {
    vec![
        (
            format!("{MACS} 88cc 0102"),
            "Ethernet 02:00:00:00:00:02 > 02:00:00:00:00:01 type 0x88cc len 2",
        ),
        (
            format!("{MACS} 0800 {}", ipv4("fd", 24, "00000000")),
            "IPv4 10.0.0.1 > 10.1.0.2 protocol 253 len 4",
        ),
        (format!("{MACS} 0800 44"), "(cut short)"),
        ("02".to_owned(), "(cut short)"),
    ]
}

/// Every byte belongs to one field, in order.
fn check_tiles(packet: &[u8], dissection: &Dissection) {
    let mut at = 0;
    for field in dissection.layers.iter().flat_map(|layer| &layer.fields) {
        assert_eq!(field.range.start, at, "{} of {packet:02x?}", field.name);
        assert!(field.range.end > at, "{} is empty", field.name);
        at = field.range.end;
    }
    assert_eq!(at, packet.len(), "{packet:02x?}");
    for offset in 0..packet.len() {
        assert!(dissection.field_at(offset).unwrap().field.range.contains(&offset));
    }
    assert!(dissection.field_at(packet.len()).is_none());
}

#[test]
fn packets_have_a_line_each() {
    for (packet, line) in table() {
        let packet = unhex(&packet);
        let dissection = dissect(&packet);
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if line != "(cut short)" {
            assert_eq!(dissection.summary, line);
        }
        assert_eq!(dissection.truncated, line == "(cut short)", "{line}");
        check_tiles(&packet, &dissection);
    }
}

#[test]
fn packets_may_end_anywhere() {
    for (packet, _) in table() {
        let packet = unhex(&packet);
        for end in 0..packet.len() {
            check_tiles(&packet[..end], &dissect(&packet[..end]));
        }
    }
}

#[test]
fn a_byte_has_a_name_and_a_value() {
    let udp = ipv4("11", 46, &format!("{UDP} {TEXT}"));
    let packet = unhex(&format!("{MACS} 8100 600a 0800 {udp} 0000"));
    let dissection = dissect(&packet);
    let table = [
        (0, "eth.dst", "02:00:00:00:00:01"),
        (12, "eth.type", "VLAN (0x8100)"),
        (15, "vlan.tci", "id 10, priority 3, drop eligible 0"),
        (24, "ipv4.flags_fragment", "DF, offset 0"),
        (26, "ipv4.ttl", "64"),
        (31, "ipv4.src", "10.0.0.1"),
        (40, "udp.dport", "1234"),
        (46, "payload.data", "6162636465666768696a6b6c6d6e6f70… (18 bytes)"),
        (65, "padding.data", "0000 (2 bytes)"),
    ];
    for (offset, name, value) in table {
        let place = dissection.field_at(offset).unwrap();
        assert_eq!((place.to_string().as_str(), place.field.value.as_str()), (name, value));
    }
    assert_eq!(dissection.span(26, 1), "ipv4.ttl");
    assert_eq!(dissection.span(32, 2), "ipv4.src+2");
    assert_eq!(dissection.span(0, 12), "eth.dst to eth.src");
    assert_eq!(dissection.span(99, 1), "byte 99");
}

#[test]
fn options_are_named_and_damaged_ones_take_the_rest() {
    let options = "020405b4 0402 0303 07 08ff 0000";
    let tcp = format!("0fa0 0050 00000001 00000000 80 12 fffe 0000 0000 {options}");
    // 13 bytes of options and 3 of padding after them make 16.
    let tcp = tcp.replace("80 12", "90 12") + "000000";
    let packet = unhex(&format!("{MACS} 0800 {}", ipv4("06", 56, &tcp)));
    let dissection = dissect(&packet);
    let layer = dissection.layers.iter().find(|layer| layer.name == "tcp").unwrap();
    let options = layer.fields.iter().filter(|field| field.name.starts_with("option"));
    let options: Vec<_> = options.map(|field| (field.name, field.value.as_str())).collect();
    let want = [
        ("option_mss", "1460"),
        ("option_sack_permitted", "0402"),
        ("option_window_scale", "7"),
        ("option_timestamps", "08ff0000000000"),
    ];
    assert_eq!(options, want);
    assert!(dissection.summary.contains("[S.] seq 1 ack 0"), "{}", dissection.summary);
    check_tiles(&packet, &dissection);
}

#[test]
fn tunnels_in_tunnels_keep_their_names_apart() {
    let inner = ipv4("11", 46, &format!("{UDP} {TEXT}"));
    let middle = ipv4("04", 66, &inner);
    let packet = unhex(&format!("{MACS} 0800 {}", ipv4("04", 86, &middle)));
    let names: Vec<_> = dissect(&packet).layers.into_iter().map(|layer| layer.name).collect();
    assert_eq!(names, ["eth", "ipv4", "ipv4#2", "ipv4#3", "udp", "payload"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_have_a_dissection(packet in prop::collection::vec(any::<u8>(), 0..200)) {
        check_tiles(&packet, &dissect(&packet));
    }

    #[test]
    fn damaged_packets_have_one_too(row in 0usize..13, at in 0usize..150, byte in any::<u8>()) {
        let mut packet = unhex(&table()[row].0);
        let at = at % packet.len();
        packet[at] = byte;
        check_tiles(&packet, &dissect(&packet));
    }
}

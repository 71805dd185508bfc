//! Captures without Ethernet headers: `run`, `filter explain` and `gen pcap`, without root.
#![allow(clippy::unwrap_used, reason = "what cannot be set up has failed the test")]
#![forbid(unsafe_code)]

mod support;

use std::fs::{self, File};

use pcap::{LinkType, Packet, Reader, Writer};
use support::{Folder, udp, xway};

const VICTIM: [u8; 4] = [10, 1, 0, 2];
const WIRELESS: LinkType = LinkType(105);

/// One packet of each of these link types, each of an interface of its own.
fn capture(folder: &Folder, name: &str, links: &[LinkType]) -> String {
    let path = folder.file(name);
    let file = File::create(&path).unwrap();
    let mut writer = Writer::pcapng(file, &pcap::Options::default()).unwrap();
    for link in links {
        let interface = writer.interface("any", *link).unwrap();
        let data = packet(*link);
        writer.write(&Packet { interface, data, timestamp_ns: 1, ..Packet::default() }).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// A UDP packet to the victim's port 1234 after the link header of the type.
fn packet(link: LinkType) -> Vec<u8> {
    let frame = udp(VICTIM, 1234);
    let cooked = [0, 0, 0, 1, 0, 6, 10, 11, 12, 13, 14, 15, 0, 0, 8, 0];
    let header: &[u8] = match link {
        LinkType::ETHERNET => &frame[..14],
        LinkType::NULL => &[2, 0, 0, 0],
        LinkType::LOOP => &[0, 0, 0, 2],
        LinkType::LINUX_SLL => &cooked,
        LinkType::LINUX_SLL2 => &[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 10, 11, 12, 13, 14, 15, 0, 0],
        _ => &[],
    };
    [header, &frame[14..]].concat()
}

const CONVERTED: [(LinkType, &str); 9] = [
    (LinkType::NULL, "BSD loopback (0)"),
    (LinkType::LOOP, "OpenBSD loopback (108)"),
    (LinkType::RAW_BSD, "raw IP (12)"),
    (LinkType::RAW_OPENBSD, "raw IP (14)"),
    (LinkType::RAW, "raw IP (101)"),
    (LinkType::IPV4, "raw IPv4 (228)"),
    (LinkType::LINUX_SLL, "Linux cooked v1 (113)"),
    (LinkType::LINUX_SLL2, "Linux cooked v2 (276)"),
    (LinkType::ETHERNET, "Ethernet (1)"),
];

#[test]
fn run_gives_each_packet_an_ethernet_header_and_reports_it() {
    let folder = Folder::new("link-run");
    for (link, name) in CONVERTED {
        let capture = capture(&folder, "in.pcapng", &[link, link]);
        let out = folder.file("out");
        let words = ["run", "drop", "--in", &capture, "--rule", "10.1.0.2 udp 1234"];
        let answer = xway(&[&words[..], &["--out", &out, "--json"]].concat());
        assert_eq!(answer.code, 0, "{name}: {}", answer.stderr);
        let json = answer.json();
        assert_eq!((&json["verdicts"]["drop"], &json["packets"]), (&2.into(), &2.into()), "{name}");
        let is_new = link != LinkType::ETHERNET;
        assert_eq!(json["framed"].get(name), is_new.then(|| 2.into()).as_ref(), "{name}");
        let notices = answer.stderr.matches("packets get an Ethernet header").count();
        assert_eq!((notices, answer.stderr.contains(name)), (is_new.into(), is_new), "{name}");

        let file = File::open(format!("{out}/drop.pcapng")).unwrap();
        let mut reader = Reader::new(file).unwrap();
        let written = reader.next().unwrap().unwrap();
        assert_eq!(reader.interfaces()[0].link_type, LinkType::ETHERNET, "{name}");
        let source: &[u8] = match link {
            LinkType::LINUX_SLL | LinkType::LINUX_SLL2 => &[10, 11, 12, 13, 14, 15],
            LinkType::ETHERNET => &[2, 0, 0, 0, 0, 9],
            _ => &[2, 0, 0, 0, 0, 1],
        };
        assert_eq!((&written.data[6..12], &written.data[12..14]), (source, &[8, 0][..]), "{name}");
        assert_eq!(written.data[14..], udp(VICTIM, 1234)[14..], "{name}");
    }
}

#[test]
fn strict_and_other_types_are_refused_by_name() {
    let folder = Folder::new("link-strict");
    let rules = folder.file("rules.toml");
    fs::write(&rules, "rules = ['drop udp']\n").unwrap();
    let written = folder.file("first.pcapng");
    let commands: [&[&str]; 3] =
        [&["run", "drop", "--in"], &["filter", "explain", "--rules", &rules], &["gen", "pcap"]];
    for words in commands {
        let last: &[&str] =
            if words[0] == "gen" { &["--dry-run", "--write", &written] } else { &[] };
        let refused = |link: LinkType, options: &[&str], told: &str| {
            let capture = capture(&folder, "in.pcapng", &[link]);
            let answer = xway(&[words, &[&capture], options, last].concat());
            assert_eq!(answer.code, 2, "{words:?} {link}: {}", answer.stderr);
            assert!(answer.stderr.contains(told), "{words:?} {link}: {}", answer.stderr);
            assert!(answer.stdout.is_empty(), "{words:?} {link}");
        };
        for (link, name) in &CONVERTED[..8] {
            refused(*link, &["--link", "strict"], name);
            refused(*link, &["--link", "strict"], "--link strict");
        }
        refused(WIRELESS, &[], "802.11 (105)");
        refused(WIRELESS, &[], "capture without monitor mode");
        let ethernet = capture(&folder, "in.pcapng", &[LinkType::ETHERNET]);
        let answer = xway(&[words, &[&ethernet, "--link", "strict"], last].concat());
        assert_eq!(answer.code, 0, "{words:?}: {}", answer.stderr);
    }
    for words in &commands[..2] {
        let capture = capture(&folder, "in.pcapng", &[LinkType(9)]);
        let answer = xway(&[*words, &[&capture]].concat());
        assert_eq!(answer.code, 2, "{words:?}: {}", answer.stderr);
        assert!(answer.stderr.contains("PPP (9)"), "{words:?}: {}", answer.stderr);
        assert!(answer.stderr.contains("tcpdump -i any"), "{words:?}: {}", answer.stderr);
    }
}

#[test]
fn interfaces_of_one_capture_may_have_several_types() {
    let folder = Folder::new("link-several");
    let rules = folder.file("rules.toml");
    fs::write(&rules, "rules = ['drop udp dport 1234']\n").unwrap();
    let links = [LinkType::ETHERNET, LinkType::RAW, LinkType::LINUX_SLL, LinkType::RAW];
    let capture = capture(&folder, "in.pcapng", &links);

    let answer = xway(&["filter", "explain", &capture, "--rules", &rules, "--json"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let lines = answer.stdout.lines().map(serde_json::from_str::<serde_json::Value>);
    let lines: Vec<_> = lines.map(Result::unwrap).collect();
    let framed: Vec<_> = lines.iter().map(|line| line["framed"].as_str()).collect();
    let [raw, cooked] = [Some("raw IP (101)"), Some("Linux cooked v1 (113)")];
    assert_eq!(framed, [None, raw, cooked, raw]);
    assert!(lines.iter().all(|line| line["verdict"] == "drop"), "{}", answer.stdout);
    assert_eq!(answer.stderr.matches("get an Ethernet header").count(), 2, "{}", answer.stderr);

    let written = folder.file("first.pcapng");
    let answer = xway(&["gen", "pcap", &capture, "--dry-run", "--write", &written, "--json"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let framed = &answer.json()["framed"];
    assert_eq!((&framed["raw IP (101)"], &framed["Linux cooked v1 (113)"]), (&2.into(), &1.into()));
    let reader = Reader::new(File::open(&written).unwrap()).unwrap();
    assert!(reader.map(Result::unwrap).all(|packet| packet.data[12..14] == [8, 0]));
}

#[test]
fn packets_that_ethernet_does_not_carry_are_left_out() {
    let folder = Folder::new("link-unfit");
    let path = folder.file("in.pcapng");
    let mut writer =
        Writer::pcapng(File::create(&path).unwrap(), &pcap::Options::default()).unwrap();
    writer.interface("lo0", LinkType::NULL).unwrap();
    for data in [packet(LinkType::NULL), vec![16, 0, 0, 0, 1, 2, 3]] {
        writer.write(&Packet { data, ..Packet::default() }).unwrap();
    }
    writer.finish().unwrap();
    let json = xway(&["run", "drop", "--in", &path, "--json"]).json();
    let unfit = &json["unfit"];
    assert_eq!((&unfit["packets"], &unfit["first"]), (&1.into(), &2.into()));
    assert_eq!(json["packets"], 1);

    let rules = folder.file("rules.toml");
    fs::write(&rules, "rules = ['drop udp']\n").unwrap();
    let answer = xway(&["filter", "explain", &path, "--rules", &rules, "--json"]);
    assert_eq!((answer.code, answer.stdout.lines().count()), (0, 1), "{}", answer.stderr);
    assert!(answer.stderr.contains("1 packets of protocols"), "{}", answer.stderr);
}

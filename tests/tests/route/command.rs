//! `xway route`: what runs, what it counts for each port and next hop, and how it ends.

use functions::route::{Config, HOP_COUNTS, HOPS, NEWEST, SentTo, sent};
use kernel::Map;
use lab::{Capture, LinkOptions, Router, until};
use packet::Mac;
use serde_json::Value;
use spec::{Expect, Map as _, Verdict};
use xway_tests::bpf::router::{C, Forward, Port, Routed, from_a};
use xway_tests::stage::PATIENCE;
use xway_tests::stories;
use xway_tests::xway::{Answer, Xway};

stories! {
    a_next_hop_has_one_number_however_its_route_is_found
    next_hops_without_a_place_are_counted_together
}

fn mac(text: &str) -> [u8; 6] {
    text.parse::<Mac>().unwrap().0
}

/// What the program sent, by next hop.
fn hops<R: Routed>(router: &Forward<R>) -> Vec<SentTo> {
    sent(router.map(HOPS), router.map(HOP_COUNTS)).unwrap()
}

fn a_next_hop_has_one_number_however_its_route_is_found<R: Routed>() {
    for memory in [0, 1024] {
        let mut router = Forward::<R>::with(&Config { memory, ..Config::default() });
        let mut bytes = 0;
        for (round, to) in [(1, "10.0.2.2"), (2, "fd00:0:0:2::2"), (3, "10.0.2.2")] {
            let packet = from_a(to, 7).udp(&vec![0; 100 * round]).unwrap();
            assert_eq!(router.judge(Port::Eth0, &packet).verdict, Verdict::Redirect);
            bytes += packet.len() as u64;
        }
        // Not sent, so not counted.
        let unknown = from_a("10.0.2.99", 7).udp(b"x").unwrap();
        assert_eq!(router.judge(Port::Eth0, &unknown).reason, "no-neighbour");
        let [SentTo { hop, count }] = hops(&router)[..] else { panic!("{:?}", hops(&router)) };
        assert_eq!(hop, Some((1, 0, mac(C))), "memory {memory}");
        assert_eq!((count.packets, count.bytes), (3, bytes), "memory {memory}");
    }
}

fn next_hops_without_a_place_are_counted_together<R: Routed>() {
    let mut router = Forward::<R>::with(&Config::default());
    let taken = (u64::MAX).to_le_bytes();
    for number in 1..router.map(HOPS).array().unwrap().len() as u32 {
        router.map(HOPS).update(&number.to_le_bytes(), &taken, Expect::Any).unwrap();
    }
    let packet = from_a("10.0.2.2", 7).udp(b"x").unwrap();
    for _ in 0..2 {
        let judgement = router.judge(Port::Eth0, &packet);
        assert_eq!(judgement.verdict, Verdict::Redirect);
        assert_eq!(judgement.packet[..6], mac(C), "the number is not part of the address");
    }
    let [SentTo { hop: None, count }] = hops(&router)[..] else { panic!("{:?}", hops(&router)) };
    assert_eq!(count.packets, 2);
}

// ---- the command ----------------------------------------------------------------------------

/// `b` runs `xway` on its eth0, towards `a`, and on its eth1, towards `c`.
struct Net {
    net: Router,
    xway: Xway,
}

impl Net {
    fn new() -> Self {
        Self { net: Router::build(&LinkOptions::default()).unwrap(), xway: Xway::new() }
    }

    fn run(&self, words: &[&str]) -> Answer {
        self.xway.run_in(&self.net.b, words)
    }

    fn ip(&self, words: &str) {
        let status = self.net.b.command("ip").unwrap().args(words.split(' ')).status().unwrap();
        assert!(status.success(), "ip {words}");
    }

    fn show(&self) -> Value {
        self.run(&["route", "show", "--json"]).json(0)
    }

    fn send(&self, frame: &[u8], times: usize) {
        let wire = Capture::open(&self.net.a, "eth0").unwrap();
        (0..times).for_each(|_| wire.send(frame).unwrap());
    }

    /// `route show` once it is as expected.
    fn until(&self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        until(what, PATIENCE, || {
            let shown = self.show();
            Ok(is(&shown).then_some(shown))
        })
        .unwrap_or_else(|error| panic!("{error}: {:#}", self.show()))
    }
}

fn port<'v>(shown: &'v Value, name: &str) -> &'v Value {
    shown["ports"].as_array().unwrap().iter().find(|port| port["name"] == name).unwrap()
}

fn reason(shown: &Value, port_name: &str, reason: &str) -> u64 {
    port(shown, port_name)["reasons"][reason].as_u64().unwrap_or(0)
}

fn hop<'v>(shown: &'v Value, via: &str) -> Option<&'v Value> {
    shown["next_hops"].as_array().unwrap().iter().find(|hop| hop["via"] == via)
}

#[test]
fn frames_are_counted_by_port_and_by_next_hop() {
    let net = Net::new();
    // Hosts that do not answer.
    for number in [77, 78] {
        let words = format!("lladdr 02:00:00:00:00:{number} dev eth1 nud permanent");
        net.ip(&format!("neigh replace 10.0.2.{number} {words}"));
    }
    net.ip("route add 10.9.0.0/16 via 10.0.2.77");
    net.run(&["route", "start", "eth0", "eth1"]).ended(0);
    let [near, far] = ["10.0.2.78", "10.9.0.1"].map(|to| from_a(to, 7).udp(b"x").unwrap());
    let mut foreign = near.clone();
    foreign[..6].copy_from_slice(&mac("02:78:77:00:01:77"));
    net.send(&near, 3);
    net.send(&far, 5);
    net.send(&foreign, 2);
    let shown = net.until("all frames", |shown| {
        reason(shown, "eth0", "forwarded") == 8 && reason(shown, "eth0", "other-host") == 2
    });
    let sent = |via| hop(&shown, via).unwrap_or_else(|| panic!("no {via}: {shown:#}"));
    for (via, mac, packets) in
        [("10.0.2.77", "02:00:00:00:00:77", 5), ("10.0.2.78", "02:00:00:00:00:78", 3)]
    {
        let hop = sent(via);
        assert_eq!((&hop["dev"], &hop["mac"]), (&"eth1".into(), &mac.into()), "{shown:#}");
        assert_eq!((&hop["state"], &hop["packets"]), (&"permanent".into(), &packets.into()));
        assert_eq!(hop["bytes"], packets * near.len() as u64);
    }
    assert_eq!(shown["next_hops"].as_array().unwrap().len(), 2, "the busiest first: {shown:#}");
    assert_eq!(shown["next_hops"][0]["via"], "10.0.2.77");
    // Each port has its own counts: what came in at eth0 left through eth1.
    let (eth0, eth1) = (port(&shown, "eth0"), port(&shown, "eth1"));
    assert_eq!(reason(&shown, "eth1", "forwarded") + reason(&shown, "eth1", "other-host"), 0);
    assert_eq!((&eth0["sent_packets"], &eth1["sent_packets"]), (&0.into(), &8.into()));
    for port in [eth0, eth1] {
        let reasons = port["reasons"].as_object().unwrap().values();
        let sum: u64 = reasons.map(|packets| packets.as_u64().unwrap()).sum();
        assert_eq!(port["packets"], sum, "{shown:#}");
        assert!(port["vlan"].is_null());
    }
    let memory = |key: &str| shown["memory"][key].as_u64().unwrap();
    assert!(memory("hits") + memory("misses") >= 8, "{shown:#}");
    let text = net.run(&["route", "show"]).ended(0);
    for part in ["forwarded 8", "other-host 2", "10.0.2.77", "permanent", "memory of routes"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn forward_is_another_name_of_route_start() {
    let net = Net::new();
    let first = net.run(&["forward", "eth0", "eth1", "--json"]).json(0);
    let again = net.run(&["route", "start", "eth0", "eth1", "--json"]).json(0);
    assert_eq!((&first["updated"], &again["updated"]), (&false.into(), &true.into()));
    assert_eq!(first["function"], again["function"]);
    let ports = net.show()["ports"].as_array().unwrap().len();
    assert_eq!(ports, 2);
    let other = net.run(&["forward", "eth0", "eth1", "--memory", "5000"]).error();
    assert!(other.contains("--replace"), "{other}");
}

#[test]
fn a_router_is_stopped_as_a_whole_and_leaves_the_rest_of_a_chain() {
    let net = Net::new();
    let none = net.run(&["route", "stop", "eth0"]).error();
    assert!(none.contains("no router runs on eth0"), "{none}");
    net.run(&["route", "start", "eth0", "eth1"]).ended(0);
    net.run(&["drop", "eth0", "any udp 9"]).ended(0);
    let part = net.run(&["route", "stop", "eth0"]).error();
    assert!(part.contains("eth1"), "{part}");
    assert_eq!(net.show()["ports"].as_array().unwrap().len(), 2, "nothing changed");
    let stopped = net.run(&["route", "stop", "eth1", "eth0", "--json"]).json(0);
    assert_eq!(stopped["interfaces"], serde_json::json!(["eth0", "eth1"]));
    let shown = net.show();
    assert_eq!(shown["ports"].as_array().unwrap().len(), 0, "{shown:#}");
    let members = |name: &str| {
        let chain = net.run(&["chain", name, "show", "--json"]).json(0);
        let names = chain["members"].as_array().unwrap().iter();
        names.map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(members("eth0"), ["drop"]);
    assert_eq!(members("eth1"), [""; 0]);
    let text = net.run(&["route", "show"]).ended(0);
    assert_eq!(text.trim(), "no router runs in this network namespace");
}

/// Counts continue when another program joins the chain or leaves it.
#[test]
fn counts_survive_a_change_of_the_chain() {
    let net = Net::new();
    net.ip("neigh replace 10.0.2.2 lladdr 02:78:77:00:02:02 dev eth1 nud permanent");
    net.run(&["route", "start", "eth0", "eth1"]).ended(0);
    let frame = from_a("10.0.2.2", 7).udp(b"x").unwrap();
    for (round, words) in [
        &["drop", "eth0", "any udp 9"][..],
        &["chain", "eth0", "remove", "drop"],
        &["route", "start", "eth0", "eth1"],
    ]
    .into_iter()
    .enumerate()
    {
        net.send(&frame, 2);
        net.run(words).ended(0);
        net.send(&frame, 2);
        let packets = 4 * (round as u64 + 1);
        net.until(&format!("{packets} frames after {words:?}"), |shown| {
            let sent = hop(shown, "10.0.2.2").map(|hop| hop["packets"].clone());
            sent == Some(packets.into()) && reason(shown, "eth0", "forwarded") == packets
        });
    }
}

/// A router of an earlier version, without counters of next hops, is shown, stopped and replaced.
#[test]
fn a_router_of_an_earlier_version_can_be_stopped_and_replaced() {
    let net = Net::new();
    for words in [&["stop", "eth0", "eth1"][..], &["start", "eth0", "eth1", "--replace"]] {
        net.run(&["route", "start", "eth0", "eth1", "--replace"]).ended(0);
        let pins = pins(&net.xway.state().join("bpf"), NEWEST);
        assert_eq!(pins.len(), 2);
        let ids = pins.iter().map(|pin| Map::from_pin_read_only(pin).unwrap().info().id);
        let ids: Vec<_> = ids.collect();
        assert_eq!(ids[0], ids[1], "tables are shared");
        pins.iter().for_each(|pin| std::fs::remove_file(pin).unwrap());
        let shown = net.show();
        assert_eq!(shown["ports"].as_array().unwrap().len(), 2, "{shown:#}");
        net.run(&[&["route"], words].concat()).ended(0);
    }
    let shown = net.show();
    assert_eq!(shown["ports"].as_array().unwrap().len(), 2, "{shown:#}");
}

fn pins(folder: &std::path::Path, name: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| match path.is_dir() {
            true => pins(&path, name),
            false if path.ends_with(name) => vec![path],
            false => Vec::new(),
        })
        .collect()
}

#[test]
fn the_busiest_networks_are_those_of_samples() {
    let net = Net::new();
    net.ip("neigh replace 10.0.2.77 lladdr 02:00:00:00:00:77 dev eth1 nud permanent");
    net.ip("neigh replace fd00:0:0:2::77 lladdr 02:00:00:00:00:77 dev eth1 nud permanent");
    net.ip("route add 10.9.0.0/16 via 10.0.2.77");
    net.ip("route add 2001:db8::/32 via fd00:0:0:2::77");
    net.run(&["route", "start", "eth0", "eth1"]).ended(0);
    let empty = net.run(&["route", "top", "--once", "--interval", "1ms", "--json"]).json(0);
    assert_eq!(empty["networks"].as_array().unwrap().len(), 0, "{empty:#}");
    let frames = ["10.9.8.1", "2001:db8:7::1"].map(|to| from_a(to, 7).udp(b"x").unwrap());
    let mut sent = 0;
    let top = until("samples", PATIENCE, || {
        frames.iter().for_each(|frame| net.send(frame, 1000));
        sent += 1000;
        let top = net.run(&["route", "top", "--once", "--interval", "1ms", "--json"]).json(0);
        Ok((top["networks"].as_array().unwrap().len() == 2).then_some(top))
    })
    .unwrap();
    assert_eq!(top["sampled_one_in"], 1024);
    let mut networks: Vec<_> = top["networks"].as_array().unwrap().iter().collect();
    networks.sort_by_key(|one| one["network"].as_str());
    for (one, name) in networks.iter().zip(["10.9.8.0/24", "2001:db8:7::/48"]) {
        assert_eq!(one["network"], name);
        let packets = one["packets"].as_u64().unwrap();
        assert_eq!(packets % 1024, 0, "{top:#}");
        assert!(packets > 0 && packets <= 1024 * sent, "{top:#}");
    }
    let text = net.run(&["route", "top", "--once", "--interval", "1ms"]).ended(0);
    assert!(text.contains("10.9.8.0/24") && text.contains("1 sample in 1024"), "{text}");
}

/// What `route why` explains about a packet.
fn why(net: &Net, words: &[&str]) -> Value {
    net.run(&[&["route", "why", "--json"], words].concat()).json(0)
}

fn step<'v>(explained: &'v Value, name: &str) -> &'v str {
    let mut steps = explained["steps"].as_array().unwrap().iter();
    steps.find(|step| step["step"] == name).map_or("", |step| step["text"].as_str().unwrap())
}

#[test]
fn why_a_packet_is_forwarded_or_not() {
    let net = Net::new();
    for words in [
        "neigh replace 10.0.2.77 lladdr 02:00:00:00:00:77 dev eth1 nud permanent",
        "route add 10.9.0.0/16 via 10.0.2.77 table 100",
        "rule add from 10.0.1.0/24 dport 53 lookup 100 priority 50",
        "route add blackhole 10.9.0.0/16",
    ] {
        net.ip(words);
    }
    let frame = |port| packet::hex(&from_a("10.9.0.1", port).udp(b"x").unwrap());
    let none = net.run(&["route", "why", &frame(53)]).error();
    assert!(none.contains("--dev"), "{none}");
    net.run(&["route", "start", "eth0", "eth1"]).ended(0);
    let before = net.show();

    let sent = why(&net, &[&frame(53)]);
    assert_eq!((&sent["verdict"], &sent["reason"]), (&"redirect".into(), &"forwarded".into()));
    assert_eq!((&sent["ingress"], &sent["port"]), (&"eth0".into(), &"eth1".into()));
    assert_eq!(sent["next_hop"], "10.0.2.77");
    assert!(step(&sent, "rule").starts_with("50: from 10.0.1.0/24"), "{sent:#}");
    assert_eq!(step(&sent, "table"), "100");
    assert_eq!(step(&sent, "route"), "10.9.0.0/16 via 10.0.2.77 dev eth1");
    let neighbor = "10.0.2.77 dev eth1 lladdr 02:00:00:00:00:77 permanent";
    assert_eq!(step(&sent, "neighbor"), neighbor);
    for part in ["eth.dst 02:78:77:00:01:01 to 02:00:00:00:00:77", "ipv4.ttl 64 to 63"] {
        assert!(step(&sent, "rewrite").contains(part), "{sent:#}");
    }

    let dropped = why(&net, &[&frame(54), "--dev", "eth0"]);
    assert_eq!((&dropped["verdict"], &dropped["reason"]), (&"drop".into(), &"blackhole".into()));
    assert!(dropped["port"].is_null() && dropped["next_hop"].is_null(), "{dropped:#}");
    assert!(!step(&dropped, "refused").is_empty(), "{dropped:#}");

    // For another host; the kernel's route is shown all the same.
    let mut foreign = from_a("10.0.2.2", 7).udp(b"x").unwrap();
    foreign[..6].copy_from_slice(&mac("02:78:77:00:01:77"));
    let foreign = packet::hex(&foreign);
    let passed = why(&net, &[&foreign, "--dev", "eth0"]);
    assert_eq!((&passed["verdict"], &passed["reason"]), (&"pass".into(), &"other-host".into()));
    assert_eq!((step(&passed, "table"), step(&passed, "rewrite")), ("main", ""));
    let unknown = net.run(&["route", "why", &foreign]).error();
    assert!(unknown.contains("02:78:77:00:01:77") && unknown.contains("eth0"), "{unknown}");

    // Nothing was counted, remembered or sent.
    let after = net.show();
    assert_eq!((&before["memory"], &before["next_hops"]), (&after["memory"], &after["next_hops"]));
    assert_eq!(reason(&after, "eth0", "forwarded") + reason(&after, "eth0", "blackhole"), 0);
}

#[test]
fn why_explains_packets_of_a_capture() {
    let net = Net::new();
    net.run(&["route", "start", "eth0", "eth1", "--nat", "10.1.0.2 udp 9 -> 10.0.2.2:7"]).ended(0);
    net.ip("neigh replace 10.0.2.2 lladdr 02:78:77:00:02:02 dev eth1 nud permanent");
    let file = net.xway.state().join("packets.pcap");
    let output = std::fs::File::create(&file).unwrap();
    let (ethernet, nanoseconds) = (pcap::LinkType::ETHERNET, pcap::Resolution::Nano);
    let mut writer = pcap::Writer::pcap(output, ethernet, nanoseconds).unwrap();
    for packet in [from_a("10.1.0.2", 9), from_a("10.0.2.99", 7)] {
        let data = packet.udp(b"x").unwrap();
        let original_len = data.len() as u32;
        let packet = pcap::Packet { original_len, data, ..pcap::Packet::default() };
        writer.write(&packet).unwrap();
    }
    writer.finish().unwrap();
    let file = file.to_str().unwrap();
    let text = net.run(&["route", "why", file, "--json"]).ended(0);
    let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((all.len(), &all[0]["n"], &all[1]["n"]), (2, &1.into(), &2.into()));
    let rewrite = step(&all[0], "rewrite");
    for part in ["ipv4.dst 10.1.0.2 to 10.0.2.2", "udp.dport 9 to 7"] {
        assert!(rewrite.contains(part), "{rewrite}");
    }
    assert_eq!((&all[0]["port"], &all[0]["next_hop"]), (&"eth1".into(), &"10.0.2.2".into()));
    assert_eq!(all[1]["reason"], "no-neighbour");
    let one = why(&net, &[file, "--packet", "2"]);
    assert_eq!(one, all[1]);
    let text = net.run(&["route", "why", file]).ended(0);
    assert!(text.contains("rewrite") && text.contains("no-neighbour"), "{text}");
    let none = net.run(&["route", "why", file, "--packet", "3"]);
    assert_eq!(none.code, 1);
}

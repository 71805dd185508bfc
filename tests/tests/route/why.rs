//! `route why` by the engine: the same as by the kernel, also without privileges.

use lab::{LinkOptions, Router};
use serde_json::Value;
use xway_tests::bpf::router::from_a;
use xway_tests::xway::Xway;

struct Net {
    net: Router,
    xway: Xway,
}

impl Net {
    fn new(commands: &[&str]) -> Self {
        let this = Self { net: Router::build(&LinkOptions::default()).unwrap(), xway: Xway::new() };
        for words in commands {
            let status = this.net.b.command("ip").unwrap().args(words.split(' ')).status();
            assert!(status.unwrap().success(), "ip {words}");
        }
        this
    }

    /// What is explained about a packet that arrives at eth0.
    fn why(&self, frame: &[u8], words: &[&str]) -> Value {
        let frame = packet::hex(frame);
        let all = [&["route", "why", &frame, "--dev", "eth0", "--json"], words].concat();
        self.xway.run_in(&self.net.b, &all).json(0)
    }
}

fn step<'v>(explained: &'v Value, name: &str) -> &'v str {
    let mut steps = explained["steps"].as_array().unwrap().iter();
    steps.find(|step| step["step"] == name).map_or("", |step| step["text"].as_str().unwrap())
}

/// Routes of every kind, several next hops, and a rule by ports, which the engine itself lacks.
const COMMANDS: [&str; 13] = [
    "neigh replace 10.0.2.77 lladdr 02:00:00:00:00:77 dev eth1 nud permanent",
    "neigh replace 10.0.2.78 lladdr 02:00:00:00:00:78 dev eth1 nud permanent",
    "neigh replace fd00:0:0:2::77 lladdr 02:00:00:00:00:77 dev eth1 nud permanent",
    "neigh replace fd00:0:0:2::78 lladdr 02:00:00:00:00:78 dev eth1 nud permanent",
    "route add 10.9.0.0/16 via 10.0.2.77 table 100",
    "rule add from 10.0.1.0/24 dport 53 lookup 100 priority 50",
    "route add blackhole 10.9.0.0/16",
    "route add 10.8.0.0/16 nexthop via 10.0.2.77 nexthop via 10.0.2.78",
    "-6 route add fd08::/16 nexthop via fd00:0:0:2::77 nexthop via fd00:0:0:2::78",
    "route add unreachable 10.10.0.0/16",
    "route add prohibit 10.11.0.0/16",
    "route add 10.12.0.0/16 via 10.0.2.77 table 200",
    "rule add fwmark 0x10/0xf0 lookup 200 priority 60",
];

#[test]
fn the_engine_explains_what_the_kernel_does() {
    let net = Net::new(&COMMANDS);
    let start = ["route", "start", "eth0", "eth1", "--nat", "10.1.0.2 udp 9 -> 10.0.2.77:7"];
    net.xway.run_in(&net.net.b, &start).ended(0);
    let mut frames = vec![
        ("a rule by ports", from_a("10.9.0.1", 53).udp(b"x")),
        ("another port", from_a("10.9.0.1", 54).udp(b"x")),
        ("no neighbor", from_a("10.0.2.99", 7).udp(b"x")),
        ("no route", from_a("192.0.2.1", 7).udp(b"x")),
        ("for the router", from_a("10.0.1.1", 7).udp(b"x")),
        ("translated", from_a("10.1.0.2", 9).udp(b"x")),
        ("a route by mark", from_a("10.12.0.1", 7).udp(b"x")),
    ];
    for port in 1..6 {
        frames.push(("several next hops", from_a("10.8.0.1", port).udp(b"x")));
        frames.push(("several next hops, IPv6", from_a("fd08::1", port).udp(b"x")));
    }
    for (name, frame) in frames {
        let frame = frame.unwrap();
        let [kernel, engine] = [&[][..], &["--engine"]].map(|words| net.why(&frame, words));
        assert_eq!(kernel, engine, "{name}");
    }
    let translated = net.why(&from_a("10.1.0.2", 9).udp(b"x").unwrap(), &["--engine"]);
    assert_eq!((&translated["reason"], &translated["port"]), (&"forwarded".into(), &"eth1".into()));
    assert!(step(&translated, "rewrite").contains("udp.dport 9 to 7"), "{translated:#}");
    assert_eq!(translated["next_hop"], "10.0.2.77");
}

#[test]
fn the_kernel_is_asked_with_mark_and_flow_label() {
    let net = Net::new(&COMMANDS);
    net.xway.run_in(&net.net.b, &["route", "start", "eth0", "eth1"]).ended(0);
    let frame = from_a("10.12.0.1", 7).udp(b"x").unwrap();
    let marked = net.why(&frame, &["--mark", "0x1f"]);
    assert_eq!((step(&marked, "table"), &marked["next_hop"]), ("200", &"10.0.2.77".into()));
    assert!(step(&marked, "rule").contains("fwmark 0x10/0xf0"), "{marked:#}");
    assert_eq!(marked["reason"], "not-forwarded", "packets of the program have no mark");
    for words in [&[][..], &["--mark", "0x20"]] {
        assert_ne!(step(&net.why(&frame, words), "table"), "200", "{words:?}");
    }
    // Next hops of IPv6 are selected by flow label, in both programs and by the kernel.
    let frame = from_a("fd08::1", 7).udp(b"x").unwrap();
    let mut hops = std::collections::BTreeSet::new();
    for label in 1..40_u32 {
        let label = label.wrapping_mul(0x9e37) & 0xf_ffff;
        let words = ["--flow-label", &label.to_string()];
        let [kernel, engine] =
            [&words[..], &[&words[..], &["--engine"]].concat()].map(|words| net.why(&frame, words));
        assert_eq!(kernel, engine, "{label:#x}");
        let sent = step(&kernel, "rewrite");
        let mac = if sent.contains("00:00:77") { "77" } else { "78" };
        hops.insert(mac);
        if hops.len() == 2 && label > 8 {
            break;
        }
    }
    assert_eq!(hops.len(), 2, "the flow label selects");
    let wrong = ["route", "why", "00", "--flow-label", "0x100000"];
    assert!(net.xway.run_in(&net.net.b, &wrong).error().contains("20 bits"));
}

#[test]
fn without_privileges_the_engine_decides() {
    let net = Net::new(&COMMANDS);
    let frame = packet::hex(&from_a("10.9.0.1", 53).udp(b"x").unwrap());
    // The last without the option, because the kernel does not permit anything else.
    for words in [&["--engine"][..], &["--engine", "--dev", "eth0"], &[]] {
        if words.is_empty() {
            net.xway.run_in(&net.net.b, &["route", "start", "eth0", "eth1"]).ended(0);
        }
        let all = [&["route", "why", &frame, "--json"], words].concat();
        let answer = net.xway.run_as(&net.net.b, NOBODY, &[], &all).json(0);
        let found = (&answer["reason"], &answer["port"], &answer["next_hop"]);
        let expected = (&"forwarded".into(), &"eth1".into(), &"10.0.2.77".into());
        assert_eq!(found, expected, "{answer:#}");
        assert!(step(&answer, "rewrite").contains("02:00:00:00:00:77"), "{answer:#}");
    }
}

const NOBODY: u32 = 65534;

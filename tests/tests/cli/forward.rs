//! `xway forward` on a router between two networks: conversations of real sockets through it.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use kernel::{Attach, Mode, Replace};
use lab::frame::check;
use lab::{Capture, Host, LinkOptions, Router};
use packet::{IpPacket, IpProtocol, Limits};
use serde_json::{Value, json};
use sys::net::NewRoute;
use xway_tests::program::foreign;
use xway_tests::stage::PATIENCE;
use xway_tests::xway::{Answer, Xway};

/// `b` runs `xway` on its eth0, towards `a`, and on its eth1, towards `c`.
struct Net {
    net: Router,
    xway: Xway,
}

impl Net {
    /// `a` sends also what is for 10.1.0.0/24 and fd01::/64 to `b`.
    fn new() -> Self {
        let net = Router::build(&LinkOptions::default()).unwrap();
        for (to, prefix, via) in [("10.1.0.0", 24, "10.0.1.1"), ("fd01::", 64, "fd00:0:0:1::1")] {
            let route = NewRoute::new(ip(to), prefix, net.a.ifindex("eth0").unwrap());
            net.a.netlink().unwrap().add_route(route.via(ip(via))).unwrap();
        }
        Self { net, xway: Xway::new() }
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        self.xway.run_in(&self.net.b, arguments)
    }

    /// Starts a command, and kills it after `delay` if it has not ended.
    fn kill_after(&self, arguments: &[&str], delay: Duration) {
        self.xway.kill_after(&self.net.b, arguments, delay);
    }

    /// The program on one of the router's interfaces; `null` without one.
    fn program(&self, interface: &str) -> Value {
        let words = ["--json", "status", interface, "--interval", "1ms"];
        self.run(&words).json(0)["interfaces"][0]["programs"][0].clone()
    }

    /// Names of the programs on one of the router's interfaces, in order.
    fn members(&self, interface: &str) -> Vec<String> {
        let report = self.run(&["--json", "chain", interface, "show"]).json(0);
        let members = report["members"].as_array().unwrap().iter();
        members.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Packets that the programs themselves sent on, from both interfaces.
    fn forwarded(&self) -> u64 {
        let redirected = |name| {
            let verdicts = &self.program(name)["rates"]["verdicts"];
            verdicts["redirect"]["packets"].as_u64().unwrap()
        };
        ["eth0", "eth1"].map(redirected).iter().sum()
    }

    fn udp(&self, host: &Host, address: &str) -> UdpSocket {
        let socket = host.run(|| UdpSocket::bind(address)).unwrap().unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    /// A request and its response; `c` receives it at `asked` and has the address `served`.
    fn udp_conversation(&self, asked: &str, served: &str) {
        let wire = Capture::open(&self.net.c, "eth0").unwrap();
        let own = if asked.contains('[') { "[::]:0" } else { "0.0.0.0:0" };
        let (client, server) = (self.udp(&self.net.a, own), self.udp(&self.net.c, served));
        // Connected, so that an answer from anybody else is not taken.
        client.connect(asked).unwrap();
        for question in ["first", "second, longer by an odd number"] {
            client.send(question.as_bytes()).unwrap();
            let mut text = [0; 100];
            let (length, from) = server.recv_from(&mut text).unwrap();
            assert_eq!(&text[..length], question.as_bytes());
            server.send_to(b"answer", from).unwrap();
            let length = client.recv(&mut text).unwrap();
            assert_eq!(&text[..length], b"answer");
            let arrived = wire.next(PATIENCE, |seen| contains(seen, question.as_bytes())).unwrap();
            assert_eq!(check(&arrived), Ok(()), "at the receiver");
            assert_eq!(arrived[time_to_live(&arrived)], 63);
        }
    }

    fn tcp_conversation(&self, asked: &str, served: &str) {
        let wire = Capture::open(&self.net.c, "eth0").unwrap();
        let listener = self.net.c.run(|| TcpListener::bind(served)).unwrap().unwrap();
        let asked: SocketAddr = asked.parse().unwrap();
        let client = self.net.a.run(|| TcpStream::connect_timeout(&asked, PATIENCE)).unwrap();
        let mut client = client.unwrap();
        let mut server = listener.accept().unwrap().0;
        let patience = Some(PATIENCE);
        client.set_read_timeout(patience).and(server.set_read_timeout(patience)).unwrap();
        let sent: Vec<u8> = (0..20_000_u32).map(|n| n as u8).collect();
        let mut got = vec![0; sent.len()];
        client.write_all(&sent).unwrap();
        server.read_exact(&mut got).unwrap();
        assert!(got == sent, "to the server");
        server.write_all(&sent).unwrap();
        client.read_exact(&mut got).unwrap();
        assert!(got == sent, "to the client");
        let is_tcp = |seen: &[u8]| ip_packet(seen).is_some_and(|ip| ip.protocol == IpProtocol::TCP);
        let arrived = wire.next(PATIENCE, is_tcp);
        assert_eq!(check(&arrived.unwrap()), Ok(()), "at the receiver");
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn contains(frame: &[u8], part: &[u8]) -> bool {
    frame.windows(part.len()).any(|window| window == part)
}

fn ip_packet(frame: &[u8]) -> Option<IpPacket> {
    IpPacket::find(frame, Limits::default()).ok()
}

fn time_to_live(frame: &[u8]) -> usize {
    let ip = ip_packet(frame).unwrap();
    ip.network + if ip.is_ipv6 { 7 } else { 8 }
}

#[test]
fn conversations_through_translation() {
    let net = Net::new();
    let words = [
        "--json",
        "forward",
        "eth0",
        "eth1",
        "--nat",
        "10.1.0.2 udp 1234 -> 10.0.2.2",
        "--nat",
        "10.1.0.2 tcp 80 -> 10.0.2.2:8080",
        "--nat",
        "fd01::2 udp 1234 -> [fd00:0:0:2::2]:5678",
        "--nat",
        "fd01::2 tcp 80 -> [fd00:0:0:2::2]:8080",
    ];
    let said = net.run(&words).json(0);
    assert_eq!((&said["function"], &said["updated"]), (&json!("forward"), &json!(false)));
    assert_eq!(said["interfaces"], json!(["eth0", "eth1"]));
    assert_eq!(said["rules"].as_array().unwrap().len(), 4);
    let mut before = 0;
    for (what, asked, served) in [
        ("udp", "10.1.0.2:1234", "10.0.2.2:1234"),
        ("udp", "[fd01::2]:1234", "[fd00:0:0:2::2]:5678"),
        ("tcp", "10.1.0.2:80", "10.0.2.2:8080"),
        ("tcp", "[fd01::2]:80", "[fd00:0:0:2::2]:8080"),
        ("udp", "10.0.2.2:7", "10.0.2.2:7"),
    ] {
        match what {
            "udp" => net.udp_conversation(asked, served),
            _ => net.tcp_conversation(asked, served),
        }
        let now = net.forwarded();
        assert!(now >= before + 4, "{what} {asked}: {before} then {now}, so the stack did it");
        before = now;
    }
}

#[test]
fn routing_without_translation_and_updates_in_place() {
    let net = Net::new();
    net.run(&["forward", "eth0", "eth1"]).ended(0);
    let program = net.program("eth0")["id"].clone();
    net.udp_conversation("10.0.2.2:7", "10.0.2.2:7");
    net.tcp_conversation("[fd00:0:0:2::2]:80", "[fd00:0:0:2::2]:80");
    let before = net.forwarded();
    assert!(before >= 8, "{before}");

    let rule = "10.1.0.2 udp 1234 -> 10.0.2.2";
    let said = net.run(&["--json", "forward", "eth0", "eth1", "--nat", rule]).json(0);
    assert_eq!((&said["updated"], &said["rules"]), (&json!(true), &json!([rule])));
    net.udp_conversation("10.1.0.2:1234", "10.0.2.2:1234");
    assert!(net.forwarded() >= before + 4, "counters go on");
    assert_eq!(net.program("eth0")["id"], program);

    let table: &[(&[&str], &str)] = &[
        (&["eth0"], "forward runs on eth0 and eth1 as one; name eth1 too"),
        (&["eth0", "eth1", "--nat", rule, "--nat-only"], "without --nat-only"),
        (&["eth0", "eth1", "--nat", "10.1.0.2 udp -> 10.0.2.2"], "not ADDRESS"),
        (
            &["eth0", "eth1", "--nat", rule, "--nat", "10.1.0.2 udp 1234 -> 10.0.2.3"],
            "same packets",
        ),
    ];
    for (words, part) in table {
        let text = net.run(&[&["forward"], *words].concat()).error();
        assert!(text.contains(part), "{words:?}: {text}");
    }
    net.udp_conversation("10.1.0.2:1234", "10.0.2.2:1234");

    net.run(&["forward", "eth0", "eth1", "--nat", rule, "--nat-only", "--replace"]).ended(0);
    net.udp_conversation("10.1.0.2:1234", "10.0.2.2:1234");
    let before = net.forwarded();
    net.udp_conversation("10.0.2.2:7", "10.0.2.2:7");
    assert_eq!(net.forwarded(), before, "the stack routes what has no translation");
    net.run(&["forward", "eth0", "eth1", "--nat", rule, "--nat-only"]).ended(0);

    for interface in ["eth0", "eth1"] {
        net.run(&["detach", interface]).ended(0);
        assert_eq!(net.program(interface), Value::Null);
    }
}

#[test]
fn all_interfaces_or_none() {
    let net = Net::new();
    let other = foreign();
    let (ifindex, program) = (net.net.b.ifindex("eth1").unwrap(), other.program("drop_udp"));
    let attach =
        Attach { ifindex, program: program.unwrap(), mode: Mode::Native, replace: Replace::No };
    let _link = net.net.b.run(|| kernel::attach(&attach)).unwrap().unwrap();
    let occupant = net.program("eth1")["id"].clone();
    let text = net.run(&["forward", "eth0", "eth1"]).error();
    assert!(
        text.contains("eth1 already runs") && text.contains(&format!("program {occupant} ")),
        "{text}"
    );
    assert_eq!(net.program("eth0"), Value::Null, "the first is untouched");
    assert_eq!(net.program("eth1")["id"], occupant);

    net.run(&["drop", "eth0", "any udp 7"]).ended(0);
    let first = net.program("eth0");
    // The loopback interface has no native mode. The first interface would join, or be replaced.
    for words in [&["forward", "eth0", "lo"][..], &["forward", "eth0", "lo", "--replace"]] {
        let text = net.run(words).error();
        assert!(text.contains("native"), "{text}");
        for field in ["id", "link_id", "owner"] {
            assert_eq!(net.program("eth0")[field], first[field], "the first has its program back");
        }
    }
    let said = net.run(&["--json", "drop", "eth0", "--add", "any udp 8"]).json(0);
    assert_eq!(said["updated"], true, "and its rules");

    let text = net.run(&["forward", "eth0", "eth7", "--replace"]).error();
    assert!(text.contains("eth7") && text.contains("lo, eth0, eth1"), "{text}");
    net.run(&["forward", "eth0", "eth1", "--replace"]).ended(0);
    net.udp_conversation("10.0.2.2:7", "10.0.2.2:7");
    for name in ["eth0", "eth1"] {
        let sent = net.program(name)["rates"]["verdicts"]["redirect"]["packets"].clone();
        assert_eq!(sent, 2, "{name} counts what came in there");
    }
}

#[test]
fn a_router_joins_a_filter_on_each_interface() {
    let net = Net::new();
    let rules = net.xway.state().join("rules.toml");
    std::fs::write(&rules, "rules = ['nine: drop udp dport 9']\n").unwrap();
    net.run(&["filter", "load", "eth0", rules.to_str().unwrap()]).ended(0);
    net.run(&["forward", "eth0", "eth1"]).ended(0);
    net.udp_conversation("10.0.2.2:7", "10.0.2.2:7");
    let members = |interface| net.members(interface);
    assert_eq!(
        (members("eth0"), members("eth1")),
        (vec!["filter".to_owned(), "forward".to_owned()], vec!["forward".to_owned()],)
    );
    // The tables are shared, so both are changed together, and the filter continues.
    net.run(&["forward", "eth0", "eth1", "--nat", "10.1.0.2 udp 53 -> 10.0.2.2"]).ended(0);
    net.udp_conversation("10.1.0.2:53", "10.0.2.2:53");
    assert_eq!(members("eth0"), ["filter", "forward"]);
    // A second router does not fit beside it, and nothing changes.
    let before = net.program("eth0")["id"].clone();
    let text = net.run(&["forward", "eth0"]).error();
    assert!(text.contains("eth1"), "{text}");
    assert_eq!(net.program("eth0")["id"], before);
}

/// A router on two interfaces and a filter before it on the first, which change together.
struct Declared {
    net: Net,
    dir: PathBuf,
    mode: &'static str,
}

impl Declared {
    fn new() -> Self {
        let net = Net::new();
        let dir = net.xway.state().join("etc");
        std::fs::create_dir_all(dir.join("rules")).unwrap();
        Self { net, dir, mode: "native" }
    }

    /// Declares a filter that drops one port, and a router that translates to another.
    fn write(&self, [dropped, served]: [u16; 2], priority: u32) {
        let rules = format!("rules = ['one: drop udp dport {dropped}']\n");
        std::fs::write(self.dir.join("rules/a.toml"), rules).unwrap();
        let mode = self.mode;
        let text = format!(
            "interface = 'eth0'\nmode = '{mode}'\n\
             [[program]]\nfilter = 'rules/a.toml'\n[[program]]\n\
             forward = {{ interfaces = ['eth1'], translations = \
             ['10.1.0.2 udp 53 -> 10.0.2.2:{served}'] }}\n\
             ignore-stripped-tags = true\npriority = {priority}\n"
        );
        std::fs::write(self.dir.join("eth0.toml"), text).unwrap();
    }

    fn apply(&self, words: &[&str]) -> Answer {
        self.net.run(&[&["--json", "apply", self.dir.to_str().unwrap()], words].concat())
    }

    /// Number of changes that are not made yet.
    fn pending(&self) -> usize {
        let planned = self.apply(&["--plan"]);
        let code = planned.code;
        planned.json(code)["interfaces"][0]["changes"].as_array().unwrap().len()
    }

    fn programs(&self) -> [Value; 2] {
        ["eth0", "eth1"].map(|name| self.net.program(name)["id"].clone())
    }
}

#[test]
fn a_declared_router_changes_in_one_step_with_the_filter_before_it() {
    let declared = Declared::new();
    let net = &declared.net;
    declared.write([9, 5353], 400);
    declared.apply(&[]).json(0);
    net.udp_conversation("10.1.0.2:53", "10.0.2.2:5353");
    let before = declared.programs();

    // An error of one part changes nothing, on either interface.
    declared.write([10, 5354], 400);
    let path = declared.dir.join("eth0.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}set = {{ nonsense = 1 }}\n")).unwrap();
    let failed = declared.apply(&[]).json(2);
    assert!(failed["interfaces"][0]["error"].to_string().contains("nonsense"), "{failed}");
    assert_eq!(declared.programs(), before);
    net.udp_conversation("10.1.0.2:53", "10.0.2.2:5353");

    std::fs::write(&path, text).unwrap();
    assert_eq!(declared.pending(), 2);
    declared.apply(&[]).json(0);
    assert_eq!(declared.pending(), 0);
    net.udp_conversation("10.1.0.2:53", "10.0.2.2:5354");
    assert_eq!((net.members("eth0"), net.members("eth1").len()), (names(), 1));

    // It moves on both of its interfaces, with its counts.
    let forwarded = net.forwarded();
    declared.write([11, 5354], 50);
    assert_eq!(declared.pending(), 2);
    declared.apply(&[]).json(0);
    assert_eq!(declared.pending(), 0);
    let moved = names().into_iter().rev().collect::<Vec<_>>();
    assert_eq!(net.members("eth0"), moved);
    assert!(net.forwarded() >= forwarded, "its counts continue");
    net.udp_conversation("10.1.0.2:53", "10.0.2.2:5354");
}

fn names() -> Vec<String> {
    ["filter", "forward"].map(str::to_owned).to_vec()
}

/// Both interfaces have all changes or none, whenever the command is killed.
#[test]
fn a_killed_change_of_a_declared_router_is_whole() {
    let declared = Declared::new();
    declared.write([9, 5353], 400);
    declared.apply(&[]).json(0);
    let (mut made, mut port) = (0, 5353);
    for step in 0..16 {
        port += 1;
        declared.write([port, port], 400);
        let words = ["apply", declared.dir.to_str().unwrap()];
        declared.net.kill_after(&words, Duration::from_millis(25 * step));
        let pending = declared.pending();
        assert!([0, 2].contains(&pending), "step {step}: {pending} of 2 changes are not made");
        made += usize::from(pending == 0);
        declared.apply(&[]).json(0);
        assert_eq!(declared.pending(), 0, "step {step}");
    }
    println!("{made} of 16 changes were made before the kill");
    let served = format!("10.0.2.2:{port}");
    declared.net.udp_conversation("10.1.0.2:53", &served);
}

#[test]
fn a_declared_router_waits_for_a_confirmation_with_its_filter() {
    let declared = Declared::new();
    let net = &declared.net;
    declared.write([9, 5353], 400);
    declared.apply(&[]).json(0);
    // In native mode it reads VLAN tags from the device, and cannot return.
    declared.write([10, 5354], 400);
    let before = declared.programs();
    let refused = declared.apply(&["--confirm", "1h"]).json(2);
    let error = refused["interfaces"][0]["error"].to_string();
    assert!(error.contains("reads VLAN tags from the device"), "{refused}");
    assert_eq!((declared.programs(), declared.pending()), (before, 2));

    net.run(&["detach", "eth0"]).ended(0);
    net.run(&["detach", "eth1"]).ended(0);
    let declared = Declared { mode: "generic", ..declared };
    let net = &declared.net;
    declared.write([9, 5353], 400);
    declared.apply(&[]).json(0);
    let before = declared.programs();
    declared.write([10, 5354], 400);
    declared.apply(&["--confirm", "1h"]).json(0);
    net.udp_conversation("10.1.0.2:53", "10.0.2.2:5354");
    let text = net.run(&["chain", "eth1", "move", "forward", "--priority", "1"]).error();
    assert!(text.contains("waits for a confirmation"), "{text}");
    net.run(&["confirm", "--revert"]).ended(0);
    assert_eq!((declared.programs(), declared.pending()), (before, 2));
    net.udp_conversation("10.1.0.2:53", "10.0.2.2:5353");
    declared.apply(&["--confirm", "1h"]).json(0);
    net.run(&["confirm"]).ended(0);
    assert_eq!(declared.pending(), 0);
    net.udp_conversation("10.1.0.2:53", "10.0.2.2:5354");
}

#[test]
fn a_router_is_declared_beside_a_filter_of_each_interface() {
    let net = Net::new();
    let dir = net.xway.state().join("etc");
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let filter = |interface: &str| {
        format!(
            "interface = '{interface}'\non-stop = 'detach'\n[[program]]\nfilter = 'rules/a.toml'\n"
        )
    };
    write("rules/a.toml", "rules = ['nine: drop udp dport 9']\n");
    let forward = "[[program]]\nforward = { interfaces = ['eth1'] }\nignore-stripped-tags = true\n";
    write("eth0.toml", &format!("{}{forward}", filter("eth0")));
    write("eth1.toml", &filter("eth1"));
    let dir = dir.to_str().unwrap();
    let apply = |words: &[&str]| net.run(&[&["--json", "apply", dir], words].concat());
    let is_as_declared = || {
        let planned = apply(&["--plan"]);
        assert_eq!(planned.code, 0, "{}", planned.stdout);
    };
    let members = |interface| net.members(interface);
    apply(&[]).json(0);
    is_as_declared();
    assert_eq!([members("eth0"), members("eth1")], [["filter", "forward"]; 2]);
    net.udp_conversation("10.0.2.2:7", "10.0.2.2:7");

    // Saved, the router is in the file of one interface.
    let saved = net.xway.state().join("saved");
    let saved = saved.to_str().unwrap();
    net.run(&["save", saved]).ended(0);
    net.run(&["apply", saved]).ended(0);
    net.run(&["apply", "--plan", saved]).ended(0);
    apply(&[]).json(0);
    is_as_declared();

    // The router is missing on one of its interfaces.
    net.run(&["chain", "eth1", "remove", "forward"]).ended(0);
    apply(&[]).json(0);
    is_as_declared();
    assert_eq!([members("eth0"), members("eth1")], [["filter", "forward"]; 2]);
    net.udp_conversation("10.0.2.2:7", "10.0.2.2:7");

    // The interface of the router may lose its filter, and the other one its declaration.
    write("eth0.toml", &format!("interface = 'eth0'\n{forward}"));
    apply(&[]).json(0);
    is_as_declared();
    assert_eq!([members("eth0"), members("eth1")], [vec!["forward"], vec!["filter", "forward"]]);
    apply(&["--stop"]).json(0);
    assert_eq!([members("eth0"), members("eth1")], [["forward"]; 2], "only the filter stops");
    std::fs::remove_file(net.xway.state().join("etc/eth1.toml")).unwrap();
    apply(&[]).json(0);
    is_as_declared();
    net.udp_conversation("10.0.2.2:7", "10.0.2.2:7");

    // Two declarations that cannot both be true.
    for text in ["interface = 'eth1'\n", &format!("interface = 'eth1'\n{forward}")] {
        write("eth1.toml", text);
        let errors = apply(&["--plan"]).json(2)["errors"].to_string();
        assert!(errors.contains("eth1 is declared by"), "{errors}");
    }
    write("eth1.toml", &filter("eth1").replace("on-stop = 'detach'", "mode = 'generic'"));
    let errors = apply(&["--plan"]).json(2)["errors"].to_string();
    assert!(errors.contains("eth1 has another mode"), "{errors}");
}

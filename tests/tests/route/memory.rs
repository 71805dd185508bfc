//! The memory of routes: what is remembered for how long and by which fields, and the follower that
//! keeps it valid.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use control::Control;
use control::route_memory::Follower;
use functions::route::abi::{self, Fields, Processor};
use functions::route::{CONTROL, Config, PROCESSORS, SETS};
use kernel::{KernelRuntime, Map};
use lab::frame::{Flow, Side, TcpFlags};
use lab::{LinkOptions, Router, until};
use packet::checksum;
use spec::{Expect, Map as _, Verdict};
use sys::net::RouteEvents;
use xway_tests::bpf::router::{A, B0, Forward, Port, from_a, side};
use xway_tests::stage::PATIENCE;
use xway_tests::xway::Xway;

const ONLY: [u8; 4] = [0; 4];
const TO: &str = "10.0.2.2";
const TO6: &str = "fd00:0:0:2::2";
const NOTHING: Fields = Fields { source: 0, ports: [0; 4], label: [0; 4], protocol: 0, tos: 0 };
const SOURCE: Fields = Fields { source: u64::MAX, ..NOTHING };

/// A router in the kernel; the test is bound to one processor, because each has its own memory.
fn router() -> Forward<KernelRuntime> {
    sys::cpu::set_affinity(&[0]).unwrap();
    Forward::with(&Config::default())
}

/// Vouches for a generation without an end.
fn vouch(router: &Forward<KernelRuntime>, generation: u64, fields: Fields) {
    let control =
        abi::Control { generation, valid_until: u64::MAX, fields, ..abi::Control::default() };
    router.map(CONTROL).update(&ONLY, &control.to_bytes(), Expect::Any).unwrap();
}

fn processor(router: &Forward<KernelRuntime>) -> Processor {
    let bytes = router.map(PROCESSORS).lookup(&ONLY).unwrap().unwrap();
    Processor::from_bytes(bytes.first_chunk().unwrap())
}

fn from(source: &str, to: &str) -> Vec<u8> {
    Flow::new(side(A, source, 4000), side(B0, to, 7)).udp(b"x").unwrap()
}

fn reason(router: &mut Forward<KernelRuntime>, packet: &[u8]) -> String {
    router.judge(Port::Eth0, packet).reason
}

#[test]
fn a_route_is_remembered_until_the_generation_changes() {
    let mut router = router();
    let packets = [from_a(TO, 7).udp(b"x").unwrap(), from_a("fd00:0:0:2::2", 7).udp(b"x").unwrap()];
    vouch(&router, 1, NOTHING);
    for packet in &packets {
        assert_eq!(reason(&mut router, packet), "forwarded");
    }
    let before = processor(&router);
    router.site.ip("route add blackhole 10.0.2.2/32");
    router.site.ip("-6 route add blackhole fd00:0:0:2::2/128");
    for packet in &packets {
        assert_eq!(reason(&mut router, packet), "forwarded", "as remembered");
    }
    let after = processor(&router);
    assert_eq!((after.hits - before.hits, after.misses), (2, before.misses));
    vouch(&router, 2, NOTHING);
    for packet in &packets {
        assert_eq!(reason(&mut router, packet), "blackhole", "of the new generation");
        assert_eq!(reason(&mut router, packet), "blackhole", "which is remembered, too");
    }
    let last = processor(&router);
    assert_eq!((last.hits - after.hits, last.misses - after.misses), (2, 2));
}

#[test]
fn without_a_follower_a_change_takes_effect_at_a_tick() {
    let mut router = router();
    let packet = from_a(TO, 7).udp(b"x").unwrap();
    until("a packet that was remembered", PATIENCE, || {
        assert_eq!(reason(&mut router, &packet), "forwarded");
        Ok((processor(&router).hits > 0).then_some(()))
    })
    .unwrap();
    assert_eq!(processor(&router).followed, 0);
    router.site.ip("route add blackhole 10.0.2.2/32");
    until("the change", PATIENCE, || {
        Ok((reason(&mut router, &packet) == "blackhole").then_some(()))
    })
    .unwrap();
    // A follower that died is not trusted either.
    let late = abi::Control { generation: 7, valid_until: 1, ..abi::Control::default() };
    router.map(CONTROL).update(&ONLY, &late.to_bytes(), Expect::Any).unwrap();
    assert_eq!(reason(&mut router, &packet), "blackhole");
    router.site.ip("route del blackhole 10.0.2.2/32");
    until("the next change", PATIENCE, || {
        Ok((reason(&mut router, &packet) == "forwarded").then_some(()))
    })
    .unwrap();
    assert_eq!(processor(&router).fields.source, u64::MAX, "by all fields");
}

#[test]
fn entries_are_by_the_fields_that_decide() {
    let mut router = router();
    router.site.ip("rule add from 10.0.1.9 blackhole");
    let [open, closed] = ["10.0.1.8", "10.0.1.9"].map(|source| from(source, TO));
    vouch(&router, 1, NOTHING);
    assert_eq!(reason(&mut router, &open), "forwarded");
    assert_eq!(reason(&mut router, &closed), "forwarded", "the fields are wrong, which shows");
    vouch(&router, 2, SOURCE);
    for _ in 0..2 {
        assert_eq!(reason(&mut router, &open), "forwarded");
        assert_eq!(reason(&mut router, &closed), "blackhole");
    }
}

/// With one set for each, a quarter would share it with two others and be forgotten in turn.
#[test]
fn most_of_the_places_can_be_used() {
    sys::cpu::set_affinity(&[0]).unwrap();
    let config = Config { memory: 1024, ..Config::default() };
    let mut router = Forward::with(&config);
    vouch(&router, 1, SOURCE);
    let sources = 0..600_u16;
    let packets = sources.clone().map(|one| from(&format!("10.9.{}.{}", one >> 8, one & 0xff), TO));
    let packets: Vec<_> = packets.collect();
    let mut pass = || {
        let before = processor(&router).hits;
        for packet in &packets {
            assert_eq!(reason(&mut router, packet), "forwarded");
        }
        processor(&router).hits - before
    };
    assert_eq!(pass(), 0);
    let hits = pass();
    assert!(hits > 540, "{hits} of {}", sources.len());
}

#[test]
fn each_field_that_decides_distinguishes_entries() {
    let mut router = router();
    let udp = |to: &str, port| from_a(to, port).udp(b"x").unwrap();
    let mut service = udp(TO, 7);
    service[15] = 0x10;
    service[24..26].fill(0);
    let check = !checksum::fold(checksum::sum(&service[14..34]));
    service[24..26].copy_from_slice(&check.to_be_bytes());
    let mut class = udp(TO6, 7);
    class[14] |= 1;
    let ack = TcpFlags { syn: false, ack: true, fin: false, rst: false };
    let tcp = from_a(TO, 7).tcp(ack, 1, b"").unwrap();
    let all = [u8::MAX; 4];
    for (generation, (rule, fields, open, closed)) in (1..).zip([
        ("dport 9", Fields { ports: all, ..NOTHING }, udp(TO, 7), udp(TO, 9)),
        ("ipproto tcp", Fields { protocol: u32::MAX, ..NOTHING }, udp(TO, 7), tcp),
        ("tos 0x10", Fields { tos: u32::MAX, ..NOTHING }, udp(TO, 7), service),
        ("tos 0x10", Fields { label: all, ..NOTHING }, udp(TO6, 7), class),
    ]) {
        let family = if closed[12] == 8 { "-4" } else { "-6" };
        router.site.ip(&format!("{family} rule add {rule} blackhole pref 100"));
        vouch(&router, generation, fields);
        for _ in 0..2 {
            let found = [&open, &closed].map(|packet| reason(&mut router, packet));
            assert_eq!(found[0], "forwarded", "{family} {rule}");
            // The kernel's lookup finds no route by an IPv6 rule that drops.
            let expected = if family == "-4" { "blackhole" } else { "not-forwarded" };
            assert_eq!(found[1], expected, "{family} {rule}");
        }
        router.site.ip(&format!("{family} rule del pref 100"));
    }
}

/// A packet for each number, by a name and with the fields that decide.
type Numbered<'a> = (&'a str, Fields, &'a dyn Fn(u8) -> Vec<u8>);

/// Addresses that differ in their last bytes only, and the same for flow labels: nearly all of 256
/// are remembered at the same time.
#[test]
fn flows_that_differ_in_a_few_bits_are_remembered_together() {
    let mut router = router();
    let label = |number: u8, mut packet: Vec<u8>| {
        packet[16..18].copy_from_slice(&[0, number]);
        packet
    };
    let udp = |to: &str| from_a(to, 7).udp(b"x").unwrap();
    for words in ["route add default via 10.0.2.2", "-6 route add default via fd00:0:0:2::2"] {
        router.site.ip(words);
    }
    let all = [u8::MAX; 4];
    let make: [Numbered<'_>; 4] = [
        ("IPv4", NOTHING, &|n| udp(&format!("11.1.1.{n}"))),
        ("last byte", NOTHING, &|n| udp(&format!("2001:db8::{n:x}"))),
        ("byte before it", NOTHING, &|n| udp(&format!("2001:db8::{n:x}01"))),
        ("label", Fields { label: all, ..NOTHING }, &|n| label(n, udp("2001:db8::1"))),
    ];
    for (generation, (name, fields, packet)) in (1..).zip(make) {
        vouch(&router, generation, fields);
        let packets: Vec<_> = (1..=u8::MAX).map(packet).collect();
        packets.iter().for_each(|packet| assert_eq!(reason(&mut router, packet), "forwarded"));
        let before = processor(&router).misses;
        packets.iter().for_each(|packet| assert_eq!(reason(&mut router, packet), "forwarded"));
        let missed = processor(&router).misses - before;
        assert!(missed < 8, "{name}: {missed} were not remembered");
    }
}

#[test]
fn next_hops_that_are_unknown_and_packets_that_are_too_large_are_the_stacks() {
    let mut router = router();
    vouch(&router, 1, NOTHING);
    let unknown = from_a("10.0.2.77", 7).udp(b"x").unwrap();
    assert_eq!(reason(&mut router, &unknown), "no-neighbour");
    router.site.ip("neigh replace 10.0.2.77 lladdr 02:00:00:00:00:77 dev eth1 nud permanent");
    assert_eq!(reason(&mut router, &unknown), "forwarded", "it is not remembered as unknown");
    // The first packet of an entry may be a short one.
    router.site.ip("route add 10.9.0.0/16 via 10.0.2.2 mtu lock 600");
    let sizes = [100, 572, 573, 100];
    let reasons = sizes.map(|size| {
        let packet = from_a("10.9.0.1", 7).udp(&vec![0; size]).unwrap();
        reason(&mut router, &packet)
    });
    assert_eq!(reasons, ["forwarded", "forwarded", "sent-too-big", "forwarded"]);
}

/// The next hops of `ip route get` for flows that differ in their ports.
#[test]
fn flows_take_the_next_hop_that_the_kernel_chooses() {
    let mut router = router();
    router.site.net.b.set_sysctl("ipv4/fib_multipath_hash_policy", "1").unwrap();
    for number in [11, 12, 13] {
        let words = format!("lladdr 02:00:00:00:00:{number} dev eth1 nud permanent");
        router.site.ip(&format!("neigh replace 10.0.2.{number} {words}"));
    }
    let hops = ["11", "12", "13"].map(|hop| format!("nexthop via 10.0.2.{hop}")).join(" ");
    router.site.ip(&format!("route add 10.9.0.0/16 {hops}"));
    let all = Fields { source: u64::MAX, ports: [u8::MAX; 4], protocol: u32::MAX, ..NOTHING };
    vouch(&router, 1, all);
    let mut seen = BTreeSet::new();
    for port in 1..=40 {
        let to = side(B0, "10.9.0.1", port);
        let packet = Flow::new(Side { port: 4000 + port, ..side(A, "10.0.1.2", 1) }, to);
        let packet = packet.udp(b"x").unwrap();
        let get = format!(
            "route get 10.9.0.1 from 10.0.1.2 iif eth0 ipproto udp sport {} dport {port}",
            4000 + port
        );
        let output =
            router.site.net.b.command("ip").unwrap().args(get.split(' ')).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let via = text.split_once("via 10.0.2.").unwrap().1.split(' ').next().unwrap().to_owned();
        for _ in 0..2 {
            let judgement = router.judge(Port::Eth0, &packet);
            assert_eq!(judgement.verdict, Verdict::Redirect, "{get}");
            assert_eq!(format!("{:02x}", judgement.packet[5]), via, "{get}: {text}");
        }
        seen.insert(via);
    }
    assert_eq!(seen.len(), 3, "each next hop is used: {seen:?}");
    let now = processor(&router);
    assert_eq!((now.hits, now.misses), (40, 40));
}

// ---- the follower ---------------------------------------------------------------------------

/// `xway forward` on the middle host.
struct Net {
    net: Router,
    xway: Xway,
}

impl Net {
    fn new() -> Self {
        let this = Self { net: Router::build(&LinkOptions::default()).unwrap(), xway: Xway::new() };
        this.xway.run_in(&this.net.b, &["forward", "eth0", "eth1"]).ended(0);
        this
    }

    fn ip(&self, words: &str) {
        let status = self.net.b.command("ip").unwrap().args(words.split(' ')).status().unwrap();
        assert!(status.success(), "ip {words}");
    }

    fn read(&self) -> abi::Control {
        let path = pin(&self.xway.state().join("bpf"), CONTROL).unwrap();
        let bytes = Map::from_pin_read_only(&path).unwrap().lookup(&ONLY).unwrap().unwrap();
        abi::Control::from_bytes(bytes.first_chunk().unwrap())
    }

    /// Steps of the follower until the programs know what they should.
    fn until(&self, follower: &mut Follower, what: &str, is: impl Fn(abi::Control) -> bool) {
        until(what, PATIENCE, || {
            self.step(follower);
            Ok(is(self.read()).then_some(()))
        })
        .unwrap_or_else(|error| panic!("{error}: {:?}", self.read()));
    }

    fn follower(&self, control: &Control) -> Follower {
        self.net.b.run(|| Follower::new(control).unwrap()).unwrap()
    }

    fn step(&self, follower: &mut Follower) {
        self.net.b.run(|| follower.step().unwrap()).unwrap();
    }
}

fn pin(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path());
    entries.find_map(|path| match path.is_dir() {
        true => pin(&path, name),
        false => path.ends_with(name).then_some(path),
    })
}

#[test]
fn programs_are_told_of_changes_and_of_what_decides() {
    let net = Net::new();
    let control = Control::new(net.xway.state());
    let mut follower = net.follower(&control);
    net.until(&mut follower, "plain rules", |now| now.fields == NOTHING && now.valid_until > 0);
    assert_eq!((follower.routers(), follower.synchronizations()), (1, 1), "tables are shared");
    assert!(follower.fd().is_some());

    let before = net.read().generation;
    net.ip("route add 10.7.0.0/16 via 10.0.2.2");
    net.until(&mut follower, "a route", |now| now.generation > before);
    let before = net.read().generation;
    net.ip("neigh replace 10.0.2.77 lladdr 02:00:00:00:00:77 dev eth1");
    net.until(&mut follower, "a neighbor", |now| now.generation > before);
    net.ip("rule add from 10.0.1.0/24 lookup main");
    net.until(&mut follower, "a rule by source", |now| now.fields == SOURCE);
    net.ip("rule add dport 53 lookup main");
    let by_ports = |now: abi::Control| now.fields.ports == [u8::MAX; 4] && now.fields.tos == 0;
    net.until(&mut follower, "a rule by ports", by_ports);

    // What was there before it began.
    drop(follower);
    let last = net.read().valid_until;
    let mut follower = net.follower(&control);
    let known = |now: abi::Control| by_ports(now) && now.valid_until > last;
    net.until(&mut follower, "rules that were there", known);
    net.ip("route add 10.8.0.0/16 nexthop via 10.0.2.2 nexthop via 10.0.2.3");
    let several = |now: abi::Control| now.fields.label == [u8::MAX; 4];
    net.until(&mut follower, "several next hops", several);

    // Routes are read only while there is a router.
    net.xway.run_in(&net.net.b, &["detach", "eth0"]).ended(0);
    net.xway.run_in(&net.net.b, &["detach", "eth1"]).ended(0);
    until("the end of its reading", PATIENCE, || {
        net.step(&mut follower);
        Ok((follower.routers() == 0 && follower.fd().is_none()).then_some(()))
    })
    .unwrap();
}

#[test]
fn lost_events_are_made_up_for() {
    let net = Net::new();
    let control = Control::new(net.xway.state());
    let mut follower = net.follower(&control);
    net.until(&mut follower, "plain rules", |now| now.fields == NOTHING && now.valid_until > 0);
    // More than a socket can hold, while the follower does not read.
    let (mut netlink, out) = (net.net.b.netlink().unwrap(), net.net.b.ifindex("eth1").unwrap());
    let route = |number: u32| {
        let to = std::net::Ipv4Addr::from(0x1400_0000 + (number << 8));
        sys::net::NewRoute::new(to.into(), 24, out).via("10.0.2.2".parse().unwrap())
    };
    let routes: Vec<_> = (0..60_000).map(route).collect();
    netlink.add_routes(&routes).unwrap();
    net.ip("rule add from 10.0.1.0/24 lookup main");
    let before = net.read().generation;
    net.until(&mut follower, "a rule by source", |now| now.fields == SOURCE);
    assert!(net.read().generation > before);
    assert!(follower.synchronizations() > 1, "the socket held all events");
}

#[test]
fn after_an_overrun_all_that_waits_is_read_first() {
    let net = Net::new();
    let mut events = net.net.b.run(|| RouteEvents::open().unwrap()).unwrap();
    events.listen().unwrap();
    until("rules and routes", PATIENCE, || {
        events.take().unwrap();
        Ok((events.deciding().is_some() && !events.is_behind()).then_some(()))
    })
    .unwrap();
    let (mut netlink, out) = (net.net.b.netlink().unwrap(), net.net.b.ifindex("eth1").unwrap());
    let route = |number: u32| {
        let to = std::net::Ipv4Addr::from(0x1400_0000 + (number << 8));
        sys::net::NewRoute::new(to.into(), 24, out).via("10.0.2.2".parse().unwrap())
    };
    netlink.add_routes(&(0..60_000).map(route).collect::<Vec<_>>()).unwrap();
    events.take().unwrap();
    assert!(events.is_behind() && !events.is_incomplete(), "thousands still wait");
    assert_eq!(events.deciding(), None);
    // The kernel drops this event without a report: it reported the overrun already.
    net.ip("rule add from 10.0.1.0/24 lookup main");
    until("the end of what waits", PATIENCE, || {
        events.take().unwrap();
        Ok(events.is_incomplete().then_some(()))
    })
    .unwrap();
    assert!(!events.is_behind());
    net.net.b.run(|| events.synchronize().unwrap()).unwrap();
    let mut known = None;
    until("rules and routes again", PATIENCE, || {
        events.take().unwrap();
        known = events.deciding();
        Ok(known.map(drop))
    })
    .unwrap();
    assert!(known.unwrap().by_source, "the rule is read");
}

#[test]
fn the_daemon_follows_and_routers_work_without_it() {
    let net = Net::new();
    assert_eq!(net.read(), abi::Control::default());
    let words = ["daemon", "--listen", "127.0.0.1:0"];
    let mut daemon = net.xway.command_in(&net.net.b, &words).spawn().unwrap();
    let is_trusted =
        || Ok((net.read().fields == NOTHING && net.read().valid_until > 0).then_some(()));
    let followed = until("the daemon", PATIENCE, is_trusted);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    followed.unwrap();
    let last = net.read();
    net.ip("route add blackhole 10.7.0.0/16");
    assert_eq!(net.read(), last);
}

#[test]
fn a_memory_of_another_size_replaces_the_program() {
    let net = Net::new();
    let sets = || {
        let path = pin(&net.xway.state().join("bpf"), SETS[0]).unwrap();
        Map::from_pin_read_only(&path).unwrap().info().max_entries
    };
    let cpus = u32::try_from(sys::cpu::possible().unwrap()).unwrap();
    assert_eq!(sets(), 16_384 * cpus);
    let again = net.xway.run_in(&net.net.b, &["forward", "eth0", "eth1", "--memory", "5000"]);
    assert!(again.error().contains("--replace"));
    assert_eq!(sets(), 16_384 * cpus);
    for (entries, expected) in [("5000", 4096 * cpus), ("0", 1)] {
        let words = ["forward", "eth0", "eth1", "--memory", entries, "--replace"];
        net.xway.run_in(&net.net.b, &words).ended(0);
        assert_eq!(sets(), expected);
    }
}

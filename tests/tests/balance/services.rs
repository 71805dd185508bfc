//! Which service a packet is for, and which of its flows remain together.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use functions::balancer::Config;
use lab::frame::{Flow, TcpFlags};
use spec::{Map as _, Verdict};
use xway_tests::bpf::balancer::{Balanced, Balancer};
use xway_tests::stories;

use super::delivery::client;

stories! {
    the_most_specific_service_has_the_packet
    what_is_for_no_service_is_the_stacks
    services_that_were_found_are_forgotten_with_each_change
    flows_are_spread_as_the_table_says
    flows_stay_together_by_the_key_of_the_service
    balancers_with_the_same_key_agree
    icmp_errors_go_where_the_flow_goes
    later_fragments_follow_their_first
    services_change_together
    a_change_that_does_not_fit_changes_nothing
}

const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };

/// Services as NAME ADDRESS PROTOCOL PORTS BACKENDS, whose backends are numbers in both networks.
fn services(lines: &[&str]) -> Config {
    let service = |line: &&str| {
        let [name, address, protocol, port, backends] = *line.split(' ').collect::<Vec<_>>() else {
            panic!("{line}")
        };
        let backends: Vec<_> = backends
            .split(',')
            .map(|number| format!("{{ address = '10.0.2.{number}' }}"))
            .collect();
        let backends = backends.join(", ");
        format!(
            "[[service]]\nname = '{name}'\naddress = '{address}'\nprotocol = '{protocol}'\n\
             port = '{port}'\nbackend = [{backends}]\n"
        )
    };
    let text: String = lines.iter().map(service).collect();
    toml::from_str(&format!("source = ['10.0.2.1', 'fd00:0:0:2::1']\n{text}")).unwrap()
}

/// The number of the backend that a packet to this address and port is sent to.
fn number<R: Balanced>(balancer: &mut Balancer<R>, packet: &[u8]) -> u8 {
    match balancer.backend(packet) {
        IpAddr::V4(address) => address.octets()[3],
        IpAddr::V6(_) => panic!("the backends are IPv4"),
    }
}

fn to(address: &str, port: u16) -> Flow {
    let mut flow = client(address, 1000);
    flow.destination.port = port;
    flow
}

fn the_most_specific_service_has_the_packet<R: Balanced>() {
    let mut balancer = Balancer::<R>::new(&services(&[
        "all 192.0.2.0/24 tcp any 10",
        "web 192.0.2.0/24 tcp 80 11",
        "host 192.0.2.7 tcp any 12",
        "high 192.0.2.7 tcp 8000-8100 13",
        "six 2001:db8::/32 tcp any 14",
        "half 2001:db8:1::/48 tcp 0-32767 15",
        "udp 192.0.2.7 udp 8050 16",
        "echo 192.0.2.7 icmp any 17",
    ]));
    for (address, port, expected) in [
        ("192.0.2.1", 81, 10),
        ("192.0.2.1", 80, 11),
        ("192.0.2.7", 80, 12),
        ("192.0.2.7", 7999, 12),
        ("192.0.2.7", 8000, 13),
        ("192.0.2.7", 8063, 13),
        ("192.0.2.7", 8100, 13),
        ("192.0.2.7", 8101, 12),
        ("2001:db8:2::1", 1, 14),
        ("2001:db8:1::1", 32767, 15),
        ("2001:db8:1::1", 32768, 14),
    ] {
        let packet = to(address, port).tcp(ACK, 1, b"").unwrap();
        assert_eq!(number(&mut balancer, &packet), expected, "{address} {port}");
    }
    let udp = to("192.0.2.7", 8050).udp(b"x").unwrap();
    assert_eq!(number(&mut balancer, &udp), 16);
    let echo = to("192.0.2.7", 0).ping(1, 1, b"").unwrap();
    assert_eq!(number(&mut balancer, &echo), 17);
}

fn what_is_for_no_service_is_the_stacks<R: Balanced>() {
    let mut balancer = Balancer::<R>::new(&services(&["web 192.0.2.7 tcp 80 10"]));
    for (name, packet) in [
        ("port", to("192.0.2.7", 81).tcp(ACK, 1, b"").unwrap()),
        ("protocol", to("192.0.2.7", 80).udp(b"").unwrap()),
        ("address", to("192.0.2.8", 80).tcp(ACK, 1, b"").unwrap()),
        ("family", to("2001:db8::1", 80).tcp(ACK, 1, b"").unwrap()),
        ("echo", to("192.0.2.7", 80).ping(1, 1, b"").unwrap()),
    ] {
        let judgement = balancer.judge(&packet);
        let came = (judgement.verdict, &*judgement.reason, judgement.packet);
        assert_eq!(came, (Verdict::Pass, "no-service", packet), "{name}");
    }
}

/// The program remembers what it found for a destination. Patterns are the same in all changes but
/// the last one, which is refused.
fn services_that_were_found_are_forgotten_with_each_change<R: Balanced>() {
    let mut balancer = Balancer::<R>::new(&services(&["web 192.0.2.7 tcp 80 10"]));
    let packet = |last: u8| to(&format!("192.0.2.{last}"), 80).tcp(ACK, 1, b"").unwrap();
    // Twice: found, then remembered.
    let outcomes = |balancer: &mut Balancer<R>| {
        [7, 8, 7, 8].map(|last| balancer.judge(&packet(last)).reason == "balanced")
    };
    assert_eq!(outcomes(&mut balancer), [true, false, true, false]);
    balancer.update(&services(&["next 192.0.2.8 tcp 80 11"])).unwrap();
    assert_eq!(outcomes(&mut balancer), [false, true, false, true]);
    assert_eq!(number(&mut balancer, &packet(8)), 11);
    let mut both = services(&["web 192.0.2.7 tcp 80 10", "next 192.0.2.8 tcp 80 11"]);
    balancer.update(&both).unwrap();
    assert_eq!(outcomes(&mut balancer), [true; 4]);
    // A service of the same name and address has another table.
    both.services[0].backends[0].address = "10.0.2.12".parse().unwrap();
    balancer.update(&both).unwrap();
    let syn = TcpFlags { syn: true, ..TcpFlags::default() };
    let packet = to("192.0.2.7", 80).tcp(syn, 1, b"").unwrap();
    assert_eq!(number(&mut balancer, &packet), 12);
    let many: Vec<_> = (0..200).map(|n| format!("s{n} 192.0.2.{n} udp 80 10")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    balancer.update(&services(&many)).unwrap_err();
    assert_eq!(outcomes(&mut balancer), [true; 4]);
}

/// Each backend has the share of its weight, as far as 2,000 flows can show.
fn flows_are_spread_as_the_table_says<R: Balanced>() {
    let mut config = services(&["web 192.0.2.7 tcp 80 10,11,12"]);
    config.services[0].backends[1].weight = 2;
    config.services[0].backends[2].weight = 0;
    let mut balancer = Balancer::<R>::new(&config);
    let mut found = BTreeMap::new();
    for port in 1000..3000 {
        let packet = client("192.0.2.7", port).tcp(ACK, 1, b"").unwrap();
        *found.entry(number(&mut balancer, &packet)).or_insert(0) += 1;
    }
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [10, 11]);
    assert!((560..780).contains(&found[&10]), "a third of 2000 flows: {found:?}");
}

fn flows_stay_together_by_the_key_of_the_service<R: Balanced>() {
    let list = "10,11,12,13,14,15,16,17";
    let lines = [("flow", 4), ("source", 5), ("source/24", 6), ("port", 7)];
    let texts = lines.map(|(by, last)| (by, format!("s{last} 192.0.2.{last} tcp any {list}")));
    let mut config = services(&texts.each_ref().map(|(_, text)| text.as_str()));
    for (service, (by, _)) in config.services.iter_mut().zip(&texts) {
        service.by = by.parse().unwrap();
    }
    let mut balancer = Balancer::<R>::new(&config);
    let mut backends = |last: u8, flows: &[(&str, u16, u16)]| -> BTreeSet<u8> {
        let of = |(from, source_port, port): &(&str, u16, u16)| {
            let mut flow = to(&format!("192.0.2.{last}"), *port);
            flow.source.ip = from.parse().unwrap();
            flow.source.port = *source_port;
            number(&mut balancer, &flow.tcp(ACK, 1, b"").unwrap())
        };
        flows.iter().map(of).collect()
    };
    let ports: Vec<_> = (0..64).map(|n| ("10.0.1.2", 1000 + n, 80 + n)).collect();
    let sources: Vec<String> = (0..64).map(|n| format!("10.0.1.{n}")).collect();
    let sources: Vec<_> = sources.iter().map(|from| (from.as_str(), 1000, 80)).collect();
    assert!(backends(4, &ports).len() > 4 && backends(4, &sources).len() > 4, "flow");
    assert!(backends(5, &ports).len() == 1 && backends(5, &sources).len() > 4, "source");
    assert!(backends(6, &ports).len() == 1 && backends(6, &sources).len() == 1, "source/24");
    assert!(backends(7, &ports).len() > 4 && backends(7, &sources).len() == 1, "port");
}

fn balancers_with_the_same_key_agree<R: Balanced>() {
    let mut one = services(&["web 192.0.2.7 tcp 80 10,11,12,13"]);
    one.key = Some("a secret".to_owned());
    let mut other = one.clone();
    other.services[0].backends.reverse();
    let mut secret = one.clone();
    secret.key = Some("another one".to_owned());
    let mut chosen = [&one, &other, &secret].map(|config| {
        let mut balancer = Balancer::<R>::new(config);
        let packet = |port| client("192.0.2.7", port).tcp(ACK, 1, b"").unwrap();
        (1000..1064).map(|port| number(&mut balancer, &packet(port))).collect::<Vec<_>>()
    });
    assert_eq!(chosen[0], chosen[1]);
    chosen[1].sort_unstable();
    assert_ne!(chosen[0], chosen[2]);
}

/// An error about a packet of the service to the client, as a router on the way sends it.
fn error(flow: &Flow, quoted: &[u8], kind: u8, code: u8) -> Vec<u8> {
    let mut packet = flow.ping(0, 0, quoted).unwrap();
    let at = if packet[14] >> 4 == 4 { 34 } else { 54 };
    (packet[at], packet[at + 1]) = (kind, code);
    packet
}

/// Also with eight bytes of the transport.
fn icmp_errors_go_where_the_flow_goes<R: Balanced>() {
    let list = "10,11,12,13,14,15,16,17";
    let lines = ["192.0.2.7", "2001:db8::1"].map(|address| {
        ["tcp", "udp", "icmp"]
            .map(|protocol| format!("{protocol}{address} {address} {protocol} any {list}"))
    });
    let lines: Vec<_> = lines.iter().flatten().map(String::as_str).collect();
    let mut balancer = Balancer::<R>::new(&services(&lines));
    for (address, kinds, header) in [("192.0.2.7", [3, 11, 12], 20), ("2001:db8::1", [1, 2, 3], 40)]
    {
        for port in 1000..1020 {
            let flow = client(address, port);
            let back = flow.reversed();
            let ping = flow.ping(port, 1, b"payload").unwrap();
            let mut pong = back.ping(port, 1, b"payload").unwrap();
            pong[14 + header] = if header == 20 { 0 } else { 129 };
            for (there, reply) in [
                (flow.tcp(ACK, 1, b"").unwrap(), back.tcp(ACK, 1, b"").unwrap()),
                (flow.udp(b"x").unwrap(), back.udp(b"x").unwrap()),
                (ping, pong),
            ] {
                let expected = number(&mut balancer, &there);
                for kind in kinds {
                    let error = error(&flow, &reply[14..14 + header + 8], kind, 0);
                    assert_eq!(number(&mut balancer, &error), expected, "{address} {port} {kind}");
                }
                let short = error(&flow, &reply[14..14 + header + 7], kinds[0], 0);
                assert_ne!(balancer.judge(&short).reason, "balanced");
            }
        }
    }
}

fn later_fragments_follow_their_first<R: Balanced>() {
    let list = "10,11,12,13,14,15,16,17";
    let mut balancer = Balancer::<R>::new(&services(&[&format!("dns 192.0.2.7 udp 80 {list}")]));
    for id in 0..16_u16 {
        let mut first = client("192.0.2.7", 1000 + id).udp(&[0; 64]).unwrap();
        let mut later = first.clone();
        for (packet, fragment) in [(&mut first, [0x20, 0]), (&mut later, [0, 9])] {
            packet[18..20].copy_from_slice(&id.to_be_bytes());
            packet[20..22].copy_from_slice(&fragment);
        }
        let judgement = balancer.judge(&later);
        let expected = (Verdict::Pass, "unknown-fragment");
        assert_eq!((judgement.verdict, &*judgement.reason), expected);
        let expected = number(&mut balancer, &first);
        assert_eq!(number(&mut balancer, &later), expected);
        later[18] = 0xff;
        assert_eq!(balancer.judge(&later).reason, "unknown-fragment", "of another packet");
    }
}

fn services_change_together<R: Balanced>() {
    let mut balancer =
        Balancer::<R>::new(&services(&["web 192.0.2.7 tcp 80 10", "all 192.0.2.0/24 tcp any 11"]));
    let packet = |port| to("192.0.2.7", port).tcp(ACK, 1, b"").unwrap();
    assert_eq!([80, 81].map(|port| number(&mut balancer, &packet(port))), [10, 11]);
    balancer.update(&services(&["new 192.0.2.7 tcp 80-81 12"])).unwrap();
    assert_eq!([80, 81].map(|port| number(&mut balancer, &packet(port))), [12, 12]);
    assert_eq!(balancer.judge(&packet(82)).reason, "no-service");
    balancer.update(&services(&[])).unwrap();
    assert_eq!(balancer.judge(&packet(80)).reason, "no-service");
}

fn a_change_that_does_not_fit_changes_nothing<R: Balanced>() {
    let config = services(&["web 192.0.2.7 tcp 80 10,11"]);
    let mut balancer = Balancer::<R>::new(&config);
    let contents = |balancer: &Balancer<R>| {
        let maps = balancer.maps();
        let of = |map| functions::table::read(map).unwrap();
        // Its other bits are the generation, which is another one after each attempt.
        let set = maps.active.lookup(&[0; 4]).unwrap().unwrap()[0] & 1;
        (of(maps.services), of(maps.backends), set)
    };
    let before = contents(&balancer);
    let list: Vec<String> = (0..100).map(|n| format!("s{n} 192.0.2.{n} tcp 80 12")).collect();
    let list: Vec<&str> = list.iter().map(String::as_str).collect();
    let error = balancer.update(&services(&list)).unwrap_err();
    assert!(error.to_string().contains("no space for more"), "{error}");
    assert_eq!(contents(&balancer), before);
    let packet = to("192.0.2.7", 80).tcp(ACK, 1, b"").unwrap();
    assert!([10, 11].contains(&number(&mut balancer, &packet)));
}

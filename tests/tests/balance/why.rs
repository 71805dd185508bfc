//! What `balance why` reports of a flow is what the program does with its packets.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use functions::balancer::{
    self, Config, Constants, DecidedBy, Explanation, Live, OBJECT, Protocol, Query, State,
};
use lab::frame::{Flow, TcpFlags};
use spec::Spec;
use xway_tests::bpf::balancer::{Balanced, Balancer};
use xway_tests::stories;

use super::delivery::client;

stories! {
    flows_are_explained_by_all_keys_of_both_families
    flows_are_explained_after_changes
    what_is_for_no_service_has_no_explanation
    quic_ids_decide_before_the_slot
}

const SYN: TcpFlags = TcpFlags { syn: true, ack: false, fin: false, rst: false };
const ACK: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false };
const PORTS: std::ops::Range<u16> = 2000..2120;

/// A service of each protocol at an address of each family, and with a key.
fn config(by: &str, backends: &[u8]) -> Config {
    let backends: Vec<_> =
        backends.iter().map(|number| format!("{{ address = '10.0.2.{number}' }}")).collect();
    let mut text = "key = 'of a test'\nsource = ['10.0.2.1']\n".to_owned();
    for (family, address) in [(4, "192.0.2.0/24"), (6, "2001:db8::/64")] {
        for protocol in ["tcp", "udp", "icmp"] {
            text += &format!(
                "[[service]]\nname = '{protocol}{family}'\naddress = '{address}'\n\
                 protocol = '{protocol}'\nby = '{by}'\nbackend = [{}]\n",
                backends.join(", ")
            );
        }
    }
    toml::from_str(&text).unwrap()
}

fn kinds(flow: &Flow) -> [(Protocol, Vec<u8>); 3] {
    [
        (Protocol::Tcp, flow.tcp(ACK, 7, b"").unwrap()),
        (Protocol::Udp, flow.udp(b"datagram").unwrap()),
        (Protocol::Icmp, flow.ping(flow.source.port, 2, b"payload").unwrap()),
    ]
}

fn text(flow: &Flow, protocol: Protocol) -> balancer::Flow {
    let client = SocketAddr::new(flow.source.ip, flow.source.port);
    let port = if protocol == Protocol::Icmp { 0 } else { flow.destination.port };
    balancer::Flow { protocol, client, service: SocketAddr::new(flow.destination.ip, port) }
}

/// What explains flows, read once.
struct Reading<'c> {
    config: &'c Config,
    constants: Constants,
    live: Live,
}

impl<'c> Reading<'c> {
    fn new<R: Balanced>(balancer: &Balancer<R>, config: &'c Config) -> Self {
        let mut spec = Spec::parse("balancer", OBJECT).unwrap();
        config.apply(&mut spec).unwrap();
        let constants = Constants::of(&spec).unwrap();
        Self { config, constants, live: Live::read(&balancer.maps()).unwrap() }
    }

    fn find<R: Balanced>(
        &self,
        balancer: &Balancer<R>,
        flow: &balancer::Flow,
    ) -> Option<Explanation<'c>> {
        let maps = (&balancer.maps(), &self.live, None);
        let query = Query { flow, quic_id: &[] };
        balancer::explain(self.config, &self.constants, maps, query, R::now()).unwrap()
    }

    /// The backend, that of a new connection, and what decided.
    fn why<R: Balanced>(
        &self,
        balancer: &Balancer<R>,
        flow: &balancer::Flow,
    ) -> (IpAddr, IpAddr, DecidedBy) {
        let found = self.find(balancer, flow).unwrap();
        let address = |number: Option<u16>| self.live.address(number.unwrap()).unwrap();
        (address(found.backend), address(found.new), found.by)
    }
}

fn flows_are_explained_by_all_keys_of_both_families<R: Balanced>() {
    for by in ["flow", "source", "source/20", "port"] {
        let config = config(by, &[10, 11, 12, 13, 14]);
        let mut balancer = Balancer::<R>::new(&config);
        let reading = Reading::new(&balancer, &config);
        let mut backends = BTreeSet::new();
        for to in ["192.0.2.7", "192.0.2.77", "2001:db8::7:1"] {
            for port in PORTS {
                let mut flow = client(to, port);
                flow.destination.port = port.wrapping_mul(77);
                if let IpAddr::V4(address) = &mut flow.source.ip {
                    *address = [10, 0, port as u8, 2].into();
                }
                for (protocol, packet) in kinds(&flow) {
                    let (backend, new, decided) = reading.why(&balancer, &text(&flow, protocol));
                    assert_eq!(backend, balancer.backend(&packet), "{by} {protocol} {flow:?}");
                    assert_eq!((new, decided), (backend, DecidedBy::Slot));
                    backends.insert(backend);
                }
            }
        }
        assert_eq!(backends.len(), 5, "{by}");
    }
}

fn flows_are_explained_after_changes<R: Balanced>() {
    let old = config("flow", &[10, 11]);
    let mut balancer = Balancer::<R>::new(&old);
    let mut new = config("flow", &[10, 12, 13]);
    for service in &mut new.services {
        if service.protocol == Protocol::Udp {
            service.datagrams = balancer::Datagrams::Keep;
        }
    }
    balancer.update(&new).unwrap();
    for port in PORTS.step_by(2) {
        let flow = client("192.0.2.7", port);
        balancer.judge(&flow.tcp(SYN, 100, b"").unwrap());
        balancer.judge(&flow.tcp(ACK, 101, b"").unwrap());
    }
    let compare = |balancer: &mut Balancer<R>, new: &Config| {
        let reading = Reading::new(balancer, new);
        let mut seen = BTreeSet::new();
        for port in PORTS {
            let flow = client("192.0.2.7", port);
            for (protocol, packet) in kinds(&flow) {
                let (backend, _, decided) = reading.why(balancer, &text(&flow, protocol));
                assert_eq!(backend, balancer.backend(&packet), "{protocol} {port}");
                seen.insert((protocol, decided.name()));
                let syn = client("192.0.2.77", port);
                let (_, fresh, _) = reading.why(balancer, &text(&syn, Protocol::Tcp));
                assert_eq!(fresh, balancer.backend(&syn.tcp(SYN, 9, b"").unwrap()), "{port}");
            }
        }
        seen
    };
    let seen = compare(&mut balancer, &new);
    let tcp = ["flow", "former", "slot"].map(|by| (Protocol::Tcp, by));
    // What was sent meanwhile is remembered, and explained so the second time.
    let first = [(Protocol::Udp, "former"), (Protocol::Udp, "slot"), (Protocol::Icmp, "slot")];
    assert_eq!(seen, tcp.into_iter().chain(first).collect());
    let seen = compare(&mut balancer, &new);
    assert!(seen.contains(&(Protocol::Udp, "flow")), "{seen:?}");

    for service in &mut new.services {
        service.backends[1].state = State::Down;
    }
    balancer.update(&new).unwrap();
    compare(&mut balancer, &new);
}

fn what_is_for_no_service_has_no_explanation<R: Balanced>() {
    let mut config = config("flow", &[10]);
    config.services.truncate(1);
    config.services[0].port = "80-90".parse().unwrap();
    let balancer = Balancer::<R>::new(&config);
    let reading = Reading::new(&balancer, &config);
    for (flow, is_explained) in [
        ("tcp 10.0.1.2:4000 192.0.2.7:85", true),
        ("tcp 10.0.1.2:4000 192.0.2.7:91", false),
        ("udp 10.0.1.2:4000 192.0.2.7:85", false),
        ("tcp 10.0.1.2:4000 192.0.3.7:85", false),
        ("tcp [2001:db8::9]:4000 [2001:db8::7]:85", false),
    ] {
        let found = reading.find(&balancer, &flow.parse().unwrap());
        assert_eq!(found.is_some(), is_explained, "{flow}");
    }
}

fn quic_ids_decide_before_the_slot<R: Balanced>() {
    let rows = |number: u8| {
        format!("[[service.backend]]\naddress = '10.0.2.{number}'\nserver_id = '0{number:x}'\n")
    };
    let mut config: Config = toml::from_str(&format!(
        "source = ['10.0.2.1']\n[[service]]\nname = 'web'\naddress = '192.0.2.7'\n\
         protocol = 'udp'\n[[service.quic]]\nconfig = 1\nserver_id_length = 1\n\
         nonce_length = 6\n{}{}",
        rows(10),
        rows(11)
    ))
    .unwrap();
    let mut balancer = Balancer::<R>::new(&config);
    for is_down in [false, true] {
        if is_down {
            config.services[0].backends[1].state = State::Down;
            balancer.update(&config).unwrap();
        }
        let reading = Reading::new(&balancer, &config);
        for port in PORTS {
            let flow = client("192.0.2.7", port);
            let id = config.services[0].quic[0].id(&[0x0b], &[7; 6]).unwrap();
            let packet = flow.udp(&[&[0x40][..], &id, &[0xa5; 20]].concat()).unwrap();
            let flow = text(&flow, Protocol::Udp);
            let query = Query { flow: &flow, quic_id: &id };
            let maps = (&balancer.maps(), &reading.live, None);
            let constants = &reading.constants;
            let found = balancer::explain(&config, constants, maps, query, R::now()).unwrap();
            let found = found.unwrap();
            let backend = reading.live.address(found.backend.unwrap()).unwrap();
            assert_eq!(found.by, if is_down { DecidedBy::Slot } else { DecidedBy::Id });
            assert_eq!(backend, balancer.backend(&packet), "{port}");
        }
    }
}

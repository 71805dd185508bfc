//! What `balance why` reports of flows whose addresses are translated is what the program does with
//! their packets, in both directions.

use std::net::{IpAddr, SocketAddr};

use functions::balancer::{
    self, Config, Constants, DecidedBy, Explanation, Live, NAT_ENTRIES, NAT_GROUPS, NAT_OBJECT,
    NatMaps, Protocol, Query, State, TranslationState,
};
use lab::frame::TcpFlags;
use spec::{Spec, Verdict};
use xway_tests::bpf::balancer::{Balanced, Balancer};
use xway_tests::stories;

use super::delivery::client;
use super::nat::{
    ACK, Ends, FIN, PROTOCOLS, RST, SERVICES, age, config, open, outcome, reply, request, returned,
    sent,
};

stories! {
    entries_are_explained_in_both_directions
    flows_without_an_entry_have_the_backend_of_their_slot
    states_and_ages_are_those_of_the_table
    an_entry_is_not_followed_to_a_dead_backend
}

/// What explains flows, read once.
struct Reading<'c> {
    config: &'c Config,
    constants: Constants,
    live: Live,
}

impl<'c> Reading<'c> {
    fn new<R: Balanced>(balancer: &Balancer<R>, config: &'c Config) -> Self {
        let mut spec = Spec::parse("balancer", NAT_OBJECT).unwrap();
        config.apply(&mut spec).unwrap();
        let constants = Constants::of(&spec).unwrap();
        Self { config, constants, live: Live::read(&balancer.maps()).unwrap() }
    }

    fn find<R: Balanced>(
        &self,
        balancer: &Balancer<R>,
        flow: &balancer::Flow,
    ) -> Option<Explanation<'c>> {
        let (groups, entries) = (balancer.map(NAT_GROUPS), balancer.map(NAT_ENTRIES));
        let maps = (&balancer.maps(), &self.live, Some(NatMaps { groups, entries }));
        let query = Query { flow, quic_id: &[] };
        balancer::explain(self.config, &self.constants, maps, query, R::now()).unwrap()
    }

    fn address(&self, number: Option<u16>) -> IpAddr {
        self.live.address(number.unwrap()).unwrap()
    }
}

/// A flow of a protocol from a client's port, or with it as its identifier.
pub fn forth(service: &str, protocol: &str, port: u16) -> balancer::Flow {
    let flow = client(service, port);
    let to = match protocol {
        "icmp" => flow.destination.ip.to_string(),
        _ => SocketAddr::new(flow.destination.ip, flow.destination.port).to_string(),
    };
    let from = SocketAddr::new(flow.source.ip, port);
    format!("{protocol} {from} {to}").parse().unwrap()
}

/// The flow from the backend that got a packet.
fn back(got: &[u8], protocol: &str) -> balancer::Flow {
    let Ends { from, to } = Ends::of(got);
    let (from, to) = (SocketAddr::from(from), SocketAddr::from(to));
    let text = match protocol {
        "icmp" => format!("icmp {to} {}", from.ip()),
        _ => format!("{protocol} {to} {from}"),
    };
    text.parse().unwrap()
}

fn entries_are_explained_in_both_directions<R: Balanced>() {
    let config = config(&[10, 11, 12]);
    let mut balancer = Balancer::<R>::new(&config);
    let reading = Reading::new(&balancer, &config);
    for service in SERVICES {
        for protocol in PROTOCOLS {
            for port in 2000..2040 {
                let flow = forth(service, protocol, port);
                let before = reading.find(&balancer, &flow).unwrap();
                assert_eq!((before.by, before.translation), (DecidedBy::Slot, None), "{flow}");
                let got = sent(&mut balancer, &request(service, protocol, port));
                let ends = Ends::of(&got);
                assert_eq!(reading.address(before.backend), ends.to.0, "{flow}");
                let found = reading.find(&balancer, &flow).unwrap();
                let entry = found.translation.unwrap();
                assert_eq!(found.by, DecidedBy::Translation, "{flow}");
                assert_eq!((found.slot, found.backend), (before.slot, before.backend), "{flow}");
                let echo = protocol == "icmp";
                // Both ports of `Ends` are the identifier of an echo.
                let backend = (ends.to.0, if echo { 0 } else { ends.to.1 });
                assert_eq!(entry.source, SocketAddr::from(ends.from), "{flow}");
                assert_eq!(entry.backend, SocketAddr::from(backend), "{flow}");
                assert_eq!((entry.client, entry.service), (flow.client, flow.service));
                // From the backend: the same entry, and the answer goes there.
                let answer = back(&got, protocol);
                let answer = if echo {
                    let client = SocketAddr::new(answer.client.ip(), ends.from.1);
                    balancer::Flow { client, ..answer }
                } else {
                    answer
                };
                let explained = reading.find(&balancer, &answer).unwrap();
                assert_eq!(explained, found, "{answer}");
                let packet = returned(&mut balancer, &reply(&got, protocol));
                assert_eq!(Ends::of(&packet).to, (entry.client.ip(), entry.client.port()));
            }
        }
    }
}

/// Slots moved, but neither the former backend nor the memory of flows concerns translated flows.
fn flows_without_an_entry_have_the_backend_of_their_slot<R: Balanced>() {
    let mut balancer = Balancer::<R>::new(&config(&[10, 11]));
    let changed = config(&[10, 12, 13]);
    let known = open(&mut balancer, SERVICES[0], 3000);
    balancer.update(&changed).unwrap();
    let reading = Reading::new(&balancer, &changed);
    let found = reading.find(&balancer, &forth(SERVICES[0], "tcp", 3000)).unwrap();
    assert_eq!(found.by, DecidedBy::Translation);
    assert_eq!(reading.address(found.backend), Ends::of(&known).to.0);
    for port in 3001..3100 {
        for protocol in PROTOCOLS {
            let flow = forth(SERVICES[0], protocol, port);
            let found = reading.find(&balancer, &flow).unwrap();
            assert_eq!(found.by, DecidedBy::Slot, "{flow}");
            let packet = match protocol {
                "tcp" => client(SERVICES[0], port).tcp(ACK, 7, b"").unwrap(),
                _ => request(SERVICES[0], protocol, port),
            };
            let got = sent(&mut balancer, &packet);
            assert_eq!(reading.address(found.backend), Ends::of(&got).to.0, "{flow}");
        }
    }
}

fn states_and_ages_are_those_of_the_table<R: Balanced>() {
    use TranslationState::{Closed, Established, Reset, Unanswered, Unconfirmed};
    let config = config(&[10, 11]);
    let mut balancer = Balancer::<R>::new(&config);
    let reading = Reading::new(&balancer, &config);
    let (flow, packets) = (forth(SERVICES[0], "tcp", 4000), client(SERVICES[0], 4000));
    let state = |balancer: &Balancer<R>| {
        reading.find(balancer, &flow).and_then(|one| one.translation).map(|one| one.state)
    };
    assert_eq!(state(&balancer), None);
    let got = sent(&mut balancer, &request(SERVICES[0], "tcp", 4000));
    assert_eq!(state(&balancer), Some(Unanswered));
    returned(&mut balancer, &reply(&got, "tcp"));
    assert_eq!(state(&balancer), Some(Unconfirmed));
    let segment = |flags: TcpFlags, number| packets.tcp(flags, number, b"").unwrap();
    sent(&mut balancer, &segment(ACK, 8));
    assert_eq!(state(&balancer), Some(Established));
    sent(&mut balancer, &segment(RST, 8));
    assert_eq!(state(&balancer), Some(Reset));
    sent(&mut balancer, &segment(FIN, 8));
    returned(&mut balancer, &Ends::of(&got).back().tcp(FIN, 1, b"").unwrap());
    sent(&mut balancer, &segment(FIN, 8));
    assert_eq!(state(&balancer), Some(Closed));
    // A SYN begins another connection.
    let found = reading.find(&balancer, &flow).unwrap();
    let again = sent(&mut balancer, &request(SERVICES[0], "tcp", 4000));
    assert_eq!(reading.address(found.new), Ends::of(&again).to.0);

    let seconds = |balancer: &Balancer<R>| {
        reading.find(balancer, &flow).and_then(|one| one.translation).map(|one| one.age_s)
    };
    open(&mut balancer, SERVICES[0], 4000);
    age(&balancer, 100);
    // Another unit of time may have begun since.
    let old = seconds(&balancer).unwrap();
    assert!((107..110).contains(&old), "{old} s");
    age(&balancer, 760);
    assert_eq!(seconds(&balancer), None, "expired");
    let answer = back(&got, "tcp");
    assert_eq!(reading.find(&balancer, &answer), None);
    assert_eq!(
        outcome(&balancer.judge_reply(&Ends::of(&got).back().tcp(ACK, 1, b"").unwrap())),
        (Verdict::Pass, "no-service")
    );
}

fn an_entry_is_not_followed_to_a_dead_backend<R: Balanced>() {
    let mut config = config(&[10, 11]);
    let mut balancer = Balancer::<R>::new(&config);
    let flows: Vec<_> =
        (5000..5040).map(|port| (port, open(&mut balancer, SERVICES[0], port))).collect();
    let dead: IpAddr = "10.0.2.11".parse().unwrap();
    for backend in config.services.iter_mut().flat_map(|one| &mut one.backends) {
        if backend.address == dead {
            backend.state = State::Down;
        }
    }
    balancer.update(&config).unwrap();
    let reading = Reading::new(&balancer, &config);
    let mut moved = 0;
    for (port, got) in flows {
        let flow = forth(SERVICES[0], "tcp", port);
        let found = reading.find(&balancer, &flow).unwrap();
        let ends = Ends::of(&got);
        let by = if ends.to.0 == dead { DecidedBy::Slot } else { DecidedBy::Translation };
        moved += u32::from(ends.to.0 == dead);
        assert_eq!(found.by, by, "{flow}");
        let entry = found.translation.expect("the entry that it has");
        assert_eq!(entry.backend, SocketAddr::from(ends.to), "{flow}");
        assert_eq!(entry.protocol, Protocol::Tcp);
        // Answers of the dead backend are still translated.
        let answer = reading.find(&balancer, &back(&got, "tcp")).unwrap();
        assert_eq!(answer.by, DecidedBy::Translation);
        returned(&mut balancer, &Ends::of(&got).back().tcp(ACK, 1, b"").unwrap());
        let packet = client(SERVICES[0], port).tcp(ACK, 9, b"").unwrap();
        let now = Ends::of(&sent(&mut balancer, &packet));
        assert_eq!((reading.address(found.backend), entry.source), (now.to.0, now.from.into()));
        assert_eq!(reading.find(&balancer, &flow).unwrap().by, DecidedBy::Translation);
    }
    assert!(moved > 0, "a backend is dead");
}

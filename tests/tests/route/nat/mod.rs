//! ICMP errors and static translations: the addresses of a client, a server and its services, and
//! what is sent between them.

mod forged;
mod linux;
mod quotes;
mod sockets;
mod unsent;

use functions::route::{Config, IcmpErrors};
use lab::frame::{Flow, TcpFlags};
use vm::world::RouteKind;
use xway_tests::bpf::router::{A, B0, B1, C, Change, Port, from_a, side, to_c};

use crate::quote::message;

/// Services and whole addresses, with ports for those of the latter.
pub const TRANSLATIONS: [&str; 8] = [
    "10.1.0.2 udp 1234 -> 10.0.2.2:5678",
    "10.1.0.2 tcp 80 -> 10.0.2.2:8080",
    "10.1.0.3 -> 10.0.2.2",
    "10.1.0.4 -> 198.51.101.1",
    "fd01::2 udp 1234 -> [fd00:0:0:2::2]:5678",
    "fd01::2 tcp 80 -> [fd00:0:0:2::2]:8080",
    "fd01::3 -> fd00:0:0:2::2",
    "fd01::4 -> fd03::1",
];
pub const CHANGES: [Change; 3] = [
    Change::Closed(RouteKind::Unreachable, "198.51.101.1"),
    Change::Closed(RouteKind::Unreachable, "fd03::1"),
    Change::Mtu(1300),
];
pub const SYN: TcpFlags = TcpFlags { syn: true, ack: false, fin: false, rst: false };

/// The client, the server and its two addresses, and hops beyond the router on both sides.
#[derive(Clone, Copy)]
pub struct Family {
    pub client: &'static str,
    pub server: &'static str,
    pub service: &'static str,
    pub whole: &'static str,
    pub closed: &'static str,
    pub hop_a: &'static str,
    pub hop_c: &'static str,
}

pub const FAMILIES: [Family; 2] = [
    Family {
        client: "10.0.1.2",
        server: "10.0.2.2",
        service: "10.1.0.2",
        whole: "10.1.0.3",
        closed: "10.1.0.4",
        hop_a: "10.0.1.9",
        hop_c: "10.0.2.9",
    },
    Family {
        client: "fd00:0:0:1::2",
        server: "fd00:0:0:2::2",
        service: "fd01::2",
        whole: "fd01::3",
        closed: "fd01::4",
        hop_a: "fd00:0:0:1::9",
        hop_c: "fd00:0:0:2::9",
    },
];

/// One kind of packet: as the client sends it, as the server gets it, and both ways back.
pub struct Talk {
    pub name: &'static str,
    pub request: Vec<u8>,
    pub received: Vec<u8>,
    pub reply: Vec<u8>,
    pub replied: Vec<u8>,
}

impl Family {
    pub fn is_ipv6(self) -> bool {
        self.client.contains(':')
    }

    pub fn flows(self, vip: &str, port: u16, at: u16) -> [Flow; 4] {
        let (client, server) = (self.client, self.server);
        [
            from_a(vip, port),
            to_c(server, at),
            Flow::new(side(C, server, at), side(B1, client, 4000)),
            Flow::new(side(B0, vip, port), side(A, client, 4000)).ttl(63),
        ]
    }

    pub fn talks(self) -> Vec<Talk> {
        let udp = self.flows(self.service, 1234, 5678);
        let tcp = self.flows(self.service, 80, 8080);
        let whole = self.flows(self.whole, 99, 99);
        let talk = |name, [request, received, reply, replied]: [Vec<u8>; 4]| Talk {
            name,
            request,
            received,
            reply,
            replied,
        };
        vec![
            talk("udp", udp.each_ref().map(|flow| flow.udp(b"some text").unwrap())),
            talk("udp of a length", udp.map(|flow| flow.udp_of_length(900).unwrap())),
            talk("tcp", tcp.map(|flow| flow.tcp(SYN, 7, b"").unwrap())),
            talk("udp to an address", whole.each_ref().map(|flow| flow.udp(b"odd").unwrap())),
            talk("ping", self.ping(&whole)),
        ]
    }

    fn ping(self, flows: &[Flow; 4]) -> [Vec<u8>; 4] {
        let [request, received, reply, replied] = flows;
        let answer = if self.is_ipv6() { 129 } else { 0 };
        let [reply, replied] =
            [reply, replied].map(|flow| message(flow, answer, 0, 0x0001_0002, b"payload"));
        let [request, received] =
            [request, received].map(|flow| flow.ping(1, 2, b"payload").unwrap());
        [request, received, reply, replied]
    }

    /// Errors that a hop beyond the router sends about what it got: to the client, as the server's
    /// side sends it, and to the server.
    pub fn errors_from_beyond(self) -> Vec<(String, Port, Vec<u8>)> {
        let kinds: &[(u8, u8, u32)] = if self.is_ipv6() {
            &[(1, 4, 0), (2, 0, 1280), (3, 0, 0), (4, 1, 6)]
        } else {
            &[(3, 3, 0), (3, 4, 1000), (4, 0, 0), (11, 0, 0), (12, 0, 0x1000_0000)]
        };
        let to_client = |hop| Flow::new(side(C, hop, 0), side(B1, self.client, 0));
        let to_vip = |vip| Flow::new(side(A, self.hop_a, 0), side(B0, vip, 0));
        let header = if self.is_ipv6() { 40 } else { 20 };
        let mut all = Vec::new();
        for talk in self.talks() {
            let vip = if talk.name == "ping" || talk.name == "udp to an address" {
                self.whole
            } else {
                self.service
            };
            let quotes = [&talk.received[14..], &talk.replied[14..]];
            for &(kind, code, rest) in kinds {
                let mut add = |port, flow: Flow, quote: &[u8]| {
                    let name = format!("{} {kind}/{code}, {} bytes", talk.name, quote.len());
                    all.push((name, port, message(&flow, kind, code, rest, quote)));
                };
                add(Port::Eth1, to_client(self.hop_c), quotes[0]);
                add(Port::Eth1, to_client(self.server), quotes[0]);
                add(Port::Eth0, to_vip(vip), quotes[1]);
                for length in [8, 9, 19, 20] {
                    let [there, back] = quotes.map(|it| &it[..it.len().min(header + length)]);
                    add(Port::Eth1, to_client(self.hop_c), there);
                    add(Port::Eth0, to_vip(vip), back);
                }
            }
        }
        all
    }
}

pub fn translating(replies: bool, send: bool) -> Config {
    Config {
        translations: TRANSLATIONS.iter().map(|text| text.parse().unwrap()).collect(),
        replies,
        icmp_errors: IcmpErrors { send, ..IcmpErrors::UNLIMITED },
        ..Config::default()
    }
}

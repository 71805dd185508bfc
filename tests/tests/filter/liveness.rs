//! A service remains reachable under each attack that a rule claims to stop.
//!
//! ```text
//!  a: clients, attacker ─── eth0 ══════ eth0: filter ─▶ stack ─▶ service :b
//! ```
//! Each attack sends a burst of frames before each of fifteen connections, and all fifteen must be
//! accepted. Counted are connections, never rates: a slow machine sees fewer frames a second.
#![allow(clippy::print_stdout, reason = "a story prints what was served and refused")]

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use filter::abi::{self, Event};
use filter::runtime::actions;
use filter::{Environment, File, Form, Listeners, PROGRAM, compile, maps};
use kernel::{Attach, Link, LoadOptions, Mode, Object, Program, Replace};
use lab::{Capture, Host, LinkOptions, TwoHosts, until};
use packet::Mac;
use spec::Verdict;
use xway_tests::program::constant_program;
use xway_tests::segment::{ACK, Segment};

/// One kind of frame, by its number.
#[derive(Clone, Copy)]
struct Attack {
    name: &'static str,
    frames: fn(&Siege, u32) -> Vec<Vec<u8>>,
    /// What the filter counts of it; nothing where the stack is to deal with it.
    counted: Option<Event>,
}

/// A service on `b` protected by rules, and its address.
struct Siege {
    net: TwoHosts,
    object: Object,
    service: SocketAddr,
    /// MAC addresses of the service and of all others.
    macs: [Mac; 2],
    /// The attacker's only address; without it each frame has another one.
    attacker: Option<IpAddr>,
    _links: [Link; 2],
}

impl Siege {
    fn new(rules: &[&str], ip: &str, queues: u32) -> Self {
        let net = TwoHosts::build(&LinkOptions { queues, ..LinkOptions::default() }).unwrap();
        net.b.set_sysctl("ipv4/tcp_syncookies", "2").unwrap();
        net.b.set_sysctl("ipv4/tcp_timestamps", "2").unwrap();
        let object = object(rules, &net);
        // veth wakes the receiver of what a program sends back only if it has a program, too.
        let pass = constant_program("pass", Verdict::Pass);
        let links = [attach(&net.b, object.program(PROGRAM).unwrap()), attach(&net.a, &pass)];
        let service = SocketAddr::new(ip.parse().unwrap(), PORT);
        let macs = [net.b.mac("eth0").unwrap(), net.a.mac("eth0").unwrap()];
        let siege = Self { net, macs, object, service, attacker: None, _links: links };
        siege.serve(SocketAddr::new(UNSPECIFIED[usize::from(service.is_ipv6())], PORT));
        siege
    }

    /// Accepts connections and sends a byte on each, until the test's process ends.
    fn serve(&self, at: SocketAddr) {
        let listener = self.net.b.run(|| TcpListener::bind(at)).unwrap().unwrap();
        std::thread::spawn(move || {
            while let Ok((mut client, _)) = listener.accept() {
                // A client that is gone does not end the service.
                let _ = client.write_all(b"!");
            }
        });
    }

    fn event(&self, event: Event) -> u64 {
        let events = actions::events(self.object.map(maps::EVENTS).unwrap()).unwrap();
        events.into_iter().find(|(one, _)| *one == event).unwrap().1
    }

    /// A connection request to the service from an unused address.
    fn syn(&self, number: u32) -> Segment {
        let [a, b] = (number as u16).to_be_bytes();
        let ip: IpAddr = match self.service {
            SocketAddr::V4(_) => [10, 9, a, b].into(),
            SocketAddr::V6(_) => [0xfd09, 0, 0, 0, 0, 0, 0, number as u16].into(),
        };
        let ip = self.attacker.unwrap_or(ip);
        let from = SocketAddr::new(ip, 1024 + number as u16 % 50_000);
        Segment { sequence: number, ..Segment::syn(self.macs, from, self.service) }
    }

    /// Packets that the only rule took.
    fn taken(&self) -> u64 {
        actions::count(self.object.map(maps::COUNTS).unwrap(), 0).unwrap().taken
    }

    /// Packets that were dropped because their source is banned.
    fn banned(&self) -> u64 {
        let bans = self.object.map(maps::BANS).unwrap().entries().unwrap();
        let ban = |value: Vec<u8>| abi::Ban::from_bytes(value.as_slice().try_into().unwrap());
        bans.into_iter().map(|(_, value)| ban(value).packets).sum()
    }

    fn burst(&self, attack: &Attack, wire: &Capture, start: u32) {
        for number in start..start + BURST {
            for frame in (attack.frames)(self, number) {
                wire.send(&frame).unwrap();
            }
        }
    }

    /// How many of fifteen clients are served, each of them after a burst; some may not be tried.
    fn served(&self, attack: &Attack) -> u32 {
        // On two queues the attacker's frames are received by another processor.
        let cpus = sys::cpu::affinity().unwrap();
        sys::cpu::set_affinity(&cpus[cpus.len() - 1..]).unwrap();
        let wire = Capture::open(&self.net.a, "eth0").unwrap();
        let mut number = 0;
        let mut burst = || {
            self.burst(attack, &wire, number);
            number += BURST;
        };
        if let Some(event) = attack.counted {
            let before = self.event(event);
            let what = format!("{}: {}", attack.name, event.label());
            until(&what, PATIENCE, || {
                burst();
                Ok((self.event(event) > before).then_some(()))
            })
            .unwrap();
        }
        let mut client = || {
            burst();
            self.net.a.run(|| sys::cpu::set_affinity(&cpus[..1]).map(|()| ask(self.service)))
        };
        let (mut served, mut failed) = (0, 0);
        while served + failed < CLIENTS && failed < FAILURES {
            match client().unwrap().unwrap() {
                true => served += 1,
                false => failed += 1,
            }
        }
        served
    }

    #[track_caller]
    fn holds_against(&self, attacks: &[Attack]) {
        for attack in attacks {
            let served = self.served(attack);
            let events = actions::events(self.object.map(maps::EVENTS).unwrap()).unwrap();
            let events: Vec<_> = events.into_iter().filter(|(_, count)| *count > 0).collect();
            println!("{}: {served} of {CLIENTS}, {events:?}", attack.name);
            assert_eq!(served, CLIENTS, "{}", attack.name);
        }
    }
}

fn attach(host: &Host, program: &Program) -> Link {
    let ifindex = host.ifindex("eth0").unwrap();
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    host.run(|| kernel::attach(&attach)).unwrap().unwrap()
}

/// Whether the service answers a client.
fn ask(service: SocketAddr) -> bool {
    let answer = || -> std::io::Result<u8> {
        let mut client = TcpStream::connect_timeout(&service, CLIENT)?;
        client.set_read_timeout(Some(CLIENT))?;
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        Ok(byte[0])
    };
    answer().is_ok_and(|byte| byte == b'!')
}

fn object(rules: &[&str], net: &TwoHosts) -> Object {
    let rules: Vec<_> = rules.iter().map(|rule| format!("'{rule}'")).collect();
    let text = format!("rules = [{}]", rules.join(", "));
    let file = File::parse("rules", &text, Path::new(""), |_| Err(String::new())).unwrap();
    let mut environment = Environment { form: Form::Small, ..Environment::default() };
    environment.sizes.listeners = Some(Listeners {
        syncookies: 2,
        timestamps: 2,
        receive_most: 6_291_456,
        buffer_most: 212_992,
        mtu: 1500,
        macs: [Some(net.b.mac("eth0").unwrap().0), None],
    });
    let compiled = compile(&file.ruleset, &environment).unwrap();
    let object = Object::load(&compiled.spec, &LoadOptions::default()).unwrap();
    compiled.actions.fill(|name| object.map(name)).unwrap();
    object
}

/// A port whose requests shared a counter with the service's when the counter was chosen by a hash
/// without a key.
fn port_of_the_same_slot(service: SocketAddr) -> u16 {
    let slot = |port: u16| {
        let SocketAddr::V4(service) = service else { return 0 };
        let mut hash = 0_u64;
        for word in [u64::from(service.ip().to_bits()), u64::from(port)] {
            hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        (hash >> 32) & 8191
    };
    (1..PORT).rev().find(|port| slot(*port) == slot(PORT)).unwrap()
}

fn sources(siege: &Siege, number: u32) -> IpAddr {
    let v4 =
        [[127, 0, 0, 1], [0, 0, 0, 0], [224, 0, 0, 1], [240, 0, 0, 1], [255; 4], [10, 0, 0, 2]];
    let v6 = ["::", "::1", "ff02::1", "::ffff:10.0.0.1", "fd00::2"];
    match siege.service {
        SocketAddr::V4(_) => v4[number as usize % v4.len()].into(),
        SocketAddr::V6(_) => v6[number as usize % v6.len()].parse().unwrap(),
    }
}

const PLAIN: Attack = Attack {
    name: "requests",
    frames: |siege, number| vec![siege.syn(number).frame()],
    counted: None,
};
const CHECKSUM: Attack = Attack {
    name: "wrong checksums",
    frames: |siege, number| vec![siege.syn(number).with_wrong_checksum()],
    counted: None,
};
const MARTIANS: Attack = Attack {
    name: "martian sources",
    frames: |siege, number| {
        let mut syn = siege.syn(number);
        syn.from.set_ip(sources(siege, number));
        vec![syn.frame()]
    },
    counted: None,
};
const ANOTHER_PORT: Attack = Attack {
    name: "another port",
    frames: |siege, number| {
        let mut syn = siege.syn(number);
        syn.to.set_port(port_of_the_same_slot(siege.service));
        vec![syn.frame()]
    },
    counted: None,
};
const ALL_PORTS: Attack = Attack {
    name: "all ports",
    frames: |siege, number| {
        let mut syn = siege.syn(number);
        syn.to.set_port(number as u16);
        vec![syn.frame()]
    },
    counted: None,
};
/// The first part has the flags, or not even them.
const FRAGMENTS: Attack = Attack {
    name: "fragments",
    frames: |siege, number| {
        let mut syn = siege.syn(number);
        syn.payload = vec![0; 40];
        let split = [8, 16, 24, 40][number as usize % 4];
        let [first, later] = syn.fragments(split);
        if number % 3 == 0 { vec![later, first] } else { vec![first, later] }
    },
    counted: None,
};
const LATER_FRAGMENTS: Attack = Attack {
    name: "later fragments",
    frames: |siege, number| vec![siege.syn(number).fragments(8)[1].clone()],
    counted: None,
};
const IP_OPTIONS: Attack = Attack {
    name: "IP options",
    frames: |siege, number| {
        let mut syn = siege.syn(number);
        syn.ip_options = match siege.service {
            SocketAddr::V4(_) => vec![1; 4],
            SocketAddr::V6(_) => vec![6, 0, 1, 4, 0, 0, 0, 0],
        };
        vec![syn.frame()]
    },
    counted: None,
};
const TCP_OPTIONS: Attack = Attack {
    name: "malformed TCP options and data",
    frames: |siege, number| {
        let mut syn = siege.syn(number);
        syn.tcp_options =
            [vec![2, 4, 5, 180], vec![8, 200, 0, 0], vec![3; 40]][number as usize % 3].clone();
        syn.payload = vec![7; number as usize % 1000];
        vec![syn.frame()]
    },
    counted: None,
};
const ACKS: Attack = Attack {
    name: "requests and acknowledgements",
    frames: |siege, number| {
        let ack = Segment { flags: ACK, ..siege.syn(number) };
        vec![siege.syn(number + 7).frame(), ack.frame()]
    },
    counted: None,
};

/// An attack of which the filter must have counted something before clients come.
const fn counted(event: Event, attack: Attack) -> Attack {
    Attack { counted: Some(event), ..attack }
}

/// For each of several destinations `above` has a counter of its own.
const PROXY: &[&str] = &["synproxy tcp above 100pps"];

#[test]
fn a_proxied_service_accepts_connections_under_every_attack() {
    let siege = Siege::new(PROXY, "10.0.0.2", 1);
    siege.holds_against(&[
        counted(Event::SynChecksum, CHECKSUM),
        counted(Event::SynMartian, MARTIANS),
        counted(Event::SynNoListener, ANOTHER_PORT),
        ALL_PORTS,
        counted(Event::SynFragment, FRAGMENTS),
        LATER_FRAGMENTS,
        counted(Event::CookieSent, IP_OPTIONS),
        counted(Event::CookieSent, TCP_OPTIONS),
        counted(Event::CookieBad, ACKS),
        counted(Event::CookieSent, PLAIN),
    ]);
}

#[test]
fn a_proxied_service_accepts_connections_on_two_queues() {
    let siege = Siege::new(PROXY, "10.0.0.2", 2);
    siege.holds_against(&[
        counted(Event::SynChecksum, CHECKSUM),
        counted(Event::SynMartian, MARTIANS),
        counted(Event::SynNoListener, ANOTHER_PORT),
        counted(Event::CookieSent, PLAIN),
    ]);
}

#[test]
fn a_proxied_service_accepts_connections_over_ipv6() {
    let siege = Siege::new(PROXY, "fd00::2", 1);
    siege.holds_against(&[
        counted(Event::SynChecksum, CHECKSUM),
        counted(Event::SynMartian, MARTIANS),
        counted(Event::CookieSent, IP_OPTIONS),
        counted(Event::CookieSent, PLAIN),
    ]);
}

/// Nothing depends on a request that passed before the listener was there.
#[test]
fn a_listener_that_is_new_during_an_attack_accepts_connections() {
    let mut siege = Siege::new(PROXY, "10.0.0.2", 1);
    for (port, attack) in [(81, &CHECKSUM), (82, &MARTIANS), (83, &PLAIN)] {
        siege.service.set_port(port);
        let wire = Capture::open(&siege.net.a, "eth0").unwrap();
        siege.burst(attack, &wire, 0);
        siege.serve(siege.service);
        assert_eq!(siege.served(attack), CLIENTS, "{}", attack.name);
    }
}

/// Each sender has a bucket of its own.
#[test]
fn a_limit_for_each_sender_stops_one_and_serves_others() {
    let rule = "limit 20pps burst 20 per source/32 tcp dport 7001 flags syn/syn,ack";
    let mut siege = Siege::new(&[rule], "10.0.0.2", 1);
    siege.attacker = Some([10, 9, 0, 77].into());
    let attacks =
        [PLAIN, CHECKSUM, ALL_PORTS, FRAGMENTS, LATER_FRAGMENTS, IP_OPTIONS, TCP_OPTIONS, ACKS];
    for attack in attacks {
        let before = siege.taken();
        siege.holds_against(&[attack]);
        let is_stopped = siege.taken() - before > u64::from(BURST);
        // These two have no port of the service.
        let is_elsewhere = matches!(attack.name, "all ports" | "later fragments");
        assert!(is_stopped || is_elsewhere, "{}", attack.name);
    }
}

/// Scanners are banned, whatever else they send, until the table of bans is full.
#[test]
fn bans_stop_scanners_and_serve_others_even_when_the_map_is_full() {
    let mut siege = Siege::new(&["ban 600s tcp dport 23"], "10.0.0.2", 1);
    let scan = |siege: &Siege, number: u32| {
        let mut syn = siege.syn(number);
        syn.to.set_port(23);
        syn.frame()
    };
    let wire = Capture::open(&siege.net.a, "eth0").unwrap();
    siege.attacker = Some([10, 9, 0, 77].into());
    wire.send(&scan(&siege, 0)).unwrap();
    let attacks = [PLAIN, CHECKSUM, ALL_PORTS, FRAGMENTS, IP_OPTIONS, TCP_OPTIONS, ACKS];
    for attack in attacks {
        let before = siege.banned();
        siege.holds_against(&[attack]);
        assert!(siege.banned() - before > u64::from(BURST), "{}", attack.name);
    }
    siege.attacker = None;
    let mut number = 0;
    until("a map full of bans", PATIENCE * 4, || {
        for _ in 0..10_000 {
            number += 1;
            let [a, b, c] = [number >> 16, number >> 8, number].map(|part| part as u8);
            siege.attacker = Some([11, a, b, c].into());
            wire.send(&scan(&siege, number)).unwrap();
        }
        Ok((siege.event(Event::BansFull) > 0).then_some(()))
    })
    .unwrap();
    siege.holds_against(&[PLAIN, CHECKSUM]);
}

const UNSPECIFIED: [IpAddr; 2] =
    [IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED)];
const PORT: u16 = 7001;
const CLIENTS: u32 = 15;
/// Frames before each client: with `above 100pps` the proxy is active for all of them.
const BURST: u32 = 400;
const PATIENCE: Duration = Duration::from_secs(15);
/// A client repeats its request after one second, and after two more.
const CLIENT: Duration = Duration::from_secs(6);
/// Clients that fail until the rest is not tried.
const FAILURES: u32 = 3;

//! QUIC connection ids: each packet goes to the backend that its id names, from any address and
//! after any change; what cannot be routed goes where the hash of the flow leads.

use std::collections::BTreeSet;
use std::net::IpAddr;

use functions::balancer::{Config, QuicConfig, ServerId, State, by_id};
use lab::frame::Flow;
use xway_tests::bpf::balancer::{Balanced, Balancer};
use xway_tests::stories;

use super::delivery::client;

stories! {
    vectors_of_the_draft_reach_their_backend
    ids_of_all_lengths_are_routed
    a_client_that_migrates_keeps_its_backend
    configurations_rotate
    types_of_packets_and_versions_do_not_matter
    what_cannot_be_routed_goes_by_the_hash
    ids_that_are_cut_or_lie_about_their_length
    ids_remain_while_a_backend_drains_and_end_when_it_is_settled
    ids_of_backends_that_left_remain_when_the_program_is_replaced
    ids_of_a_dead_backend_go_by_the_hash
    errors_that_quote_a_long_header_reach_the_server
    later_fragments_follow_an_id
    a_change_without_space_changes_nothing
}

const SERVICE: &str = "192.0.2.7";
const SERVICE6: &str = "2001:db8::7";
const KEY: &str = "8f95f09245765f80256934e50c66207f";
/// QUIC in version 1 and in version 2 (RFC 9369).
const VERSIONS: [u32; 2] = [1, 0x6b33_43cf];

/// Two services, of both families, with these QUIC configurations, as CONFIG SERVER-ID NONCE KEY,
/// and backends, as NUMBER and server ids.
fn config(quic: &[(u8, usize, usize, &str)], backends: &[(u8, &[&str])]) -> Config {
    let quic: String = quic
        .iter()
        .map(|(number, server_id, nonce, key)| {
            let key = if key.is_empty() { String::new() } else { format!("key = '{key}'\n") };
            format!(
                "[[service.quic]]\nconfig = {number}\nserver_id_length = {server_id}\n\
                 nonce_length = {nonce}\n{key}"
            )
        })
        .collect();
    let backends: String = backends
        .iter()
        .map(|(number, ids)| {
            format!("[[service.backend]]\naddress = '10.0.2.{number}'\nserver_id = {ids:?}\n")
        })
        .collect();
    let service = |name, address| {
        format!(
            "[[service]]\nname = '{name}'\naddress = '{address}'\nprotocol = 'udp'\nport = 80\n\
             {quic}{backends}"
        )
    };
    let services = service("four", SERVICE) + &service("six", SERVICE6);
    let config: Config = toml::from_str(&format!("source = ['10.0.2.1']\n{services}")).unwrap();
    config.check().unwrap();
    config
}

fn bytes(text: &str) -> Vec<u8> {
    text.parse::<ServerId>().unwrap().0
}

/// A packet with a short header; more bytes follow the id, as in all versions that are in use.
fn short(id: &[u8]) -> Vec<u8> {
    [&[0x40][..], id, &[0xa5; 20]].concat()
}

/// A long header of this first byte and version, from `source`.
fn long(first: u8, version: u32, destination: &[u8], source: &[u8]) -> Vec<u8> {
    let mut packet = vec![first | 0x80];
    packet.extend(version.to_be_bytes());
    for id in [destination, source] {
        packet.push(id.len() as u8);
        packet.extend(id);
    }
    packet.extend([0x5a; 30]);
    packet
}

fn number<R: Balanced>(balancer: &mut Balancer<R>, flow: &Flow, payload: &[u8]) -> u8 {
    frame_number(balancer, &flow.udp(payload).unwrap())
}

fn frame_number<R: Balanced>(balancer: &mut Balancer<R>, frame: &[u8]) -> u8 {
    match balancer.backend(frame) {
        IpAddr::V4(address) => address.octets()[3],
        IpAddr::V6(_) => panic!("the backends are IPv4"),
    }
}

/// Flows whose slots have different backends.
fn flows() -> Vec<Flow> {
    let of = |address| (1000..1005).map(move |port| client(address, port));
    of(SERVICE).chain(of(SERVICE6)).collect()
}

/// Each flow's backend by its hash.
fn by_hash<R: Balanced>(balancer: &mut Balancer<R>) -> Vec<u8> {
    flows().iter().map(|flow| number(balancer, flow, &[0; 40])).collect()
}

/// Packets with this id reach this backend from all flows.
#[track_caller]
fn all_reach<R: Balanced>(balancer: &mut Balancer<R>, id: &[u8], backend: u8, name: &str) {
    for flow in flows() {
        assert_eq!(number(balancer, &flow, &short(id)), backend, "{name}: short");
        let long = long(0x40, 1, id, b"client");
        assert_eq!(number(balancer, &flow, &long), backend, "{name}: long");
    }
}

/// Packets with this payload go where the hash of each flow leads.
#[track_caller]
fn none_reach<R: Balanced>(balancer: &mut Balancer<R>, payload: &[u8], hash: &[u8], name: &str) {
    for (flow, hash) in flows().iter().zip(hash) {
        assert_eq!(number(balancer, flow, payload), *hash, "{name}");
    }
}

/// Appendix B, as the functions crate has it: two of the ids are misprinted there.
fn vectors_of_the_draft_reach_their_backend<R: Balanced>() {
    for (number, server_id, nonce, id, key) in [
        (0, "c4605e", 4, "07c4605e4504cc4f", ""),
        (1, "350d28b420", 5, "2a350d28b42003487d970b", ""),
        (1, "a350d28b42", 5, "20a350d28b4203487d970b", ""),
        (0, "ed793a", 4, "0720b1d07b359d3c", KEY),
        (1, "ed793a51d49b8f5fab65", 5, "2fcc381bc74cb4fbad2823a3d1f8fed2", KEY),
        (2, "ed793a51d49b8f5f", 8, "504dd2d05a7b0de9b2b9907afb5ecf8cc3", KEY),
        (3, "ed793a51d49b8f5fab", 9, "725779c9cc86beb3a3a4a3ca96fce4bfe0cdbc", KEY),
    ] {
        let other = "00".repeat(server_id.len() / 2);
        let quic = [(number, server_id.len() / 2, nonce, key)];
        let config = config(&quic, &[(10, &[&other]), (11, &[server_id])]);
        let mut balancer = Balancer::<R>::new(&config);
        all_reach(&mut balancer, &bytes(id), 11, id);
    }
}

fn ids_of_all_lengths_are_routed<R: Balanced>() {
    let server_id = |length: usize, number: u8| -> Vec<u8> {
        (0..length).map(|n| number.wrapping_mul(31).wrapping_add(n as u8 * 3)).collect()
    };
    let of = |length: usize, nonce: usize, key: &str| {
        let texts = [10, 11, 12].map(|number| ServerId(server_id(length, number)).to_string());
        let [a, b, c] = texts.each_ref().map(|text| [text.as_str()]);
        config(&[(5, length, nonce, key)], &[(10, &a), (11, &b), (12, &c)])
    };
    let mut balancer = Balancer::<R>::new(&of(1, 4, ""));
    for key in ["", KEY] {
        let nonces = |length| BTreeSet::from([4, 16 - length, 18 - length, 19 - length]);
        let lengths =
            (1..=15).flat_map(|length| nonces(length).into_iter().map(move |n| (length, n)));
        for (length, nonce) in lengths.filter(|(_, nonce)| *nonce >= 4) {
            let config = of(length, nonce, key);
            balancer.update(&config).unwrap();
            let quic = config.services[0].quic[0];
            for backend in [10, 11, 12] {
                let nonce: Vec<u8> = (0..nonce).map(|n| 250 - n as u8 - backend).collect();
                let id = quic.id(&server_id(length, backend), &nonce).unwrap();
                let flow = client(SERVICE, 1000 + u16::from(backend));
                // Also without a byte after it.
                for payload in [short(&id), short(&id)[..=id.len()].to_vec()] {
                    let name = format!("{length} and {} bytes, {key}", nonce.len());
                    assert_eq!(number(&mut balancer, &flow, &payload), backend, "{name}");
                }
            }
        }
    }
}

const THREE: [(u8, &[&str]); 3] = [(10, &["0000000a"]), (11, &["0000000b"]), (12, &["0000000c"])];

fn id_of(config: &QuicConfig, number: u8, nonce: u8) -> Vec<u8> {
    let length = usize::from(config.nonce_length);
    config.id(&[0, 0, 0, number], &vec![nonce; length]).unwrap()
}

fn a_client_that_migrates_keeps_its_backend<R: Balanced>() {
    for (nonce, key) in [(4, ""), (12, KEY), (6, KEY)] {
        let config = config(&[(0, 4, nonce, key)], &THREE);
        let mut balancer = Balancer::<R>::new(&config);
        let quic = config.services[0].quic[0];
        for number in [10, 11, 12] {
            all_reach(&mut balancer, &id_of(&quic, number, 7), number, key);
        }
        assert!(by_hash(&mut balancer).iter().collect::<BTreeSet<_>>().len() > 1);
        // Another backend, and other weights.
        let mut next = config.clone();
        for service in &mut next.services {
            let mut backend = service.backends[0].clone();
            backend.address = "10.0.2.13".parse().unwrap();
            backend.server_id = toml::from_str::<toml::Table>("id = '0000000d'").unwrap()["id"]
                .clone()
                .try_into()
                .unwrap();
            service.backends.insert(0, backend);
            service.backends[1].weight = 0;
            service.backends[2].weight = 9;
        }
        balancer.update(&next).unwrap();
        for number in [10, 11, 12, 13] {
            all_reach(&mut balancer, &id_of(&quic, number, 9), number, "after a change");
        }
    }
}

/// Old and new ids are routed together; then those of the old configuration are not.
fn configurations_rotate<R: Balanced>() {
    let other = "00112233445566778899aabbccddeeff";
    let backends: [(u8, &[&str]); 2] = [(10, &["0000000a", "aa"]), (11, &["0000000b", "bb"])];
    let short_ids: [(u8, &[&str]); 2] = [(10, &["aa"]), (11, &["bb"])];
    let long_ids: [(u8, &[&str]); 2] = [(10, &["0000000a"]), (11, &["0000000b"])];
    let before = config(&[(0, 4, 12, KEY)], &long_ids);
    let both = config(&[(0, 4, 12, KEY), (1, 1, 7, other)], &backends);
    let after = config(&[(1, 1, 7, other)], &short_ids);
    let [old, new] = [&before.services[0].quic[0], &after.services[0].quic[0]];
    let ids = [10, 11].map(|number| {
        let own = [number - 10 + if number == 10 { 0xaa } else { 0xba }];
        (number, id_of(old, number, 1), new.id(&own, &[number; 7]).unwrap())
    });
    let mut balancer = Balancer::<R>::new(&before);
    let hash = by_hash(&mut balancer);
    for (number, old, new) in &ids {
        all_reach(&mut balancer, old, *number, "old");
        none_reach(&mut balancer, &short(new), &hash, "not yet known");
    }
    balancer.update(&both).unwrap();
    for (number, old, new) in &ids {
        all_reach(&mut balancer, old, *number, "old of both");
        all_reach(&mut balancer, new, *number, "new of both");
    }
    balancer.update(&after).unwrap();
    for (number, old, new) in &ids {
        none_reach(&mut balancer, &short(old), &hash, "no more known");
        all_reach(&mut balancer, new, *number, "new");
    }
}

fn types_of_packets_and_versions_do_not_matter<R: Balanced>() {
    let config = config(&[(2, 4, 4, KEY)], &THREE);
    let mut balancer = Balancer::<R>::new(&config);
    let id = id_of(&config.services[0].quic[0], 11, 3);
    let flow = client(SERVICE, 1000);
    for first in 0..=0x7f {
        let mut packet = short(&id);
        packet[0] = first;
        assert_eq!(number(&mut balancer, &flow, &packet), 11, "{first:#x}");
        for version in VERSIONS.into_iter().chain([0, 0xff00_001d, 0x1a2a_3a4a]) {
            let packet = long(first, version, &id, &[]);
            assert_eq!(number(&mut balancer, &flow, &packet), 11, "{first:#x} of {version:#x}");
        }
    }
}

fn what_cannot_be_routed_goes_by_the_hash<R: Balanced>() {
    let config = config(&[(0, 4, 4, ""), (3, 4, 12, KEY)], &THREE);
    let mut balancer = Balancer::<R>::new(&config);
    let hash = by_hash(&mut balancer);
    assert!(hash.iter().collect::<BTreeSet<_>>().len() > 1);
    let [plain, sealed] = [0, 1].map(|n| config.services[0].quic[n]);
    for mut id in [id_of(&plain, 10, 1), id_of(&sealed, 10, 1)] {
        for rotation in 0..8 {
            id[0] = rotation << 5 | 8;
            if ![0, 3].contains(&rotation) {
                none_reach(&mut balancer, &short(&id), &hash, "configuration");
                none_reach(&mut balancer, &long(0, 1, &id, &id), &hash, "configuration");
            }
        }
    }
    none_reach(&mut balancer, &short(&id_of(&plain, 99, 1)), &hash, "server id");
    none_reach(&mut balancer, &short(&id_of(&sealed, 99, 1)), &hash, "server id");
    // An empty cell is not a server id.
    none_reach(&mut balancer, &short(&[0; 9]), &hash, "zeros");
    // A short header has the id of the client's choice only if it is the server's; a source id of
    // the client is not one.
    let long = long(0, 1, b"random-1", &id_of(&plain, 10, 1));
    none_reach(&mut balancer, &long, &hash, "source id");
}

fn ids_that_are_cut_or_lie_about_their_length<R: Balanced>() {
    for (nonce, key) in [(4, ""), (12, KEY), (6, KEY)] {
        let config = config(&[(0, 4, nonce, key)], &THREE);
        let mut balancer = Balancer::<R>::new(&config);
        let hash = by_hash(&mut balancer);
        for number in [10, 11, 12] {
            let id = id_of(&config.services[0].quic[0], number, 1);
            let short = &short(&id)[..=id.len()];
            let long = &long(0, 1, &id, &[])[..6 + id.len()];
            for length in 0..short.len() {
                none_reach(&mut balancer, &short[..length], &hash, "short header, cut");
            }
            all_reach_payload(&mut balancer, short, number);
            for length in 0..long.len() {
                none_reach(&mut balancer, &long[..length], &hash, "long header, cut");
            }
            all_reach_payload(&mut balancer, long, number);
            // The length of the id in the header.
            for length in (0..=60).chain([127, 128, 254, 255_usize]) {
                let mut packet = self::long(0, 1, &id, &[]);
                packet[5] = length as u8;
                if length >= id.len() && length <= packet.len() - 6 {
                    all_reach_payload(&mut balancer, &packet, number);
                } else {
                    none_reach(&mut balancer, &packet, &hash, "length");
                }
            }
        }
    }
}

#[track_caller]
fn all_reach_payload<R: Balanced>(balancer: &mut Balancer<R>, payload: &[u8], backend: u8) {
    for flow in flows() {
        assert_eq!(number(balancer, &flow, payload), backend, "{payload:02x?}");
    }
}

fn ids_remain_while_a_backend_drains_and_end_when_it_is_settled<R: Balanced>() {
    let config = config(&[(0, 4, 4, KEY)], &THREE);
    let quic = config.services[0].quic[0];
    let mut balancer = Balancer::<R>::new(&config);
    let mut drains = config.clone();
    for service in &mut drains.services {
        service.backends[0].state = State::Drain;
    }
    let mut gone = config.clone();
    for service in &mut gone.services {
        service.backends.remove(0);
    }
    for next in [&drains, &gone, &gone] {
        balancer.update(next).unwrap();
        for number in [10, 11, 12] {
            all_reach(&mut balancer, &id_of(&quic, number, 1), number, "drains");
        }
    }
    balancer.update(&drains).unwrap();
    functions::balancer::settle(&balancer.maps(), sys::thread::monotonic_ns()).unwrap();
    all_reach(&mut balancer, &id_of(&quic, 10, 1), 10, "drains in the file");
    balancer.update(&gone).unwrap();
    functions::balancer::settle(&balancer.maps(), sys::thread::monotonic_ns()).unwrap();
    let hash = by_hash(&mut balancer);
    none_reach(&mut balancer, &short(&id_of(&quic, 10, 1)), &hash, "settled");
    // Its number is another backend's now, which the old id does not name.
    let mut next = gone.clone();
    for service in &mut next.services {
        let mut backend = service.backends[0].clone();
        backend.address = "10.0.2.13".parse().unwrap();
        backend.server_id.0 = vec![ServerId(vec![0, 0, 0, 13])];
        service.backends.push(backend);
    }
    balancer.update(&next).unwrap();
    let hash = by_hash(&mut balancer);
    none_reach(&mut balancer, &short(&id_of(&quic, 10, 1)), &hash, "another backend");
    all_reach(&mut balancer, &id_of(&quic, 13, 1), 13, "another backend");
}

fn ids_of_backends_that_left_remain_when_the_program_is_replaced<R: Balanced>() {
    let config = config(&[(0, 4, 4, ""), (1, 4, 12, KEY)], &THREE);
    let old = Balancer::<R>::new(&config);
    let mut gone = config.clone();
    for service in &mut gone.services {
        service.backends.remove(0);
    }
    old.update(&gone).unwrap();
    let mut new = Balancer::replacing(&old, &gone);
    for quic in &config.services[0].quic {
        for number in [10, 11, 12] {
            all_reach(&mut new, &id_of(quic, number, 1), number, "replaced");
        }
    }
    let mut again = Balancer::replacing(&new, &gone);
    all_reach(&mut again, &id_of(&config.services[0].quic[0], 10, 1), 10, "replaced twice");
    functions::balancer::settle(&again.maps(), sys::thread::monotonic_ns()).unwrap();
    let hash = by_hash(&mut again);
    none_reach(&mut again, &short(&id_of(&config.services[0].quic[0], 10, 1)), &hash, "settled");
}

fn ids_of_a_dead_backend_go_by_the_hash<R: Balanced>() {
    let config = config(&[(0, 4, 4, "")], &THREE);
    let quic = config.services[0].quic[0];
    let mut balancer = Balancer::<R>::new(&config);
    let mut down = config.clone();
    for service in &mut down.services {
        service.backends[0].state = State::Down;
    }
    balancer.update(&down).unwrap();
    let hash = by_hash(&mut balancer);
    assert!(!hash.contains(&10));
    none_reach(&mut balancer, &short(&id_of(&quic, 10, 1)), &hash, "down");
    balancer.update(&config).unwrap();
    all_reach(&mut balancer, &id_of(&quic, 10, 1), 10, "up again");
}

/// Packets of the server have its id as the source, and short headers do not have it.
fn errors_that_quote_a_long_header_reach_the_server<R: Balanced>() {
    for key in ["", KEY] {
        let config = config(&[(0, 4, 4, key)], &THREE);
        let quic = config.services[0].quic[0];
        let mut balancer = Balancer::<R>::new(&config);
        let hash = by_hash(&mut balancer);
        for (flow, hash) in flows().iter().zip(hash) {
            let is_ipv6 = matches!(flow.source.ip, IpAddr::V6(_));
            let (header, kind) = if is_ipv6 { (40, 1) } else { (20, 3) };
            let error = |payload: &[u8], bytes: Option<usize>| {
                let quoted = flow.reversed().udp(payload).unwrap();
                let end = bytes.map_or(quoted.len(), |bytes| 14 + header + 8 + bytes);
                let mut packet = flow.ping(0, 0, &quoted[14..end.min(quoted.len())]).unwrap();
                packet[14 + header] = kind;
                packet
            };
            for number in [10, 11, 12] {
                let id = id_of(&quic, number, 1);
                for client in [&b""[..], b"12345678", &[1; 20]] {
                    let payload = long(0x60, 1, client, &id);
                    let needed = 7 + client.len() + id.len();
                    let whole = error(&payload, None);
                    assert_eq!(frame_number(&mut balancer, &whole), number);
                    let least = error(&payload, Some(needed));
                    assert_eq!(frame_number(&mut balancer, &least), number);
                    for bytes in [0, 1, 5, 6, needed - id.len(), needed - 1] {
                        let cut = error(&payload, Some(bytes));
                        assert_eq!(frame_number(&mut balancer, &cut), hash, "{bytes} bytes");
                    }
                }
                let other = error(&long(0x60, 1, &id, b"12345678"), None);
                assert_eq!(frame_number(&mut balancer, &other), hash, "the client's id");
                let short = error(&short(&id), None);
                assert_eq!(frame_number(&mut balancer, &short), hash, "a short header");
            }
        }
    }
}

fn later_fragments_follow_an_id<R: Balanced>() {
    let config = config(&[(0, 4, 4, "")], &THREE);
    let quic = config.services[0].quic[0];
    let mut balancer = Balancer::<R>::new(&config);
    for (identification, number) in (0_u16..).zip([10, 11, 12]) {
        let payload = [short(&id_of(&quic, number, 1)), vec![0; 66]].concat();
        let mut first = client(SERVICE, 1000).udp(&payload).unwrap();
        let mut later = first.clone();
        for (packet, fragment) in [(&mut first, [0x20, 0]), (&mut later, [0, 9])] {
            packet[18..20].copy_from_slice(&identification.to_be_bytes());
            packet[20..22].copy_from_slice(&fragment);
        }
        assert_eq!(frame_number(&mut balancer, &first), number);
        assert_eq!(frame_number(&mut balancer, &later), number);
    }
}

fn a_change_without_space_changes_nothing<R: Balanced>() {
    let config = config(&[(0, 4, 4, "")], &THREE);
    let quic = config.services[0].quic[0];
    let mut balancer = Balancer::<R>::new(&config);
    let mut large = config.clone();
    for service in &mut large.services {
        let ids = (0..3000_u16).map(|n| ServerId([[1, 1], n.to_be_bytes()].concat()));
        service.backends[1].server_id.0.extend(ids);
    }
    let error = balancer.update(&large).unwrap_err();
    assert!(error.to_string().contains("QUIC server ids"), "{error}");
    for number in [10, 11, 12] {
        let id = id_of(&quic, number, 1);
        all_reach(&mut balancer, &id, number, "as before");
        let live = functions::balancer::Live::read(&balancer.maps()).unwrap();
        let service = live.services.values().next().unwrap();
        let named = by_id(&balancer.maps(), service, &id).unwrap().unwrap();
        let address = live.backends[&named].address;
        assert_eq!(address[15], number, "as user space reads it");
        assert_eq!(by_id(&balancer.maps(), service, &[0xe0; 20]).unwrap(), None);
    }
    // As often as a user likes: what is free is used again.
    for weight in 1..40 {
        let mut next = config.clone();
        for (service, n) in next.services.iter_mut().zip(0..) {
            service.backends[2].server_id.0 = vec![ServerId(vec![weight, n, 0, 0])];
        }
        balancer.update(&next).unwrap();
        all_reach(&mut balancer, &id_of(&quic, 10, weight), 10, "after many changes");
    }
}

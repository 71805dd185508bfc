//! VLANs: which port a tagged frame comes in from, and the tags that it leaves with. The kernel of
//! the tests may have no VLAN devices: interfaces that own the addresses stand for them.

use std::array;
use std::path::{Path, PathBuf};

use control::Control;
use control::route_memory::Follower;
use functions::route::{Config, OBJECT, PORTS, PROGRAM_FRAGS, Port, PortMaps, RECEIVED, Tags, abi};
use kernel::{KernelRuntime, Map};
use lab::frame::{Flow, Tag};
use lab::{LinkOptions, Router, until};
use packet::{EtherType, Mac, VlanTag};
use spec::{Map as _, Spec, Verdict};
use vm::VmRuntime;
use xway_tests::bpf::router::{A, B0, B1, C, Change, Forward, Routed, side, vlan_mac};
use xway_tests::bpf::{Judge, Judgement};
use xway_tests::stage::PATIENCE;
use xway_tests::stories;
use xway_tests::xway::Xway;

stories! {
    each_port_receives_and_sends_with_its_own_tags
    tags_without_a_port_are_the_stacks
    a_tag_of_vlan_0_has_a_priority_only
    larger_than_the_mtu_of_the_vlan
    errors_have_the_tags_of_the_sender
    a_vlan_that_is_removed_is_the_stacks
    frames_to_another_port_of_the_device_are_the_stacks
    without_space_before_the_frame_the_stack_sends_it
    a_frame_cut_at_any_length_goes_to_the_stack
}

const CUSTOMER: u16 = 0x8100;
const SERVICE: u16 = 0x88a8;

/// A network at the router: its number, the interface that has its frames, and their tags.
#[derive(Clone, Copy, Debug)]
struct Network {
    number: u8,
    /// 0 towards `a`, 1 towards `c`.
    device: usize,
    tags: &'static [(u16, u16)],
}

const NEAR: Network = Network { number: 1, device: 0, tags: &[] };
const FAR: Network = Network { number: 2, device: 1, tags: &[] };
const VLAN: Network = Network { number: 21, device: 0, tags: &[(CUSTOMER, 21)] };
const DOUBLE: Network =
    Network { number: 22, device: 0, tags: &[(SERVICE, 22), (CUSTOMER, 0xfff - 1)] };
const FAR_VLAN: Network = Network { number: 31, device: 1, tags: &[(CUSTOMER, 0x531)] };
const FAR_SERVICE: Network = Network { number: 32, device: 1, tags: &[(SERVICE, 21)] };
const FAR_DOUBLE: Network = Network { number: 33, device: 1, tags: &[(SERVICE, 7), (CUSTOMER, 7)] };
const OWNED: [Network; 5] = [VLAN, DOUBLE, FAR_VLAN, FAR_SERVICE, FAR_DOUBLE];

impl Network {
    fn mac(self, host: u8) -> String {
        match (self.number, host) {
            (1, 1) => B0.to_owned(),
            (1, _) => A.to_owned(),
            (2, 1) => B1.to_owned(),
            (2, _) => C.to_owned(),
            (number, host) => vlan_mac(number, host),
        }
    }

    fn address(self, host: u8, is_ipv6: bool) -> String {
        let number = self.number;
        if is_ipv6 { format!("fd00:0:0:{number}::{host}") } else { format!("10.0.{number}.{host}") }
    }

    /// The tags of a frame with these priorities.
    fn tagged(self, priorities: [u16; 2]) -> Vec<Tag> {
        let tag = |((ether_type, id), priority): (&(u16, u16), u16)| Tag {
            ether_type: *ether_type,
            control: id | priority,
        };
        self.tags.iter().zip(priorities).map(tag).collect()
    }

    fn port(self, devices: [u32; 2]) -> Port {
        let device = devices[self.device];
        let mac: Mac = self.mac(1).parse().unwrap();
        let tag = |(protocol, id): &(u16, u16)| VlanTag::new(EtherType(*protocol), *id).unwrap();
        let tags = self.tags.iter().fold(Tags::NONE, |tags, one| tags.with(tag(one)).unwrap());
        let ifindex = if self.tags.is_empty() { device } else { u32::from(self.number) };
        Port { ifindex, mac: Some(mac.0), device, tags }
    }
}

/// A flow from a host of one network to one of another, as it reaches the router and as it leaves.
fn flows(from: Network, to: Network, is_ipv6: bool) -> [Flow; 2] {
    let (source, dest) = (from.address(2, is_ipv6), to.address(2, is_ipv6));
    let flow = |source_mac: &str, dest_mac: &str| {
        Flow::new(side(source_mac, &source, 4000), side(dest_mac, &dest, 7))
    };
    [flow(&from.mac(2), &from.mac(1)), flow(&to.mac(1), &to.mac(2)).ttl(63)]
}

fn router<R: Routed>(changes: &[Change]) -> Forward<R> {
    let owned: Vec<Change> = OWNED.map(|network| Change::Owner(network.number)).into();
    let router = Forward::<R>::changed(&[], &[&owned, changes].concat());
    router.set_ports(&ports(router.ports));
    router
}

fn ports(devices: [u32; 2]) -> Vec<Port> {
    [NEAR, FAR].iter().chain(&OWNED).map(|network| network.port(devices)).collect()
}

fn judge<R: Routed>(router: &mut Forward<R>, from: Network, packet: &[u8]) -> Judgement {
    router.judge_at(router.ports[from.device], packet, 0)
}

fn stays<R: Routed>(router: &mut Forward<R>, name: &str, packet: &[u8], reason: &str) {
    let judgement = judge(router, NEAR, packet);
    assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Pass, reason), "{name}");
    assert_eq!(judgement.packet, packet, "{name}: unchanged");
}

/// Priorities and drop eligibility of the outer and the inner tag.
const PRIORITIES: [[u16; 2]; 3] = [[0, 0], [0xb000, 0x6000], [0x1000, 0xe000]];

/// The priorities that are sent between networks with these numbers of tags.
fn kept(priorities: [u16; 2], tags: usize) -> [u16; 2] {
    match tags {
        0 => [0; 2],
        1 => [priorities[0]; 2],
        _ => priorities,
    }
}

fn each_port_receives_and_sends_with_its_own_tags<R: Routed>() {
    let mut router = router::<R>(&[]);
    let (mut frames, mut bytes) = (0, 0);
    let all = [NEAR, FAR, VLAN, DOUBLE, FAR_VLAN, FAR_SERVICE, FAR_DOUBLE];
    let pairs = all.iter().flat_map(|from| all.iter().map(move |to| (*from, *to)));
    for (from, to) in pairs.filter(|(from, to)| from.number != to.number) {
        for (is_ipv6, priorities) in
            [false, true].into_iter().flat_map(|is_ipv6| PRIORITIES.map(|one| (is_ipv6, one)))
        {
            let name = format!("{from:?} to {to:?}, {is_ipv6} {priorities:x?}");
            let [mut received, mut sent] = flows(from, to, is_ipv6);
            received.tags = from.tagged(priorities);
            sent.tags = to.tagged(kept(priorities, from.tags.len()));
            // The second packet finds what was remembered.
            for _ in 0..2 {
                let packet = received.udp(b"payload").unwrap();
                if from.number == DOUBLE.number {
                    (frames, bytes) = (frames + 1, bytes + packet.len() as u64);
                }
                let judgement = judge(&mut router, from, &packet);
                assert_eq!(judgement.reason, "forwarded", "{name}");
                assert_eq!(judgement.verdict, Verdict::Redirect, "{name}");
                assert_eq!(judgement.packet, sent.udp(b"payload").unwrap(), "{name}");
            }
        }
    }
    // What came in with tags is counted by its port, as often from each network that has some.
    let counts = functions::route::received(router.map(RECEIVED)).unwrap();
    let counts: Vec<_> = counts.iter().filter(|count| count.packets > 0).collect();
    assert_eq!(counts.len(), OWNED.len());
    assert!(counts.iter().all(|count| count.packets == frames), "{counts:?}");
    assert_eq!(counts.iter().filter(|count| count.bytes == bytes).count(), 2, "two tags");
}

/// From a host of VLAN 21 to `c`, with these tags.
fn with_tags(tags: &[(u16, u16)]) -> Vec<u8> {
    let [mut flow, _] = flows(VLAN, FAR, false);
    flow.tags = Network { tags: &[], ..VLAN }.tagged([0; 2]);
    flow.tags.extend(tags.iter().map(|&(ether_type, control)| Tag { ether_type, control }));
    flow.udp(b"payload").unwrap()
}

fn tags_without_a_port_are_the_stacks<R: Routed>() {
    let mut router = router::<R>(&[]);
    assert_eq!(judge(&mut router, VLAN, &with_tags(&[(CUSTOMER, 21)])).reason, "forwarded");
    for tags in [
        &[(CUSTOMER, 22)][..],
        &[(CUSTOMER, 4095)],
        &[(SERVICE, 21)],
        &[(SERVICE, 22)],
        &[(CUSTOMER, 21), (CUSTOMER, 5)],
        &[(CUSTOMER, 22), (CUSTOMER, 0xffe)],
        &[(SERVICE, 22), (SERVICE, 0xffe)],
        &[(SERVICE, 22), (CUSTOMER, 0xffe), (CUSTOMER, 1)],
        &[(CUSTOMER, 0), (CUSTOMER, 0), (CUSTOMER, 21)],
        &[(CUSTOMER, 1); 4],
        &[(CUSTOMER, 1); 6],
        // A VLAN of the other interface.
        &[(CUSTOMER, 0x531)],
    ] {
        stays(&mut router, &format!("{tags:x?}"), &with_tags(tags), "tagged");
    }
}

/// As for the kernel (vlan_do_receive() and its caller), which looks for the next tag or the
/// interface itself.
fn a_tag_of_vlan_0_has_a_priority_only<R: Routed>() {
    let mut router = router::<R>(&[]);
    for (from, tags, to, sent_tags) in [
        (NEAR, &[(CUSTOMER, 0xa000)][..], FAR, &[][..]),
        (NEAR, &[(CUSTOMER, 0xa000)], FAR_VLAN, &[(CUSTOMER, 0xa531)]),
        (NEAR, &[(CUSTOMER, 0xa000), (CUSTOMER, 0x2000)], FAR, &[]),
        (VLAN, &[(CUSTOMER, 0xa000), (CUSTOMER, 21)], FAR_VLAN, &[(CUSTOMER, 0xa531)]),
        (VLAN, &[(CUSTOMER, 0x2015), (CUSTOMER, 0x8000)], FAR_VLAN, &[(CUSTOMER, 0x2531)]),
    ] {
        let [mut received, mut sent] = flows(from, to, false);
        let tag = |&(ether_type, control): &(u16, u16)| Tag { ether_type, control };
        received.tags = tags.iter().map(tag).collect();
        sent.tags = sent_tags.iter().map(tag).collect();
        let judgement = judge(&mut router, from, &received.udp(b"payload").unwrap());
        assert_eq!(judgement.reason, "forwarded", "{tags:x?}");
        assert_eq!(judgement.packet, sent.udp(b"payload").unwrap(), "{tags:x?}");
    }
}

/// The MTU is that of the IP packet: tags do not count, whether received or sent.
fn larger_than_the_mtu_of_the_vlan<R: Routed>() {
    let mut router = router::<R>(&[Change::Mtu(1300)]);
    for (from, to, most) in [(VLAN, FAR, 1300), (NEAR, FAR, 1300), (NEAR, FAR_DOUBLE, 1500)] {
        for is_ipv6 in [false, true] {
            let [mut flow, mut sent] = flows(from, to, is_ipv6);
            (flow.tags, sent.tags) = (from.tagged([0; 2]), to.tagged([0; 2]));
            let header = 14 + 4 * from.tags.len();
            let judgement = judge(&mut router, from, &flow.udp_of_length(header + most).unwrap());
            assert_eq!(judgement.reason, "forwarded", "{from:?} {to:?}");
            let length = 14 + 4 * to.tags.len() + most;
            assert_eq!(judgement.packet, sent.udp_of_length(length).unwrap());
            let large = flow.udp_of_length(header + most + 1).unwrap();
            assert_eq!(judge(&mut router, from, &large).reason, "sent-too-big");
        }
    }
}

/// An error has the tags of the VLAN that it is sent to, whatever the packet had, and no priority.
fn errors_have_the_tags_of_the_sender<R: Routed>() {
    let mut router = router::<R>(&[]);
    let all = [NEAR, VLAN, DOUBLE, FAR, FAR_VLAN, FAR_SERVICE, FAR_DOUBLE];
    // A host of one network sends through another one.
    let pairs = all.iter().flat_map(|by| all.iter().map(move |sender| (*by, *sender)));
    for ((by, sender), is_ipv6) in pairs.flat_map(|one| [(one, false), (one, true)]) {
        let name = format!("by {by:?} from {sender:?}, {is_ipv6}");
        let to = if by.device == 0 { FAR } else { NEAR };
        let source = sender.address(2, is_ipv6);
        let flow = Flow::new(
            side(&by.mac(2), &source, 4000),
            side(&by.mac(1), &to.address(2, is_ipv6), 7),
        );
        let mut received = flow.ttl(1);
        received.tags = by.tagged([0xb000, 0x6000]);
        let packet = received.udp(b"payload").unwrap();
        let judgement = judge(&mut router, by, &packet);
        let found = (judgement.verdict, &*judgement.reason);
        assert_eq!(found, (Verdict::Redirect, "sent-time-exceeded"), "{name}");
        let [mut answer, _] = flows(sender, to, is_ipv6).map(|flow| flow.reversed());
        answer.tags = sender.tagged([0; 2]);
        let like = answer.udp(b"payload").unwrap();
        let link = 14 + 4 * sender.tags.len();
        assert_eq!(judgement.packet[..link], like[..link], "{name}");
        let header = if is_ipv6 { 48 } else { 28 };
        assert_eq!(
            judgement.packet[link + header..],
            packet[14 + 4 * by.tags.len()..],
            "{name}: the quote"
        );
        let source: std::net::IpAddr = sender.address(1, is_ipv6).parse().unwrap();
        let octets = match source {
            std::net::IpAddr::V4(v4) => v4.octets().to_vec(),
            std::net::IpAddr::V6(v6) => v6.octets().to_vec(),
        };
        let at = link + if is_ipv6 { 8 } else { 12 };
        assert_eq!(judgement.packet[at..at + octets.len()], octets, "{name}: the source");
        assert_eq!(lab::frame::check(&judgement.packet), Ok(()), "{name}");
    }
}

fn a_vlan_that_is_removed_is_the_stacks<R: Routed>() {
    let mut router = router::<R>(&[]);
    let mut fewer = ports(router.ports);
    fewer.retain(|port| !matches!(port.ifindex, 21 | 31));
    let [out, _] = flows(NEAR, FAR_VLAN, false);
    let out = out.udp(b"payload").unwrap();
    router.set_ports(&fewer);
    stays(&mut router, "from it", &with_tags(&[(CUSTOMER, 21)]), "tagged");
    stays(&mut router, "to it", &out, "no-egress");
    router.set_ports(&ports(router.ports));
    let judgement = judge(&mut router, VLAN, &with_tags(&[(CUSTOMER, 21)]));
    assert_eq!(judgement.reason, "forwarded", "it is there again");
}

fn frames_to_another_port_of_the_device_are_the_stacks<R: Routed>() {
    let mut router = router::<R>(&[]);
    for (from, others) in [(VLAN, [NEAR, DOUBLE]), (NEAR, [VLAN, DOUBLE])] {
        for other in others {
            let [mut flow, _] = flows(from, FAR, false);
            flow.tags = from.tagged([0; 2]);
            flow.destination.mac = other.mac(1).parse().unwrap();
            stays(&mut router, &format!("{from:?}"), &flow.udp(b"x").unwrap(), "other-host");
        }
    }
}

/// Metadata may leave no space for a tag. The packet is as it came, with its TTL.
fn without_space_before_the_frame_the_stack_sends_it<R: Routed>() {
    let mut router = router::<R>(&[]);
    let device = router.ports[0];
    for (is_ipv6, from, to, fits) in [
        (false, NEAR, FAR_VLAN, false),
        (true, NEAR, FAR_VLAN, false),
        (false, VLAN, FAR_DOUBLE, false),
        (true, VLAN, FAR_DOUBLE, false),
        (false, VLAN, FAR_VLAN, true),
        (false, DOUBLE, FAR, true),
    ] {
        let [mut flow, _] = flows(from, to, is_ipv6);
        flow.tags = from.tagged([0xe000; 2]);
        let packet = flow.udp(b"payload").unwrap();
        let judgement = router.judge_at(device, &packet, 216);
        let name = format!("{from:?} {to:?}");
        if fits {
            assert_eq!(judgement.reason, "forwarded", "{name}");
        } else {
            assert_eq!(judgement.reason, "no-headroom", "{name}");
            assert_eq!((judgement.verdict, judgement.packet), (Verdict::Pass, packet), "{name}");
        }
    }
}

fn a_frame_cut_at_any_length_goes_to_the_stack<R: Routed>() {
    let mut router = router::<R>(&[]);
    for (from, is_ipv6) in [(VLAN, false), (VLAN, true), (DOUBLE, false), (DOUBLE, true)] {
        let [mut flow, _] = flows(from, FAR, is_ipv6);
        flow.tags = from.tagged([0; 2]);
        let whole = flow.udp(b"payload").unwrap();
        for length in 14..whole.len() {
            let judgement = judge(&mut router, from, &whole[..length]);
            assert_eq!(judgement.verdict, Verdict::Pass, "{length}");
            assert_eq!(judgement.packet, &whole[..length]);
            let expected = if length < 22 { ["truncated", "tagged"] } else { ["truncated"; 2] };
            assert!(expected.contains(&&*judgement.reason), "{length}: {}", judgement.reason);
        }
    }
}

/// The frame has the inner tags only; what the device took out is the outer one.
#[test]
fn a_tag_that_the_device_took_out_counts() {
    let stripped =
        |ether_type, control| router::<VmRuntime>(&[Change::Stripped(ether_type, control)]);
    let forwards = |router: &mut Forward<VmRuntime>,
                    from: Network,
                    inner: &[(u16, u16)],
                    to: Network,
                    sent_tags: &[(u16, u16)]| {
        let [mut received, mut sent] = flows(from, to, false);
        let tag = |&(ether_type, control): &(u16, u16)| Tag { ether_type, control };
        received.tags = inner.iter().map(tag).collect();
        sent.tags = sent_tags.iter().map(tag).collect();
        let judgement = judge(router, from, &received.udp(b"payload").unwrap());
        assert_eq!(judgement.reason, "forwarded", "{inner:x?} {sent_tags:x?}");
        assert_eq!(judgement.packet, sent.udp(b"payload").unwrap());
    };
    let mut one = stripped(CUSTOMER, 0xb015);
    forwards(&mut one, VLAN, &[], FAR, &[]);
    forwards(&mut one, VLAN, &[], FAR_VLAN, &[(CUSTOMER, 0xb531)]);
    forwards(&mut one, VLAN, &[], FAR_DOUBLE, &[(SERVICE, 0xb007), (CUSTOMER, 0xb007)]);
    stays(&mut one, "with another tag", &with_tags(&[(CUSTOMER, 21)]), "tagged");
    let mut two = stripped(SERVICE, 0x2016);
    forwards(
        &mut two,
        DOUBLE,
        &[(CUSTOMER, 0x8ffe)],
        FAR_DOUBLE,
        &[(SERVICE, 0x2007), (CUSTOMER, 0x8007)],
    );
    stays(&mut two, "three tags", &with_tags(&[(CUSTOMER, 0xffe), (CUSTOMER, 1)]), "tagged");
    stays(&mut two, "without the inner tag", &with_tags(&[]), "tagged");
    forwards(&mut stripped(CUSTOMER, 0x6000), NEAR, &[], FAR_VLAN, &[(CUSTOMER, 0x6531)]);
}

/// Rules know the VLAN's interface, and not the one that received the frame.
#[test]
fn rules_by_the_interface_are_by_that_of_the_vlan() {
    let mut router = router::<KernelRuntime>(&[]);
    let packets = |network: Network| {
        [false, true].map(|is_ipv6| {
            let [mut flow, _] = flows(network, FAR, is_ipv6);
            flow.tags = network.tagged([0; 2]);
            flow.udp(b"x").unwrap()
        })
    };
    for family in ["", "-6 "] {
        router.site.ip(&format!("{family}rule add iif v21 blackhole"));
    }
    // bpf_fib_lookup() reports such a rule of IPv6 as no route.
    let closed = ["blackhole", "not-forwarded"];
    let open = ["forwarded"; 2];
    for (network, reasons) in [(VLAN, closed), (NEAR, open), (DOUBLE, open), (VLAN, closed)] {
        for (packet, reason) in packets(network).iter().zip(reasons) {
            assert_eq!(judge(&mut router, network, packet).reason, reason, "{network:?}");
        }
    }
}

/// The program for frames in several buffers.
#[test]
fn large_frames_change_their_tags() {
    let router = router::<KernelRuntime>(&[Change::Mtu(9000)]);
    for number in OWNED.map(|network| network.number) {
        router.site.ip(&format!("link set v{number} mtu 9000"));
    }
    let mut spec = Spec::parse("forward", OBJECT).unwrap();
    Config::default().apply(&mut spec).unwrap();
    let mut judge = Judge::<KernelRuntime>::load_only(&spec, PROGRAM_FRAGS);
    let maps = PortMaps::find(|name| Ok::<_, std::convert::Infallible>(judge.map(name))).unwrap();
    let update = || functions::route::update_ports(&ports(router.ports), &maps).unwrap();
    router.site.net.b.run(update).unwrap();
    for (from, to) in [(NEAR, FAR_VLAN), (VLAN, FAR), (DOUBLE, FAR_VLAN), (VLAN, FAR_DOUBLE)] {
        let [mut flow, mut sent] = flows(from, to, true);
        let priorities = [0xf000, 0x3000];
        flow.tags = from.tagged(priorities);
        sent.tags = to.tagged(kept(priorities, from.tags.len()));
        let [length, sent_length] = [from, to].map(|one| 14 + 4 * one.tags.len() + 9000);
        let packet = flow.udp_of_length(length).unwrap();
        let device = router.ports[from.device];
        let judgement = router.site.net.b.run(|| judge.judge(&packet, device)).unwrap();
        assert_eq!(judgement.reason, "forwarded", "{from:?} {to:?}");
        assert_eq!(judgement.packet, sent.udp_of_length(sent_length).unwrap());
    }
}

/// `xway route` and a follower, which is the part of the daemon that reads interfaces.
#[test]
fn ports_follow_the_interfaces() {
    let net = Router::build(&LinkOptions::default()).unwrap();
    let xway = Xway::new();
    xway.run_in(&net.b, &["route", "start", "eth0", "eth1"]).ended(0);
    let path = pin(&xway.state().join("bpf"), PORTS).unwrap();
    let map = Map::from_pin_read_only(&path).unwrap();
    let entry = |number: u32| {
        let bytes = map.lookup(&number.to_le_bytes()).unwrap().unwrap();
        abi::Port::from_bytes(bytes.first_chunk().unwrap())
    };
    let mac = |text: &str| {
        u64::from_le_bytes(array::from_fn(|at| {
            text.parse::<Mac>().unwrap().0.get(at).copied().unwrap_or_default()
        }))
    };
    assert_eq!([entry(0).mac, entry(1).mac], [mac(B0), mac(B1)]);

    let control = Control::new(xway.state());
    let mut follower = net.b.run(|| Follower::new(&control).unwrap()).unwrap();
    let mut has = |what: &str, expected: [u64; 2]| {
        until(what, PATIENCE, || {
            net.b.run(|| follower.step().unwrap()).unwrap();
            Ok(([entry(0).mac, entry(1).mac] == expected).then_some(()))
        })
        .unwrap_or_else(|error| panic!("{error}: {:?} {:?}", entry(0), entry(1)));
    };
    let ip = |words: &str| {
        let status = net.b.command("ip").unwrap().args(words.split(' ')).status().unwrap();
        assert!(status.success(), "ip {words}");
    };
    const NEW: &str = "02:78:77:00:01:99";
    ip(&format!("link set eth0 address {NEW}"));
    has("another address", [mac(NEW), mac(B1)]);
    // The bridge has the packets then.
    ip("link add br0 type bridge");
    ip("link set eth1 master br0");
    has("an interface in a bridge", [mac(NEW), 0]);
    ip("link set eth1 nomaster");
    has("an interface that left the bridge", [mac(NEW), mac(B1)]);
    assert_eq!(
        (entry(1).ifindex, entry(1).device),
        (entry(1).device, net.b.ifindex("eth1").unwrap().0)
    );
    // What happened while nothing followed.
    drop(follower);
    ip(&format!("link set eth0 address {B0}"));
    let mut follower = net.b.run(|| Follower::new(&control).unwrap()).unwrap();
    net.b.run(|| follower.step().unwrap()).unwrap();
    assert_eq!(entry(0).mac, mac(B0));
}

fn pin(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut entries = std::fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path());
    entries.find_map(|path| match path.is_dir() {
        true => pin(&path, name),
        false => path.ends_with(name).then_some(path),
    })
}

//! Interfaces, addresses, routes and offloads through `sys::net`, in namespaces of their own.

use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use packet::Mac;
use sys::errno::ENODEV;
use sys::net::ethtool::{Channels, Ethtool};
use sys::net::{
    Ifindex, NetdevFamily, Netlink, NewAddress, NewRoute, NewVeth, PacketSocket, VethEnd,
    XdpExpect, XdpMode,
};
use sys::netns::{self, NetNs};

/// A namespace that goes with the test.
struct Scratch(NetNs);

impl Scratch {
    fn new(suffix: &str) -> Self {
        let name = format!("xwt-{}-{suffix}", std::process::id());
        Self(NetNs::create(&name).unwrap())
    }

    fn netlink(&self) -> Netlink {
        self.0.enter(Netlink::open).unwrap().unwrap()
    }

    fn ethtool(&self) -> Ethtool {
        self.0.enter(Ethtool::open).unwrap().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        netns::delete(self.0.name()).unwrap();
    }
}

const MACS: [Mac; 2] = [Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2])];

/// `eth0` in both, four queues, up.
fn pair(a: &Scratch, b: &Scratch) -> (Netlink, Netlink, Ifindex, Ifindex) {
    let mut net_a = a.netlink();
    let mut net_b = b.netlink();
    let end = |mac, netns| VethEnd { name: "eth0", mac: Some(mac), netns };
    let ends = [end(MACS[0], None), end(MACS[1], Some(b.0.as_fd()))];
    net_a.create_veth(&NewVeth { ends, queues: 4, mtu: 1400 }).unwrap();
    let (at_a, at_b) = (net_a.link("eth0").unwrap(), net_b.link("eth0").unwrap());
    net_a.set_up(at_a.ifindex, true).unwrap();
    net_b.set_up(at_b.ifindex, true).unwrap();
    // The end that came up first learns of its carrier a little later.
    let mut carriers = || {
        let running = net_a.link("eth0")?.running && net_b.link("eth0")?.running;
        Ok(running.then_some(()))
    };
    lab::until("carriers", Duration::from_secs(5), &mut carriers).unwrap();
    (net_a, net_b, at_a.ifindex, at_b.ifindex)
}

#[test]
fn a_pair_is_born_in_two_namespaces() {
    let before = NetNs::current().unwrap().id().unwrap();
    let (a, b) = (Scratch::new("a1"), Scratch::new("b1"));
    let (mut net_a, mut net_b, at_a, at_b) = pair(&a, &b);
    let link = net_a.link_by_index(at_a).unwrap();
    assert_eq!((link.name.as_str(), link.kind.as_str()), ("eth0", "veth"));
    assert_eq!((link.mtu, link.rx_queues, link.tx_queues), (1400, 4, 4));
    assert_eq!((link.mac, link.peer), (Some(MACS[0]), Some(at_b)));
    assert!(link.up && link.running && !link.loopback && link.xdp.is_empty());
    net_b.set_mtu(at_b, 1300).unwrap();
    net_b.set_mac(at_b, Mac([2, 0, 0, 0, 0, 9])).unwrap();
    net_b.rename(at_b, "up0").unwrap();
    let link = net_b.link("up0").unwrap();
    assert_eq!((link.mtu, link.mac), (1300, Some(Mac([2, 0, 0, 0, 0, 9]))));
    assert_eq!(net_a.links().unwrap().len(), 2, "lo and eth0");
    net_a.delete_link(at_a).unwrap();
    assert!(net_b.link("up0").unwrap_err().is(ENODEV));
    assert_eq!(NetNs::current().unwrap().id().unwrap(), before);
}

#[test]
fn addresses_routes_and_neighbours_are_listed_as_set() {
    let (a, b) = (Scratch::new("a2"), Scratch::new("b2"));
    let (mut net, _, at, _) = pair(&a, &b);
    for (ip, prefix) in [("10.9.0.1", 24), ("fd09::1", 64)] {
        let ip: IpAddr = ip.parse().unwrap();
        net.add_address(at, NewAddress { ip, prefix }).unwrap();
        let all = net.addresses().unwrap();
        let one = all.iter().find(|one| one.ip == ip).unwrap();
        assert_eq!((one.ifindex, one.prefix, one.tentative), (at, prefix, false));
        lab::until("its local route", Duration::from_secs(5), || {
            Ok(net.is_local(ip)?.then_some(()))
        })
        .unwrap();
        let again = net.add_address(at, NewAddress { ip, prefix }).unwrap_err();
        assert!(again.to_string().contains("EEXIST"), "{again}");
    }
    let routes = [
        ("10.77.0.0", 16, "10.9.0.2", 254),
        ("fd77::", 32, "fd09::2", 254),
        ("10.78.0.0", 16, "10.9.0.2", 1000),
    ];
    for (to, prefix, via, table) in routes {
        let (to, via): (IpAddr, IpAddr) = (to.parse().unwrap(), via.parse().unwrap());
        let route = NewRoute { table, ..NewRoute::new(to, prefix, at).via(via) };
        net.add_route(route).unwrap();
        assert!(!net.is_local(via).unwrap() && !net.is_local(to).unwrap());
        let all = net.routes().unwrap();
        let found = all.iter().find(|one| one.to == to).unwrap();
        assert_eq!((found.via, found.table, found.ifindex), (Some(via), table, Some(at)));
        net.remove_route(route).unwrap();
        assert!(net.routes().unwrap().iter().all(|one| one.to != to), "{to} is still there");
        let again = net.remove_route(route).unwrap_err();
        assert!(again.to_string().contains("ESRCH"), "{again}");
        net.add_neighbour(at, via, MACS[1]).unwrap();
        let all = net.neighbours().unwrap();
        let found = all.iter().find(|one| one.ip == via).unwrap();
        assert_eq!((found.mac, found.permanent), (Some(MACS[1]), true));
    }
    let nowhere =
        NewRoute::new("10.79.0.0".parse().unwrap(), 16, at).via("192.0.2.1".parse().unwrap());
    let error = net.add_route(nowhere).unwrap_err();
    assert!(error.detail.contains("gateway"), "the kernel's sentence is missing: {error}");
}

#[test]
fn offloads_channels_and_driver_statistics() {
    let (a, b) = (Scratch::new("a3"), Scratch::new("b3"));
    let (mut net, _, at, _) = pair(&a, &b);
    let ethtool = a.ethtool();
    assert_eq!(ethtool.driver("eth0").unwrap().name, "veth");
    for feature in ["gro", "tx-checksum", "tso", "gso"] {
        for on in [true, false, true] {
            ethtool.set_feature("eth0", feature, on).unwrap();
            assert_eq!(ethtool.feature("eth0", feature).unwrap(), on, "{feature}");
        }
    }
    assert!(ethtool.set_feature("eth0", "warp-drive", true).is_err());
    assert!(ethtool.set_feature("eth0", "hw-tc-offload", true).is_err());
    assert_eq!(ethtool.speed_mbit("eth0").unwrap(), Some(10_000), "what veth claims");
    let unknown = ethtool.speed_mbit("eth9").unwrap_err();
    assert_eq!(sys::errno_name(unknown.errno), "ENODEV", "{unknown}");
    for refusal in [ethtool.pause("eth0").unwrap_err(), ethtool.rings("eth0").unwrap_err()] {
        assert_eq!(sys::errno_name(refusal.errno), "EOPNOTSUPP", "{refusal}");
    }
    let channels = ethtool.channels("eth0").unwrap();
    assert_eq!((channels.rx, channels.tx, channels.max_rx), (4, 4, 4));
    ethtool.set_channels("eth0", Channels { tx: 2, ..channels }).unwrap();
    assert_eq!(ethtool.channels("eth0").unwrap().tx, 2);
    assert!(ethtool.set_channels("eth0", Channels { rx: 9, ..channels }).is_err());
    let statistics = ethtool.statistics("eth0").unwrap();
    assert!(statistics.iter().any(|(name, _)| name == "rx_queue_3_xdp_drops"), "{statistics:?}");
    assert!(ethtool.driver("eth7").unwrap_err().is(ENODEV));
    assert_eq!(net.link_by_index(at).unwrap().tx_queues, 4);
    let features = a.0.enter(|| NetdevFamily::open().unwrap().xdp_features(at)).unwrap().unwrap();
    assert!(features.names().contains(&"basic"), "{features:?}");
}

#[test]
fn threaded_pollers_are_found_and_pinned() {
    let (a, b) = (Scratch::new("a4"), Scratch::new("b4"));
    let (_net, _, _, _) = pair(&a, &b);
    a.ethtool().set_feature("eth0", "gro", true).unwrap();
    let Some(before) = netns::poller_pids(&a.0, "eth0").unwrap() else {
        return eprintln!("skipped: this kernel does not tell whose a poller is (Linux 6.8 does)");
    };
    assert_eq!(before, []);
    a.0.set_attribute("eth0", "threaded", "1").unwrap();
    assert_eq!(a.0.attribute("eth0", "threaded").unwrap(), "1");
    let pids = netns::poller_pids(&a.0, "eth0").unwrap().unwrap();
    let named = netns::pollers_named("eth0").unwrap();
    assert!(pids.iter().all(|pid| named.contains(pid)), "{pids:?} in {named:?}");
    assert_eq!(pids.len(), 4, "one for each queue");
    for pid in pids {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        assert!(name.starts_with("napi/eth0-"), "{name}");
        sys::cpu::set_affinity_of(pid, &[0]).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
    }
}

#[test]
fn sysctls_change_only_their_namespace() {
    let a = Scratch::new("a5");
    let outside = NetNs::current().unwrap();
    let before = outside.sysctl("ipv4/ip_forward").unwrap();
    a.0.set_sysctl("ipv4/ip_forward", "1").unwrap();
    assert_eq!(a.0.sysctl("ipv4/ip_forward").unwrap(), "1");
    assert_eq!(outside.sysctl("ipv4/ip_forward").unwrap(), before);
    let home = NetNs::home().unwrap();
    assert!(home.set_sysctl("ipv4/ip_forward", &before).is_err());
    assert!(home.set_attribute("lo", "gro_flush_timeout", "0").is_err());
}

#[test]
fn refused_xdp_changes_name_device_and_reason() {
    let (a, b) = (Scratch::new("a6"), Scratch::new("b6"));
    let (mut net, _, at, _) = pair(&a, &b);
    let lo = net.link("lo").unwrap().ifindex;
    net.set_xdp(at, None, Some(XdpMode::Native), XdpExpect::Anything).unwrap();
    let file = std::fs::File::open("/dev/null").unwrap();
    let nothing = Some(file.as_fd());
    let error = net.set_xdp(lo, nothing, None, XdpExpect::Nothing).unwrap_err();
    assert!(error.object == "lo" && error.call.contains("XDP attach"), "{error}");
    assert!(net.link("eth0-is-too-long-a-name").is_err());
}

#[test]
fn frames_pass_between_packet_sockets_with_their_tag() {
    let (a, b) = (Scratch::new("a7"), Scratch::new("b7"));
    let (_, _, at_a, at_b) = pair(&a, &b);
    let from = a.0.enter(|| PacketSocket::open(at_a)).unwrap().unwrap();
    let to = b.0.enter(|| PacketSocket::open(at_b)).unwrap().unwrap();
    let mut frame = [MACS[1].0, MACS[0].0].concat();
    frame.extend([0x81, 0x00, 0x20, 0x2a, 0x88, 0xb5]);
    frame.resize(60, 0x5a);
    from.send(&frame).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let seen = to.receive(left).unwrap().expect("the frame arrives within five seconds");
        if seen[..12] == frame[..12] {
            assert_eq!(seen, frame);
            break;
        }
    }
}

#[test]
fn names_are_made_once_and_removed() {
    let scratch = Scratch::new("a8");
    let name = scratch.0.name().to_owned();
    assert!(NetNs::create(&name).unwrap_err().to_string().contains("EEXIST"));
    assert!(netns::names().unwrap().contains(&name));
    assert_eq!(NetNs::open(&name).unwrap().id().unwrap(), scratch.0.id().unwrap());
    let output = scratch.0.command("ip").unwrap().args(["-o", "link"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1, "only lo");
    assert!(netns::delete(&name).unwrap());
    assert!(!netns::delete(&name).unwrap());
    for wrong in ["", "..", "a/b", ".hidden"] {
        assert!(NetNs::create(wrong).is_err(), "{wrong}");
    }
}

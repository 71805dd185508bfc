//! `bench router`: who routes and how many routes there are change what is measured, never where a
//! packet goes.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bench::router::{Family, Memory, Net, Plan, Table, Way, measure};
use bench::{Harness, Scenario, Selection, Silent, Testbed};
use functions::route::abi::Fields;
use lab::{Capture, until};
use report::figure::Shape;
use report::{Bench, Host};
use spec::Verdict;
use sys::net::NewRoute;
use xway_tests::cell::{is_held_up, reason};

#[test]
fn each_destination_is_reached_by_every_router() {
    let net = Net::build().unwrap();
    for family in Family::ALL {
        let table = Table::of(family, ROUTES).unwrap();
        assert_eq!(net.add_table(&table).unwrap().routes, ROUTES);
        reach(&net, &table.destinations(40).unwrap(), &ROUTERS);
    }
    let near = net.lab.b.netlink().unwrap().link("eth0").unwrap();
    assert_eq!(near.xdp.programs().count(), 0, "the program went with its link");

    net.remove_routes().unwrap();
    let left = net.lab.b.netlink().unwrap().routes().unwrap();
    assert!(left.len() < 10, "{} routes", left.len());
}

#[test]
fn each_destination_is_reached_through_one_of_four_next_hops() {
    let net = Net::build().unwrap();
    net.add_multipath().unwrap();
    for family in Family::ALL {
        let destinations = Table::of(family, ROUTES).unwrap().destinations(40).unwrap();
        reach(&net, &destinations, &ROUTERS);
    }
    let mut ip = net.lab.b.command("ip").unwrap();
    let listed = ip.args(["route", "show", "default"]).output().unwrap().stdout;
    let listed = String::from_utf8(listed).unwrap();
    assert_eq!(listed.matches("nexthop via").count(), 4, "{listed}");
}

/// Every router sends every destination's frames to the sink, as a router does.
fn reach(net: &Net, destinations: &[IpAddr], routers: &[Way]) {
    let stream = net.stream(destinations).unwrap();
    let mac = net.lab.c.mac("eth0").unwrap();
    for way in routers {
        // Without frames that went through the one before it.
        let sink = Capture::open(&net.lab.c, "eth0").unwrap();
        let loaded = way.load(net, EVERYTHING).unwrap();
        let link = loaded.as_ref().map(|loaded| net.attach(loaded.program().unwrap()).unwrap());
        let before = net.routed_by_linux().unwrap();
        let flood = net.flood(std::slice::from_ref(&stream), Some(PACE), PATIENCE).unwrap();
        let mut missing: BTreeSet<_> = destinations.iter().copied().collect();
        while !missing.is_empty() {
            let frame = sink.next(PATIENCE, |frame| missing.contains(&destination(frame))).unwrap();
            let ttl = frame[if destinations[0].is_ipv4() { TTL } else { HOP_LIMIT }];
            let left = if *way == Way::Redirect { 64 } else { 63 };
            assert_eq!((&frame[..6], ttl), (&mac.0[..], left), "{way:?}: {frame:?}");
            assert_eq!(lab::frame::check(&frame), Ok(()));
            missing.remove(&destination(&frame));
        }
        drop(flood);
        let by_linux = net.routed_by_linux().unwrap() - before;
        match &loaded {
            None => assert!(by_linux >= destinations.len() as u64, "{by_linux}"),
            Some(_) => assert!(by_linux < STRAY, "{way:?}: Linux routed {by_linux}"),
        }
        if let Way::Ours(_) = way {
            let counted = loaded.as_ref().unwrap().statistics().unwrap();
            let routed = counted.verdict(Verdict::Redirect).packets;
            assert!(routed >= destinations.len() as u64, "{counted:?}");
        }
        drop(link);
    }
}

#[test]
fn without_a_route_nothing_passes_the_router() {
    let destinations = Table::of(Family::V4, ROUTES).unwrap().destinations(40).unwrap();
    let net = Net::build().unwrap();
    let _ending = net.end_frames().unwrap();
    let stream = net.stream(&destinations).unwrap();
    let loaded = Way::Ours(Memory::Followed).load(&net, EVERYTHING).unwrap().unwrap();
    let _link = net.attach(loaded.program().unwrap()).unwrap();
    let before = net.arrived().unwrap();
    let _flood = net.flood(&[stream], Some(PACE), PATIENCE).unwrap();
    until("packets at the router", PATIENCE, || {
        Ok((loaded.statistics().unwrap().total().packets > 1_000).then_some(()))
    })
    .unwrap();
    assert_eq!(loaded.statistics().unwrap().verdict(Verdict::Redirect).packets, 0);
    let arrived = net.arrived().unwrap() - before;
    assert!(arrived < STRAY, "{arrived}");
}

#[test]
fn values_are_measured_and_reported() {
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let before = labs();
    let mut silent = Silent;
    let routes = Family::ALL.map(|family| (family, ROUTES)).to_vec();
    let plan = Plan { routes, destinations: vec![40] };
    let bench = measure(&mut Harness::new(2, 0.1, &mut silent), &plan).unwrap();
    let absent = &bench.notes().absent;
    let is_peer = |name: &str| name.starts_with("xdp-forward");
    let is_excused = |name: &str, why: &str| is_held_up(why) || is_peer(name);
    assert!(absent.iter().all(|gone| is_excused(&gone.name, &gone.reason)), "{absent:?}");
    let is_reported = |row: &str| bench.median(row).is_some() || reason(&bench, row).is_some();
    for way in ROUTERS {
        for family in ["ipv4", "ipv6"] {
            for routes in ["1", "1x4", "full"] {
                let row = format!("{}/{family}/{routes}/40", way.name());
                assert!(is_reported(&row), "{row}");
                assert!(bench.median(&row).is_none_or(|pps| pps > 0.0), "{row}");
                let lost = bench.median(&format!("lost/{row}"));
                assert_eq!(lost.is_some(), bench.median(&row).is_some(), "{row}");
            }
        }
    }
    for row in VARIANTS.iter().flat_map(|end| in_families(end)) {
        assert!(is_reported(&row), "{row}");
        assert!(bench.median(&row).is_none_or(|value| value > 0.0), "{row}");
    }
    for row in DIFFERENCES.iter().flat_map(|end| in_families(end)) {
        assert_eq!(bench.median(&format!("extra/{row}")).is_some(), bench.median(&row).is_some());
    }
    for row in drawn(&bench) {
        assert!(is_reported(&row), "{row} is drawn and was not measured");
    }
    let is_whole = absent.iter().all(|gone| is_peer(&gone.name));
    let notes = bench.notes().notes.join("\n");
    for fact in ["2000 ipv4 routes were given to the kernel", "2000 ipv6 routes", "taken away in"] {
        assert!(notes.contains(fact), "{fact}: {notes}");
    }
    assert!(notes.contains("full ipv6 table costs ours ") || !is_whole, "{notes}");
    let ratios = bench.finish(Host::default()).unwrap().ratios.len();
    let most = 2 * (3 * (ROUTERS.len() - 1) + 1 + RATIOS);
    assert!(if is_whole { ratios == most } else { ratios <= most }, "{ratios} ratios");
    // Those of the short tests may come and go beside it.
    until("the end of its hosts", PATIENCE, || Ok(labs().is_subset(&before).then_some(())))
        .unwrap();
}

/// The row of each family that ends so; without routes and destinations, after those of the plan.
fn in_families(end: &str) -> [String; 2] {
    let [prefix, end] = end.split_once(' ').map_or(["", end], |(prefix, end)| [prefix, end]);
    let count = if end.starts_with("conntrack") { 1 } else { 40 };
    ["ipv4", "ipv6"].map(|family| format!("{prefix}ours/{family}/1/{count}/{end}"))
}

#[test]
fn variants_are_measured_without_the_others() {
    let _alone = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let before = labs();
    let mut silent = Silent;
    let only = ["alone/ours/ipv4/1/40/tagged/added", "alone/ours/*/1/1/conntrack/off"];
    let selection = Selection::new(only.map(|pattern| pattern.parse().unwrap()).to_vec());
    let routes = Family::ALL.map(|family| (family, ROUTES)).to_vec();
    let plan = Plan { routes, destinations: vec![40] };
    let mut harness = Harness::new(1, 0.01, &mut silent).only(selection);
    let bench = measure(&mut harness, &plan).unwrap();
    let rows: BTreeSet<&str> = bench.rounds().iter().map(|row| row.name.as_str()).collect();
    let expected = [
        "alone/ours/ipv4/1/40/tagged/added",
        "alone/ours/ipv4/1/1/conntrack/off",
        "alone/ours/ipv6/1/1/conntrack/off",
    ];
    let expected = expected.map(|row| [row.to_owned(), format!("around/{row}")]);
    assert_eq!(rows, expected.as_flattened().iter().map(String::as_str).collect());
    assert!(!bench.notes().notes.join("\n").contains("given to the kernel"), "no full table");
    // Those of the short tests may come and go beside it.
    until("the end of its hosts", PATIENCE, || Ok(labs().is_subset(&before).then_some(())))
        .unwrap();
}

/// Rows of all pictures.
fn drawn(bench: &Bench) -> Vec<String> {
    let rows = |shape: &Shape| match shape {
        Shape::Bars { rows } => rows.clone(),
        Shape::Curves { series, .. } => {
            series.iter().flat_map(|curve| &curve.points).map(|(_, row)| row.clone()).collect()
        }
    };
    bench.notes().figures.iter().flat_map(|figure| rows(&figure.shape)).collect()
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let testbed = Testbed::Nic { iface: "eth7".into(), peer: "eth8".into() };
    let mut silent = Silent;
    let mut harness = Harness::new(5, 0.05, &mut silent);
    let fault = Scenario::find("router").unwrap().run(&mut harness, &testbed).unwrap_err();
    assert!(fault.to_string().contains("requires a lab"), "{fault}");
    let plan = Plan { routes: vec![(Family::V4, 2_000_000)], destinations: vec![1] };
    let fault = measure(&mut harness, &plan).unwrap_err();
    assert!(fault.to_string().contains("1500000 routes can be made up"), "{fault}");
}

#[test]
fn of_many_routes_the_refused_one_is_named() {
    let net = Net::build().unwrap();
    let mut netlink = net.lab.b.netlink().unwrap();
    let ifindex = netlink.link("eth1").unwrap().ifindex;
    let hop = Ipv4Addr::new(10, 0, 2, 2).into();
    let route = |number: u32| {
        let network = Ipv4Addr::from_bits(0x3000_0000 + (number << 8));
        NewRoute::new(network.into(), 24, ifindex).via(hop)
    };
    let count = |netlink: &mut sys::net::Netlink| {
        netlink.routes().unwrap().iter().filter(|route| route.via == Some(hop)).count()
    };
    netlink.add_routes(&[]).unwrap();
    assert_eq!(count(&mut netlink), 0);
    // Several batches.
    let all: Vec<_> = (0..5_000).map(route).collect();
    netlink.add_routes(&all).unwrap();
    assert_eq!(count(&mut netlink), 5_000);

    let mut more: Vec<_> = (5_000..8_000).map(route).collect();
    more[2_500] = route(17);
    let fault = netlink.add_routes(&more).unwrap_err();
    let wanted = "rtnetlink(RTM_NEWROUTE) \"48.0.17.0/24 via 10.0.2.2\": File exists (EEXIST)";
    assert!(fault.to_string().starts_with(wanted), "{fault}");
    assert!(count(&mut netlink) >= 7_500, "those in front of it");

    // More refusals than fit into the receive buffer.
    let fault = netlink.add_routes(&all).unwrap_err();
    assert!(fault.to_string().contains("48.0.0.0/24 via 10.0.2.2\": File exists"), "{fault}");
    assert_eq!(netlink.link("eth1").unwrap().ifindex, ifindex, "nothing is left of it");
}

/// Names of those labs whose lock this process holds.
fn labs() -> BTreeSet<String> {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let files: Vec<_> = files.filter_map(|file| std::fs::read_link(file.path()).ok()).collect();
    let is_own = |id: &str| {
        let mut files = files.iter();
        files.any(|file| file.components().any(|part| part.as_os_str() == id))
    };
    let all = lab::list().unwrap().into_iter();
    all.map(|lab| lab.id).filter(|id| is_own(id)).collect()
}

/// Held by a test that measures, whose labs end with it.
static MEASURING: Mutex<()> = Mutex::new(());

fn destination(frame: &[u8]) -> IpAddr {
    let is_ipv6 = frame.get(12) == Some(&0x86);
    let (ipv4, ipv6) = (frame.get(30..34), frame.get(38..54));
    match is_ipv6 {
        true => ipv6
            .and_then(|bytes| bytes.first_chunk::<16>())
            .map_or(Ipv6Addr::UNSPECIFIED, |bytes| Ipv6Addr::from(*bytes))
            .into(),
        false => ipv4
            .and_then(|bytes| bytes.first_chunk::<4>())
            .map_or(Ipv4Addr::UNSPECIFIED, |bytes| Ipv4Addr::from(*bytes))
            .into(),
    }
}

/// Routers that need nothing from elsewhere.
const ROUTERS: [Way; 5] = [
    Way::Linux,
    Way::Ours(Memory::Followed),
    Way::Ours(Memory::Unfollowed),
    Way::Ours(Memory::Off),
    Way::Redirect,
];
const EVERYTHING: Fields = Fields {
    source: u64::MAX,
    ports: [u8::MAX; 4],
    label: [u8::MAX; 4],
    protocol: u32::MAX,
    tos: u32::MAX,
};
const ROUTES: usize = 2_000;
/// Ends of rows with variants, after a prefix.
const VARIANTS: [&str; 20] = [
    "alone/ tagged/added",
    "alone/ tagged/removed",
    "alone/ tagged/replaced",
    "alone/ expired/answered",
    "alone/ expired/limited",
    "alone/ blackhole",
    "alone/ reverse-path/off",
    "alone/ reverse-path/loose",
    "alone/ reverse-path/strict",
    "alone/ conntrack/off",
    "alone/ conntrack/plain",
    "alone/ conntrack/translated",
    "tagged/added",
    "tagged/removed",
    "tagged/replaced",
    "expired/answered",
    "expired/limited",
    "expired/dropped",
    "mixed/limited",
    "mixed/blackhole",
];
/// Ends of rows that are compared with another row.
const DIFFERENCES: [&str; 9] = [
    "alone/ tagged/added",
    "alone/ tagged/removed",
    "alone/ tagged/replaced",
    "alone/ expired/answered",
    "alone/ expired/limited",
    "alone/ reverse-path/loose",
    "alone/ reverse-path/strict",
    "alone/ conntrack/plain",
    "alone/ conntrack/translated",
];
/// Ratios of variants in each family.
const RATIOS: usize = 7;
/// Fewer packets than this come from the hosts themselves, which ask for routers and report groups.
const STRAY: u64 = 10;
/// Packets a second that a capture can follow.
const PACE: u64 = 5_000;
const PATIENCE: Duration = Duration::from_secs(10);
/// Offset of the TTL, after the Ethernet header.
const TTL: usize = 22;
const HOP_LIMIT: usize = 21;

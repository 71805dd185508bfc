//! `bench router`: who routes and how many routes there are change what is measured, never where a
//! packet goes.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use bench::router::{Memory, Net, Table, measure, statistics};
use bench::{Harness, Scenario, Silent, Testbed};
use lab::{Capture, until};
use report::figure::Shape;
use report::{Bench, Host};
use spec::Verdict;
use sys::net::NewRoute;
use xway_tests::cell::{is_held_up, reason};

#[test]
fn each_destination_is_reached_by_every_router() {
    let table = Table::of(ROUTES).unwrap();
    let net = Net::build().unwrap();
    assert_eq!(net.add_table(&table).unwrap().routes, ROUTES);
    let destinations = table.destinations(40).unwrap();
    let stream = net.stream(&destinations).unwrap();
    let mac = net.lab.c.mac("eth0").unwrap();
    let sink = Capture::open(&net.lab.c, "eth0").unwrap();
    let modes = [Memory::Followed, Memory::Unfollowed, Memory::Off].map(Some);
    for mode in [None].into_iter().chain(modes) {
        let program = net.program(mode.unwrap_or(Memory::Off)).unwrap();
        let link = mode.map(|_| net.attach(program).unwrap());
        let before = statistics(program).unwrap();
        let flood = net.flood(&stream, Some(PACE), PATIENCE).unwrap();
        let mut missing: BTreeSet<_> = destinations.iter().copied().collect();
        while !missing.is_empty() {
            let frame = sink.next(PATIENCE, |frame| missing.contains(&destination(frame))).unwrap();
            assert_eq!((&frame[..6], frame[TTL]), (&mac.0[..], 63), "{frame:?}");
            assert_eq!(lab::frame::check(&frame), Ok(()));
            missing.remove(&destination(&frame));
        }
        drop(flood);
        let counted = statistics(program).unwrap().since(&before);
        let (routed, all) = (counted.verdict(Verdict::Redirect).packets, counted.total().packets);
        assert_eq!(routed > 0, mode.is_some(), "{mode:?}: {counted:?}");
        let passed = counted.verdict(Verdict::Pass).packets;
        assert_eq!(routed + passed, all, "{counted:?}");
        assert!(passed < STRAY, "{counted:?}");
        drop(link);
    }
    let near = net.lab.b.netlink().unwrap().link("eth0").unwrap();
    assert_eq!(near.xdp.programs().count(), 0, "the program went with its link");

    net.remove_routes().unwrap();
    let left = net.lab.b.netlink().unwrap().routes().unwrap();
    assert!(left.len() < 10, "{} routes", left.len());
}

#[test]
fn without_a_route_nothing_passes_the_router() {
    let destinations = Table::of(ROUTES).unwrap().destinations(40).unwrap();
    let net = Net::build().unwrap();
    let _ending = net.end_frames().unwrap();
    let stream = net.stream(&destinations).unwrap();
    let program = net.program(Memory::Followed).unwrap();
    let _link = net.attach(program).unwrap();
    let before = net.arrived().unwrap();
    let _flood = net.flood(&stream, Some(PACE), PATIENCE).unwrap();
    until("packets at the router", PATIENCE, || {
        Ok((statistics(program).unwrap().total().packets > 1_000).then_some(()))
    })
    .unwrap();
    assert_eq!(statistics(program).unwrap().verdict(Verdict::Redirect).packets, 0);
    let arrived = net.arrived().unwrap() - before;
    assert!(arrived < STRAY, "{arrived}");
}

#[test]
fn values_are_measured_and_reported() {
    let before = labs();
    let mut silent = Silent;
    let bench = measure(&mut Harness::new(2, 0.1, &mut silent), ROUTES).unwrap();
    let absent = &bench.notes().absent;
    assert!(absent.iter().all(|gone| is_held_up(&gone.reason)), "{absent:?}");
    let is_reported = |row: &str| bench.median(row).is_some() || reason(&bench, row).is_some();
    for way in ["linux", "xdp", "xdp-unfollowed", "xdp-no-memory"] {
        for size in ["1-route", "full"] {
            let row = format!("{way}/{size}");
            assert!(is_reported(&row) && bench.median(&row).is_none_or(|pps| pps > 0.0), "{row}");
            let lost = bench.median(&format!("lost/{row}"));
            assert_eq!(lost.is_some(), bench.median(&row).is_some(), "{row}");
        }
        for count in [1, 10, 100, 1_000, 5_000, 20_000] {
            assert!(is_reported(&format!("{way}/full@{count}")), "{way} {count}");
        }
    }
    for row in drawn(&bench) {
        assert!(is_reported(&row), "{row} is drawn and was not measured");
    }
    let notes = bench.notes().notes.join("\n");
    for fact in ["2000 routes were given to the kernel", "was taken away in"] {
        assert!(notes.contains(fact), "{fact}: {notes}");
    }
    let is_whole = absent.is_empty();
    assert!(notes.contains("costs xdp") || !is_whole, "{notes}");
    let ratios = bench.finish(Host::default()).unwrap().ratios.len();
    assert!(if is_whole { ratios == 10 } else { ratios <= 10 }, "{ratios} ratios");
    // Those of other tests may come and go beside it.
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
    let fault = measure(&mut harness, 2_000_000).unwrap_err();
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

/// Names of those that are a router between two networks.
fn labs() -> BTreeSet<String> {
    let all = lab::list().unwrap().into_iter();
    all.filter(|lab| lab.topology.as_deref() == Some("router")).map(|lab| lab.id).collect()
}

fn destination(frame: &[u8]) -> Ipv4Addr {
    <[u8; 4]>::try_from(&frame[30..34]).map_or(Ipv4Addr::UNSPECIFIED, Ipv4Addr::from)
}

const ROUTES: usize = 2_000;
/// Fewer packets than this come from the hosts themselves, which ask for routers and report groups.
const STRAY: u64 = 10;
/// Packets a second that a capture can follow.
const PACE: u64 = 5_000;
const PATIENCE: Duration = Duration::from_secs(10);
/// Offset of the TTL, after the Ethernet header.
const TTL: usize = 22;

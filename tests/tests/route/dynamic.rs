//! The router below real routing daemons: what BIRD and FRR learn is forwarded, and what they
//! withdraw is not.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use lab::{Capture, until};
use sys::net::NewRoute;
use xway_tests::route_lab::{self, Options};
use xway_tests::routing::{
    Bird, Drops, Fork, Frr, Line, LineRouter, Receiver, Routing, Sender, bgp, frame, netlink_drops,
    number, passed,
};
use xway_tests::stage::PATIENCE;

const TARGET: Ipv4Addr = Ipv4Addr::new(20, 0, 0, 1);
const NETWORK: &str = "20.0.0.0/24";

const STATIC: &str = "protocol static flap { ipv4; route 20.0.0.0/24 via 10.2.0.2; }\n";

/// Sends frames until one arrives: then the route is used by all routers.
fn arrives(line: &Line, to: Ipv4Addr) {
    let (wire, sink) =
        (Capture::open(&line.src, "eth0").unwrap(), Capture::open(&line.dst, "eth0").unwrap());
    let gateway = line.routers[0].host.mac("left").unwrap();
    let frame = frame(&line.src, gateway, to, 0, 0);
    until("a frame at the other end", PATIENCE, || {
        wire.send(&frame)?;
        let found = sink.next(Duration::from_millis(50), |frame| number(frame).is_some());
        Ok(found.is_ok().then_some(()))
    })
    .unwrap();
}

#[test]
fn routes_that_bird_learns_by_bgp_are_forwarded_until_they_are_withdrawn() {
    let line = Line::build(&[Routing::Ours, Routing::Linux]);
    let [ours, other] = [&line.routers[0], &line.routers[1]];
    let _first = Bird::start(&ours.host, &bgp::bird(1, 2, ""), &[]);
    let second = Bird::start(&other.host, &bgp::bird(2, 2, STATIC), &[]);
    for _ in 0..2 {
        ours.until_route(NETWORK, "via 10.0.1.2", true);
        arrives(&line, TARGET);
        let before = passed(ours, "forwarded");
        let sink = Receiver::start(&line.dst, "eth0");
        let gateway = ours.host.mac("left").unwrap();
        let wire = Capture::open(&line.src, "eth0").unwrap();
        for number in 0..100 {
            wire.send(&frame(&line.src, gateway, TARGET, 0, number)).unwrap();
        }
        until("all frames", PATIENCE, || Ok((sink.arrived() == 100).then_some(()))).unwrap();
        // Frames of the loop above may still have been under way.
        assert!(passed(ours, "forwarded") - before >= 100, "in XDP");

        second.disable("flap");
        ours.until_route(NETWORK, "via", false);
        let (before, last) = (Drops::of(ours), sink.arrived());
        // The daemon reads of it a little later.
        let refused = || Drops::of(ours).since(&before).total();
        let mut sent = 1000;
        until("an end of forwarding", PATIENCE, || {
            wire.send(&frame(&line.src, gateway, TARGET, 0, sent))?;
            sent += 1;
            Ok((refused() > 0).then_some(()))
        })
        .unwrap();
        let before = passed(ours, "not-forwarded");
        for number in 5000..5100 {
            wire.send(&frame(&line.src, gateway, TARGET, 0, number)).unwrap();
        }
        until("all frames", PATIENCE, || {
            Ok((passed(ours, "not-forwarded") == before + 100).then_some(()))
        })
        .unwrap();
        assert!(sink.arrived() <= last + sent - 1000, "withdrawn");
        second.enable("flap");
    }
}

#[test]
fn routes_that_frr_learns_are_forwarded_until_they_are_withdrawn() {
    let line = Line::build(&[Routing::Linux, Routing::Ours, Routing::Linux]);
    let [first, ours, last] = [&line.routers[0], &line.routers[1], &line.routers[2]];
    let _first = Bird::start(&first.host, &bgp::bird(1, 3, ""), &[]);
    let frr = Frr::start(&ours.host, &["bgpd"], &bgp::frr(2, 3));
    let third = Bird::start(&last.host, &bgp::bird(3, 3, STATIC), &[]);
    ours.until_route(NETWORK, "via 10.0.2.2", true);
    first.until_route(NETWORK, "via 10.0.1.2", true);
    assert!(frr.run(&["show ip route"]).contains("20.0.0.0/24"), "FRR reports it");
    arrives(&line, TARGET);
    let before = passed(ours, "forwarded");
    arrives(&line, TARGET);
    assert!(passed(ours, "forwarded") > before, "in XDP");
    third.disable("flap");
    ours.until_route(NETWORK, "via", false);
    first.until_route(NETWORK, "via", false);
    third.enable("flap");
    first.until_route(NETWORK, "via 10.0.1.2", true);
    arrives(&line, TARGET);
}

#[test]
fn flows_split_over_the_next_hops_of_bird_as_the_kernel_splits_them() {
    let fork = Fork::build(Routing::Ours, NETWORK, true);
    let ours = &fork.router;
    ours.until_route(NETWORK, "via 10.0.2.2", true);
    let sinks = fork.hosts.each_ref().map(|host| Capture::open(host, "eth0").unwrap());
    let wire = Capture::open(&fork.src, "eth0").unwrap();
    let gateway = ours.host.mac("left").unwrap();
    let before = passed(ours, "forwarded");
    let mut seen = BTreeSet::new();
    for port in 0..40 {
        let words = format!(
            "route get {TARGET} from 10.1.0.2 iif left ipproto udp sport {} dport 9",
            4000 + port
        );
        let wanted = usize::from(ours.ip(&words).contains("via 10.0.2.2"));
        wire.send(&frame(&fork.src, gateway, TARGET, port, u64::from(port))).unwrap();
        let is_it = |frame: &[u8]| number(frame) == Some(u64::from(port));
        sinks[wanted].next(PATIENCE, is_it).unwrap_or_else(|error| panic!("{words}: {error}"));
        seen.insert(wanted);
    }
    assert_eq!(seen.len(), 2, "both next hops are used");
    assert!(passed(ours, "forwarded") - before > 30, "in XDP");
}

/// BIRD withdraws the better route while frames flow. After the kernel has the other one and
/// `until_known` returned, no frame that is sent then may come to the old next hop.
fn takes_the_new_way(fork: &Fork, until_known: impl Fn(&LineRouter)) {
    let gateway = fork.router.host.mac("left").unwrap();
    let [old, new] = fork.hosts.each_ref().map(|host| Receiver::start(host, "eth0"));
    let before = passed(&fork.router, "forwarded");
    let sender = Sender::start(&fork.src, frame(&fork.src, gateway, TARGET, 0, 0), 2000);
    let arrives = |to: &Receiver, more: u64| {
        let wanted = to.arrived() + more;
        until("more frames", PATIENCE, || Ok((to.arrived() >= wanted).then_some(()))).unwrap();
    };
    arrives(&old, 100);
    fork.peers[0].disable("flap");
    fork.router.until_route(NETWORK, "via 10.0.2.2", true);
    until_known(&fork.router);
    // The next one may have been sent already, but not be counted yet.
    let later = usize::try_from(sender.sent() + 1).unwrap();
    arrives(&new, 100);
    let sent = usize::try_from(sender.stop()).unwrap();
    until("all frames", PATIENCE, || {
        Ok((old.arrived() + new.arrived() >= sent as u64).then_some(()))
    })
    .unwrap();
    let (old, mut new) = (old.stop(), new.stop());
    let wrong: Vec<_> = (later..old.len()).filter(|number| old[*number]).collect();
    let first = wrong.first();
    assert_eq!(wrong.len(), 0, "of {later}..{sent} came to the old next hop, first {first:?}");
    new.resize(sent, false);
    assert!(new[later..].iter().all(|arrived| *arrived), "all came to the new next hop");
    assert!(passed(&fork.router, "forwarded") - before >= sent as u64 / 2, "in XDP");
    fork.peers[0].enable("flap");
    fork.router.until_route(NETWORK, "via 10.0.1.2", true);
}

#[test]
fn no_frame_takes_a_withdrawn_route_after_the_daemon_read_of_it() {
    let fork = Fork::build(Routing::Ours, NETWORK, false);
    for _ in 0..3 {
        takes_the_new_way(&fork, |router| {
            // A step that had begun before may have read nothing; the one after it reads all.
            for _ in 0..2 {
                let before = router.control().valid_until;
                until("a step of the daemon", PATIENCE, || {
                    Ok((router.control().valid_until != before).then_some(()))
                })
                .unwrap();
            }
        });
    }
}

#[test]
fn no_frame_takes_a_withdrawn_route_a_tick_later_without_a_daemon() {
    let fork = Fork::build(Routing::Unfollowed, NETWORK, false);
    for _ in 0..3 {
        takes_the_new_way(&fork, |_| tick());
    }
}

#[test]
fn no_frame_takes_a_withdrawn_route_after_a_stopped_daemon_is_not_trusted() {
    let fork = Fork::build(Routing::Ours, NETWORK, false);
    fork.router.signal("STOP");
    takes_the_new_way(&fork, |router| {
        until("the end of trust", PATIENCE, || Ok((!router.trusts()).then_some(()))).unwrap();
        tick();
    });
    fork.router.signal("CONT");
    until("trust again", PATIENCE, || Ok(fork.router.trusts().then_some(()))).unwrap();
}

/// Otherwise a change of routes waits for its turn where all processors are busy.
#[test]
fn a_daemon_is_preferred_to_ordinary_processes() {
    let line = Line::build(&[Routing::Ours]);
    let daemon = line.routers[0].daemon().unwrap();
    let text = std::fs::read_to_string(format!("/proc/{daemon}/stat")).unwrap();
    // After the name; the nice value is field 19.
    let nice = text.rsplit_once(')').unwrap().1.split_whitespace().nth(16).unwrap();
    assert_eq!(nice, "-10");
}

/// Waits until the kernel's timer ticked, and a second time for a tick that was under way.
fn tick() {
    for _ in 0..2 {
        let before = sys::thread::coarse_ns();
        let moved = || Ok((sys::thread::coarse_ns() != before).then_some(()));
        until("a tick", PATIENCE, moved).unwrap();
    }
}

#[test]
fn routes_of_ospf_between_bird_and_frr_are_forwarded() {
    let line = Line::build(&[Routing::Ours, Routing::Linux]);
    let [ours, other] = [&line.routers[0], &line.routers[1]];
    let frr = "router ospf\n ospf router-id 10.9.9.1\n redistribute connected\n\
               interface right\n ip ospf area 0\n ip ospf network point-to-point\n \
               ip ospf hello-interval 1\n ip ospf dead-interval 4\n";
    let bird = "router id 10.9.9.2; protocol device {}
        protocol kernel { ipv4 { export where source ~ [ RTS_OSPF, RTS_OSPF_EXT2, RTS_STATIC ]; }; }
        protocol static flap { ipv4; route 20.0.0.0/24 via 10.2.0.2; }
        protocol ospf v2 { ipv4 { import all; export where source = RTS_STATIC; }; area 0 {
          interface \"left\" { type ptp; hello 1; dead 4; }; }; }";
    let _frr = Frr::start(&ours.host, &["ospfd"], frr);
    let bird = Bird::start(&other.host, bird, &[]);
    ours.until_route(NETWORK, "via 10.0.1.2", true);
    arrives(&line, TARGET);
    let before = passed(ours, "forwarded");
    arrives(&line, TARGET);
    assert!(passed(ours, "forwarded") > before, "in XDP");
    bird.disable("flap");
    ours.until_route(NETWORK, "via", false);
}

/// Two routers of ours send a packet to each other until its TTL ends: one answers, all is counted.
#[test]
fn packets_in_a_loop_end_by_their_ttl() {
    let line = Line::build(&[Routing::Ours, Routing::Ours]);
    let [first, second] = [&line.routers[0], &line.routers[1]];
    first.ip(&format!("route add {NETWORK} via 10.0.1.2"));
    second.ip(&format!("route add {NETWORK} via 10.0.1.1"));
    // The answers' way back.
    second.ip("route add 10.1.0.0/24 via 10.0.1.1");
    for (router, to) in [(first, "10.0.1.2"), (second, "10.0.1.1")] {
        let status = router.host.command("ping").map(|mut ping| {
            ping.args(["-c", "1", "-W", "5", to]).stdout(std::process::Stdio::null()).status()
        });
        assert!(status.unwrap().unwrap().success(), "neighbors are known");
    }
    const FRAMES: u64 = 200;
    let before = [first, second].map(Drops::of);
    let arrival = passed(first, "forwarded");
    let gateway = first.host.mac("left").unwrap();
    let wire = Capture::open(&line.src, "eth0").unwrap();
    for number in 0..FRAMES {
        wire.send(&frame(&line.src, gateway, TARGET, 0, number)).unwrap();
    }
    let ended = || {
        let now = [first, second].map(Drops::of);
        now[0].since(&before[0]).total() + now[1].since(&before[1]).total()
    };
    until("the end of all packets", PATIENCE, || Ok((ended() >= FRAMES).then_some(()))).unwrap();
    let drops = [first, second].map(Drops::of);
    let [a, b] = [0, 1].map(|number| drops[number].since(&before[number]));
    assert_eq!(a.total() + b.total(), FRAMES, "each is counted once: {a:?} {b:?}");
    // A TTL of 64 is 63 hops, so the last is the first router's turn or the second's, never both.
    let hops = passed(first, "forwarded") - arrival + passed(second, "forwarded");
    assert!(hops >= FRAMES * 60, "they looped in XDP: {hops}");
}

/// A blackhole route takes effect, and its removal: for all that follows.
fn follows_changes(line: &Line, wire: &Capture, rounds: u32) {
    let ours = &line.routers[0];
    let gateway = ours.host.mac("left").unwrap();
    let copy = frame(&line.src, gateway, TARGET, 0, 0);
    for round in 0..rounds {
        for (words, reason) in [("add", "blackhole"), ("del", "forwarded")] {
            ours.ip(&format!("route {words} blackhole {TARGET}"));
            until(&format!("{reason} in round {round}"), PATIENCE, || {
                let before = passed(ours, reason);
                wire.send(&copy)?;
                let is_counted = || Ok((passed(ours, reason) > before).then_some(()));
                Ok(until("its counter", Duration::from_millis(20), is_counted).ok())
            })
            .unwrap();
        }
    }
}

#[test]
fn a_killed_daemon_and_one_that_starts_again_change_nothing() {
    let mut line = Line::build(&[Routing::Ours]);
    line.routers[0].ip(&format!("route add {NETWORK} via 10.2.0.2"));
    let wire = Capture::open(&line.src, "eth0").unwrap();
    arrives(&line, TARGET);
    for _ in 0..2 {
        follows_changes(&line, &wire, 2);
        line.routers[0].unfollow();
        arrives(&line, TARGET);
        follows_changes(&line, &wire, 2);
        line.routers[0].follow();
    }
}

/// Adds other routes.
fn add_routes(router: &LineRouter, count: u32) {
    let mut netlink = router.host.netlink().unwrap();
    let out = router.host.ifindex("right").unwrap();
    let route = |number: u32| {
        let to = Ipv4Addr::from(0x1e00_0000 + (number << 8));
        NewRoute::new(to.into(), 24, out).via(Ipv4Addr::new(10, 2, 0, 2).into())
    };
    netlink.add_routes(&(0..count).map(route).collect::<Vec<_>>()).unwrap();
}

/// More changes than `net.core.rmem_max` permits to wait: a table that BIRD fills at its start.
#[test]
fn changes_wait_for_a_daemon_that_is_late() {
    let line = Line::build(&[Routing::Ours]);
    let ours = &line.routers[0];
    ours.signal("STOP");
    add_routes(ours, 20_000);
    ours.signal("CONT");
    until("trust", PATIENCE, || Ok(ours.trusts().then_some(()))).unwrap();
    assert_eq!(netlink_drops(ours), 0);
}

/// The socket's buffer overflows while the daemon is stopped: what it missed is read again.
#[test]
fn a_daemon_that_was_stopped_reads_all_again() {
    let line = Line::build(&[Routing::Ours]);
    let ours = &line.routers[0];
    ours.ip(&format!("route add {NETWORK} via 10.2.0.2"));
    let wire = Capture::open(&line.src, "eth0").unwrap();
    arrives(&line, TARGET);
    follows_changes(&line, &wire, 1);
    ours.signal("STOP");
    add_routes(ours, 100_000);
    // A change of which the daemon never reads an event.
    ours.ip(&format!("route add blackhole {TARGET}"));
    ours.ip("rule add from 10.1.0.9 lookup main");
    assert!(netlink_drops(ours) > 0, "the buffer overflowed");
    ours.signal("CONT");
    let copy = frame(&line.src, ours.host.mac("left").unwrap(), TARGET, 0, 0);
    until("the change", PATIENCE, || {
        let before = passed(ours, "blackhole");
        wire.send(&copy)?;
        let is_counted = || Ok((passed(ours, "blackhole") > before).then_some(()));
        Ok(until("its counter", Duration::from_millis(20), is_counted).ok())
    })
    .unwrap();
    ours.ip(&format!("route del blackhole {TARGET}"));
    until("the rule of which no event was read", PATIENCE, || {
        Ok((ours.trusts() && ours.control().fields.source == u64::MAX).then_some(()))
    })
    .unwrap();
    follows_changes(&line, &wire, 3);
}

#[test]
fn frames_arrive_or_are_counted_while_routes_flap() {
    let report =
        route_lab::run(&Options { seed: 1, flaps: 5, networks: 300, rate_pps: 1000 }, |_| ());
    assert!(report.is_balanced(), "{report}");
    assert!(report.arrived > 0 && report.dropped() > 0, "{report}");
}

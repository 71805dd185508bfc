//! Two balancers that announce a service by BGP while it has a backend: BIRD on them and on the
//! router, nginx on the backends, and the kernel's TCP and curl on the client.
//!
//! ```text
//!  client ──── left router right ────┐
//!  10.1.0.2          10.0.0.254      │ br0 of switch
//!           lb1 10.0.0.1 ────────────┤
//!           lb2 10.0.0.2 ────────────┤
//!           s1 … s3 10.0.0.11 … .13 ─┘   192.0.2.1 on lo
//! ```
//! The router spreads flows over both balancers, which send packets to the MAC addresses of
//! backends; these answer by way of the router. The balancers check the same backends by different
//! files that nginx has, so that one of them alone can lose its backends.

mod site;

use std::collections::BTreeSet;

use site::{Site, Stream};

/// The backends that answered, in any order.
fn names(answers: &[String]) -> BTreeSet<&str> {
    answers.iter().map(String::as_str).collect()
}

/// Connections that exist are answered, each by the backend that it began with.
#[track_caller]
fn remain(streams: &mut [(Stream, String)]) {
    for (number, (stream, name)) in streams.iter_mut().enumerate() {
        assert_eq!(stream.ask().as_deref(), Ok(&**name), "connection {number}");
    }
}

/// New connections of curl, all of them answered by all backends, pass these balancers.
#[track_caller]
fn spread(site: &Site, over: [bool; 2]) {
    let before = site.balancers.each_ref().map(|one| one.packets());
    let answers = site.curl(CONNECTIONS);
    assert_eq!(answers.len(), CONNECTIONS, "{answers:?}");
    assert_eq!(names(&answers), ["s1", "s2", "s3"].into(), "{answers:?}");
    let after = site.balancers.each_ref().map(|one| one.packets());
    let passed = [0, 1].map(|at| after[at] > before[at]);
    assert_eq!(passed, over, "packets {before:?}, then {after:?}");
}

#[test]
fn a_balancer_without_backends_gets_no_packets() {
    let site = Site::build();
    let [first, second] = &site.balancers;
    site.until_hops(&[1, 2]);
    spread(&site, [true, true]);
    let mut streams = site.connect(STREAMS);
    assert_eq!(streams.iter().map(|one| one.1.as_str()).collect::<BTreeSet<_>>().len(), 3);

    first.fail();
    site.until_hops(&[2]);
    assert_eq!((first.table(), first.announced()), (String::new(), false));
    assert!(second.announced() && second.table().contains("blackhole 192.0.2.1 proto 120"));
    spread(&site, [false, true]);
    remain(&mut streams);
    drop(streams);

    first.recover();
    site.until_hops(&[1, 2]);
    first.until_healthy();
    assert!(first.announced());
    spread(&site, [true, true]);
}

#[test]
fn a_killed_bird_ends_no_connection() {
    let mut site = Site::build();
    site.until_hops(&[1, 2]);
    let mut streams = site.connect(STREAMS);
    let before = site.balancers.each_ref().map(|one| one.packets());
    remain(&mut streams);
    let after = site.balancers.each_ref().map(|one| one.packets());
    assert!((0..2).all(|at| after[at] > before[at]), "both are used: {before:?}, {after:?}");

    site.balancers[1].kill_bird();
    site.until_hops(&[1]);
    assert!(site.balancers[1].announced(), "to the daemon that will start next");
    remain(&mut streams);
    spread(&site, [true, false]);

    site.balancers[1].start_bird();
    site.until_hops(&[1, 2]);
    remain(&mut streams);
    spread(&site, [true, true]);
}

/// Without its daemon a balancer forwards, and is announced as before; `detach` withdraws it.
#[test]
fn a_killed_daemon_withdraws_nothing() {
    let mut site = Site::build();
    site.until_hops(&[1, 2]);
    let mut streams = site.connect(STREAMS);
    site.balancers[0].kill_daemon();
    site.balancers[0].fail();
    spread(&site, [true, true]);
    assert!(site.balancers[0].announced());
    site.balancers[0].detach();
    site.until_hops(&[2]);
    spread(&site, [false, true]);
    remain(&mut streams);
}

/// New connections: with this number, a backend has none by chance in one of 10^10 runs.
const CONNECTIONS: usize = 60;
/// Connections that remain.
const STREAMS: usize = 60;

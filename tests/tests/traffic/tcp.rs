//! TCP connections out of XDP, judged by the kernel's own receiver: what it read is what was
//! acknowledged, to the byte.

mod support;

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown};
use std::time::Duration;

use lab::{LinkOptions, Router, TwoHosts};
use support::{Brief, Crowd, Heard, Nth, PORT, config, discard, listen, run, serve, start, until};
use traffic::tcp::{Algorithm, Config, Ends, Report, Run};

fn two_hosts() -> (TwoHosts, IpAddr) {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    let ip = net.b.ipv4("eth0").unwrap().into();
    (net, ip)
}

/// All flows were closed by FIN, and all bytes acknowledged.
fn check_whole(report: &Report, flows: u64, bytes: u64) {
    let totals = &report.totals;
    assert_eq!(totals.ends, Ends { closed: flows, ..Ends::default() }, "{:?}", Brief(totals));
    assert_eq!((totals.opened, totals.established), (flows, flows));
    assert_eq!(totals.acked_bytes, flows * bytes);
    assert!(
        report.flows.iter().all(|flow| flow.acked_bytes == bytes && flow.end == Some("closed"))
    );
}

#[test]
fn one_flow_arrives_whole_and_nothing_is_sent_twice() {
    let net = TwoHosts::build(&LinkOptions::default()).unwrap();
    for ip in [IpAddr::V4(net.b.ipv4("eth0").unwrap()), net.b.ipv6("eth0").unwrap().into()] {
        let server = serve(&net.b, ip, discard);
        let bytes = 30_000_001;
        let report = run(&net.a, &config(ip, bytes));
        assert_eq!(server.join().unwrap(), Heard { bytes, reset: false }, "{ip}");
        check_whole(&report, 1, bytes);
        assert_eq!(report.retransmitted, 0.0, "{ip}: {:?}", Brief(&report.totals));
        assert!(report.totals.rtt_ns.count() > 10 && report.flows[0].rtt.is_some());
        assert!(!report.stopped && report.seconds > 0.0 && report.goodput_bps > 0.0);
        assert_eq!(report.flows[0].local.port(), 1024);
    }
}

#[test]
fn frames_longer_than_usual_are_filled() {
    let net = TwoHosts::build(&LinkOptions { mtu: 3400, ..LinkOptions::default() }).unwrap();
    let ip = net.b.ipv4("eth0").unwrap().into();
    let server = serve(&net.b, ip, discard);
    let report = run(&net.a, &config(ip, 10_000_000));
    assert_eq!(server.join().unwrap().bytes, 10_000_000);
    check_whole(&report, 1, 10_000_000);
    assert!(report.totals.data_segments < 10_000_000 / 3200, "{:?}", Brief(&report.totals));
}

#[test]
fn a_thousand_flows_share_the_link() {
    let (net, ip) = two_hosts();
    let crowd = Crowd::start(&net.b, ip);
    let bytes = 100_000;
    let config = Config { flows: 1000, opens_per_second: 500, ..config(ip, bytes) };
    let report = run(&net.a, &config);
    check_whole(&report, 1000, bytes);
    let heard = crowd.join();
    assert_eq!(heard.len(), 1000);
    assert!(heard.iter().all(|one| *one == Heard { bytes, reset: false }));
}

#[test]
fn many_flows_of_two_senders_are_opened_and_closed() {
    let (net, ip) = two_hosts();
    let crowd = Crowd::start(&net.b, ip);
    let config =
        Config { flows: 10_000, opens_per_second: 800, cpus: vec![0, 1], ..config(ip, 3000) };
    let report = run(&net.a, &config);
    check_whole(&report, 10_000, 3000);
    let heard = crowd.join();
    assert_eq!(heard.len(), 10_000);
    assert!(heard.iter().all(|one| *one == Heard { bytes: 3000, reset: false }));
}

/// On a busy machine the duration can be over before the handshake is: then nothing was sent, and
/// the run is repeated with more time.
#[test]
fn a_duration_ends_with_a_fin_after_what_was_sent() {
    let mut duration = Duration::from_millis(200);
    let (report, heard) = loop {
        let (net, ip) = two_hosts();
        let crowd = Crowd::start(&net.b, ip);
        let report =
            run(&net.a, &Config { duration: Some(duration), bytes: None, ..config(ip, 0) });
        let heard = crowd.join();
        if report.totals.acked_bytes > 0 {
            break (report, heard);
        }
        assert!(duration < Duration::from_secs(20), "nothing was acknowledged in {duration:?}");
        duration *= 2;
    };
    let bytes = report.totals.acked_bytes;
    assert_eq!(heard, [Heard { bytes, reset: false }]);
    assert!(!report.stopped);
    check_whole(&report, 1, bytes);
}

#[test]
fn a_rate_is_not_exceeded() {
    let (net, ip) = two_hosts();
    let server = serve(&net.b, ip, discard);
    let report = run(&net.a, &Config { rate_bps: Some(80_000_000), ..config(ip, 5_000_000) });
    check_whole(&report, 1, 5_000_000);
    assert_eq!(server.join().unwrap().bytes, 5_000_000);
    assert!(report.goodput_bps < 88_000_000.0, "{}", report.goodput_bps);
}

#[test]
fn a_closed_window_is_asked_until_it_opens() {
    let (net, ip) = two_hosts();
    let (go, wait) = std::sync::mpsc::channel();
    let server = serve(&net.b, ip, move |stream| {
        wait.recv().unwrap();
        discard(stream)
    });
    let bytes = 20_000_000;
    let run = start(&net.a, &config(ip, bytes));
    until(&run, "no probe was sent", |now| now.window_probes >= 2);
    let held = run.snapshot().unwrap();
    assert!(held.acked_bytes < bytes && held.ends.total() == 0, "{:?}", Brief(&held));
    go.send(()).unwrap();
    let report = run.wait().unwrap();
    check_whole(&report, 1, bytes);
    assert_eq!(server.join().unwrap(), Heard { bytes, reset: false });
}

#[test]
fn a_reset_in_mid_transfer_ends_the_flow() {
    let (net, ip) = two_hosts();
    // Closing with data unread makes the kernel send RST.
    let server = serve(&net.b, ip, |mut stream| stream.read_exact(&mut [0; 100_000]).unwrap());
    let report = run(&net.a, &config(ip, 1 << 40));
    server.join().unwrap();
    assert_eq!(report.totals.ends, Ends { reset: 1, ..Ends::default() });
    assert_eq!(report.flows[0].end, Some("reset"));
    assert!(report.flows[0].acked_bytes >= 100_000);
}

#[test]
fn a_closed_port_refuses() {
    let (net, ip) = two_hosts();
    let report = run(&net.a, &Config { flows: 3, ..config(ip, 1) });
    assert_eq!(report.totals.ends, Ends { refused: 3, ..Ends::default() });
    assert_eq!(report.totals.established, 0);
}

#[test]
fn a_silent_peer_is_given_up() {
    let (net, ip) = two_hosts();
    let _loss = Nth::loses(&net.b, "eth0", 1);
    let report = run(&net.a, &Config { retries: 1, ..config(ip, 1) });
    assert_eq!(report.totals.ends, Ends { unanswered: 1, ..Ends::default() });
    assert_eq!((report.totals.segments, report.totals.timeout_retransmissions), (2, 1));
}

#[test]
fn a_peer_that_vanishes_is_given_up() {
    let (net, ip) = two_hosts();
    let _server = serve(&net.b, ip, discard);
    let few = Config { retries: 3, ..config(ip, 1 << 40) };
    let run = start(&net.a, &few);
    until(&run, "nothing arrives", |now| now.acked_bytes > 1_000_000);
    let _loss = Nth::loses(&net.b, "eth0", 1);
    let report = run.wait().unwrap();
    assert_eq!(report.totals.ends, Ends { timed_out: 1, ..Ends::default() });
    assert_eq!(report.totals.timeouts, 3);
}

#[test]
fn a_link_that_comes_back_is_used_again() {
    let (net, ip) = two_hosts();
    let (go, wait) = std::sync::mpsc::channel();
    let server = serve(&net.b, ip, move |stream| {
        wait.recv().unwrap();
        discard(stream)
    });
    let bytes = 20_000_000;
    let run = start(&net.a, &config(ip, bytes));
    until(&run, "nothing arrives", |now| now.acked_bytes > 10_000);
    let (mut netlink, at) = (net.b.netlink().unwrap(), net.b.ifindex("eth0").unwrap());
    netlink.set_up(at, false).unwrap();
    go.send(()).unwrap();
    let before = run.snapshot().unwrap();
    until(&run, "no timeout", |now| {
        now.timeouts + now.window_probes > before.timeouts + before.window_probes
    });
    netlink.set_up(at, true).unwrap();
    let report = run.wait().unwrap();
    check_whole(&report, 1, bytes);
    assert_eq!(server.join().unwrap(), Heard { bytes, reset: false });
}

#[test]
fn what_is_lost_and_overtaken_is_repaired() {
    let net = Router::build(&LinkOptions::default()).unwrap();
    let ip = IpAddr::V4(net.c.ipv4("eth0").unwrap());
    let bytes = 1_000_000;
    for (sack, timestamps, algorithm) in [
        ("1", "1", Algorithm::Cubic),
        ("1", "1", Algorithm::NewReno),
        ("0", "1", Algorithm::NewReno),
        ("1", "0", Algorithm::NewReno),
        ("0", "0", Algorithm::Cubic),
    ] {
        net.c.set_sysctl("ipv4/tcp_sack", sack).unwrap();
        net.c.set_sysctl("ipv4/tcp_timestamps", timestamps).unwrap();
        let server = serve(&net.c, ip, discard);
        let _data = Nth::loses(&net.b, "eth0", 97);
        let _acks = Nth::loses(&net.b, "eth1", 7);
        let least_timeout = Duration::from_millis(20);
        let report = run(&net.a, &Config { algorithm, least_timeout, ..config(ip, bytes) });
        let what = format!("SACK {sack} timestamps {timestamps} {:?}", Brief(&report.totals));
        assert_eq!(server.join().unwrap(), Heard { bytes, reset: false }, "{what}");
        check_whole(&report, 1, bytes);
        assert!(report.totals.fast_retransmissions > 0, "{what}");
        assert!(report.retransmitted < 0.2, "{what}");
    }
}

#[test]
fn segments_that_overtake_others_do_no_harm() {
    let net = Router::build(&LinkOptions::default()).unwrap();
    let ip = IpAddr::V4(net.c.ipv4("eth0").unwrap());
    let server = serve(&net.c, ip, discard);
    let mac = net.c.mac("eth0").unwrap().0;
    let _swap = Nth::overtakes(&net.b, "eth0", 7, "eth1", mac);
    let bytes = 4_000_000;
    let report = run(&net.a, &config(ip, bytes));
    assert_eq!(server.join().unwrap(), Heard { bytes, reset: false });
    check_whole(&report, 1, bytes);
}

#[test]
fn a_peer_that_closes_first_gets_the_rest() {
    let (net, ip) = two_hosts();
    let server = serve(&net.b, ip, |stream| {
        stream.shutdown(Shutdown::Write).unwrap();
        discard(stream)
    });
    let report = run(&net.a, &config(ip, 3_000_000));
    check_whole(&report, 1, 3_000_000);
    assert_eq!(server.join().unwrap().bytes, 3_000_000);
}

#[test]
fn what_a_peer_sends_is_acknowledged_and_forgotten() {
    let (net, ip) = two_hosts();
    let server = serve(&net.b, ip, |mut stream| {
        stream.write_all(&vec![7; 1_000_000]).unwrap();
        discard(stream)
    });
    let report = run(&net.a, &Config { rate_bps: Some(100_000_000), ..config(ip, 3_000_000) });
    check_whole(&report, 1, 3_000_000);
    assert_eq!(server.join().unwrap(), Heard { bytes: 3_000_000, reset: false });
}

#[test]
fn a_peer_that_does_not_read_is_reset_after_a_timeout() {
    let (net, ip) = two_hosts();
    let (go, wait) = std::sync::mpsc::channel();
    // It has our FIN, so only an attempt to send shows whether the connection still exists.
    let server = serve(&net.b, ip, move |mut stream| {
        wait.recv().unwrap();
        stream.write(b"?").is_err()
    });
    let impatient = Config { patience: Duration::from_millis(300), ..config(ip, 1 << 40) };
    let run = start(&net.a, &impatient);
    until(&run, "no probe was sent", |now| now.window_probes > 0);
    let report = run.stop().unwrap();
    assert!(report.stopped);
    assert_eq!(report.totals.ends, Ends { aborted: 1, ..Ends::default() });
    go.send(()).unwrap();
    assert!(server.join().unwrap(), "no RST arrived");
}

#[test]
fn the_interface_is_left_as_it_was_and_others_programs_alone() {
    let (net, ip) = two_hosts();
    let xdp = || net.a.netlink().unwrap().link("eth0").unwrap().xdp;
    let server = serve(&net.b, ip, discard);
    let run = start(&net.a, &config(ip, 1 << 40));
    until(&run, "no handshake", |now| now.established == 1);
    drop(run);
    assert!(xdp().is_empty(), "the program is still there");
    assert!(!server.join().unwrap().reset, "dropping a run closes its flows");
    let _other = Nth::loses(&net.a, "eth0", 1000);
    let error = net.a.run(|| Run::start(&config(ip, 1))).unwrap().unwrap_err();
    assert!(error.to_string().contains("`nth`"), "{error}");
}

#[test]
fn an_unreachable_destination_is_reported() {
    let (net, ip) = two_hosts();
    let _listener = listen(&net.b, ip);
    for (ip, interface, text) in [
        ("10.0.0.2", "eth9", "eth9"),
        ("192.0.2.1", "eth0", "no route to 192.0.2.1"),
        ("10.0.0.1", "eth0", "an address of this host"),
        ("10.0.0.77", "eth0", "10.0.0.77 does not answer"),
    ] {
        let mut config = config(ip.parse().unwrap(), 1);
        config.interface = interface.to_owned();
        config.destination.set_port(PORT);
        let error = net.a.run(|| Run::start(&config)).unwrap().unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    }
}

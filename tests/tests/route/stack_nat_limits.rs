//! What the program leaves to the stack although its connection is established: zones of connection
//! tracking, and ICMP.

use std::time::Duration;

use kernel::KernelRuntime;
use lab::Capture;
use lab::frame::Flow;
use spec::Verdict;
use sys::net::TrackedConnection;
use xway_tests::bpf::router::{A, B0, B1, C, Forward, Port, side};
use xway_tests::nft;
use xway_tests::stage::PATIENCE;

use crate::quote::{is_error, message};
use crate::stack_nat::{ACK, LIBERAL, Net, PAIRS, RULES, address, connect, tracking};

const ZONES: &str = "\
table inet zones {
  chain pre { type filter hook prerouting priority raw; jump own; }
  chain own { iifname { \"eth0\", \"eth1\" } ct zone set 5; }
}
";

#[test]
fn start_refuses_rules_that_set_zones() {
    let net = Net::new(RULES);
    net.net.b.set_sysctl(LIBERAL, "1").unwrap();
    let refused = |place: &str| {
        let text = net.forward(&["--conntrack", "--past-firewall"]).error();
        assert!(text.contains("zones") && text.contains(&format!("\n  {place}\n")), "{text}");
    };
    nft::run(&net.net.b, &["-f", "-"], ZONES).unwrap();
    refused("inet zones own");
    nft::run(&net.net.b, &["delete", "table", "inet", "zones"], "").unwrap();
    let run = |tool: &str, words: &str| {
        let mut command = net.net.b.command(tool).unwrap();
        let output = command.args(words.split(' ')).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    for (tool, place) in [
        ("iptables-nft", "ip raw PREROUTING"),
        ("iptables-legacy", "iptables raw"),
        ("ip6tables-legacy", "ip6tables raw"),
    ] {
        run(tool, "-t raw -A PREROUTING -j CT --notrack");
        run(tool, "-t raw -A PREROUTING -i eth0 -j CT --zone 7");
        refused(place);
        run(tool, "-t raw -F");
    }
    net.forward(&["--conntrack", "--past-firewall"]).ended(0);
}

/// The program finds entries of the default zone alone.
#[test]
fn connections_of_another_zone_are_not_found() {
    let mut forward = Forward::<KernelRuntime>::configured(&tracking(), &[]);
    nft::run(&forward.site.net.b, &["-f", "-"], RULES).unwrap();
    nft::run(&forward.site.net.b, &["-f", "-"], ZONES).unwrap();
    let (to, at) = (address(PAIRS[0].0, 80), address(PAIRS[0].1, 8080));
    let (client, server) = connect(&forward.site.net, to, at);
    let client = client.local_addr().unwrap().port();
    let masqueraded = server.peer_addr().unwrap().port();
    let request = Flow::new(side(A, "10.0.1.2", client), side(B0, "10.0.1.1", 80));
    let reply = Flow::new(side(C, "10.0.2.2", 8080), side(B1, "10.0.2.1", masqueraded));
    for (port, flow) in [(Port::Eth0, request), (Port::Eth1, reply)] {
        let packet = flow.tcp(ACK, 7, b"text").unwrap();
        let judgement = forward.judge(port, &packet);
        let found = (judgement.verdict, &*judgement.reason);
        assert_eq!(found, (Verdict::Pass, "not-established"), "{port:?}");
        assert_eq!(judgement.packet, packet, "{port:?}");
    }
}

/// Errors about established connections, from hops on both sides: the stack translates them, and
/// ignores forged ones.
#[test]
fn errors_about_connections_are_the_stacks() {
    let net = Net::translating(RULES);
    let [near, far] = [&net.net.a, &net.net.c].map(|host| Capture::open(host, "eth0").unwrap());
    for ((router, server), (client, outer, hop_a, hop_c)) in PAIRS.into_iter().zip([
        ("10.0.1.2", "10.0.2.1", "10.0.1.9", "10.0.2.9"),
        ("fd00:0:0:1::2", "fd00:0:0:2::1", "fd00:0:0:1::9", "fd00:0:0:2::9"),
    ]) {
        let (to, at) = (address(router, 80), address(server, 8080));
        let (connected, accepted) = connect(&net.net, to, at);
        let [own, masqueraded] = [connected.local_addr(), accepted.peer_addr()];
        let [own, masqueraded] = [own, masqueraded].map(|it| it.unwrap().port());
        let [router, server] = [to, at].map(|it| it.ip().to_string());
        let flow = |from, to| Flow::new(from, to).ttl(63);
        let sent = flow(side(B1, outer, masqueraded), side(C, &server, 8080));
        let asked = flow(side(A, client, own), side(B0, &router, 80));
        let replied = flow(side(B0, &router, 80), side(A, client, own));
        let answered = flow(side(C, &server, 8080), side(B1, outer, masqueraded));
        let kind = if client.contains(':') { 3 } else { 11 };
        let error = |from, to, quote: &Flow| {
            let quote = quote.tcp(ACK, 7, b"text").unwrap();
            message(&Flow::new(from, to), kind, 0, 0, &quote[14..])
        };
        let quotes = |frame: &[u8], flow: &Flow| {
            let packet = flow.tcp(ACK, 7, b"text").unwrap();
            is_error(frame) && frame.ends_with(&packet[14..])
        };
        let before = net.packets("not-established");
        far.send(&error(side(C, hop_c, 0), side(B1, outer, 0), &sent)).unwrap();
        near.next(PATIENCE, |frame| quotes(frame, &asked)).expect("an error about a request");
        near.send(&error(side(A, hop_a, 0), side(B0, &router, 0), &replied)).unwrap();
        far.next(PATIENCE, |frame| quotes(frame, &answered)).expect("an error about a reply");
        assert_eq!(net.packets("not-established") - before, 2);

        let entries = |net: &Net| {
            let mut all = net.entries();
            all.iter_mut().for_each(|entry| entry.timeout_s = 0);
            all.sort_by_key(|entry: &TrackedConnection| entry.tuples[0]);
            all
        };
        let before = entries(&net);
        let other = flow(side(B1, outer, masqueraded ^ 1), side(C, &server, 8080));
        for forged in [
            error(side(C, hop_c, 0), side(B1, outer, 0), &other),
            error(side(C, hop_c, 0), side(B1, client, 0), &sent),
            error(side(C, hop_c, 0), side(B1, outer, 0), &sent)[..70].to_vec(),
        ] {
            far.send(&forged).unwrap();
        }
        let quiet = Duration::from_millis(200);
        let arrived = near.all(quiet, 1, |frame| quotes(frame, &asked)).unwrap();
        assert!(arrived.is_empty(), "{arrived:02x?}");
        assert_eq!(entries(&net), before);
    }
}

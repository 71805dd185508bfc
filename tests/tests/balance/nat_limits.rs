//! Translation where the program does not know all: a next hop without a MAC address, and the time
//! that another processor has.

use std::net::IpAddr;

use lab::frame::check;
use spec::Verdict;
use xway_tests::bpf::balancer::Balanced;
use xway_tests::stories;

use super::delivery::client;
use super::nat::{
    ACK, Ends, OPEN, PROTOCOLS, SERVICES, SYN, age, balancer, change_cells, newest, open, others,
    outcome, reply, request, returned, sent,
};

stories! {
    a_clock_that_was_read_before_expires_nothing
    answers_whose_next_hop_is_unknown_go_to_the_stack
}

/// Another processor may have used an entry in a unit of time that a packet does not know yet.
fn a_clock_that_was_read_before_expires_nothing<R: Balanced>() {
    let mut balancer = balancer::<R>();
    let got = open(&mut balancer, SERVICES[0], 8100);
    let now = newest(&balancer);
    change_cells(&balancer, |cell| others(cell, OPEN, now));
    // Later by three units: the next packets do not know the second half of them.
    age(&balancer, 3_u64.wrapping_neg());
    for port in 8101..8120 {
        let judgement = balancer.judge(&request(SERVICES[0], "tcp", port));
        assert_eq!(outcome(&judgement), (Verdict::Drop, "nat-full"), "no entry expired");
    }
    returned(&mut balancer, &Ends::of(&got).back().tcp(ACK, 1, b"").unwrap());
    let known = sent(&mut balancer, &client(SERVICES[0], 8100).tcp(ACK, 9, b"").unwrap());
    assert_eq!(Ends::of(&known), Ends::of(&got));
}

/// Translated, and with the TTL that they came with, because the stack lowers it.
fn answers_whose_next_hop_is_unknown_go_to_the_stack<R: Balanced>() {
    let mut balancer = balancer::<R>();
    for (service, ttl) in SERVICES.into_iter().zip([22, 21]) {
        for protocol in PROTOCOLS {
            let mut flow = client(service, 8200);
            flow.source.ip = match flow.source.ip {
                IpAddr::V4(_) => "10.0.1.77".parse().unwrap(),
                IpAddr::V6(_) => "fd00:0:0:1::77".parse().unwrap(),
            };
            let packet = match protocol {
                "tcp" => flow.tcp(SYN, 7, b""),
                "udp" => flow.udp(b"odd"),
                _ => flow.ping(8200, 2, b"payload"),
            };
            let packet = packet.unwrap();
            let back = reply(&sent(&mut balancer, &packet), protocol);
            let judgement = balancer.judge_reply(&back);
            let name = format!("{protocol} to {service}");
            assert_eq!(outcome(&judgement), (Verdict::Pass, "returned-by-stack"), "{name}");
            let answer = judgement.packet;
            assert_eq!(check(&answer), Ok(()), "{name}");
            let (was, is) = (Ends::of(&packet), Ends::of(&answer));
            assert_eq!((is.from, is.to), (was.to, was.from), "{name}");
            assert_eq!(answer[ttl], back[ttl], "{name}");
            assert_eq!(answer[..14], back[..14], "{name}: to this host");
        }
    }
}

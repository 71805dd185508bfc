//! Errors about translated packets that the program does not send, and those without replies.

use lab::frame::Flow;
use spec::Verdict;
use xway_tests::bpf::router::{A, B0, Forward, Port, Routed, from_a, side};
use xway_tests::stories;

use super::forged::is_left;
use super::{CHANGES, FAMILIES, translating};
use crate::quote::repair;

stories! {
    errors_that_the_program_does_not_send
    without_replies_only_their_errors_are_translated
}

fn errors_that_the_program_does_not_send<R: Routed>() {
    let mut silent = Forward::<R>::configured(&translating(true, false), &CHANGES);
    let mut forward = Forward::<R>::configured(&translating(true, true), &CHANGES);
    for family in FAMILIES {
        let [request, _, reply, _] = family.flows(family.service, 1234, 5678);
        let unknown = if family.is_ipv6() { "fd00:0:0:1::99" } else { "10.0.1.99" };
        let stranger =
            |port, vip: &str| Flow::new(side(A, unknown, 4000), side(B0, vip, port)).clone();
        let (expired, large) = (request.clone().ttl(1).udp(b"x"), request.udp_of_length(1315));
        let closed = from_a(family.closed, 7).udp(b"x").unwrap();
        for (name, packet) in [("large", large.unwrap()), ("closed", closed)] {
            let judgement = silent.judge(Port::Eth0, &packet);
            let found = (judgement.verdict, &*judgement.reason);
            assert_eq!(found, (Verdict::Drop, "unanswerable"), "{name}");
        }
        let unchanged = [
            (Port::Eth0, "ttl-expired", expired),
            (Port::Eth1, "ttl-expired", reply.clone().ttl(1).udp(b"x")),
            (Port::Eth1, "too-big", reply.udp_of_length(1515)),
        ];
        for (port, reason, packet) in unchanged {
            let packet = packet.unwrap();
            let judgement = silent.judge(port, &packet);
            assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Pass, reason));
            assert_eq!(judgement.packet, packet, "{reason}: as its sender sent it");
        }
        // The same without a way to answer.
        let packet = stranger(1234, family.service).ttl(1).udp(b"x").unwrap();
        let judgement = forward.judge(Port::Eth0, &packet);
        assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Pass, "ttl-expired"));
        assert_eq!(judgement.packet, packet);
        let packet = stranger(1234, family.service).udp_of_length(1315).unwrap();
        let judgement = forward.judge(Port::Eth0, &packet);
        assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Drop, "unanswerable"));
    }
    // The stack fragments what its sender permits to.
    let mut packet = from_a("10.1.0.2", 1234).udp_of_length(1315).unwrap();
    let mut sent = from_a("10.0.2.2", 5678).udp_of_length(1315).unwrap();
    for frame in [&mut packet, &mut sent] {
        frame[20] = 0;
        repair(frame);
    }
    for one in [&mut silent, &mut forward] {
        let judgement = one.judge(Port::Eth0, &packet);
        assert_eq!((judgement.verdict, &*judgement.reason), (Verdict::Pass, "too-big"));
        assert_eq!(packet::hex(&judgement.packet), packet::hex(&sent));
    }
}

/// Which requests were translated is not known then; replies are what the service's address sends.
fn without_replies_only_their_errors_are_translated<R: Routed>() {
    let mut forward = Forward::<R>::with(&translating(false, true));
    let mut both = Forward::<R>::with(&translating(true, true));
    for (name, port, packet) in FAMILIES.iter().flat_map(|family| family.errors_from_beyond()) {
        if port == Port::Eth1 {
            is_left(&mut forward, &name, port, &packet);
        } else {
            let [one, other] = [forward.judge(port, &packet), both.judge(port, &packet)];
            assert_eq!(packet::hex(&one.packet), packet::hex(&other.packet), "{name}");
        }
    }
}

//! Answers to the health checks of a balancer.

use std::time::Duration;

use functions::balancer::health::{Bytes, Check, Ends, Health, Http, Probe, Received, Udp};

/// Any bytes as a packet that may answer a check: each kind of check gets it twice, as one of its
/// own, and sends only packets that are read again.
pub fn answer(bytes: &[u8]) {
    let Some(received) = Received::read(bytes) else { return };
    let Some((_, own)) = received.key() else { return };
    let ends = Ends { own: received.to, service: received.from };
    let checks = [
        Check::Tcp,
        Check::Http(Http::default()),
        Check::Udp(Udp { send: Bytes(b"ping".to_vec()), expect: Bytes(b"pong".to_vec()) }),
        Check::Icmp,
    ];
    for check in checks {
        let health = Health::new(check);
        // A port of the service that is met, and a token that is.
        for (port, token) in [(80, 0), (80, 0x0807_0605_0403_0201)] {
            let mut probe = Probe::new(&health, ends, (own, port), token, Duration::ZERO);
            let mut sent = probe.tick(Duration::ZERO).send;
            for _ in 0..2 {
                sent.extend(probe.receive(&received).send);
            }
            sent.extend(probe.tick(probe.deadline()).send);
            for packet in sent {
                assert!(packet.len() < 2048, "{} bytes", packet.len());
                let is_request = matches!(health.check, Check::Icmp);
                assert!(is_request || Received::read(&packet).is_some(), "{packet:x?}");
            }
        }
    }
}

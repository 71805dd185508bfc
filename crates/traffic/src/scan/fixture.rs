//! Frames for tests.

use crate::stream::{Quick, QuickProtocol, Value};

pub const FAMILIES: [bool; 2] = [false, true];
pub const PROTOCOLS: [QuickProtocol; 3] =
    [QuickProtocol::TcpSyn, QuickProtocol::Udp, QuickProtocol::Icmp];

/// A frame with a source and any destination.
pub fn frame(protocol: QuickProtocol, is_ipv6: bool) -> Vec<u8> {
    let (src, dst) = match is_ipv6 {
        true => ("2001:db8:9::1", "2001:db8:9::2"),
        false => ("10.9.0.1", "10.9.0.2"),
    };
    let has_ports = protocol != QuickProtocol::Icmp;
    let port = has_ports.then(|| Value::from(9));
    let quick = Quick {
        src: Some(src.into()),
        dst: Some(dst.into()),
        src_mac: Some("02:00:00:00:00:01".into()),
        dst_mac: Some("02:00:00:00:00:02".into()),
        sport: port.clone(),
        dport: port,
        ..Quick::new(protocol)
    };
    quick.stream().template(0, 1500).unwrap().bytes
}

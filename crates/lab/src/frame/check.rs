//! Are the checksums of a frame right? By the definition, not by what a driver says.

use packet::checksum::{is_valid, sum};
use packet::{IpPacket, IpProtocol, Limits};

/// Checks the IPv4 header's and the transport's checksum. A UDP checksum of zero over IPv4 means
/// that there is none, which is right.
///
/// # Errors
/// Which one is wrong, or that the frame is none whose checksums are known.
pub fn check(frame: &[u8]) -> Result<(), String> {
    let found = IpPacket::find(frame, Limits::default()).ok();
    let known = found.filter(|ip| !ip.fragment.is_later() && ip.is_destination_final);
    let ip = known.ok_or("no IPv4 or IPv6 packet")?;
    if !ip.is_ipv6 && !is_valid(sum(&frame[ip.network..ip.transport])) {
        return Err("IPv4 header checksum".into());
    }
    let at = ip.checksum().ok_or("unknown transport protocol")?;
    if at + 2 > ip.end {
        return Err("truncated transport header".into());
    }
    let absent = frame[at..at + 2] == [0, 0];
    if ip.protocol == IpProtocol::UDP && absent {
        return if ip.is_ipv6 { Err("no UDP checksum over IPv6".into()) } else { Ok(()) };
    }
    let transport = &frame[ip.transport..ip.end];
    let pseudo = ip.pseudo_header(frame, transport.len()).unwrap_or_default();
    if !is_valid(pseudo + sum(transport)) {
        return Err(format!("checksum of protocol {}", ip.protocol));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Flow, Side};
    use super::*;

    #[test]
    fn one_wrong_bit_is_found_anywhere() {
        for (from, to) in [("10.0.0.3", "10.0.0.1"), ("fd00::3", "fd00::1")] {
            let from = Side::new("02:78:77:00:00:03", from, 4000).unwrap();
            let to = Side::new("02:78:77:00:00:01", to, 7).unwrap();
            let frame = Flow::new(from, to).udp(b"payload").unwrap();
            let ip = IpPacket::find(&frame, Limits::default()).unwrap();
            for at in ip.transport..ip.end {
                let mut wrong = frame.clone();
                wrong[at] ^= 0x10;
                assert!(check(&wrong).is_err(), "byte {at}");
            }
        }
    }

    #[test]
    fn no_udp_checksum_is_right_over_ipv4_only() {
        for (from, to, right) in [("10.0.0.3", "10.0.0.1", true), ("fd00::3", "fd00::1", false)] {
            let from = Side::new("02:78:77:00:00:03", from, 4000).unwrap();
            let to = Side::new("02:78:77:00:00:01", to, 7).unwrap();
            let mut frame = Flow::new(from, to).udp(b"").unwrap();
            let ip = IpPacket::find(&frame, Limits::default()).unwrap();
            let at = ip.checksum().unwrap();
            frame[at..at + 2].fill(0);
            assert_eq!(check(&frame).is_ok(), right);
        }
        assert!(check(&[0; 60]).is_err());
    }
}

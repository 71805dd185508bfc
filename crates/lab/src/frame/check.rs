//! Verifies the checksums of a frame by computing them, independently of any driver.

use packet::checksum::{is_valid, sum};
use packet::{IpPacket, IpProtocol, Limits};

/// Why the checksums of a frame are not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChecksumError {
    /// Also malformed packets, later fragments and unfinished source routes.
    #[error("no IPv4 or IPv6 packet whose checksums can be computed")]
    NotIp,
    #[error("the IPv4 header checksum is wrong")]
    Ipv4Header,
    #[error("unknown transport protocol")]
    UnknownTransport,
    #[error("the transport header is truncated")]
    Truncated,
    /// IPv6 requires the UDP checksum.
    #[error("the UDP checksum over IPv6 is missing")]
    MissingUdp,
    #[error("the {0} checksum is wrong")]
    Transport(IpProtocol),
}

/// Checks the IPv4 header's and the transport's checksum. A UDP checksum of zero over IPv4 means
/// that the sender computed none, which is valid.
///
/// # Errors
/// A checksum is wrong or missing, or the frame has none that can be computed.
pub fn check(frame: &[u8]) -> Result<(), ChecksumError> {
    let found = IpPacket::find(frame, Limits::default()).ok();
    let known = found.filter(|ip| !ip.fragment.is_later() && ip.is_destination_final);
    let ip = known.ok_or(ChecksumError::NotIp)?;
    if !ip.is_ipv6 && !is_valid(sum(&frame[ip.network..ip.transport])) {
        return Err(ChecksumError::Ipv4Header);
    }
    let at = ip.checksum().ok_or(ChecksumError::UnknownTransport)?;
    if at + 2 > ip.end {
        return Err(ChecksumError::Truncated);
    }
    let absent = frame[at..at + 2] == [0, 0];
    if ip.protocol == IpProtocol::UDP && absent {
        return if ip.is_ipv6 { Err(ChecksumError::MissingUdp) } else { Ok(()) };
    }
    let transport = &frame[ip.transport..ip.end];
    let pseudo = ip.pseudo_header(frame, transport.len()).unwrap_or_default();
    if !is_valid(pseudo + sum(transport)) {
        return Err(ChecksumError::Transport(ip.protocol));
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
                let found = check(&wrong);
                assert!(
                    matches!(
                        found,
                        Err(ChecksumError::Transport(IpProtocol::UDP) | ChecksumError::MissingUdp)
                    ),
                    "byte {at}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn no_udp_checksum_is_right_over_ipv4_only() {
        let missing = Err(ChecksumError::MissingUdp);
        for (from, to, expected) in
            [("10.0.0.3", "10.0.0.1", Ok(())), ("fd00::3", "fd00::1", missing)]
        {
            let from = Side::new("02:78:77:00:00:03", from, 4000).unwrap();
            let to = Side::new("02:78:77:00:00:01", to, 7).unwrap();
            let mut frame = Flow::new(from, to).udp(b"").unwrap();
            let ip = IpPacket::find(&frame, Limits::default()).unwrap();
            let at = ip.checksum().unwrap();
            frame[at..at + 2].fill(0);
            assert_eq!(check(&frame), expected);
        }
        assert_eq!(check(&[0; 60]), Err(ChecksumError::NotIp));
    }
}

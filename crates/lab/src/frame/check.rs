//! Are the checksums of a frame right? By the definition, not by what a driver says.

use super::layout::{ICMP, Layout, UDP};

/// Checks the IPv4 header's and the transport's checksum. A UDP checksum of zero over IPv4 means
/// that there is none, which is right.
///
/// # Errors
/// Which one is wrong, or that the frame is none whose checksums are known.
pub fn check(frame: &[u8]) -> Result<(), String> {
    let layout = Layout::of(frame).ok_or("no IPv4 or IPv6 packet")?;
    if !layout.is_ipv6 && folded(sum(&frame[layout.network..layout.transport])) != 0xffff {
        return Err("IPv4 header checksum".into());
    }
    let at = layout.checksum().ok_or("unknown transport protocol")?;
    let transport = &frame[layout.transport..layout.end];
    if at + 2 > layout.end {
        return Err("truncated transport header".into());
    }
    let absent = frame[at..at + 2] == [0, 0];
    if layout.protocol == UDP && absent {
        return if layout.is_ipv6 { Err("no UDP checksum over IPv6".into()) } else { Ok(()) };
    }
    if folded(pseudo_header(frame, &layout) + sum(transport)) != 0xffff {
        return Err(format!("checksum of protocol {}", layout.protocol));
    }
    Ok(())
}

/// Addresses, length and protocol; ICMP over IPv4 has none.
fn pseudo_header(frame: &[u8], layout: &Layout) -> u64 {
    if layout.protocol == ICMP {
        return 0;
    }
    let (from, to) = if layout.is_ipv6 { (8, 40) } else { (12, 20) };
    let addresses = sum(&frame[layout.network + from..layout.network + to]);
    addresses + (layout.end - layout.transport) as u64 + u64::from(layout.protocol)
}

/// Of 16-bit words in network order, an odd byte filled up with zero.
fn sum(bytes: &[u8]) -> u64 {
    bytes
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0)))
        .sum()
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
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
            let layout = Layout::of(&frame).unwrap();
            for at in layout.transport..layout.end {
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
            let at = Layout::of(&frame).unwrap().checksum().unwrap();
            frame[at..at + 2].fill(0);
            assert_eq!(check(&frame).is_ok(), right);
        }
        assert!(check(&[0; 60]).is_err());
    }
}

//! Where in a frame its headers are.

/// Offsets of a frame with IPv4, or IPv6 without extension headers, behind any number of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub network: usize,
    pub transport: usize,
    /// Behind the last byte that the network header counts; padding follows.
    pub end: usize,
    pub is_ipv6: bool,
    /// 6 TCP, 17 UDP, 1 ICMP, 58 ICMPv6.
    pub protocol: u8,
}

impl Layout {
    /// `None` for anything else, for fragments behind the first and for truncated frames.
    pub fn of(frame: &[u8]) -> Option<Self> {
        let mut at = 12;
        while matches!(half(frame, at)?, 0x8100 | 0x88a8) {
            at += 4;
        }
        let network = at + 2;
        match half(frame, at)? {
            0x0800 => Self::of_ipv4(frame, network),
            0x86dd => Self::of_ipv6(frame, network),
            _ => None,
        }
    }

    /// Where the transport's payload begins; `None` for protocols without one that is known.
    pub fn payload(&self, frame: &[u8]) -> Option<usize> {
        match self.protocol {
            UDP | ICMP | ICMPV6 => Some(self.transport + 8),
            TCP => {
                let words = frame.get(self.transport + 12)? >> 4;
                Some(self.transport + usize::from(words) * 4)
            }
            _ => None,
        }
    }

    /// Where the transport's checksum is.
    pub fn checksum(&self) -> Option<usize> {
        match self.protocol {
            UDP => Some(self.transport + 6),
            TCP => Some(self.transport + 16),
            ICMP | ICMPV6 => Some(self.transport + 2),
            _ => None,
        }
    }

    fn of_ipv4(frame: &[u8], network: usize) -> Option<Self> {
        let header = usize::from(frame.get(network)? & 0x0f) * 4;
        let end = network + usize::from(half(frame, network + 2)?);
        let first = half(frame, network + 6)? & 0x1fff == 0;
        let transport = network + header;
        let whole = header >= 20 && transport <= end && end <= frame.len() && first;
        let protocol = *frame.get(network + 9)?;
        whole.then_some(Self { network, transport, end, is_ipv6: false, protocol })
    }

    fn of_ipv6(frame: &[u8], network: usize) -> Option<Self> {
        let transport = network + 40;
        let end = transport + usize::from(half(frame, network + 4)?);
        let protocol = *frame.get(network + 6)?;
        (end <= frame.len()).then_some(Self { network, transport, end, is_ipv6: true, protocol })
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_frames_have_no_layout() {
        let mut frame = vec![0; 14];
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0; 8]);
        let layout = Layout::of(&frame).unwrap();
        assert_eq!((layout.network, layout.transport, layout.end), (14, 34, 42));
        for length in 0..frame.len() {
            assert_eq!(Layout::of(&frame[..length]), None, "{length} bytes");
        }
        for (at, value) in [(14, 0x44), (17, 15), (21, 1), (12, 0x09)] {
            let mut changed = frame.clone();
            changed[at] = value;
            assert_eq!(Layout::of(&changed), None, "byte {at}");
        }
    }
}

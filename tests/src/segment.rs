//! TCP segments byte by byte, with the defects that a test needs.
//!
//! Rule: everything is correct unless a field is set, also the checksums.

use std::net::{IpAddr, SocketAddr};

use packet::{IpProtocol, Mac, checksum};

/// One segment without padding.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Destination, then source.
    pub macs: [Mac; 2],
    pub from: SocketAddr,
    pub to: SocketAddr,
    pub flags: u8,
    pub sequence: u32,
    /// Options of an IPv4 header in whole words, or IPv6 extension headers, of which the first is
    /// of destination options and the last one names TCP.
    pub ip_options: Vec<u8>,
    /// In whole words.
    pub tcp_options: Vec<u8>,
    pub payload: Vec<u8>,
}

pub const SYN: u8 = 0x02;
pub const ACK: u8 = 0x10;
const TCP: u8 = IpProtocol::TCP.0;
const DESTINATION_OPTIONS: u8 = IpProtocol::DESTINATION_OPTIONS.0;

impl Segment {
    /// A connection request without options.
    pub fn syn(macs: [Mac; 2], from: SocketAddr, to: SocketAddr) -> Self {
        let none = Vec::new;
        let (ip_options, tcp_options, payload) = (none(), none(), none());
        Self { macs, from, to, flags: SYN, sequence: 1, ip_options, tcp_options, payload }
    }

    pub fn frame(&self) -> Vec<u8> {
        let tcp = self.tcp();
        let mut frame = [self.macs[0].0, self.macs[1].0].concat();
        match (self.from.ip(), self.to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let words = 5 + self.ip_options.len() / 4;
                let mut ip = vec![0x40 | words as u8, 0];
                ip.extend(((words * 4 + tcp.len()) as u16).to_be_bytes());
                ip.extend([0, 0, 0, 0, 64, TCP, 0, 0]);
                ip.extend([from.octets(), to.octets()].concat());
                ip.extend(&self.ip_options);
                let sum = checksum(&ip);
                ip[10..12].copy_from_slice(&sum);
                frame.extend([0x08, 0x00]);
                frame.extend(ip);
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let next = if self.ip_options.is_empty() { TCP } else { DESTINATION_OPTIONS };
                frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
                frame.extend(((self.ip_options.len() + tcp.len()) as u16).to_be_bytes());
                frame.extend([next, 64]);
                frame.extend([from.octets(), to.octets()].concat());
                frame.extend(&self.ip_options);
            }
            (from, to) => panic!("from {from} to {to}: two families"),
        }
        frame.extend(tcp);
        frame
    }

    /// The frame with a bit of TCP's checksum inverted.
    pub fn with_wrong_checksum(&self) -> Vec<u8> {
        let mut frame = self.frame();
        let at = frame.len() - self.tcp().len() + 16;
        frame[at] ^= 0x10;
        frame
    }

    /// The frame of an IPv4 segment without options, split after `split` bytes of TCP, a multiple
    /// of eight.
    pub fn fragments(&self, split: usize) -> [Vec<u8>; 2] {
        const HEADERS: usize = 14 + 20;
        const MORE: u16 = 0x2000;
        let frame = self.frame();
        let (start, end) = frame[HEADERS..].split_at(split);
        let part = |field: u16, bytes: &[u8]| {
            let mut part = [&frame[..HEADERS], bytes].concat();
            part[16..18].copy_from_slice(&(20 + bytes.len() as u16).to_be_bytes());
            part[18..20].copy_from_slice(&(self.sequence as u16).to_be_bytes());
            part[20..22].copy_from_slice(&field.to_be_bytes());
            part[24..26].fill(0);
            let sum = checksum(&part[14..HEADERS]);
            part[24..26].copy_from_slice(&sum);
            part
        };
        [part(MORE, start), part(split as u16 / 8, end)]
    }

    /// Header, options and payload.
    fn tcp(&self) -> Vec<u8> {
        let words = 5 + self.tcp_options.len() / 4;
        let mut tcp = [self.from.port().to_be_bytes(), self.to.port().to_be_bytes()].concat();
        tcp.extend(self.sequence.to_be_bytes());
        tcp.extend([0, 0, 0, 1, (words as u8) << 4, self.flags, 0xfa, 0xf0, 0, 0, 0, 0]);
        tcp.extend(&self.tcp_options);
        tcp.extend(&self.payload);
        let mut covered = match (self.from.ip(), self.to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => [from.octets(), to.octets()].concat(),
            (IpAddr::V6(from), IpAddr::V6(to)) => [from.octets(), to.octets()].concat(),
            _ => Vec::new(),
        };
        covered.extend((tcp.len() as u32).to_be_bytes());
        covered.extend([0, 0, 0, TCP]);
        covered.extend(&tcp);
        let sum = checksum(&covered);
        tcp[16..18].copy_from_slice(&sum);
        tcp
    }
}

/// The Internet checksum (RFC 1071).
pub fn checksum(bytes: &[u8]) -> [u8; 2] {
    (!checksum::fold(checksum::sum(bytes))).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_right_until_they_are_made_wrong() {
        for (from, to) in [("10.0.0.3:1", "10.0.0.1:80"), ("[fd00::3]:1", "[fd00::1]:80")] {
            let mac = Mac([2, 0, 0, 0, 0, 1]);
            let mut syn = Segment::syn([mac; 2], from.parse().unwrap(), to.parse().unwrap());
            syn.tcp_options = vec![2, 4, 5, 180];
            syn.payload = b"odd".to_vec();
            assert_eq!(lab::frame::check(&syn.frame()), Ok(()), "{from}");
            assert!(lab::frame::check(&syn.with_wrong_checksum()).is_err(), "{from}");
        }
    }
}

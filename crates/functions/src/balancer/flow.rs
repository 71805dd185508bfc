//! `Flow`: a flow from a client to a service, as text and as the program hashes it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use packet::ParseError;

use super::abi;
use super::config::Protocol;
use super::service::{mapped, number};

/// A flow from a client to a service. As text: `tcp 198.51.100.7:40000 192.0.2.1:80`; the number
/// of the client is the identifier for `icmp`, whose destination has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub protocol: Protocol,
    pub client: SocketAddr,
    /// Port 0 for echo requests.
    pub service: SocketAddr,
}

/// What the hash of a flow is made of, as it is in packets.
pub(super) struct Fields {
    /// IPv4 addresses are mapped.
    pub source: [u8; 16],
    pub dest: [u8; 16],
    /// Both, that of the source first; for echo requests the identifier and 0.
    pub ports: [u8; 4],
    /// ICMP for echo requests of both families.
    pub protocol: u8,
}

impl Fields {
    /// The hash, by the fields that the service selects.
    pub fn hash(&self, service: &abi::Service, seed: &[u64; 6]) -> u64 {
        let (source, dest) = (words(self.source), words(self.dest));
        let ports = u32::from_le_bytes(self.ports) & u32::from_le_bytes(service.ports);
        let fields = [
            source[0] & service.source[0],
            source[1] & service.source[1],
            dest[0] & service.dest,
            dest[1] & service.dest,
            u64::from(ports) | u64::from(self.protocol) << 32,
        ];
        let [a, b, c, d, e] = std::array::from_fn(|n| fields[n].wrapping_add(seed[n]));
        let sum = a.wrapping_mul(b).wrapping_add(c.wrapping_mul(d));
        let sum = sum.wrapping_add(e.wrapping_mul(seed[5]));
        let mixed = (sum ^ sum >> 32).wrapping_mul(MIX);
        mixed ^ mixed >> 32
    }
}

impl Flow {
    /// Its hash, by the fields that the service selects.
    pub(super) fn hash(&self, service: &abi::Service, seed: &[u64; 6]) -> u64 {
        let [a, b] = self.client.port().to_be_bytes();
        let [c, d] = self.service.port().to_be_bytes();
        let (source, dest) = (mapped(self.client.ip()), mapped(self.service.ip()));
        let protocol = number(self.protocol).0;
        Fields { source, dest, ports: [a, b, c, d], protocol }.hash(service, seed)
    }
}

/// An address in two words, as they are read from the packet.
pub(super) fn words(bytes: [u8; 16]) -> [u64; 2] {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    [word(0), word(8)]
}

impl FromStr for Flow {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |reason| ParseError::new(text, reason);
        let words: Vec<_> = text.split_whitespace().filter(|word| *word != ">").collect();
        let [protocol, client, service] = words[..] else {
            return Err(wrong(
                "not a protocol, a client and a service: tcp 10.0.0.7:4000 10.1.0.1:80",
            ));
        };
        let protocol = match protocol {
            "tcp" => Protocol::Tcp,
            "udp" => Protocol::Udp,
            "icmp" => Protocol::Icmp,
            _ => return Err(wrong("unknown protocol; expected tcp, udp or icmp")),
        };
        let client = client.parse().map_err(|_| {
            wrong("the client must be an address and a port (icmp: identifier): 10.0.0.7:4000")
        })?;
        let service = match (protocol, service.parse::<IpAddr>()) {
            (Protocol::Icmp, Ok(address)) => SocketAddr::new(address, 0),
            (Protocol::Icmp, Err(_)) => return Err(wrong("the service must be an address")),
            _ => service.parse().map_err(|_| {
                wrong("the service must be an address and a port: [2001:db8::1]:80")
            })?,
        };
        let flow = Self { protocol, client, service };
        if flow.client.is_ipv4() != flow.service.is_ipv4() {
            return Err(wrong("client and service are of different families"));
        }
        Ok(flow)
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, client, service } = self;
        match protocol {
            Protocol::Icmp => write!(f, "{protocol} {client} {}", service.ip()),
            _ => write!(f, "{protocol} {client} {service}"),
        }
    }
}

/// The last factor of the program's hash.
pub(super) const MIX: u64 = 0xd6e8_feb8_6659_fd93;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_text() {
        for text in [
            "tcp 198.51.100.7:40000 192.0.2.1:80",
            "udp [2001:db8::7]:40000 [2001:db8::1]:443",
            "icmp 198.51.100.7:17 192.0.2.1",
        ] {
            assert_eq!(text.parse::<Flow>().unwrap().to_string(), text);
        }
        let arrow: Flow = "tcp 198.51.100.7:4 > 192.0.2.1:80".parse().unwrap();
        assert_eq!(arrow.to_string(), "tcp 198.51.100.7:4 192.0.2.1:80");
        for (text, reason) in [
            ("", "not a protocol, a client and a service"),
            ("tcp 1.2.3.4:5", "not a protocol, a client and a service"),
            ("sctp 1.2.3.4:5 1.2.3.4:5", "expected tcp, udp or icmp"),
            ("tcp 1.2.3.4 1.2.3.4:5", "the client must be an address and a port"),
            ("tcp 1.2.3.4:5 1.2.3.4", "the service must be an address and a port"),
            ("icmp 1.2.3.4:5 1.2.3.4:5", "the service must be an address"),
            ("tcp 1.2.3.4:5 [::1]:5", "different families"),
        ] {
            let error = text.parse::<Flow>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}

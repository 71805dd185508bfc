//! `Cookies`: what probes contain so that their answers are recognized without state.
//!
//! A cookie is a hash of both endpoints under the secret key. An answer is genuine if it returns
//! the part of the cookie that its protocol returns: the sequence number of a SYN, the
//! identification of an echo request, or the source port. A sender who does not see the probes
//! cannot compute it.
//!
//! Bytes that are hashed: the source address as IPv6 address (IPv4 mapped, RFC 4291), the target's
//! address (4 or 16 bytes) and its port, in network order.

use std::net::{IpAddr, SocketAddr};

use packet::SipHash;

use super::Key;
use super::target::number;

/// Computes the cookies of all probes from one address.
#[derive(Clone, Copy, Debug)]
pub struct Cookies {
    /// The hash of the source address, with which that of every probe begins.
    begun: SipHash,
}

/// 64 bits that only the holder of the key can compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie(u64);

impl Cookies {
    pub fn new(key: Key, source: IpAddr) -> Self {
        let mut begun = SipHash::new([key.derive("cookie", 0), key.derive("cookie", 1)]);
        let source = number(source).to_be_bytes();
        source.as_chunks().0.iter().for_each(|word| begun.word(u64::from_le_bytes(*word)));
        Self { begun }
    }

    /// The state of the hash after the source address, from which programs continue: the global
    /// [`BEGUN`], by family. That of the family that is not probed is not read.
    pub(super) fn begun(&self) -> Vec<u8> {
        let state = self.begun.state();
        [state, state].as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The cookie of a probe to `target`; its port is 0 where the protocol has none. The source
    /// port is not hashed, because it is chosen by the cookie.
    pub fn of(&self, target: SocketAddr) -> Cookie {
        let port = target.port().to_be_bytes();
        let mut hash = self.begun;
        match target.ip() {
            IpAddr::V4(address) => {
                let [a, b, c, d] = address.octets();
                Cookie(hash.finish(&[a, b, c, d, port[0], port[1]]))
            }
            IpAddr::V6(address) => {
                let octets = address.octets();
                octets.as_chunks().0.iter().for_each(|word| hash.word(u64::from_le_bytes(*word)));
                Cookie(hash.finish(&port))
            }
        }
    }
}

/// The global variable of both programs.
pub(super) const BEGUN: &str = "scan_begun";

impl Cookie {
    /// All bits.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The sequence number of a SYN.
    pub const fn sequence(self) -> u32 {
        self.0 as u32
    }

    /// The identification of an echo request, or of an IPv4 header.
    pub const fn identification(self) -> u16 {
        (self.0 >> 32) as u16
    }

    /// A number by which the source port is chosen.
    pub const fn port(self) -> u16 {
        (self.0 >> 48) as u16
    }
}

#[cfg(test)]
mod tests {
    use packet::siphash;

    use super::*;

    #[test]
    fn it_is_the_hash_of_the_documented_bytes() {
        let key = Key::from_seed(1);
        let halves = [key.derive("cookie", 0), key.derive("cookie", 1)];
        let mut bytes = vec![0; 10];
        bytes.extend([0xff, 0xff, 10, 0, 0, 1, 192, 0, 2, 7, 0, 80]);
        let cookies = Cookies::new(key, "10.0.0.1".parse().unwrap());
        let cookie = cookies.of("192.0.2.7:80".parse().unwrap());
        assert_eq!(cookie.bits(), siphash(halves, &bytes));

        let source: std::net::Ipv6Addr = "fd00::1".parse().unwrap();
        let target: std::net::Ipv6Addr = "2001:db8::7".parse().unwrap();
        let bytes = [&source.octets()[..], &target.octets()[..], &[1, 187]].concat();
        let cookie = Cookies::new(key, source.into()).of((target, 443).into());
        assert_eq!(cookie.bits(), siphash(halves, &bytes));
    }

    #[test]
    fn its_parts_do_not_overlap() {
        let cookie = Cookie(0x1122_3344_5566_7788);
        assert_eq!(cookie.sequence(), 0x5566_7788);
        assert_eq!((cookie.identification(), cookie.port()), (0x3344, 0x1122));
    }

    #[test]
    fn each_endpoint_and_key_changes_it() {
        let cookie = |seed, source: &str, target: &str| {
            let cookies = Cookies::new(Key::from_seed(seed), source.parse().unwrap());
            cookies.of(target.parse().unwrap()).bits()
        };
        let all = [
            cookie(1, "10.0.0.1", "10.0.0.2:80"),
            cookie(2, "10.0.0.1", "10.0.0.2:80"),
            cookie(1, "10.0.0.3", "10.0.0.2:80"),
            cookie(1, "10.0.0.1", "10.0.0.4:80"),
            cookie(1, "10.0.0.1", "10.0.0.2:81"),
            cookie(1, "10.0.0.1", "[::ffff:10.0.0.2]:80"),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one));
        }
    }
}

//! The Internet checksum: ones' complement sums of 16-bit words (RFC 1071), pseudo headers, and
//! incremental updates (RFC 1624).
//!
//! Rule: a sum is an unfolded `u64`, which has room for the words of any packet, so that parts are
//! added with `+` and folded once. Not here: where in a packet a checksum is.

use std::ops::Add;

use super::IpProtocol;

/// Adds the bytes as 16-bit words in network order; a last byte without a partner is padded with
/// zero.
pub fn sum(bytes: &[u8]) -> u64 {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let odd = rest.first().map_or(0, |byte| u64::from(*byte) << 8);
    pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair))).sum::<u64>() + odd
}

/// Folds a sum into 16 bits; its complement is the checksum to send.
pub const fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Whether a sum over everything that a checksum covers, itself included, is right.
pub const fn is_valid(sum: u64) -> bool {
    fold(sum) == 0xffff
}

/// The sum of a pseudo header (RFC 768, RFC 8200 section 8.1): `addresses` are source and
/// destination as they are in the packet, `length` counts the bytes of the transport's header and
/// payload.
pub fn pseudo_header(addresses: &[u8], protocol: IpProtocol, length: usize) -> u64 {
    let length = length as u64;
    sum(addresses) + u64::from(protocol.0) + (length >> 16) + (length & 0xffff)
}

/// The difference that edits of covered bytes make to a checksum (RFC 1624, equation 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Update(u64);

impl Update {
    /// Records that `old` was replaced by `new`: the same even number of bytes, at an even offset
    /// of what the checksum covers.
    pub fn replace(&mut self, old: &[u8], new: &[u8]) {
        let complements = old.as_chunks::<2>().0.iter().map(|pair| !u16::from_be_bytes(*pair));
        self.0 += complements.map(u64::from).sum::<u64>() + sum(new);
    }

    /// Whether nothing was replaced.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The checksum after the edits, from the one before.
    pub const fn apply(self, checksum: u16) -> u16 {
        !fold(!checksum as u64 + self.0)
    }
}

impl Add for Update {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The example of RFC 1071, section 3.
    #[test]
    fn the_example_of_the_rfc() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!((sum(&bytes), fold(sum(&bytes))), (0x2ddf0, 0xddf2));
        assert_eq!(sum(&[1, 2, 3]), 0x0102 + 0x0300);
        assert!(is_valid(sum(&bytes) + u64::from(!0xddf2_u16)));
        assert!(!is_valid(0) && is_valid(0xffff) && is_valid(0x1_fffe));
    }

    /// The example of RFC 1624, section 4, where equation 2 would yield 0xffff.
    #[test]
    fn an_update_keeps_zero() {
        let mut update = Update::default();
        assert!(update.is_empty());
        update.replace(&[0x55, 0x55], &[0x32, 0x85]);
        assert_eq!(update.apply(0xdd2f), 0x0000);
    }

    proptest! {
        #[test]
        fn an_update_equals_a_new_sum(
            mut words in prop::collection::vec(any::<u16>(), 3..40),
            old in any::<u16>(),
            new in any::<u16>(),
        ) {
            // At least one word is not zero, as in every header that has a checksum.
            words[0] |= 1;
            let bytes = |word: u16| {
                let words = words.iter().chain([&word]);
                words.flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>()
            };
            let mut update = Update::default();
            update.replace(&old.to_be_bytes(), &new.to_be_bytes());
            let before = !fold(sum(&bytes(old)));
            prop_assert_eq!(update.apply(before), !fold(sum(&bytes(new))));
        }

        #[test]
        fn pseudo_headers_agree_with_etherparse(
            from in any::<[u8; 4]>(), to in any::<[u8; 4]>(),
            payload in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let udp = etherparse::UdpHeader::with_ipv4_checksum(
                7, 9, &etherparse::Ipv4Header::new(0, 1, etherparse::ip_number::UDP, from, to)
                    .unwrap(), &payload,
            ).unwrap();
            let datagram = [&udp.to_bytes()[..], &payload].concat();
            let addresses = [from, to].concat();
            let total = sum(&datagram) + pseudo_header(&addresses, IpProtocol::UDP, datagram.len());
            prop_assert!(is_valid(total));
        }
    }
}

//! Ids as servers make them, and as balancers read them.

use super::MOST_LENGTH;
use super::aes::{self, RoundKeys};
use super::config::{QuicConfig, ServerId};

impl QuicConfig {
    /// An id that a server makes. The first octet has the length of what follows it, which the
    /// draft leaves to the server. `None` if a length is not that of the configuration.
    ///
    /// ```
    /// use functions::balancer::QuicConfig;
    ///
    /// let config = QuicConfig { config: 0, server_id_length: 3, nonce_length: 4, key: None };
    /// let id = config.id(&[0xc4, 0x60, 0x5e], &[0x45, 0x04, 0xcc, 0x4f]).unwrap();
    /// assert_eq!(id, [0x07, 0xc4, 0x60, 0x5e, 0x45, 0x04, 0xcc, 0x4f]);
    /// assert_eq!(config.server_id(&id).unwrap().0, [0xc4, 0x60, 0x5e]);
    /// ```
    #[must_use]
    pub fn id(&self, server_id: &[u8], nonce: &[u8]) -> Option<Vec<u8>> {
        let is_fitting = server_id.len() == usize::from(self.server_id_length)
            && nonce.len() == usize::from(self.nonce_length)
            && self.length() <= MOST_LENGTH;
        if !is_fitting {
            return None;
        }
        let mut rest = [server_id, nonce].concat();
        if let Some(key) = &self.key {
            let keys = aes::expand(&key.0);
            match <[u8; 16]>::try_from(&rest[..]) {
                Ok(block) => rest = aes::encrypt(&keys, block).to_vec(),
                Err(_) => rest = Halves::split(&rest).passes(&keys, [1, 2, 3, 4]),
            }
        }
        let first = self.config << 5 | self.length() as u8;
        Some([&[first][..], &rest].concat())
    }

    /// The server id in an id; `None` if it is of another configuration, or too short.
    #[must_use]
    pub fn server_id(&self, id: &[u8]) -> Option<ServerId> {
        let (first, rest) = id.split_first()?;
        let mut rest = rest.get(..self.length())?.to_vec();
        if first >> 5 != self.config {
            return None;
        }
        if let Some(key) = &self.key {
            let keys = aes::expand(&key.0);
            match <[u8; 16]>::try_from(&rest[..]) {
                Ok(block) => rest = aes::decrypt(&keys, block).to_vec(),
                Err(_) => rest = Halves::split(&rest).passes(&keys, [4, 3, 2, 1]),
            }
        }
        rest.truncate(self.server_id_length.into());
        Some(ServerId(rest))
    }
}

/// Both halves of an id. If the number of bytes is not even, they share the byte in the middle: its
/// upper bits are the left one's.
struct Halves {
    left: Vec<u8>,
    right: Vec<u8>,
    length: usize,
}

impl Halves {
    fn split(bytes: &[u8]) -> Self {
        let length = bytes.len();
        let half = length.div_ceil(2);
        let halves = (bytes[..half].to_vec(), bytes[length - half..].to_vec());
        let mut halves = Self { left: halves.0, right: halves.1, length };
        halves.clear();
        halves
    }

    /// Clears what is the other half's.
    fn clear(&mut self) {
        if !self.length.is_multiple_of(2) {
            let last = self.left.len() - 1;
            self.left[last] &= 0xf0;
            self.right[0] &= 0x0f;
        }
    }

    /// Rounds of a Feistel network; those with an odd number change the right half.
    fn passes(mut self, keys: &RoundKeys, numbers: [u8; 4]) -> Vec<u8> {
        for number in numbers {
            let (from, to) = match number % 2 {
                0 => (&self.right, &mut self.left),
                _ => (&self.left, &mut self.right),
            };
            let mut block = [0; 16];
            block[..from.len()].copy_from_slice(from);
            block[14] = self.length as u8;
            block[15] = number;
            for (byte, mask) in to.iter_mut().zip(aes::encrypt(keys, block)) {
                *byte ^= mask;
            }
            self.clear();
        }
        self.join()
    }

    fn join(self) -> Vec<u8> {
        let mut bytes = self.left;
        let mut right = &self.right[..];
        if !self.length.is_multiple_of(2) {
            let middle = bytes.len() - 1;
            bytes[middle] |= right[0];
            right = &right[1..];
        }
        bytes.extend(right);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Key;
    use super::*;

    const KEY: Key = Key(0x8f95_f092_4576_5f80_2569_34e5_0c66_207f_u128.to_be_bytes());

    fn bytes(text: &str) -> Vec<u8> {
        text.parse::<ServerId>().unwrap().0
    }

    /// Appendix B of the draft: number, server id, nonce, id. As printed, the second one lacks a
    /// digit of the nonce, and a digit of the first octet is in the wrong place; the last one has
    /// the first octet of configuration 0. Both are here as the draft's rules give them.
    const VECTORS: [(u8, &str, &str, &str, Option<Key>); 6] = [
        (0, "c4605e", "4504cc4f", "07c4605e4504cc4f", None),
        (1, "350d28b420", "03487d970b", "2a350d28b42003487d970b", None),
        (0, "ed793a", "ee080dbf", "0720b1d07b359d3c", Some(KEY)),
        (1, "ed793a51d49b8f5fab65", "ee080dbf48", "2fcc381bc74cb4fbad2823a3d1f8fed2", Some(KEY)),
        (
            2,
            "ed793a51d49b8f5f",
            "ee080dbf48c0d1e5",
            "504dd2d05a7b0de9b2b9907afb5ecf8cc3",
            Some(KEY),
        ),
        (
            3,
            "ed793a51d49b8f5fab",
            "ee080dbf48c0d1e55d",
            "725779c9cc86beb3a3a4a3ca96fce4bfe0cdbc",
            Some(KEY),
        ),
    ];

    fn config(number: u8, server_id: usize, nonce: usize, key: Option<Key>) -> QuicConfig {
        let (server_id_length, nonce_length) = (server_id as u8, nonce as u8);
        QuicConfig { config: number, server_id_length, nonce_length, key }
    }

    #[test]
    fn vectors_of_the_draft() {
        for (number, server_id, nonce, id, key) in VECTORS {
            let (server_id, nonce, id) = (bytes(server_id), bytes(nonce), bytes(id));
            let config = config(number, server_id.len(), nonce.len(), key);
            assert_eq!(config.id(&server_id, &nonce).unwrap(), id);
            assert_eq!(config.server_id(&id).unwrap().0, server_id);
        }
        // The second one as it is printed.
        let printed = bytes("20a350d28b4203487d970b");
        assert_eq!(config(1, 5, 5, None).server_id(&printed).unwrap().0, bytes("a350d28b42"));
    }

    /// The example of section 5.4.2, with the steps that are printed there.
    #[test]
    fn example_of_the_draft() {
        let key = Key(0xfdf7_26a9_893e_c05c_0632_d395_6680_baf0_u128.to_be_bytes());
        let config = config(0, 3, 4, Some(key));
        let id = config.id(&bytes("31441a"), &bytes("9c69c275")).unwrap();
        assert_eq!(id, bytes("0767947d29be054a"));
    }

    #[test]
    fn ids_of_all_lengths_return() {
        for server_id in 1..=15 {
            for nonce in 4..=19 - server_id {
                for key in [None, Some(KEY)] {
                    let config = config(6, server_id, nonce, key);
                    let plain: Vec<u8> = (0..19_u8).map(|n| n.wrapping_mul(37) ^ 200).collect();
                    let (own, nonce) = (&plain[..server_id], &plain[19 - nonce..]);
                    let mut id = config.id(own, nonce).unwrap();
                    id.push(7);
                    assert_eq!(config.server_id(&id).unwrap().0, own);
                    id.truncate(server_id + nonce.len());
                    assert_eq!(config.server_id(&id), None, "too short");
                    id[0] ^= 0x20;
                    id.push(0);
                    assert_eq!(config.server_id(&id), None, "another configuration");
                }
            }
        }
    }
}

//! `Space`: numbers all targets, without gaps.
//!
//! A [`Block`] is a run of numbers whose addresses are computed. A table has for equal parts of all
//! numbers the block that they begin in, so that few comparisons find the block of a number: in
//! large blocks one, and at most the logarithm of their number.

use std::net::IpAddr;

use super::{address, is_ipv4, number};

/// Addresses whose numbers follow each other: all from `first` on, or the same hosts in a number of
/// subnets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number of its first address.
    pub rank: u128,
    /// Its first address; IPv4 is mapped into IPv6.
    pub first: u128,
    /// Number of hosts in each subnet; 0 where all addresses follow each other.
    pub hosts: u64,
    /// Bits of an address within a subnet.
    pub shift: u32,
}

/// The numbered targets of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    blocks: Vec<Block>,
    /// The block in which a part begins, by the number of the part.
    parts: Vec<u32>,
    /// Bits of a number within a part.
    part_bits: u32,
    len: u128,
    blocked: u128,
}

impl Space {
    /// Numbers the addresses of blocks in their order, each with the number of its addresses.
    /// `blocked` addresses were excluded before. `None` if there are no addresses, or too many.
    pub(super) fn new(blocks: Vec<(Block, u128)>, blocked: u128) -> Option<Self> {
        let mut len = 0_u128;
        let mut numbered = Vec::with_capacity(blocks.len());
        for (block, count) in blocks {
            numbered.push(Block { rank: len, ..block });
            len = len.checked_add(count)?;
        }
        if len == 0 {
            return None;
        }
        let wanted = (numbered.len() as u128 * PARTS_OF_BLOCK).next_power_of_two();
        let bits = (u128::BITS - (len - 1).leading_zeros()).saturating_sub(wanted.trailing_zeros());
        let parts = (0..=(len - 1) >> bits)
            .map(|part| numbered.partition_point(|block| block.rank <= part << bits) as u32 - 1);
        Some(Self { parts: parts.collect(), blocks: numbered, part_bits: bits, len, blocked })
    }

    /// Number of addresses.
    #[allow(clippy::len_without_is_empty, reason = "a space is never empty")]
    pub const fn len(&self) -> u128 {
        self.len
    }

    /// Number of addresses that were named and excluded.
    pub const fn blocked(&self) -> u128 {
        self.blocked
    }

    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The block in which each part of the numbers begins.
    pub fn parts(&self) -> &[u32] {
        &self.parts
    }

    /// Bits of a number within a part.
    pub const fn part_bits(&self) -> u32 {
        self.part_bits
    }

    /// Bytes of its tables.
    pub fn memory(&self) -> u64 {
        (size_of_val(&self.blocks[..]) + size_of_val(&self.parts[..])) as u64
    }

    /// The address with a number.
    ///
    /// # Panics
    /// The number is not less than [`Space::len`].
    pub fn address(&self, rank: u128) -> IpAddr {
        assert!(rank < self.len, "the number is in range");
        let part = (rank >> self.part_bits) as usize;
        let begin = self.parts[part] as usize;
        let end = self.parts.get(part + 1).map_or(self.blocks.len(), |next| *next as usize + 1);
        let later = self.blocks[begin + 1..end.max(begin + 1)].partition_point(|b| b.rank <= rank);
        let block = self.blocks[begin + later];
        address(block.address(rank - block.rank))
    }

    /// The number of an address; `None` if it is not a target.
    pub fn rank(&self, address: IpAddr) -> Option<u128> {
        let wanted = number(address);
        let place = self.blocks.partition_point(|block| block.first <= wanted).checked_sub(1)?;
        let end = self.blocks.get(place + 1).map_or(self.len, |next| next.rank);
        let block = self.blocks[place];
        let offset = block.offset(wanted)?;
        (offset < end - block.rank).then(|| block.rank + offset)
    }

    /// Most targets in a network of IPv4 with 24 bits, or of IPv6 with 48 bits.
    pub fn most_in_network(&self) -> u128 {
        let mut most = 0;
        let (mut network, mut count) = (None, 0);
        for (place, block) in self.blocks.iter().enumerate() {
            let end = self.blocks.get(place + 1).map_or(self.len, |next| next.rank);
            for (of, number) in block.networks(end - block.rank) {
                count = if network == Some(of) { count + number } else { number };
                (network, most) = (Some(of), most.max(count));
            }
        }
        most
    }
}

impl Block {
    /// Address number `offset` of the block.
    fn address(&self, offset: u128) -> u128 {
        if self.hosts == 0 {
            return self.first + offset;
        }
        // A pattern has at most 2^64 addresses.
        let (subnet, host) = (offset as u64 / self.hosts, offset as u64 % self.hosts);
        self.first + (u128::from(subnet) << self.shift) + u128::from(host)
    }

    /// The offset of an address that is not before the first one; `None` for one between subnets.
    fn offset(&self, address: u128) -> Option<u128> {
        let distance = address - self.first;
        if self.hosts == 0 {
            return Some(distance);
        }
        let (subnet, host) = (distance >> self.shift, distance & ((1 << self.shift) - 1));
        let hosts = u128::from(self.hosts);
        (host < hosts).then(|| subnet.saturating_mul(hosts).saturating_add(host))
    }

    /// The first, the second and the last network of `len` addresses, each with the number of its
    /// addresses: those between have as many as the second.
    fn networks(&self, len: u128) -> Vec<(u128, u128)> {
        let bits = if is_ipv4(self.first) { 8 } else { 80 };
        let network = |offset: u128| self.address(offset) >> bits;
        // The number of addresses from `offset` on in its network.
        let count = |offset: u128| {
            let (mut inside, mut outside) = (offset, len);
            while outside - inside > 1 {
                let middle = inside + (outside - inside) / 2;
                match network(middle) == network(offset) {
                    true => inside = middle,
                    false => outside = middle,
                }
            }
            outside - offset
        };
        let mut networks = vec![(network(0), count(0))];
        let second = networks[0].1;
        if second < len {
            networks.push((network(second), count(second)));
        }
        let last = network(len - 1);
        if networks.iter().all(|(of, _)| *of != last) {
            let begin = (0..128).rev().fold(0_u128, |place, bit| {
                let next = place | 1 << bit;
                if next < len && network(next) < last { next } else { place }
            });
            networks.push((last, len - 1 - begin));
        }
        networks
    }
}

/// Parts of the table for each block.
const PARTS_OF_BLOCK: u128 = 4;

#[cfg(test)]
mod tests {
    use super::super::Targets;
    use super::*;

    fn space(texts: &[&str], holes: &[&str]) -> Space {
        let mut targets = Targets::default();
        texts.iter().for_each(|text| targets.add(text).unwrap());
        holes.iter().for_each(|text| targets.exclude(text).unwrap());
        targets.build().unwrap()
    }

    fn all(space: &Space) -> Vec<String> {
        (0..space.len()).map(|rank| space.address(rank).to_string()).collect()
    }

    #[test]
    fn every_address_has_its_number() {
        for (texts, holes) in [
            (&["10.0.0.0/24", "192.168.0.3", "2001:db8::/120"][..], &[][..]),
            (&["10.0.0.0/20"], &["10.0.0.7", "10.0.1.0/24", "10.0.15.255"]),
            (&["2001:db8::/32 subnets /40 hosts ::1-::3"], &["2001:db8:200::/39"]),
            (&["10.0.0.0/8 subnets /16 hosts 0.0.0.9", "10.1.0.0/25"], &["10.3.0.0/16"]),
        ] {
            let space = space(texts, holes);
            let addresses = all(&space);
            let mut sorted = addresses.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len() as u128, space.len(), "{texts:?}");
            for (rank, text) in addresses.iter().enumerate() {
                assert_eq!(space.rank(text.parse().unwrap()), Some(rank as u128), "{text}");
            }
            for hole in holes {
                let first = hole.split('/').next().unwrap().parse().unwrap();
                assert_eq!(space.rank(first), None, "{hole}");
            }
        }
    }

    #[test]
    fn large_patterns_are_cut_where_they_are_excluded() {
        let text = "2001:db8::/32 subnets /56 hosts ::1-::a";
        let whole = space(&[text], &[]);
        assert_eq!(whole.len(), 10 << 24);
        let holes = ["2001:db8:0:100::4-2001:db8:0:100::5", "2001:db8:1::/48", "2001:db8:ff00::8"];
        let cut = space(&[text], &holes);
        assert_eq!(cut.blocked(), 2 + 256 * 10 + 1);
        assert_eq!(cut.len() + cut.blocked(), whole.len());
        for (inside, address) in [
            (true, "2001:db8:0:100::3"),
            (false, "2001:db8:0:100::4"),
            (false, "2001:db8:0:100::5"),
            (true, "2001:db8:0:100::6"),
            (false, "2001:db8:1:ff00::1"),
            (true, "2001:db8:2::1"),
            (false, "2001:db8:2::b"),
            (false, "2001:db8:ff00::8"),
            (true, "2001:db8:ffff:ff00::a"),
        ] {
            let rank = cut.rank(address.parse().unwrap());
            assert_eq!(rank.is_some(), inside, "{address}");
            if let Some(rank) = rank {
                assert_eq!(cut.address(rank).to_string(), address);
            }
        }
    }

    #[test]
    fn many_blocks_are_found_by_parts() {
        let holes: Vec<String> =
            (0..5_000).map(|i| format!("10.{}.{}.0/30", i / 250, i % 250)).collect();
        let holes: Vec<&str> = holes.iter().map(String::as_str).collect();
        let space = space(&["10.0.0.0/8", "2001:db8::/32"], &holes);
        assert_eq!(space.blocked(), 4 * 5_000);
        assert!(space.parts().len() <= 8 * space.blocks().len());
        for rank in
            (0..space.len() - 1).step_by(usize::MAX / 3).take(2).chain([0, 999_999, 3_000_000])
        {
            assert_eq!(space.rank(space.address(rank)), Some(rank));
        }
        let address = "10.19.249.4".parse().unwrap();
        assert_eq!(space.address(space.rank(address).unwrap()), address);
    }

    #[test]
    fn the_most_targets_of_a_network() {
        for (texts, most) in [
            (&["10.0.0.0/8"][..], 256),
            (&["10.0.0.128/25", "10.0.1.0/26"], 128),
            (&["10.0.0.1", "10.0.0.3", "10.0.0.5", "10.0.1.0"], 3),
            (&["10.0.0.250-10.0.3.5"], 256),
            (&["10.0.0.200-10.0.1.9"], 56),
            (&["2001:db8::/32 subnets /56 hosts ::1-::a"], 2560),
            (&["2001:db8::/46"], 1 << 80),
        ] {
            assert_eq!(space(texts, &[]).most_in_network(), most, "{texts:?}");
        }
    }
}

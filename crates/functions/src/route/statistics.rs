//! What the program counts beside packets by reason: frames sent to each next hop, and lookups of
//! the memory of routes.

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::Prefix;
use spec::Map;

use super::{SAMPLED, abi};
use crate::stats::Count;

/// Frames that were sent to a next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentTo {
    /// Number and epoch of the port, and MAC address; `None` for all next hops that have no place
    /// in the table.
    pub hop: Option<(u32, u32, [u8; 6])>,
    pub count: Count,
}

/// Lookups of the memory of routes, of all processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lookups {
    pub hits: u64,
    pub misses: u64,
}

/// Next hops to which frames were sent, in the order of their numbers. `hops` is the map
/// [`HOPS`](super::HOPS) and `counts` is [`HOP_COUNTS`](super::HOP_COUNTS).
///
/// # Errors
/// A map cannot be read.
pub fn sent<M: Map>(hops: &M, counts: &M) -> Result<Vec<SentTo>, M::Error> {
    // In this order: what is counted has a name already.
    let counts = counts.array()?;
    let hops = hops.array()?;
    let rows = hops.iter().zip(&counts).enumerate().map(|(number, (hop, count))| {
        let hop = hop.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let [a, b, c, d, e, g, ..] = hop.to_le_bytes();
        let (port, epoch) = ((hop >> MAC_BITS) as u32 & PORT_MASK, (hop >> EPOCH_SHIFT) as u32);
        let port = port.checked_sub(1).filter(|_| number > 0);
        let hop = port.map(|port| (port, epoch, [a, b, c, d, e, g]));
        SentTo { hop, count: Count::sum(count) }
    });
    Ok(rows.filter(|row| row.count != Count::default()).collect())
}

/// Frames that came in with the tags of each port that has tags, by its number, from the map
/// [`RECEIVED`](super::RECEIVED).
///
/// # Errors
/// The map cannot be read.
pub fn received<M: Map>(map: &M) -> Result<Vec<Count>, M::Error> {
    Ok(map.array()?.iter().map(|count| Count::sum(count)).collect())
}

/// Reads the map [`PROCESSORS`](super::PROCESSORS).
///
/// # Errors
/// The map cannot be read.
pub fn lookups<M: Map>(processors: &M) -> Result<Lookups, M::Error> {
    let mut sum = Lookups::default();
    for value in processors.array()? {
        let own = value.first_chunk().map(abi::Processor::from_bytes).unwrap_or_default();
        sum.hits = sum.hits.wrapping_add(own.hits);
        sum.misses = sum.misses.wrapping_add(own.misses);
    }
    Ok(sum)
}

/// Estimates of the packets that were routed to each destination network, from the samples in the
/// map [`NETWORKS`](super::NETWORKS).
///
/// # Errors
/// The map cannot be read.
pub fn networks<M: Map>(samples: &M) -> Result<Vec<(Prefix, Count)>, M::Error> {
    let mut all = Vec::new();
    for key in samples.keys()? {
        let network = key.first_chunk().map(abi::Network::from_bytes).and_then(network);
        // A network that is forgotten meanwhile has no value.
        if let (Some(network), Some(value)) = (network, samples.lookup(&key)?) {
            let Count { packets, bytes } = Count::sum(&value);
            let (packets, bytes) = (packets * SAMPLED, bytes * SAMPLED);
            all.push((network, Count { packets, bytes }));
        }
    }
    Ok(all)
}

fn network(key: abi::Network) -> Option<Prefix> {
    let [a, b, c, d, e, f, g, h] = key.address;
    let word = |high, low| u16::from_be_bytes([high, low]);
    match u32::from(key.family) {
        AF_INET => Prefix::new(Ipv4Addr::new(a, b, c, d).into(), 24),
        AF_INET6 => {
            let [first, second, third, fourth] = [word(a, b), word(c, d), word(e, f), word(g, h)];
            Prefix::new(Ipv6Addr::new(first, second, third, fourth, 0, 0, 0, 0).into(), 48)
        }
        _ => None,
    }
}

/// Families of addresses, as the kernel numbers them.
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;
/// Bits of a MAC address below the number of the port: `ROUTE_MAC_BITS`.
const MAC_BITS: u32 = 48;
/// The port plus one, and above it the epoch: `ROUTE_HOP_PORT_BITS`.
const PORT_MASK: u32 = 0x1ff;
const EPOCH_SHIFT: u32 = MAC_BITS + 9;

#[cfg(test)]
mod tests {
    use spec::{Expect, MemoryMap};

    use super::*;

    fn set(map: &MemoryMap, index: u32, value: &[u8]) {
        map.update(&index.to_le_bytes(), value, Expect::Any).unwrap();
    }

    #[test]
    fn next_hops_are_a_port_and_an_address() {
        let (hops, counts) = (MemoryMap::array(8, 4), MemoryMap::array(32, 4));
        set(&hops, 1, &[2, 0, 0, 0, 0, 9, 1, 0]);
        set(&hops, 3, &[2, 0, 0, 0, 0, 7, 0, 1 | 5 << 1]);
        let cpus = |packets: u64| [[packets, 10 * packets], [1, 10]].concat();
        let bytes = |cpus: Vec<u64>| cpus.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
        set(&counts, 0, &bytes(cpus(4)));
        set(&counts, 3, &bytes(cpus(6)));
        let count = |packets| Count { packets, bytes: 10 * packets };
        let sent = sent(&hops, &counts).unwrap();
        let expected = [
            SentTo { hop: None, count: count(5) },
            SentTo { hop: Some((255, 5, [2, 0, 0, 0, 0, 7])), count: count(7) },
        ];
        assert_eq!(sent, expected);
    }

    #[test]
    fn samples_are_estimates_by_network() {
        let samples = MemoryMap::new(abi::Network::SIZE, 32, 4);
        let value: Vec<u8> = [1_u64, 100, 2, 200].iter().flat_map(|n| n.to_le_bytes()).collect();
        for (family, address) in
            [(2, [10, 9, 8, 0, 0, 0, 0, 0]), (10, [0x20, 1, 0xd, 0xb8, 0, 7, 0, 0])]
        {
            let key = [&address[..], &[family, 0, 0, 0]].concat();
            samples.update(&key, &value, Expect::Any).unwrap();
        }
        let mut networks = networks(&samples).unwrap();
        networks.sort_by_key(|(network, _)| *network);
        let names: Vec<_> = networks.iter().map(|(network, _)| network.to_string()).collect();
        assert_eq!(names, ["10.9.8.0/24", "2001:db8:7::/48"]);
        assert_eq!(networks[0].1, Count { packets: 3 * SAMPLED, bytes: 300 * SAMPLED });
    }

    #[test]
    fn lookups_are_of_all_processors() {
        let processors = MemoryMap::array(abi::Processor::SIZE, 2);
        for (index, hits) in [(0, 3), (1, 4)] {
            let own = abi::Processor { hits, misses: 1, ..abi::Processor::default() };
            set(&processors, index, &own.to_bytes());
        }
        assert_eq!(lookups(&processors).unwrap(), Lookups { hits: 7, misses: 2 });
    }
}

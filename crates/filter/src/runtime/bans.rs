//! Bans as the program's map has them: sources of which nothing is let in for a time.
//!
//! Rule: times are on the monotonic clock, in nanoseconds; callers bring it. A ban whose time is
//! over does not count, whether it was swept or not. Not here: rules that ban (`act`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use serde::{Serialize, Serializer};
use spec::{Expect, Map};

use crate::abi;

/// A source that is banned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ban {
    /// Address of the source.
    pub source: IpAddr,
    /// Seconds until the ban ends; `null` for a ban until it is removed.
    #[serde(rename = "left_s", serialize_with = "seconds")]
    pub left: Option<Duration>,
    /// Packets that were dropped so far.
    pub packets: u64,
}

/// The bans of a loaded filter.
#[derive(Debug)]
pub struct Bans<'a, M> {
    map: &'a M,
}

impl<'a, M: Map> Bans<'a, M> {
    pub fn new(map: &'a M) -> Self {
        Self { map }
    }

    /// Those in force, sorted by address.
    pub fn list(&self, now_ns: u64) -> Result<Vec<Ban>, M::Error> {
        let mut bans = Vec::new();
        for (source, ban) in self.entries()? {
            if ban.until > now_ns {
                let left = (ban.until != FOREVER).then(|| Duration::from_nanos(ban.until - now_ns));
                bans.push(Ban { source: address(source), left, packets: ban.packets });
            }
        }
        bans.sort_by_key(|ban| ban.source);
        Ok(bans)
    }

    /// Bans a source from now on; `None`: until it is taken back. One that is banned already is
    /// from now on banned for this time, and keeps its count.
    ///
    /// # Errors
    /// The map's own; it is full when so many sources are banned.
    pub fn add(&self, source: IpAddr, time: Option<Duration>, now_ns: u64) -> Result<(), M::Error> {
        let key = key(source).to_bytes();
        let packets = self.ban(&key)?.map_or(0, |ban| ban.packets);
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(FOREVER);
        let until = time.map_or(FOREVER, |time| now_ns.saturating_add(nanoseconds(time)));
        self.map.update(&key, &abi::Ban { until, packets }.to_bytes(), Expect::Any)
    }

    /// Takes a ban back; `false` if there was none.
    pub fn remove(&self, source: IpAddr) -> Result<bool, M::Error> {
        self.map.delete(&key(source).to_bytes())
    }

    /// Removes bans whose time is over, and answers how many. A ban that a packet renews meanwhile
    /// may go with them; the next such packet bans again.
    pub fn sweep(&self, now_ns: u64) -> Result<usize, M::Error> {
        let mut swept = 0;
        for (source, ban) in self.entries()? {
            if ban.until <= now_ns && self.map.delete(&source.to_bytes())? {
                swept += 1;
            }
        }
        Ok(swept)
    }

    fn entries(&self) -> Result<Vec<(abi::Source, abi::Ban)>, M::Error> {
        let mut entries = Vec::new();
        for key in self.map.keys()? {
            let Ok(source) = <[u8; abi::Source::SIZE]>::try_from(key.as_slice()) else { continue };
            if let Some(ban) = self.ban(&source)? {
                entries.push((abi::Source::from_bytes(&source), ban));
            }
        }
        Ok(entries)
    }

    fn ban(&self, key: &[u8]) -> Result<Option<abi::Ban>, M::Error> {
        let value = self.map.lookup(key)?;
        let value = value.and_then(|value| <[u8; abi::Ban::SIZE]>::try_from(value).ok());
        Ok(value.map(|value| abi::Ban::from_bytes(&value)))
    }
}

fn seconds<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(to)
}

/// An IPv4 address as IPv6 maps it.
fn key(source: IpAddr) -> abi::Source {
    let bits = match source {
        IpAddr::V4(source) => source.to_ipv6_mapped().to_bits(),
        IpAddr::V6(source) => source.to_bits(),
    };
    abi::Source { high: (bits >> 64) as u64, low: bits as u64 }
}

fn address(source: abi::Source) -> IpAddr {
    let address = Ipv6Addr::from_bits(u128::from(source.high) << 64 | u128::from(source.low));
    let mapped: Option<Ipv4Addr> = address.to_ipv4_mapped();
    mapped.map_or(IpAddr::V6(address), IpAddr::V4)
}

const FOREVER: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use spec::MemoryMap;

    const SECOND: u64 = 1_000_000_000;

    fn map(most: usize) -> MemoryMap {
        MemoryMap::new(abi::Source::SIZE, abi::Ban::SIZE, most)
    }

    #[test]
    fn bans_are_listed_until_their_time_is_over() {
        let map = map(8);
        let bans = Bans::new(&map);
        let (one, other) = ("192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap());
        bans.add(one, Some(Duration::from_secs(10)), SECOND).unwrap();
        bans.add(other, None, SECOND).unwrap();
        let left = |now: u64| {
            let list = bans.list(now).unwrap();
            list.iter().map(|ban| (ban.source, ban.left)).collect::<Vec<_>>()
        };
        let ten = Some(Duration::from_secs(10));
        assert_eq!(left(SECOND), [(one, ten), (other, None)]);
        assert_eq!(left(11 * SECOND), [(other, None)]);
        assert_eq!(map.len(), 2);
        assert_eq!((bans.sweep(11 * SECOND).unwrap(), map.len()), (1, 1));
        assert_eq!(bans.sweep(u64::MAX - 1).unwrap(), 0, "without a time it stays");
        assert!(bans.remove(other).unwrap());
        assert!(!bans.remove(other).unwrap());
    }

    #[test]
    fn a_second_ban_takes_the_place_of_the_first() {
        let map = map(1);
        let bans = Bans::new(&map);
        let one = "192.0.2.1".parse().unwrap();
        let packets = || bans.list(0).unwrap()[0].packets;
        bans.add(one, None, 0).unwrap();
        assert_eq!(packets(), 0);
        let counted = abi::Ban { until: FOREVER, packets: 7 };
        map.update(&key(one).to_bytes(), &counted.to_bytes(), Expect::Any).unwrap();
        bans.add(one, Some(Duration::from_secs(1)), 0).unwrap();
        assert_eq!(packets(), 7, "the count goes on");
        assert_eq!(bans.list(SECOND).unwrap(), []);
        bans.add("192.0.2.2".parse().unwrap(), None, 0).unwrap_err();
    }

    #[test]
    fn families_do_not_meet() {
        for text in ["192.0.2.1", "::192.0.2.1", "2001:db8::ffff:1", "255.255.255.255"] {
            let source: IpAddr = text.parse().unwrap();
            assert_eq!(address(key(source)), source);
        }
        assert_ne!(key("192.0.2.1".parse().unwrap()), key("::192.0.2.1".parse().unwrap()));
    }
}

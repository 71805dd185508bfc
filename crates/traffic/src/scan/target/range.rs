//! `Ranges`: a set of addresses, as sorted ranges that neither overlap nor touch.

use std::net::IpAddr;

use packet::Prefix;

use super::{MAPPED, MAPPED_LAST, number};

/// Addresses from the first to the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Range {
    pub first: u128,
    pub last: u128,
}

/// A set of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<Range>);

impl Range {
    /// The addresses of a network.
    pub fn of(prefix: Prefix) -> Self {
        let host_bits = u32::from(prefix.longest() - prefix.length());
        let first = number(prefix.address());
        let last = first | u128::MAX.checked_shr(128 - host_bits).unwrap_or(0);
        Self { first, last }
    }

    /// Whether two ranges have addresses in common.
    pub fn meets(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

impl Ranges {
    /// The union of ranges in any order.
    pub fn union(mut ranges: Vec<Range>) -> Self {
        ranges.sort_unstable();
        let mut united: Vec<Range> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match united.last_mut() {
                Some(last) if range.first <= last.last.saturating_add(1) => {
                    last.last = last.last.max(range.last);
                }
                _ => united.push(range),
            }
        }
        Self(united)
    }

    /// The addresses of networks.
    pub fn of(prefixes: &[Prefix]) -> Self {
        Self::union(prefixes.iter().flat_map(|prefix| one_family(Range::of(*prefix))).collect())
    }

    pub fn as_slice(&self) -> &[Range] {
        &self.0
    }

    /// Number of addresses; `None` if these are all of them.
    pub fn len(&self) -> Option<u128> {
        let lens = self.0.iter().map(|range| range.last - range.first);
        lens.map(|len| len.checked_add(1)).try_fold(0_u128, |sum, len| sum.checked_add(len?))
    }

    /// The ranges that have addresses in common with one.
    pub fn meeting(&self, range: Range) -> &[Range] {
        let begin = self.0.partition_point(|other| other.last < range.first);
        let end = self.0.partition_point(|other| other.first <= range.last);
        &self.0[begin..end.max(begin)]
    }

    /// The addresses that are not in the other set.
    pub fn without(&self, other: &Self) -> Self {
        let mut rest = Vec::with_capacity(self.0.len());
        for range in &self.0 {
            let mut next = Some(range.first);
            for hole in other.meeting(*range) {
                let Some(first) = next else { break };
                if hole.first > first {
                    rest.push(Range { first, last: hole.first - 1 });
                }
                next = hole.last.checked_add(1);
            }
            if let Some(first) = next.filter(|first| *first <= range.last) {
                rest.push(Range { first, last: range.last });
            }
        }
        Self(rest)
    }
}

impl From<IpAddr> for Range {
    fn from(address: IpAddr) -> Self {
        let first = number(address);
        Self { first, last: first }
    }
}

/// A range without the IPv4 addresses in it, unless all of it are IPv4 addresses.
pub(super) fn one_family(range: Range) -> Vec<Range> {
    match IPV4.first <= range.first && range.last <= IPV4.last {
        true => vec![range],
        false => Ranges(vec![range]).without(&Ranges(vec![IPV4])).0,
    }
}

const IPV4: Range = Range { first: MAPPED, last: MAPPED_LAST };

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranges(list: &[(u128, u128)]) -> Ranges {
        Ranges::union(
            list.iter().map(|(first, last)| Range { first: *first, last: *last }).collect(),
        )
    }

    #[test]
    fn what_overlaps_or_touches_is_united() {
        let united = ranges(&[(5, 9), (1, 2), (3, 4), (20, 30), (22, 25)]);
        assert_eq!(united, ranges(&[(1, 9), (20, 30)]));
        assert_eq!(united.len(), Some(20));
        assert_eq!(ranges(&[(0, u128::MAX), (7, 8)]).len(), None);
    }

    #[test]
    fn holes_are_removed() {
        let all = ranges(&[(10, 20), (30, 40)]);
        for (holes, rest) in [
            (ranges(&[(0, 9)]), all.clone()),
            (ranges(&[(0, 10), (12, 13), (35, 50)]), ranges(&[(11, 11), (14, 20), (30, 34)])),
            (ranges(&[(15, 35)]), ranges(&[(10, 14), (36, 40)])),
            (ranges(&[(0, u128::MAX)]), Ranges::default()),
        ] {
            assert_eq!(all.without(&holes), rest);
        }
        let end = ranges(&[(u128::MAX - 3, u128::MAX)]);
        assert_eq!(end.without(&ranges(&[(u128::MAX, u128::MAX)])).len(), Some(3));
    }

    #[test]
    fn networks_of_ipv6_have_no_ipv4_addresses() {
        let parse = |text: &str| text.parse::<Prefix>().unwrap();
        let all = Ranges::of(&[parse("::/0")]);
        assert_eq!(all.len(), Some(u128::MAX - 0xffff_ffff));
        assert!(all.meeting(IPV4).is_empty());
        assert_eq!(Ranges::of(&[parse("0.0.0.0/0")]).as_slice(), [IPV4]);
    }

    proptest! {
        /// Against a bitmap of a small space.
        #[test]
        fn sets_are_those_of_a_bitmap(
            some in proptest::collection::vec((0..64_u128, 0..9_u128), 0..9),
            holes in proptest::collection::vec((0..64_u128, 0..9_u128), 0..9),
        ) {
            let bits = |list: &[(u128, u128)]| {
                list.iter().fold(0_u128, |all, (first, len)| all | ((1 << (len + 1)) - 1) << first)
            };
            let set = |list: &[(u128, u128)]| {
                ranges(&list.iter().map(|(first, len)| (*first, first + len)).collect::<Vec<_>>())
            };
            let rest = set(&some).without(&set(&holes));
            let of_rest = rest.as_slice().iter().map(|range| (range.first, range.last - range.first));
            prop_assert_eq!(bits(&of_rest.collect::<Vec<_>>()), bits(&some) & !bits(&holes));
        }
    }
}

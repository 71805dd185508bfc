//! `Targets`: what is scanned and what is not, from texts.

use packet::{ParseError, Prefix};

use super::range::{Range, Ranges, one_family};
use super::{Block, EXPANDED, Pattern, Space, address};
use crate::scan::special::{PRIVATE, SPECIAL};
use crate::scan::{Error, Reach};

/// Collects targets and exclusions. Addresses that are named twice are targets once.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    patterns: Vec<Pattern>,
    excluded: Vec<Pattern>,
    reach: Reach,
}

/// Part of a large pattern: addresses in bounds that no other target is in.
type Piece = (Block, u128);

impl Targets {
    /// Adds targets, as [`Pattern`] describes them.
    pub fn add(&mut self, text: &str) -> Result<(), Error> {
        self.patterns.push(text.trim().parse()?);
        Ok(())
    }

    /// Excludes addresses, also if they are named as targets later.
    pub fn exclude(&mut self, text: &str) -> Result<(), Error> {
        self.excluded.push(text.trim().parse()?);
        Ok(())
    }

    /// Adds the targets of a file: one for each line; `#` begins a comment.
    pub fn add_lines(&mut self, text: &str) -> Result<(), Error> {
        self.patterns.extend(lines(text)?);
        Ok(())
    }

    /// Excludes the addresses of a file with one network, range or address for each line.
    pub fn exclude_lines(&mut self, text: &str) -> Result<(), Error> {
        self.excluded.extend(lines(text)?);
        Ok(())
    }

    /// Sets which addresses may be probed.
    pub fn set_reach(&mut self, reach: Reach) {
        self.reach = reach;
    }

    /// Numbers all targets.
    pub fn build(&self) -> Result<Space, Error> {
        if self.patterns.is_empty() {
            return Err(Error::Empty);
        }
        let excluded = self.excluded()?;
        let (large, small) = self.patterns.iter().partition::<Vec<_>, _>(|p| is_large(p));
        let small: Vec<Range> = small.into_iter().flat_map(expand).collect();
        let small = Ranges::union(small);
        self.check_private(&small, &large)?;
        check_overlaps(&small, &large)?;

        let rest = small.without(&excluded);
        let mut pieces: Vec<Piece> = rest.as_slice().iter().map(|range| block(*range)).collect();
        let mut named = small.len().ok_or(Error::TooMany)?;
        for pattern in large {
            let len = pattern.len();
            let len = len.ok_or_else(|| Error::LargePattern { text: pattern.to_string() })?;
            named = named.checked_add(len.into()).ok_or(Error::TooMany)?;
            pieces.extend(cut(pattern, &excluded));
        }
        pieces.sort_unstable_by_key(|(block, _)| block.first);
        let left = pieces.iter().try_fold(0_u128, |sum, (_, len)| sum.checked_add(*len));
        let blocked = named - left.ok_or(Error::TooMany)?;
        Space::new(pieces, blocked).ok_or(Error::AllBlocked { blocked })
    }

    fn excluded(&self) -> Result<Ranges, Error> {
        let mut ranges = Vec::new();
        for pattern in &self.excluded {
            if is_large(pattern) {
                return Err(Error::LargePattern { text: pattern.to_string() });
            }
            ranges.extend(expand(pattern));
        }
        if self.reach == Reach::Public {
            ranges.extend(networks(SPECIAL).as_slice());
        }
        Ok(Ranges::union(ranges))
    }

    /// Checks that all targets are private if they must be.
    fn check_private(&self, small: &Ranges, large: &[&Pattern]) -> Result<(), Error> {
        if self.reach == Reach::Public {
            return Ok(());
        }
        let bounds = large.iter().map(|pattern| pattern.bounds());
        let all = small.as_slice().iter().copied().chain(bounds).collect();
        match Ranges::union(all).without(&networks(PRIVATE)).as_slice().first() {
            Some(range) => Err(Error::Public { address: address(range.first) }),
            None => Ok(()),
        }
    }
}

fn networks(texts: &[&str]) -> Ranges {
    let parse = |text: &&str| text.parse().expect("built-in networks are valid");
    Ranges::of(&texts.iter().map(parse).collect::<Vec<Prefix>>())
}

fn lines(text: &str) -> Result<Vec<Pattern>, Error> {
    let mut patterns = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let wrong = |reason: ParseError| Error::Line { line: index + 1, reason };
        patterns.push(content.parse().map_err(wrong)?);
    }
    Ok(patterns)
}

/// Whether a pattern has too many subnets to become ranges.
fn is_large(pattern: &Pattern) -> bool {
    !pattern.is_range() && pattern.last_subnet >= EXPANDED
}

/// The ranges of a small pattern. A network of IPv6 has no IPv4 addresses.
fn expand(pattern: &Pattern) -> Vec<Range> {
    let bounds = pattern.bounds();
    if pattern.is_range() {
        return one_family(bounds);
    }
    let subnets = 0..=pattern.last_subnet;
    let subnet = |number: u128| {
        let first = pattern.first + (number << pattern.shift);
        Range { first, last: first + pattern.last_host }
    };
    subnets.map(subnet).collect()
}

/// Checks that large patterns share no bounds with other targets.
fn check_overlaps(small: &Ranges, large: &[&Pattern]) -> Result<(), Error> {
    for (index, pattern) in large.iter().enumerate() {
        let bounds = pattern.bounds();
        let others = large[..index].iter().map(|other| other.bounds());
        let mut met = small.meeting(bounds).iter().copied().chain(others);
        if let Some(other) = met.find(|other| other.meets(bounds)) {
            let first = address(bounds.first.max(other.first));
            let last = address(bounds.last.min(other.last));
            let text = pattern.to_string();
            return Err(Error::Overlap { text, max: EXPANDED, first, last });
        }
    }
    Ok(())
}

fn block(range: Range) -> Piece {
    let block = Block { rank: 0, first: range.first, hosts: 0, shift: 0 };
    (block, range.last - range.first + 1)
}

/// The parts of a large pattern that are not excluded.
fn cut(pattern: &Pattern, excluded: &Ranges) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let last_host = pattern.last_host;
    let subnet = |number: u128| pattern.first + (number << pattern.shift);
    let mut whole = |from: u128, to: u128| {
        if from < to {
            let hosts = last_host as u64 + 1;
            let block = Block { rank: 0, first: subnet(from), hosts, shift: pattern.shift };
            pieces.push((block, (to - from) * (last_host + 1)));
        }
    };
    let mut partial = Vec::new();
    let mut next = 0;
    for hole in excluded.meeting(pattern.bounds()) {
        // The first subnet that ends after the beginning of the hole.
        let distance = hole.first.saturating_sub(pattern.first + last_host);
        let begin = distance.div_ceil(1 << pattern.shift).max(next);
        // The first one that begins after the end of the hole.
        let end = ((hole.last - pattern.first) >> pattern.shift).saturating_add(1);
        let end = end.min(pattern.last_subnet + 1);
        if begin >= end {
            continue;
        }
        whole(next, begin);
        partial.push(begin);
        partial.push(end - 1);
        next = end;
    }
    whole(next, pattern.last_subnet + 1);
    partial.dedup();
    for number in partial {
        let first = subnet(number);
        let hosts = Ranges::union(vec![Range { first, last: first + last_host }]);
        pieces.extend(hosts.without(excluded).as_slice().iter().map(|range| block(*range)));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(texts: &[&str]) -> Targets {
        let mut targets = Targets::default();
        texts.iter().for_each(|text| targets.add(text).unwrap());
        targets
    }

    #[test]
    fn lines_have_comments_and_numbers() {
        let mut targets = Targets::default();
        targets.add_lines("# lab\n10.0.0.0/30 # four\n\n  10.0.0.2-10.0.0.9\n").unwrap();
        targets.exclude_lines("10.0.0.9\n").unwrap();
        let space = targets.build().unwrap();
        assert_eq!((space.len(), space.blocked()), (9, 1));
        let error = targets.add_lines("10.0.0.1\n10.0.0.999\n").unwrap_err().to_string();
        assert!(error.starts_with("line 2: `10.0.0.999`"), "{error}");
    }

    #[test]
    fn without_targets() {
        assert_eq!(Targets::default().build(), Err(Error::Empty));
        let mut blocked = targets(&["10.0.0.0/8"]);
        blocked.exclude("0.0.0.0/0").unwrap();
        assert_eq!(blocked.build(), Err(Error::AllBlocked { blocked: 1 << 24 }));
    }

    #[test]
    fn public_addresses_must_be_permitted() {
        for (text, first) in [
            ("8.8.8.8", "8.8.8.8"),
            ("10.0.0.0-11.0.0.9", "11.0.0.0"),
            ("0.0.0.0/0", "0.0.0.0"),
            ("2001:db8::/31", "2001:db9::"),
            ("2001:db0::/28 subnets /56 hosts ::1", "2001:db0::1"),
            ("::/0", "::"),
        ] {
            let mut targets = targets(&[text]);
            let address = first.parse().unwrap();
            assert_eq!(targets.build(), Err(Error::Public { address }), "{text}");
            targets.set_reach(Reach::Public);
            targets.build().unwrap();
        }
        let mut public = targets(&["0.0.0.0/0"]);
        public.set_reach(Reach::Public);
        let space = public.build().unwrap();
        for special in ["0.0.0.0", "10.1.2.3", "127.0.0.1", "224.0.0.1", "255.255.255.255"] {
            assert_eq!(space.rank(special.parse().unwrap()), None, "{special}");
        }
        assert_eq!(space.len() + space.blocked(), 1 << 32);
        // 592,708,608 addresses are in the special networks of RFC 6890.
        assert_eq!(space.blocked(), 592_708_608 + SPECIAL_OF_LATER_RFCS);
    }

    /// 192.31.196.0/24, 192.52.193.0/24, 192.88.99.0/24, 192.175.48.0/24.
    const SPECIAL_OF_LATER_RFCS: u128 = 4 * 256;

    #[test]
    fn large_patterns_may_not_overlap() {
        let large = "2001:db8::/32 subnets /56 hosts ::1";
        for other in ["2001:db8:7::1", "2001:db8::/32 subnets /64 hosts ::1", large] {
            let error = targets(&[large, other]).build().unwrap_err();
            assert!(matches!(error, Error::Overlap { .. }), "{error}");
        }
        let beside = targets(&[large, "2001:db8::", "10.0.0.1"]).build().unwrap();
        assert_eq!(beside.len(), (1 << 24) + 2);
    }

    #[test]
    fn a_network_of_ipv6_has_no_ipv4_addresses() {
        let mut targets = targets(&["::/64", "2001:db8::1"]);
        targets.set_reach(Reach::Public);
        let space = targets.build();
        // ::/64 is special, too, and 2001:db8::/32 is documentation.
        assert!(matches!(space, Err(Error::AllBlocked { .. })), "{space:?}");
    }

    #[test]
    fn all_ports_of_all_addresses_are_too_many_numbers_to_add() {
        let mut all = targets(&["::/0", "0.0.0.0/0"]);
        all.set_reach(Reach::Public);
        assert_eq!(all.build(), Err(Error::TooMany));
    }
}

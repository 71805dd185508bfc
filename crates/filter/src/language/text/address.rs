//! Addresses: `10.0.0.0/8`, `10.0.0.5-10.0.0.9`, `2001:db8::/32`, `@set`, and lists of these.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::word::Word;
use super::words::Words;
use super::{Error, nearest, value};
use crate::{Addresses, Sets, Side, Test, Values};
use packet::Prefix;

/// First and last address of a range, of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    V4(u32, u32),
    V6(u128, u128),
}

/// Why a text is not a range of addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// With the reason why it is not a prefix.
    #[error("{0}")]
    Prefix(String),
    #[error("invalid range; expected one such as 10.0.0.5-10.0.0.9")]
    Range,
    #[error("one end is IPv4 and the other IPv6")]
    MixedFamilies,
    #[error("the first address of the range is greater than the last")]
    Descending,
}

/// Reads what follows `from` or `to`.
pub(super) fn parse(side: Side, words: &mut Words<'_>, sets: &Sets) -> Result<Test, Error> {
    let negated = words.take("not") || words.take("!=");
    let first = words.expect(EXPECTED)?;
    let addresses = match first.text.as_ref() {
        "{" if !first.quoted => list(words, sets)?,
        "any" => Arc::new(everything()),
        word => match word.strip_prefix('@') {
            Some(name) => named(&first, name, sets)?,
            None => Arc::new(Addresses::of([span(&first, sets)?])),
        },
    };
    Ok(Test::Address { side, addresses, negated })
}

/// Reads a list after its opening brace. A list of one set alone is that set.
fn list(words: &mut Words<'_>, sets: &Sets) -> Result<Arc<Addresses>, Error> {
    let (mut spans, mut held) = (Vec::new(), Vec::new());
    value::items(words, EXPECTED, |word| {
        match word.text.strip_prefix('@') {
            Some(name) => held.push(named(word, name, sets)?),
            None => spans.push(span(word, sets)?),
        }
        Ok(())
    })?;
    held.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    held.dedup_by(|a, b| a.name == b.name);
    let own = Addresses::of(spans);
    match &held[..] {
        [] => Ok(Arc::new(own)),
        [one] if own.is_empty() => Ok(Arc::clone(one)),
        _ => Ok(Arc::new(own.with(&held))),
    }
}

fn named(word: &Word<'_>, name: &str, sets: &Sets) -> Result<Arc<Addresses>, Error> {
    let set = sets.set(name).map(|set| Arc::clone(&set.addresses));
    set.ok_or_else(|| {
        let near = nearest(name, sets.names()).map(|name| format!("@{name}"));
        Error::at(word, "unknown set").hint(near)
    })
}

fn span(word: &Word<'_>, sets: &Sets) -> Result<Span, Error> {
    word.text.parse::<Span>().map_err(|reason| {
        let set = sets.set(&word.text).map(|_| format!("@{}", word.text));
        Error::at(word, reason.to_string()).hint(set)
    })
}

impl std::str::FromStr for Span {
    type Err = SpanError;

    /// Reads a prefix, an address, or two addresses with a dash between them.
    fn from_str(text: &str) -> Result<Self, SpanError> {
        let Some((first, last)) = text.split_once('-') else {
            return text
                .parse::<Prefix>()
                .map(Self::from)
                .map_err(|it| SpanError::Prefix(it.reason));
        };
        match (first.parse(), last.parse()) {
            (Ok(IpAddr::V4(first)), Ok(IpAddr::V4(last))) if first <= last => {
                Ok(Self::V4(first.to_bits(), last.to_bits()))
            }
            (Ok(IpAddr::V6(first)), Ok(IpAddr::V6(last))) if first <= last => {
                Ok(Self::V6(first.to_bits(), last.to_bits()))
            }
            (Ok(first), Ok(last)) if IpAddr::is_ipv4(&first) == IpAddr::is_ipv4(&last) => {
                Err(SpanError::Descending)
            }
            (Ok(_), Ok(_)) => Err(SpanError::MixedFamilies),
            _ => Err(SpanError::Range),
        }
    }
}

impl From<Prefix> for Span {
    fn from(prefix: Prefix) -> Self {
        match prefix.address() {
            IpAddr::V4(address) => {
                let first = address.to_bits();
                Self::V4(first, first | !packet::mask4(prefix.length()))
            }
            IpAddr::V6(address) => {
                let first = address.to_bits();
                Self::V6(first, first | !packet::mask6(prefix.length()))
            }
        }
    }
}

impl Addresses {
    /// Addresses of ranges in any order.
    pub fn of(spans: impl IntoIterator<Item = Span>) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for span in spans {
            match span {
                Span::V4(first, last) => v4.push((first.into(), last.into())),
                Span::V6(first, last) => v6.push((first, last)),
            }
        }
        Self { v4: Values::new(v4), v6: Values::new(v6), ..Self::default() }
    }

    /// Whether there is no address.
    pub fn is_empty(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty()
    }

    /// A list of these addresses and of named sets.
    #[must_use]
    pub(super) fn with(self, sets: &[Arc<Self>]) -> Self {
        let names = sets.iter().flat_map(|set| &set.name).map(|name| format!("@{name}"));
        let parts = names.chain(self.items()).collect();
        let all = |own: &Values, of: fn(&Self) -> &Values| {
            let ranges = sets.iter().flat_map(|set| of(set).ranges()).chain(own.ranges());
            Values::new(ranges.copied())
        };
        let (v4, v6) = (all(&self.v4, |set| &set.v4), all(&self.v6, |set| &set.v6));
        Self { name: None, parts, v4, v6 }
    }

    /// The name of the set, and the names of sets that the list contains.
    pub fn sets(&self) -> impl Iterator<Item = &str> {
        let held = self.parts.iter().filter_map(|part| part.strip_prefix('@'));
        self.name.as_deref().into_iter().chain(held)
    }

    /// The addresses as prefixes and ranges that [`Span`] can parse, IPv4 first.
    pub fn items(&self) -> impl Iterator<Item = String> + '_ {
        let v4 = self.v4.ranges().iter().map(|(first, last)| {
            let address = |bits: u128| IpAddr::V4(Ipv4Addr::from_bits(bits as u32));
            item(address(*first), address(*last), last - first, 32)
        });
        let v6 = self.v6.ranges().iter().map(|(first, last)| {
            let address = |bits: u128| IpAddr::V6(Ipv6Addr::from_bits(bits));
            item(address(*first), address(*last), last - first, 128)
        });
        v4.chain(v6)
    }
}

/// A range as text; `distance` is between its ends. It is a prefix if all bits of the distance
/// are ones, from the highest that is set.
fn item(first: IpAddr, last: IpAddr, distance: u128, width: u8) -> String {
    let free = distance.count_ones() as u8;
    let whole = distance & distance.wrapping_add(1) == 0;
    let prefix = whole.then(|| Prefix::new(first, width - free)).flatten();
    prefix.map_or_else(|| format!("{first}-{last}"), |prefix| prefix.to_string())
}

/// The addresses as text, as they follow `from` and `to`.
pub(super) fn show(addresses: &Addresses, negated: bool) -> String {
    let not = if negated { "not " } else { "" };
    if let Some(name) = &addresses.name {
        return format!("{not}@{name}");
    }
    if !addresses.parts.is_empty() {
        return format!("{not}{{{}}}", addresses.parts.join(", "));
    }
    if *addresses == everything() {
        return format!("{not}any");
    }
    let items: Vec<_> = addresses.items().collect();
    match &items[..] {
        [one] => format!("{not}{one}"),
        _ => format!("{not}{{{}}}", items.join(", ")),
    }
}

/// All addresses of both families.
fn everything() -> Addresses {
    Addresses::of([Span::V4(0, u32::MAX), Span::V6(0, u128::MAX)])
}

const EXPECTED: &str = "an address, a prefix or @set";

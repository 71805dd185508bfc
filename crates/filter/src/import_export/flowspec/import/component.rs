//! Components of a route: the values that their terms match, and their BGP encoding, which
//! determines the order of routes.

use packet::Prefix;

use crate::Values;
use crate::import_export::error::NoMatch;
use crate::import_export::error::flowspec::ImportError;
use crate::language::bounds::step;

/// The type of a component, numbered as in BGP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Kind {
    Destination = 1,
    Source = 2,
    Protocol = 3,
    Port = 4,
    DestPort = 5,
    SourcePort = 6,
    IcmpType = 7,
    IcmpCode = 8,
    TcpFlags = 9,
    PacketLength = 10,
    Dscp = 11,
    Fragment = 12,
}

/// One match of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Component {
    pub kind: Kind,
    pub body: Body,
}

/// The values of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Prefix(Prefix),
    /// Values that match, and the operators and values as BGP encodes them.
    Numbers {
        values: Values,
        encoded: Vec<u8>,
    },
}

impl Kind {
    /// The type with this name.
    pub fn of(word: &str) -> Option<Self> {
        Some(match word {
            "destination" => Self::Destination,
            "source" => Self::Source,
            "protocol" | "next-header" => Self::Protocol,
            "port" => Self::Port,
            "destination-port" => Self::DestPort,
            "source-port" => Self::SourcePort,
            "icmp-type" => Self::IcmpType,
            "icmp-code" => Self::IcmpCode,
            "tcp-flags" => Self::TcpFlags,
            "packet-length" => Self::PacketLength,
            "dscp" => Self::Dscp,
            "fragment" => Self::Fragment,
            _ => return None,
        })
    }

    const fn highest(self) -> u16 {
        match self {
            Self::Dscp => 63,
            Self::Port | Self::DestPort | Self::SourcePort | Self::PacketLength => u16::MAX,
            _ => 0xff,
        }
    }

    fn number(self, word: &str) -> Option<u16> {
        let named = match self {
            Self::Protocol => word.parse::<packet::IpProtocol>().ok().map(|it| it.0.into()),
            Self::IcmpType => match word {
                "echo-reply" => Some(0),
                "unreachable" => Some(3),
                "redirect" => Some(5),
                "echo-request" => Some(8),
                "time-exceeded" => Some(11),
                _ => None,
            },
            _ => None,
        };
        named.or_else(|| word.parse().ok()).filter(|number| *number <= self.highest())
    }
}

impl Component {
    /// Reads the values of a component.
    pub fn read(kind: Kind, words: &[&str]) -> Result<Self, ImportError> {
        let body = match kind {
            Kind::Destination | Kind::Source => prefix(words)?,
            Kind::TcpFlags => terms(words, kind, flags)?,
            Kind::Fragment => terms(words, kind, fragment)?,
            _ => terms(words, kind, |word| number(kind, word))?,
        };
        Ok(Self { kind, body })
    }
}

/// One term: the values that it matches, and its operator and value as BGP encodes them.
struct Term {
    values: Values,
    operator: u8,
    value: u16,
}

fn prefix(words: &[&str]) -> Result<Body, ImportError> {
    let [word] = words else { return Err(ImportError::SeveralPrefixes) };
    // RFC 8956 allows an offset after the length; `/0` is the only one that is supported.
    let plain = match word.strip_suffix("/0") {
        Some(rest) if rest.contains('/') => rest,
        _ => word,
    };
    plain.parse().map(Body::Prefix).map_err(|_| ImportError::Prefix((*word).to_owned()))
}

/// Terms of which one must hold; the parts of a term that are joined by `&` must all hold.
fn terms(
    words: &[&str],
    kind: Kind,
    read: impl Fn(&str) -> Result<Term, ImportError>,
) -> Result<Body, ImportError> {
    let highest = kind.highest().into();
    let (mut ranges, mut encoded, mut last) = (Vec::new(), Vec::new(), None);
    for word in words {
        // The values of all parts are those that no part excludes.
        let mut excluded = Vec::new();
        for (number, part) in word.split('&').enumerate() {
            let term = read(part)?;
            last = Some(encoded.len());
            let and = if number > 0 { AND } else { 0 };
            encode(&mut encoded, and | term.operator, term.value);
            let others = term.values.complement(highest);
            step(others.ranges().len());
            excluded.extend_from_slice(others.ranges());
        }
        let held = Values::new(excluded).complement(highest);
        step(held.ranges().len());
        ranges.extend_from_slice(held.ranges());
    }
    let last = last.ok_or(ImportError::NoValue)?;
    encoded[last] |= END;
    let values = Values::new(ranges);
    if values.is_empty() {
        return Err(NoMatch.into());
    }
    Ok(Body::Numbers { values, encoded })
}

fn encode(out: &mut Vec<u8>, operator: u8, value: u16) {
    match u8::try_from(value) {
        Ok(value) => out.extend([operator, value]),
        Err(_) => {
            out.push(operator | TWO_BYTES);
            out.extend(value.to_be_bytes());
        }
    }
}

fn number(kind: Kind, word: &str) -> Result<Term, ImportError> {
    let signs = word.len() - word.trim_start_matches(['=', '<', '>', '!']).len();
    let (sign, digits) = word.split_at(signs);
    let value = kind.number(digits).ok_or_else(|| ImportError::Number(word.to_owned()))?;
    let (number, highest) = (u128::from(value), u128::from(kind.highest()));
    let below =
        || number.checked_sub(1).map_or_else(Values::default, |last| Values::new([(0, last)]));
    let upto = || Values::new([(0, number)]);
    let (values, operator) = match sign {
        "" | "=" | "==" => (Values::one(number), EQUAL),
        ">" => (upto().complement(highest), GREATER),
        "<" => (below(), LESS),
        ">=" => (below().complement(highest), GREATER | EQUAL),
        "<=" => (upto(), LESS | EQUAL),
        "!=" => (Values::one(number).complement(highest), LESS | GREATER),
        _ => return Err(ImportError::Operator(sign.to_owned())),
    };
    Ok(Term { values, operator, value })
}

/// `syn+ack` is any of the flags, `=syn+ack` all of them; `!` negates either.
fn flags(word: &str) -> Result<Term, ImportError> {
    let (word, not) = word.strip_prefix('!').map_or((word, false), |rest| (rest, true));
    let (word, all) = word.strip_prefix('=').map_or((word, false), |rest| (rest, true));
    let mut bits = word.split('+').map(|name| {
        let known = FLAGS.iter().find(|(one, _)| *one == name).map(|(_, bit)| *bit);
        known.ok_or_else(|| ImportError::UnknownFlag(name.to_owned()))
    });
    let bits = bits.try_fold(0_u16, |bits, bit| Ok::<_, ImportError>(bits | bit?))?;
    let any = || Values::masked(bits, 0, 0xff).complement(0xff);
    let values = if all { Values::masked(bits, bits, 0xff) } else { any() };
    let values = if not { values.complement(0xff) } else { values };
    let operator = if not { NOT } else { 0 } | if all { MATCH } else { 0 };
    Ok(Term { values, operator, value: bits })
}

fn fragment(word: &str) -> Result<Term, ImportError> {
    let (word, not) = word.strip_prefix('!').map_or((word, false), |rest| (rest, true));
    let word = word.strip_prefix('=').unwrap_or(word);
    let (kind, value) = match word {
        "not-a-fragment" => (0_u8, 0),
        "first-fragment" => (1, 4),
        "is-fragment" => (2, 2),
        "dont-fragment" | "last-fragment" => {
            return Err(ImportError::UnsupportedFragment(word.to_owned()));
        }
        _ => return Err(ImportError::UnknownFragment(word.to_owned())),
    };
    let values = Values::one(kind);
    let values = if not { values.complement(2) } else { values };
    Ok(Term { values, operator: if not { NOT } else { 0 }, value })
}

const FLAGS: &[(&str, u16)] = &[
    ("fin", 0x01),
    ("syn", 0x02),
    ("rst", 0x04),
    ("push", 0x08),
    ("ack", 0x10),
    ("urgent", 0x20),
    ("ece", 0x40),
    ("cwr", 0x80),
];

// Bits of an operator: RFC 8955, section 4.2.1.
const END: u8 = 0x80;
const AND: u8 = 0x40;
const TWO_BYTES: u8 = 0x10;
const LESS: u8 = 0x04;
const GREATER: u8 = 0x02;
const EQUAL: u8 = 0x01;
const NOT: u8 = 0x02;
const MATCH: u8 = 0x01;

//! Components of a route: what their terms mean, and how BGP carries them (for their order).

use packet::Prefix;

use crate::Values;
use crate::language::bounds::step;

/// What a component is about; numbers are BGP's types.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Component {
    pub kind: Kind,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Prefix(Prefix),
    /// Numbers that match, and the operators and values as BGP carries them.
    Numbers {
        values: Values,
        encoded: Vec<u8>,
    },
}

impl Kind {
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
    pub fn read(kind: Kind, words: &[&str]) -> Result<Self, String> {
        let body = match kind {
            Kind::Destination | Kind::Source => prefix(words)?,
            Kind::TcpFlags => terms(words, kind, flags)?,
            Kind::Fragment => terms(words, kind, fragment)?,
            _ => terms(words, kind, |word| number(kind, word))?,
        };
        Ok(Self { kind, body })
    }
}

/// What one term says: its numbers, and its operator and value as BGP carries them.
struct Term {
    values: Values,
    operator: u8,
    value: u16,
}

fn prefix(words: &[&str]) -> Result<Body, String> {
    let [word] = words else { return Err("one prefix stands here".to_owned()) };
    // RFC 8956 may leave bits out in front; none are left out with `/0` behind.
    let plain = match word.strip_suffix("/0") {
        Some(rest) if rest.contains('/') => rest,
        _ => word,
    };
    plain.parse().map(Body::Prefix).map_err(|_| format!("`{word}` is not a valid prefix"))
}

/// One of the words holds; of a word's parts joined by `&`, all do.
fn terms(
    words: &[&str],
    kind: Kind,
    read: impl Fn(&str) -> Result<Term, String>,
) -> Result<Body, String> {
    let highest = kind.highest().into();
    let (mut ranges, mut encoded, mut last) = (Vec::new(), Vec::new(), None);
    for word in words {
        // What all of the parts hold is what none of them leaves out.
        let mut left_out = Vec::new();
        for (number, part) in word.split('&').enumerate() {
            let term = read(part)?;
            last = Some(encoded.len());
            let and = if number > 0 { AND } else { 0 };
            encode(&mut encoded, and | term.operator, term.value);
            let others = term.values.complement(highest);
            step(others.ranges().len());
            left_out.extend_from_slice(others.ranges());
        }
        let held = Values::new(left_out).complement(highest);
        step(held.ranges().len());
        ranges.extend_from_slice(held.ranges());
    }
    let last = last.ok_or("a value is missing")?;
    encoded[last] |= END;
    let values = Values::new(ranges);
    if values.is_empty() {
        return Err("no packet can match this".to_owned());
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

fn number(kind: Kind, word: &str) -> Result<Term, String> {
    let signs = word.len() - word.trim_start_matches(['=', '<', '>', '!']).len();
    let (sign, digits) = word.split_at(signs);
    let value = kind.number(digits).ok_or_else(|| format!("`{word}` is not a valid number"))?;
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
        _ => return Err(format!("`{sign}` is not an operator")),
    };
    Ok(Term { values, operator, value })
}

/// `syn+ack`: any of them; `=syn+ack`: all of them; `!` before it: not so.
fn flags(word: &str) -> Result<Term, String> {
    let (word, not) = word.strip_prefix('!').map_or((word, false), |rest| (rest, true));
    let (word, all) = word.strip_prefix('=').map_or((word, false), |rest| (rest, true));
    let mut bits = word.split('+').map(|name| {
        let known = FLAGS.iter().find(|(one, _)| *one == name).map(|(_, bit)| *bit);
        known.ok_or_else(|| {
            format!(
                "`{name}` is not a TCP flag; expected fin, syn, rst, push, ack, urgent, ece or cwr"
            )
        })
    });
    let bits = bits.try_fold(0_u16, |bits, bit| Ok::<_, String>(bits | bit?))?;
    let any = || Values::masked(bits, 0, 0xff).complement(0xff);
    let values = if all { Values::masked(bits, bits, 0xff) } else { any() };
    let values = if not { values.complement(0xff) } else { values };
    let operator = if not { NOT } else { 0 } | if all { MATCH } else { 0 };
    Ok(Term { values, operator, value: bits })
}

fn fragment(word: &str) -> Result<Term, String> {
    let (word, not) = word.strip_prefix('!').map_or((word, false), |rest| (rest, true));
    let word = word.strip_prefix('=').unwrap_or(word);
    let (kind, value) = match word {
        "not-a-fragment" => (0_u8, 0),
        "first-fragment" => (1, 4),
        "is-fragment" => (2, 2),
        "dont-fragment" | "last-fragment" => {
            return Err(format!("the filter does not know of `{word}`"));
        }
        _ => {
            return Err(format!("`{word}` is none of not-a-fragment, first-fragment, is-fragment"));
        }
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

// RFC 8955 section 4.2.1
const END: u8 = 0x80;
const AND: u8 = 0x40;
const TWO_BYTES: u8 = 0x10;
const LESS: u8 = 0x04;
const GREATER: u8 = 0x02;
const EQUAL: u8 = 0x01;
const NOT: u8 = 0x02;
const MATCH: u8 = 0x01;

//! How a service's backends are checked, as the file of services has it.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use packet::{ParseError, quantity};
use serde::{Deserialize, Serialize};

/// Checks of the backends of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Health {
    pub check: Check,
    /// Port that is checked; the service's if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Address that is checked; the service's, of a network the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// Address of this host that checks are sent from, of the service's family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<IpAddr>,
    /// Time between the beginnings of two checks of a backend.
    #[serde(default = "interval")]
    pub interval: Time,
    /// Time within which a check has its whole answer.
    #[serde(default = "timeout")]
    pub timeout: Time,
    /// Checks in a row that succeed before a backend is in use again.
    #[serde(default = "rise")]
    pub rise: u32,
    /// Checks in a row that fail before a backend is taken out.
    #[serde(default = "fall")]
    pub fall: u32,
    /// Shortest time for which a backend that was taken out repeatedly remains out; it doubles each
    /// time.
    #[serde(default = "hold")]
    pub hold: Time,
    /// Limit of that time, and the time without failure after which it begins anew.
    #[serde(default = "longest_hold")]
    pub longest_hold: Time,
    /// Largest share of the backends that checks take out, 0 to 1.
    #[serde(default = "most")]
    pub most: Share,
}

/// What is sent, and what is expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Check {
    /// A SYN; the connection is reset before the service sees it.
    Tcp,
    /// A request; its status is compared.
    Http(Http),
    /// A datagram.
    Udp(Udp),
    /// An echo request.
    Icmp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    pub path: String,
    /// Value of the header `Host`; the service's address by default.
    pub host: String,
    /// Statuses of success, as `200` or `200-399`.
    pub status: Statuses,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Udp {
    pub send: Bytes,
    /// How the answer begins; any answer by default.
    #[serde(default)]
    pub expect: Bytes,
}

/// A time as text, such as `2s` or `500ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Time(pub Duration);

/// A share of a number, in millionths; in the file from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share(pub u32);

/// The first and the last status of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StatusText", into = "String")]
pub struct Statuses(pub u16, pub u16);

#[derive(Deserialize)]
#[serde(untagged)]
enum StatusText {
    Number(u16),
    Text(String),
}

/// Bytes as text, or `{ hex = "00ff" }`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BytesText", into = "BytesText")]
pub struct Bytes(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum BytesText {
    Text(String),
    Hex { hex: String },
}

impl Health {
    /// Checks with the defaults of the file.
    #[must_use]
    pub fn new(check: Check) -> Self {
        Self {
            check,
            port: None,
            address: None,
            source: None,
            interval: interval(),
            timeout: timeout(),
            rise: rise(),
            fall: fall(),
            hold: hold(),
            longest_hold: longest_hold(),
            most: most(),
        }
    }

    /// What cannot be, of the checks of a service of this family that has this port.
    pub(crate) fn contradiction(&self, is_ipv4: bool, port: Option<u16>) -> Option<String> {
        let has_port = self.check == Check::Icmp || self.port.or(port).is_some_and(|one| one != 0);
        if !has_port {
            return Some("`port` is required where the service has not one port".to_owned());
        }
        for (name, time) in [("interval", self.interval), ("timeout", self.timeout)] {
            if time.0 < SHORTEST || time.0 > LONGEST {
                return Some(format!("`{name}` must be from 10ms to 1h"));
            }
        }
        if self.timeout.0 > self.interval.0 {
            return Some("`timeout` is longer than `interval`".to_owned());
        }
        if self.hold.0 > self.longest_hold.0 || self.longest_hold.0 > LONGEST_HOLD {
            return Some("`hold` must be at most `longest-hold`, and that at most 1d".to_owned());
        }
        if self.rise == 0 || self.fall == 0 {
            return Some("`rise` and `fall` must be at least 1".to_owned());
        }
        let is_other = |one: &IpAddr| one.is_ipv4() != is_ipv4;
        if [self.address, self.source].iter().flatten().any(is_other) {
            return Some("`address` and `source` must be of the service's family".to_owned());
        }
        self.check.contradiction()
    }
}

impl Check {
    fn contradiction(&self) -> Option<String> {
        match self {
            Self::Http(http) => {
                let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
                if !http.path.starts_with('/') || !is_word(&http.path) || !is_word(&http.host) {
                    return Some(
                        "`path` must begin with `/`; `path` and `host` must be printable ASCII \
                         without blanks"
                            .to_owned(),
                    );
                }
                let is_long = http.path.len() + http.host.len() > LONGEST_REQUEST;
                is_long.then(|| "`path` and `host` have over 1024 bytes".to_owned())
            }
            Self::Udp(udp) => {
                let is_long = udp.send.0.len().max(udp.expect.0.len()) > LONGEST_REQUEST;
                is_long.then(|| "`send` and `expect` have at most 1024 bytes".to_owned())
            }
            Self::Tcp | Self::Icmp => None,
        }
    }

    /// As in the file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Http(_) => "http",
            Self::Udp(_) => "udp",
            Self::Icmp => "icmp",
        }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self { path: "/".to_owned(), host: String::new(), status: Statuses(200, 399) }
    }
}

impl TryFrom<String> for Time {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        let wrong = || ParseError::new(&text, "not a time such as `500ms` or `2s`");
        quantity::time(&text).map(Self).ok_or_else(wrong)
    }
}

impl From<Time> for String {
    fn from(time: Time) -> Self {
        match time.0.subsec_nanos() {
            0 => format!("{}s", time.0.as_secs()),
            nanos if nanos % 1_000_000 == 0 => format!("{}ms", time.0.as_millis()),
            _ => format!("{}ns", time.0.as_nanos()),
        }
    }
}

impl Share {
    /// This share of a number, rounded down.
    #[must_use]
    pub fn of(self, number: usize) -> usize {
        number * self.0 as usize / MILLION as usize
    }
}

impl TryFrom<f64> for Share {
    type Error = ParseError;

    fn try_from(share: f64) -> Result<Self, ParseError> {
        if (0.0..=1.0).contains(&share) {
            return Ok(Self((share * f64::from(MILLION)).round() as u32));
        }
        Err(ParseError::new(share.to_string(), "not a share from 0 to 1"))
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        Self::from(share.0) / Self::from(MILLION)
    }
}

impl TryFrom<StatusText> for Statuses {
    type Error = ParseError;

    fn try_from(text: StatusText) -> Result<Self, ParseError> {
        let text = match text {
            StatusText::Number(status) => return Ok(Self(status, status)),
            StatusText::Text(text) => text,
        };
        let (first, last) = text.split_once('-').unwrap_or((&text, &text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self(first, last)),
            _ => Err(ParseError::new(&text, "not a status such as `200` or `200-399`")),
        }
    }
}

impl From<Statuses> for String {
    fn from(statuses: Statuses) -> Self {
        statuses.to_string()
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == self.1 { write!(f, "{}", self.0) } else { write!(f, "{}-{}", self.0, self.1) }
    }
}

impl TryFrom<BytesText> for Bytes {
    type Error = ParseError;

    fn try_from(text: BytesText) -> Result<Self, ParseError> {
        let hex = match text {
            BytesText::Text(text) => return Ok(Self(text.into_bytes())),
            BytesText::Hex { hex } => hex,
        };
        let wrong = || ParseError::new(&hex, "not an even number of hexadecimal digits");
        let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
        if !rest.is_empty() {
            return Err(wrong());
        }
        let byte = |pair: &[u8; 2]| {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8)
        };
        pairs.iter().map(byte).collect::<Option<_>>().map(Self).ok_or_else(wrong)
    }
}

impl From<Bytes> for BytesText {
    fn from(bytes: Bytes) -> Self {
        match String::from_utf8(bytes.0) {
            Ok(text) => Self::Text(text),
            Err(error) => {
                let hex = error.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                Self::Hex { hex }
            }
        }
    }
}

const fn interval() -> Time {
    Time(Duration::from_secs(2))
}

const fn timeout() -> Time {
    Time(Duration::from_secs(1))
}

const fn rise() -> u32 {
    2
}

const fn fall() -> u32 {
    3
}

const fn hold() -> Time {
    Time(Duration::from_secs(10))
}

const fn longest_hold() -> Time {
    Time(Duration::from_secs(300))
}

const fn most() -> Share {
    Share(MILLION / 2)
}

const MILLION: u32 = 1_000_000;
/// Bounds of intervals and timeouts.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(3600);
const LONGEST_HOLD: Duration = Duration::from_secs(86_400);
/// Bytes that a request of the file's words may have: it is sent in one segment.
const LONGEST_REQUEST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Health, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "check = 'tcp'",
            "check = 'icmp'\ninterval = '500ms'\ntimeout = '100ms'\nrise = 5\nfall = 1",
            "check = { http = { path = '/up', host = 'a.example', status = 204 } }\nport = 8080",
            "check = { udp = { send = { hex = '00ff' }, expect = 'ok' } }\nmost = 0.25",
        ] {
            let health = parse(text).unwrap();
            let again = toml::to_string(&health).unwrap();
            assert_eq!(parse(&again).unwrap(), health, "{again}");
        }
        let http = parse("check = { http = {} }").unwrap();
        assert_eq!(http.check, Check::Http(Http::default()));
        assert_eq!((http.rise, http.fall, http.most), (2, 3, Share(500_000)));
        for (share, of, number) in [("0.5", 3, 1), ("1.0", 7, 7), ("0.0", 9, 0), ("0.3", 10, 3)] {
            let most = parse(&format!("check = 'tcp'\nmost = {share}")).unwrap().most;
            assert_eq!(most.of(of), number, "{share} of {of}");
        }
    }

    #[test]
    fn contradictions_are_named() {
        for (text, reason) in [
            ("check = 'tcp'\ntimeout = '3s'", "longer"),
            ("check = 'tcp'\ninterval = '1ms'", "interval"),
            ("check = 'tcp'\nrise = 0", "rise"),
            ("check = 'tcp'\nhold = '1h'", "hold"),
            ("check = 'tcp'\naddress = '2001:db8::1'", "family"),
            ("check = { http = { path = 'up' } }", "begin with"),
            ("check = { http = { host = \"a\\r\\nb\" } }", "printable"),
        ] {
            let found = parse(text).unwrap().contradiction(true, Some(80));
            assert!(found.as_deref().is_some_and(|one| one.contains(reason)), "{text}: {found:?}");
        }
        let health = parse("check = 'tcp'").unwrap();
        assert_eq!(health.contradiction(true, Some(80)), None);
        assert!(health.contradiction(true, None).is_some_and(|one| one.contains("port")));
        assert_eq!(parse("check = 'icmp'").unwrap().contradiction(true, None), None);
        for text in [
            "check = 'ping'",
            "check = 'tcp'\nmost = 1.5",
            "check = 'tcp'\nmost = nan",
            "check = { udp = { send = { hex = '0' } } }",
            "check = { udp = { send = { hex = '0g' } } }",
            "check = { http = { status = '400-200' } }",
            "check = 'tcp'\ninterval = '2 years'",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

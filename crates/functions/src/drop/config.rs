//! What the user wants dropped.

use std::fmt;
use std::str::FromStr;

use packet::{IpProtocol, ParseError, Prefix};
use serde::{Deserialize, Serialize};
use spec::Spec;

use crate::PassOrDrop;

/// Rules, and what happens to packets that rules cannot judge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub rules: Vec<Rule>,
    /// Packets that are cut short, malformed or have too many VLAN tags, and that no rule about
    /// addresses alone matches. IPv6 packets with more extension headers than the program reads are
    /// always dropped when there are IPv6 rules, because the stack reads all of them.
    pub malformed: PassOrDrop,
    /// Later fragments that no rule without a port matches: their port is in the first one.
    pub later_fragments: PassOrDrop,
}

/// A packet is dropped if all parts that are given match. As text: `PREFIX [PROTOCOL [PORT]]`
/// with `any` for a part that is left open, such as `10.1.0.2 udp 1234` or `any udp 53`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    pub to: Option<Prefix>,
    pub protocol: Option<IpProtocol>,
    pub port: Option<u16>,
}

impl Config {
    /// Sets the program's globals, before it is loaded.
    ///
    /// # Errors
    /// The object is not drop's.
    pub fn apply(&self, spec: &mut Spec) -> Result<(), spec::Error> {
        spec.set_global("drop_malformed", &self.malformed.to_global())?;
        spec.set_global("drop_later_fragments", &self.later_fragments.to_global())
    }
}

impl FromStr for Rule {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut words = text.split_whitespace();
        let to = words
            .next()
            .ok_or_else(|| ParseError::new(text, "empty; expected a prefix, or `any` for all"))?;
        let rule = Self {
            to: unless_any(to, Prefix::from_str)?,
            protocol: words
                .next()
                .map_or(Ok(None), |word| unless_any(word, IpProtocol::from_str))?,
            port: words.next().map_or(Ok(None), |word| unless_any(word, port))?,
        };
        if let Some(word) = words.next() {
            return Err(ParseError::new(text, format!("nothing follows the port, not `{word}`")));
        }
        match (rule.protocol, rule.port) {
            (Some(protocol), Some(_)) if !protocol.has_ports() => {
                Err(ParseError::new(text, format!("{protocol} has no ports")))
            }
            _ => Ok(rule),
        }
    }
}

fn unless_any<T>(
    word: &str,
    parse: impl Fn(&str) -> Result<T, ParseError>,
) -> Result<Option<T>, ParseError> {
    if word == "any" { Ok(None) } else { parse(word).map(Some) }
}

fn port(word: &str) -> Result<u16, ParseError> {
    word.parse().map_err(|_| ParseError::new(word, "no port: a number up to 65535"))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |part: Option<String>| part.unwrap_or_else(|| "any".to_owned());
        f.write_str(&part(self.to.map(|to| to.to_string())))?;
        if self.protocol.is_some() || self.port.is_some() {
            write!(f, " {}", part(self.protocol.map(|protocol| protocol.to_string())))?;
        }
        self.port.map_or(Ok(()), |port| write!(f, " {port}"))
    }
}

impl TryFrom<String> for Rule {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_as_text() {
        for (text, shown) in [
            ("10.1.0.2 udp 1234", "10.1.0.2 udp 1234"),
            ("  10.1.0.0/16   17 ", "10.1.0.0/16 udp"),
            ("2001:db8::/64", "2001:db8::/64"),
            ("2001:db8::1 any 53", "2001:db8::1 any 53"),
            ("any udp any", "any udp"),
            ("any any any", "any"),
            ("any icmp", "any icmp"),
        ] {
            assert_eq!(text.parse::<Rule>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_rule() {
        for (text, reason) in [
            ("", "empty"),
            ("10.1.0.2 icmp 80", "icmp has no ports"),
            ("10.1.0.2 udp 65536", "no port"),
            ("10.1.0.2 udp 53 drop", "not `drop`"),
            ("udp 53", "no IPv4 or IPv6 address"),
            ("10.1.0.2 http", "no protocol"),
            ("10.1.0.2/8", "10.0.0.0/8?"),
        ] {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn files_name_every_part() {
        let text = r#"{"rules": ["10.1.0.2 udp 1234"], "malformed": "drop"}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        assert_eq!(config.rules[0].port, Some(1234));
        assert_eq!(
            (config.malformed, config.later_fragments),
            (PassOrDrop::Drop, PassOrDrop::Pass)
        );
        assert_eq!(
            serde_json::from_str::<Config>(&serde_json::to_string(&config).unwrap()).unwrap(),
            config
        );
        for text in
            [r#"{"rule": []}"#, r#"{"rules": ["10.1.0.2 udp x"]}"#, r#"{"malformed": "tx"}"#]
        {
            assert!(serde_json::from_str::<Config>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn policies_become_globals() {
        let mut spec = Spec::parse("drop", crate::drop::OBJECT).unwrap();
        let before = spec.clone().map(".rodata").and_then(|map| map.contents.clone());
        Config { malformed: PassOrDrop::Drop, ..Config::default() }.apply(&mut spec).unwrap();
        let after = spec.map(".rodata").and_then(|map| map.contents.clone());
        assert!(before.is_some() && before != after);
    }
}

//! The action of a rule, which is its first word, and the options of the action.
//!
//! Options (`burst`, `per`, `total`, `above`, `for`) may also follow tests: `synproxy tcp above
//! 1000pps`, `drop udp for 60s`. A `burst` that directly follows a `total` belongs to the total.

use std::time::Duration;

use super::number::digits;
use super::word::{Word, quoted};
use super::words::Words;
use super::{Error, hint, measure, nearest};
use crate::{Action, Limit, Per, Redirect, SynProxy, Total, Unit};

/// An action whose options may still follow.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    action: Action,
    /// The options that the action accepts.
    options: &'static [&'static str],
    /// The options that were read.
    given: Vec<&'static str>,
}

impl Draft {
    /// Reads the action.
    pub fn parse(words: &mut Words<'_>) -> Result<Self, Error> {
        let word = words.expect("an action (drop, pass, limit …)")?;
        let mut options: &'static [&'static str] = &[];
        let action = match word.text.as_ref() {
            _ if word.quoted => return Err(unknown(&word)),
            "pass" => Action::Pass,
            "drop" => {
                options = &["for"];
                Action::Drop
            }
            "count" => Action::Count,
            "ban" => Action::Ban(time(words, LONGEST_BAN)?),
            "sample" => Action::Sample { one_in: one_in(&words.expect("1/N")?)? },
            "mark" => Action::Mark(mark(&words.expect("a number")?)?),
            "redirect" => Action::Redirect(redirect(words)?),
            "limit" => {
                options = &["burst", "per", "total"];
                let (rate, unit) = measure::rate(&words.expect("a rate such as 1000pps")?)?;
                Action::Limit(Limit {
                    rate,
                    unit,
                    burst: Limit::usual_burst(rate, unit),
                    per: Per::Rule,
                    total: None,
                })
            }
            "synproxy" => {
                options = &["above"];
                Action::SynProxy(SynProxy::default())
            }
            _ => return Err(unknown(&word)),
        };
        Ok(Self { action, options, given: Vec::new() })
    }

    /// Reads an option, if `word` is one.
    pub fn option(&mut self, word: &Word<'_>, words: &mut Words<'_>) -> Result<bool, Error> {
        let Some(option) = OPTIONS.iter().find(|option| word.is(option)) else { return Ok(false) };
        if !self.options.contains(option) {
            let of = match *option {
                "above" => "synproxy",
                "for" => "drop",
                _ => "limit",
            };
            return Err(Error::at(word, format!("is an option of `{of}`, not of this action")));
        }
        if self.given.contains(option) {
            return Err(Error::at(word, "the option is given twice"));
        }
        self.given.push(option);
        match (*option, &mut self.action) {
            ("burst", Action::Limit(limit)) => {
                limit.burst = measure::burst(&words.expect("an amount")?, limit.unit)?;
            }
            ("per", Action::Limit(limit)) => limit.per = per(&words.expect(PER)?)?,
            ("total", Action::Limit(limit)) => limit.total = Some(total(words, limit.unit)?),
            ("above", Action::SynProxy(proxy)) => {
                proxy.above = measure::packet_rate(&words.expect("a rate such as 1000pps")?)?;
            }
            ("for", action) => {
                *action = Action::DropFor(time(words, LONGEST_RULE)?);
            }
            _ => {}
        }
        Ok(true)
    }

    /// The action with its options.
    pub fn finish(self) -> Action {
        self.action
    }
}

impl Limit {
    /// The burst of a rule that does not specify one: the tokens of a tenth of a second, but at
    /// least ten packets, or ten Ethernet frames of full length.
    pub fn usual_burst(rate: u64, unit: Unit) -> u64 {
        match unit {
            Unit::Packets => (rate / 10).max(10),
            Unit::Bits => (rate / 10).max(10 * 1514 * 8),
        }
    }
}

fn unknown(word: &Word<'_>) -> Error {
    let near = hint::synonym(&word.text).filter(|near| ACTIONS.contains(near));
    let near = near.or_else(|| nearest(&word.text, ACTIONS.iter().copied()));
    Error::at(word, format!("unknown action; expected {}", ACTIONS.join(", "))).hint(near)
}

fn time(words: &mut Words<'_>, longest: (Duration, &'static str)) -> Result<Duration, Error> {
    measure::time(&words.expect("a duration such as 60s")?, longest)
}

fn one_in(word: &Word<'_>) -> Result<u32, Error> {
    let number = word.text.strip_prefix("1/").and_then(digits);
    let number = number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
    number.ok_or_else(|| Error::at(word, "invalid share; expected one packet in N, such as 1/100"))
}

fn mark(word: &Word<'_>) -> Result<u32, Error> {
    let number = digits(&word.text).and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| Error::at(word, "invalid mark; expected a number of up to 32 bits"))
}

fn redirect(words: &mut Words<'_>) -> Result<Redirect, Error> {
    let word = words.expect("an interface, `cpu` or `socket`")?;
    if word.is("socket") {
        return Ok(Redirect::Socket);
    }
    if !word.is("cpu") {
        return Ok(Redirect::Interface(interface(&word)?));
    }
    let word = words.expect("the processor's number")?;
    let number = digits(&word.text).and_then(|number| u32::try_from(number).ok());
    number.map(Redirect::Cpu).ok_or_else(|| {
        Error::at(
            &word,
            "invalid processor number; the name of an interface called cpu must be in quotes",
        )
    })
}

/// Checks that a word is a valid name of an interface, by the rules of the kernel.
pub(super) fn interface(word: &Word<'_>) -> Result<String, Error> {
    let name = word.text.as_ref();
    let invalid = |letter: char| letter.is_whitespace() || matches!(letter, '/' | ':');
    let sign = !word.quoted && matches!(name, "{" | "}" | "<" | ">" | "=" | "!");
    if sign
        || name.is_empty()
        || name.len() > 15
        || name.contains(invalid)
        || matches!(name, "." | "..")
    {
        return Err(Error::at(
            word,
            "invalid interface name; expected up to 15 characters without space, `/` or `:`",
        ));
    }
    Ok(name.to_owned())
}

fn per(word: &Word<'_>) -> Result<Per, Error> {
    let text = word.text.as_ref();
    let (key, lengths) = text.split_once('/').map_or((text, None), |(key, len)| (key, Some(len)));
    let (v4, v6) = lengths.map_or(Some((32, 128)), prefix_lengths).ok_or_else(|| {
        Error::at(
            word,
            "invalid prefix length; expected up to 32 for IPv4 and up to 128 for IPv6, such as \
             source/24 or source/24,56",
        )
    })?;
    match (key, lengths) {
        ("source", _) => Ok(Per::Source { v4, v6 }),
        ("dest", _) => Ok(Per::Dest { v4, v6 }),
        ("dport", None) => Ok(Per::DestPort),
        ("flow", None) => Ok(Per::Flow),
        ("rule", None) => Ok(Per::Rule),
        _ => {
            let known = ["source", "dest", "dport", "flow", "rule"];
            let near = match key {
                "from" | "src" | "saddr" => Some("source"),
                "to" | "dst" | "daddr" | "destination" => Some("dest"),
                _ => nearest(key, known),
            };
            Err(Error::at(word, PER).hint(near.filter(|near| *near != key)))
        }
    }
}

/// Prefix lengths for IPv4 and IPv6. One length alone is for IPv4, with the usual subnet length
/// for IPv6, unless it is too long for IPv4.
fn prefix_lengths(text: &str) -> Option<(u8, u8)> {
    let number = |text: &str| digits(text).and_then(|it| u8::try_from(it).ok());
    let (v4, v6) = match text.split_once(',') {
        Some((v4, v6)) => (number(v4)?, number(v6)?),
        None => match number(text)? {
            v4 @ 0..32 => (v4, SUBNET6),
            v6 => (32, if v6 == 32 { 128 } else { v6 }),
        },
    };
    (v4 <= 32 && v6 <= 128).then_some((v4, v6))
}

/// A rate in the unit of the limit, with its burst if one is specified.
fn total(words: &mut Words<'_>, unit: Unit) -> Result<Total, Error> {
    let word = words.expect("the total rate, such as 5kpps")?;
    let (rate, other) = measure::rate(&word)?;
    if other != unit {
        return Err(Error::at(&word, "a total must be in the unit of its limit: packets or bits"));
    }
    let burst = match words.take("burst") {
        true => measure::burst(&words.expect("an amount")?, unit)?,
        false => Limit::usual_burst(rate, unit),
    };
    Ok(Total { rate, burst })
}

/// The action as text, as it begins a rule.
pub(super) fn show(action: &Action) -> String {
    match action {
        Action::Pass => "pass".to_owned(),
        Action::Drop => "drop".to_owned(),
        Action::Count => "count".to_owned(),
        Action::DropFor(time) => format!("drop for {}", measure::show_time(*time)),
        Action::Ban(time) => format!("ban {}", measure::show_time(*time)),
        Action::Sample { one_in } => format!("sample 1/{one_in}"),
        Action::Mark(mark) => format!("mark {mark:#x}"),
        Action::Redirect(Redirect::Cpu(number)) => format!("redirect cpu {number}"),
        Action::Redirect(Redirect::Socket) => "redirect socket".to_owned(),
        Action::Redirect(Redirect::Interface(name)) => {
            let word = matches!(name.as_str(), "cpu" | "socket");
            format!("redirect {}", quoted(name, word))
        }
        Action::SynProxy(SynProxy { above: 0 }) => "synproxy".to_owned(),
        Action::SynProxy(SynProxy { above }) => {
            format!("synproxy above {}", measure::show_rate(*above, Unit::Packets))
        }
        Action::Limit(limit) => show_limit(limit),
    }
}

fn show_limit(limit: &Limit) -> String {
    let rate = measure::show_rate(limit.rate, limit.unit);
    let burst = measure::show_burst(limit.burst, limit.unit);
    let lengths = |v4: u8, v6: u8| match (v4, v6) {
        (32, 128) => String::new(),
        _ => format!("/{v4},{v6}"),
    };
    let per = match limit.per {
        Per::Rule => String::new(),
        Per::Source { v4, v6 } => format!(" per source{}", lengths(v4, v6)),
        Per::Dest { v4, v6 } => format!(" per dest{}", lengths(v4, v6)),
        Per::DestPort => " per dport".to_owned(),
        Per::Flow => " per flow".to_owned(),
    };
    let total = limit.total.map(|Total { rate, burst }| {
        let rate = measure::show_rate(rate, limit.unit);
        format!(" total {rate} burst {}", measure::show_burst(burst, limit.unit))
    });
    format!("limit {rate} burst {burst}{per}{}", total.unwrap_or_default())
}

/// Words that begin a rule.
pub(super) const ACTIONS: &[&str] =
    &["pass", "drop", "ban", "limit", "count", "sample", "mark", "redirect", "synproxy"];
/// Words that begin an option of an action.
pub(super) const OPTIONS: &[&str] = &["burst", "per", "total", "above", "for"];
const LONGEST_RULE: (Duration, &str) = (Action::LONGEST, "a rule cannot last more than a year");
const LONGEST_BAN: (Duration, &str) = (Action::LONGEST_BAN, "a ban cannot last more than 68 years");
const PER: &str = "expected one of source, source/24, dest, dport, flow or rule";
/// Length of the prefix of one link.
const SUBNET6: u8 = 64;

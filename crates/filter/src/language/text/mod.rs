//! Rules as text, one per line: `drop udp dport 53 from not @office`.
//!
//! ```text
//! rule  = [NAME ":"] action {test} ["as" NAME]
//! test  = WORD [value]                       dport 53 · tcp · from @office
//! value = ["not"] (item | "{" item "," … "}" | "any" | "<" item | …)
//! ```
//!
//! Rule: a rule that is written parses to an equal rule. A text that cannot be compiled is an error
//! here, with the invalid word and what was expected instead. `docs/filter.md` has the complete
//! grammar. Not here: rule files (`file`), and the meaning of a rule for a packet (`model`).

mod action;
mod address;
pub(crate) mod bits;
mod error;
mod hint;
mod icmp;
mod measure;
pub(crate) mod names;
mod number;
mod payload;
mod show;
mod test;
mod value;
mod word;
mod words;

#[cfg(test)]
pub(crate) mod tests;

pub use address::{Span, SpanError};
pub use error::Error;
pub use hint::nearest;

use self::action::Draft;
use self::words::Words;
use crate::language::bounds::{RANGES, TESTS, Work};
use crate::{Rule, Scope};

/// The name of an IP protocol in rules; `None` if it has no name.
pub fn protocol_name(protocol: u8) -> Option<&'static str> {
    names::name(names::PROTOCOLS, protocol.into())
}

impl Rule {
    /// Reads a rule. A rule without a name gets one that is derived from its text.
    ///
    /// # Errors
    /// The first word that is not valid in its place.
    pub fn parse(text: &str, scope: &Scope) -> Result<Self, Error> {
        let mut words = Words::new(text)?;
        let mut name = words.label()?;
        let mut action = Draft::parse(&mut words)?;
        let mut tests = Vec::new();
        let mut work = Work::of(RANGES);
        while let Some(word) = words.next() {
            if word.is("as") {
                let given = words.name()?;
                if name.replace(given).is_some() {
                    return Err(Error::at(&word, "the rule already has a name"));
                }
            } else if !action.option(&word, &mut words)? {
                test::parse(&word, &mut words, scope, &mut tests)?;
                let has_room = tests.last().is_none_or(|test| work.spend(test.own_ranges()));
                if tests.len() > TESTS || !has_room {
                    return Err(Error::at(&word, TOO_LONG));
                }
            }
        }
        let mut rule = Self { name: String::new(), tests, action: action.finish() };
        rule.name = name.unwrap_or_else(|| rule.derived_name());
        Ok(rule)
    }

    /// Whether a word is a valid name for a rule or a set.
    pub fn is_name(word: &str) -> bool {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        (1..=LONGEST_NAME).contains(&word.len()) && word.bytes().all(fits)
    }

    /// The name of a rule without one: its words, for a long rule truncated and with a hash.
    pub fn derived_name(&self) -> String {
        let body = self.body();
        let mut name = String::with_capacity(body.len());
        for letter in body.chars() {
            if letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_') {
                name.push(letter);
            } else if !name.ends_with('-') {
                name.push('-');
            }
        }
        let name = name.trim_matches('-');
        if name.len() <= LONG_NAME {
            return name.to_owned();
        }
        let sum =
            body.bytes().fold(FNV_START, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(FNV));
        format!("{}-{sum:08x}", name[..LONG_NAME - 9].trim_end_matches('-'))
    }
}

/// The error for a rule with more tests or ranges than the limits allow.
const TOO_LONG: &str = "a rule has at most 256 tests and 16,777,216 ranges of values";
/// Maximum length of a name that the author of a rule chose.
const LONGEST_NAME: usize = 63;
/// Maximum length of a derived name.
const LONG_NAME: usize = 48;
/// FNV-1a, 32 bits.
const FNV_START: u32 = 0x811c_9dc5;
const FNV: u32 = 0x0100_0193;

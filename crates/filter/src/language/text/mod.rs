//! Rules as people write them, one a line: `drop udp dport 53 from not @office`.
//!
//! ```text
//! rule  = [NAME ":"] action {test} ["as" NAME]
//! test  = WORD [value]                       dport 53 · tcp · from @office
//! value = ["not"] (item | "{" item "," … "}" | "any" | "<" item | …)
//! ```
//!
//! Rule: what is shown parses to an equal rule, and what cannot be compiled is refused here with
//! the word that is wrong and what was expected in its place. `docs/filter.md` has the whole
//! grammar. Not here: files of rules (`file`), and what a rule means for a packet (`model`).

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

pub use address::Span;
pub use error::Error;
pub use hint::nearest;

use self::action::Draft;
use self::words::Words;
use crate::language::bounds::{RANGES, TESTS, Work};
use crate::{Rule, Scope};

/// What an IP protocol is called in rules; `None` for one that has a number alone.
pub fn protocol_name(protocol: u8) -> Option<&'static str> {
    names::name(names::PROTOCOLS, protocol.into())
}

impl Rule {
    /// Reads a rule. One that says no name gets one that is made from its text.
    ///
    /// # Errors
    /// The first word that does not belong where it stands.
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
                    return Err(Error::at(&word, "the rule has a name already"));
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

    /// Whether a rule or a set may be called this.
    pub fn is_name(word: &str) -> bool {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        (1..=LONGEST_NAME).contains(&word.len()) && word.bytes().all(fits)
    }

    /// The name of a rule that says none: its words, those of a long rule cut and numbered.
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

/// Why a rule is refused that has more tests or ranges than the limits allow.
const TOO_LONG: &str = "a rule has at most 256 tests and 16,777,216 ranges of values";
/// Characters of a name that someone chose.
const LONGEST_NAME: usize = 63;
/// Characters of one that is made.
const LONG_NAME: usize = 48;
/// FNV-1a, 32 bits.
const FNV_START: u32 = 0x811c_9dc5;
const FNV: u32 = 0x0100_0193;

//! Limits: `-m limit` and `-m hashlimit`, whose options may be in any order.

use super::Family;
use super::values::{self, invalid};
use crate::import_export::error::iptables::ImportError;
use crate::import_export::nft::import::Statement;
use crate::{Limit, Per, Unit};

/// A limit that is being read.
#[derive(Debug, Default)]
pub(super) struct Pending {
    is_begun: bool,
    /// Packets per second, and whether packets over it match. A wrong rate is an error when the
    /// limit is used.
    rate: Option<(Result<u64, ImportError>, bool)>,
    burst: Option<u64>,
    mode: Option<String>,
    source_len: Option<u8>,
}

/// A part of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Below,
    Over,
    Burst,
    Mode,
    SourceLen,
    /// It concerns the memory of the other tool.
    Ignored,
}

impl Pending {
    /// The part that an option is; `None` for an option of something else.
    pub fn part(option: &str) -> Option<Part> {
        PARTS.iter().find(|(names, _)| names.contains(&option)).map(|(_, part)| *part)
    }

    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    pub fn add(
        &mut self,
        part: Part,
        option: &str,
        value: String,
        is_negated: bool,
    ) -> Result<(), ImportError> {
        if is_negated && option != "--hashlimit-upto" {
            return Err(ImportError::Negation(option.to_owned()));
        }
        self.is_begun = true;
        let number = |highest| {
            let number = values::number(&value, highest);
            number.ok_or_else(|| invalid(option, value.clone(), "a number"))
        };
        match part {
            Part::Below | Part::Over => {
                self.rate = Some((rate(option, &value), is_negated || part == Part::Over));
            }
            Part::Burst => self.burst = Some(number(u32::MAX.into())?),
            Part::SourceLen => self.source_len = u8::try_from(number(128)?).ok(),
            Part::Mode => self.mode = Some(value),
            Part::Ignored => {}
        }
        Ok(())
    }

    /// The statement, if there was a limit.
    pub fn finish(self, family: Family) -> Result<Option<Statement>, ImportError> {
        if !self.is_begun {
            return Ok(None);
        }
        let (rate, is_over) = self.rate.ok_or(ImportError::NoRate)?;
        let per = match &self.mode {
            None => Per::Rule,
            Some(mode) => per(mode, self.source_len, family)?,
        };
        // linux: net/netfilter/xt_limit.c and xt_hashlimit.c, XT_HASHLIMIT_BURST
        let burst = self.burst.filter(|burst| *burst > 0).unwrap_or(5);
        let limit = Limit { rate: rate?, unit: Unit::Packets, burst, per, total: None };
        Ok(Some(if is_over { Statement::Over(limit) } else { Statement::Below(limit) }))
    }
}

/// Packets per second of `10/sec`, `120/minute`.
fn rate(option: &str, value: &str) -> Result<u64, ImportError> {
    let (number, unit) = value.split_once('/').unwrap_or((value, "second"));
    if number.ends_with('b') || unit == "s" && number.bytes().any(|it| it.is_ascii_alphabetic()) {
        return Err(ImportError::ByteLimit);
    }
    let fail = || invalid(option, value.to_owned(), "a rate such as 10/second");
    let number = values::number(number, u32::MAX.into()).ok_or_else(fail)?;
    let is_unit = |name: &str| !unit.is_empty() && name.starts_with(unit);
    let seconds = [("second", 1), ("minute", 60), ("hour", 3600), ("day", 86400)];
    let (_, seconds) = seconds.into_iter().find(|(name, _)| is_unit(name)).ok_or_else(fail)?;
    if number == 0 || number % seconds != 0 {
        return Err(ImportError::FractionalRate);
    }
    Ok(number / seconds)
}

/// The key of `--hashlimit-mode`. Rules see packets of one family, so the length for the other one
/// has no effect; it differs from a whole address, so that it is not taken for one.
fn per(mode: &str, len: Option<u8>, family: Family) -> Result<Per, ImportError> {
    let mut fields: Vec<&str> = mode.split(',').collect();
    fields.sort_unstable();
    match (&fields[..], len, family) {
        (["srcip"], len, Family::V4) => Ok(Per::Source { v4: len.unwrap_or(32).min(32), v6: 64 }),
        (["srcip"], len, Family::V6) => Ok(Per::Source { v4: 24, v6: len.unwrap_or(128) }),
        (["dstip"], None, _) => Ok(Per::Dest { v4: 32, v6: 128 }),
        (["dstport"], None, _) => Ok(Per::DestPort),
        (["dstip", "dstport", "srcip", "srcport"], None, _) => Ok(Per::Flow),
        _ => Err(ImportError::Mode(mode.to_owned())),
    }
}

const PARTS: &[(&[&str], Part)] = &[
    (&["--limit", "--hashlimit-upto", "--hashlimit"], Part::Below),
    (&["--hashlimit-above"], Part::Over),
    (&["--limit-burst", "--hashlimit-burst"], Part::Burst),
    (&["--hashlimit-mode"], Part::Mode),
    (&["--hashlimit-srcmask"], Part::SourceLen),
    (
        &[
            "--hashlimit-name",
            "--hashlimit-htable-size",
            "--hashlimit-htable-max",
            "--hashlimit-htable-expire",
            "--hashlimit-htable-gcinterval",
        ],
        Part::Ignored,
    ),
];

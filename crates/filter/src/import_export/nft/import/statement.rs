//! `Statement`: a part of a rule, as nft lists it or as another parser read it.

use std::fmt;

use serde_json::Value;

use super::unsupported::find_consequence;
use crate::Limit;
use crate::language::bounds::step;

/// A part of a rule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Statement {
    /// The JSON of nft.
    Nft(Value),
    /// Matches of nft, of which one must hold.
    AnyOf(Vec<Value>),
    /// Packets over the limit match.
    Over(Limit),
    /// Packets below the limit match.
    Below(Limit),
}

impl Statement {
    /// The kind of the statement: its key in the JSON.
    pub fn kind(&self) -> &str {
        match self {
            Self::Nft(value) => {
                let named = value.as_object().and_then(|it| it.iter().next());
                named.map_or("", |(kind, _)| kind)
            }
            Self::AnyOf(_) => "match",
            Self::Over(_) | Self::Below(_) => "limit",
        }
    }

    /// The number of JSON values in it.
    pub fn weight(&self) -> usize {
        match self {
            Self::Nft(value) => weight(value),
            Self::AnyOf(values) => 1 + values.iter().map(weight).sum::<usize>(),
            Self::Over(_) | Self::Below(_) => 1,
        }
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nft(value) => value.fmt(f),
            Self::AnyOf(_) => f.write_str("one of several matches"),
            Self::Over(_) | Self::Below(_) => f.write_str("a limit"),
        }
    }
}

/// What happens to the packets of a rule that is left out.
pub(super) fn consequence(statements: &[Statement]) -> &'static str {
    let known = statements.iter().rev().find_map(|it| find_consequence(it.kind()));
    known.unwrap_or("packets continue with the next rule")
}

/// The number of values in a JSON value, which `serde_json` nests 128 deep at most.
pub(super) fn weight(value: &Value) -> usize {
    step(1);
    match value {
        Value::Array(values) => 1 + values.iter().map(weight).sum::<usize>(),
        Value::Object(values) => 1 + values.values().map(weight).sum::<usize>(),
        _ => 1,
    }
}

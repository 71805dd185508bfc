//! `Value`: the value of a field, constant or varying, as written in a file or a flag.
//!
//! Rule: text remains text until its field is known (`range`), because the field determines what
//! `10.0.0.0/24` or `7` mean and whether they fit.

use std::fmt;
use std::str::FromStr;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::error::ValueError;

/// A field's value. As text, for flags: `7`, `1000..1999`, `10.0.0.0/24`, `53,80,443`, each
/// optionally after `random:` or `zipf=1.1:`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A constant: the same value in all frames.
    Constant(Atom),
    /// A value that differs from frame to frame.
    Vary(Vary),
}

/// One number, address or name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Atom {
    Number(u64),
    Text(String),
}

/// Values of which each frame has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Vary {
    pub pool: Pool,
    /// Distance from one value of a range to the next.
    pub step: u64,
    /// Which value a frame has.
    pub order: Order,
}

/// The values to choose from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Pool {
    /// `first..last`, both included, or `10.0.0.0/24`.
    Range(String),
    /// Each of these values.
    List(Vec<Atom>),
}

/// Which value of a pool a frame has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// The next one; after the last, the first again.
    Sequence,
    /// One at random, each with the same probability.
    Random,
    /// One at random, with a probability in proportion to 1 / rank^exponent.
    Zipf(f64),
    /// The value of the frame's flow.
    Flow,
}

/// `Vary` as written in a description: `{ sequence = "1..9", step = 2 }` and so on.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<Pool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    random: Option<Pool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<Pool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<Pool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zipf: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<Pool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
}

impl TryFrom<Written> for Vary {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        if written.zipf.is_some() != written.of.is_some() {
            return Err("`zipf` and `of` belong together: { zipf = 1.1, of = \"10.0.0.0/24\" }");
        }
        if let Some(Pool::Range(_)) = written.list {
            return Err("`list` must be a list such as [53, 80]");
        }
        let orders = [
            written.sequence.map(|pool| (pool, Order::Sequence)),
            written.random.map(|pool| (pool, Order::Random)),
            written.list.map(|pool| (pool, Order::Sequence)),
            written.flow.map(|pool| (pool, Order::Flow)),
            written.of.map(|pool| (pool, Order::Zipf(written.zipf.unwrap_or_default()))),
        ];
        let mut given = orders.into_iter().flatten();
        let (pool, order) = match (given.next(), given.next()) {
            (Some(one), None) => one,
            _ => {
                return Err(
                    "expected exactly one of `sequence`, `random`, `list`, `zipf` and `flow`",
                );
            }
        };
        match (&pool, written.step) {
            (Pool::List(_), Some(_)) => Err("a list has no `step`"),
            (Pool::Range(_), Some(0)) => Err("a `step` of 0 does not vary"),
            (_, step) => Ok(Self { pool, step: step.unwrap_or(1), order }),
        }
    }
}

impl From<Vary> for Written {
    fn from(vary: Vary) -> Self {
        let step = (vary.step != 1).then_some(vary.step);
        let (written, pool) = (Self { step, ..Self::default() }, Some(vary.pool));
        match vary.order {
            Order::Sequence => Self { sequence: pool, ..written },
            Order::Random => Self { random: pool, ..written },
            Order::Flow => Self { flow: pool, ..written },
            Order::Zipf(exponent) => Self { zipf: Some(exponent), of: pool, ..written },
        }
    }
}

impl FromStr for Value {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (order, rest) = match text.split_once(':') {
            Some(("random", rest)) => (Some(Order::Random), rest),
            Some(("sequence", rest)) => (Some(Order::Sequence), rest),
            Some((zipf, rest)) if zipf.starts_with("zipf=") => {
                let wrong = |_| ValueError::ExponentText { text: zipf.to_owned() };
                let exponent = zipf["zipf=".len()..].parse().map_err(wrong)?;
                (Some(Order::Zipf(exponent)), rest)
            }
            _ => (None, text),
        };
        let pool = match rest.contains(',') {
            true => Pool::List(rest.split(',').map(|one| Atom::from(one.trim())).collect()),
            false => Pool::Range(rest.to_owned()),
        };
        let constant = !rest.contains([',', '/']) && !rest.contains("..");
        Ok(match order {
            None if constant => Self::Constant(Atom::from(rest)),
            order => Self::Vary(Vary { pool, step: 1, order: order.unwrap_or(Order::Sequence) }),
        })
    }
}

impl From<&str> for Atom {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Constant(Atom::Number(number))
    }
}

/// Converts text to a constant; [`Value::from_str`] reads ranges.
impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Constant(Atom::from(text))
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl<'de> Deserialize<'de> for Atom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Constant(atom) => Ok(atom),
            Value::Vary(_) => {
                Err(D::Error::custom("expected one number or text, not a value that varies"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Pool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PoolVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, text, or a table such as { random = \"1024..65535\" }")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(u64::from(value)))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        let number = u64::try_from(value);
        number.map(Value::from).map_err(|_| E::custom(format!("{value} is below zero")))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        Vary::deserialize(MapAccessDeserializer::new(map)).map(Value::Vary)
    }
}

struct PoolVisitor;

impl<'de> Visitor<'de> for PoolVisitor {
    type Value = Pool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a range such as \"1024..65535\" or \"10.0.0.0/8\", or a list")
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Pool, E> {
        Ok(Pool::Range(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Pool, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Pool::List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str, order: Order) -> Value {
        Value::Vary(Vary { pool: Pool::Range(text.into()), step: 1, order })
    }

    #[test]
    fn flags_read_as_files_do() {
        let list = Pool::List(vec![Atom::from("53"), Atom::from("80")]);
        let cases = [
            ("7", Value::from("7")),
            ("fd00::1", Value::from("fd00::1")),
            ("1..9", range("1..9", Order::Sequence)),
            ("10.0.0.0/8", range("10.0.0.0/8", Order::Sequence)),
            ("random:fd00::/64", range("fd00::/64", Order::Random)),
            ("random:02:00:00:00:00:00/24", range("02:00:00:00:00:00/24", Order::Random)),
            ("zipf=1.1:1..9", range("1..9", Order::Zipf(1.1))),
            ("53, 80", Value::Vary(Vary { pool: list, step: 1, order: Order::Sequence })),
        ];
        for (text, value) in cases {
            assert_eq!(text.parse(), Ok(value), "{text}");
        }
        let wrong = ValueError::ExponentText { text: "zipf=x".into() };
        assert_eq!("zipf=x:1..9".parse::<Value>(), Err(wrong));
    }

    #[test]
    fn what_is_written_is_read() {
        let cases = [
            ("7", "7"),
            ("true", "1"),
            ("\"10.0.0.1\"", "\"10.0.0.1\""),
            (r#"{"sequence":"1..9","step":2}"#, r#"{"sequence":"1..9","step":2}"#),
            (r#"{"list":[1,"x"]}"#, r#"{"sequence":[1,"x"]}"#),
            (r#"{"random":[1,2]}"#, r#"{"random":[1,2]}"#),
            (r#"{"of":"1..9","zipf":1.5}"#, r#"{"zipf":1.5,"of":"1..9"}"#),
            (r#"{"flow":"1..9"}"#, r#"{"flow":"1..9"}"#),
        ];
        for (text, again) in cases {
            let value: Value = serde_json::from_str(text).expect(text);
            assert_eq!(serde_json::to_string(&value).expect(text), again);
        }
    }

    #[test]
    fn missing_and_contradictory_keys_are_rejected() {
        let cases = [
            ("{}", "exactly one of `sequence`"),
            (r#"{"sequence":"1..9","random":"1..9"}"#, "exactly one of `sequence`"),
            (r#"{"zipf":1.1}"#, "`zipf` and `of` belong together"),
            (r#"{"of":"1..9"}"#, "`zipf` and `of` belong together"),
            (r#"{"list":"1..9"}"#, "`list` must be a list"),
            (r#"{"sequence":"1..9","step":0}"#, "`step` of 0"),
            (r#"{"list":[1],"step":2}"#, "a list has no `step`"),
            (r#"{"sequnce":"1..9"}"#, "unknown field `sequnce`"),
            (r#"{"random":7}"#, "a range such as"),
            (r#"{"list":[{"random":"1..9"}]}"#, "not a value that varies"),
            ("-1", "below zero"),
            ("1.5", "a number, text, or a table"),
            ("[1]", "a number, text, or a table"),
        ];
        for (text, why) in cases {
            let error = serde_json::from_str::<Value>(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error:?} does not contain {why:?}");
        }
    }
}

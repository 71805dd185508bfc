//! `Tree`: a value of any type, as JSON for machines and as one line for people.
//!
//! Rule: fields keep the order of the source. Numbers that JSON readers would round (beyond 64
//! bits) become text.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use spec::btf::Value;

/// A value by its BTF type: a number (text beyond 64 bits), `true` or `false`, the name of an
/// enumerator, text, a list, or an object with the members in order; `"0x…"` for a pointer and
/// `"hex:…"` for bytes without a type.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Bool(bool),
    Int(i128),
    Float(f64),
    /// Text, enumerators, `0x…` pointers and `hex:…` bytes.
    Text(String),
    List(Vec<Tree>),
    Record(Vec<(String, Tree)>),
}

/// `hex:0a0b`, as `map update` reads it.
pub fn tagged(bytes: &[u8]) -> String {
    format!("hex:{}", packet::hex(bytes))
}

impl Tree {
    /// The sum of integers, field by field; `None` when anything else is among them.
    pub fn sum(trees: &[Self]) -> Option<Self> {
        let (first, rest) = trees.split_first()?;
        let start = first.is_countable().then(|| first.clone())?;
        rest.iter().try_fold(start, |sum, tree| sum.plus(tree))
    }

    fn is_countable(&self) -> bool {
        match self {
            Self::Int(_) => true,
            Self::List(items) => items.iter().all(Self::is_countable),
            Self::Record(fields) => fields.iter().all(|(_, value)| value.is_countable()),
            Self::Bool(_) | Self::Float(_) | Self::Text(_) => false,
        }
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.checked_add(*b).map(Self::Int),
            (Self::List(a), Self::List(b)) if a.len() == b.len() => {
                a.iter().zip(b).map(|(a, b)| a.plus(b)).collect::<Option<_>>().map(Self::List)
            }
            (Self::Record(a), Self::Record(b)) if a.len() == b.len() => a
                .iter()
                .zip(b)
                .map(|((name, a), (_, b))| Some((name.clone(), a.plus(b)?)))
                .collect::<Option<_>>()
                .map(Self::Record),
            _ => None,
        }
    }
}

impl From<Value> for Tree {
    fn from(value: Value) -> Self {
        match value {
            Value::Int(number) => Self::Int(number),
            Value::Uint(number) => {
                i128::try_from(number).map_or_else(|_| Self::Text(number.to_string()), Self::Int)
            }
            Value::Bool(truth) => Self::Bool(truth),
            Value::Float(number) => Self::Float(number),
            Value::Enum(name, _) => Self::Text(name),
            Value::Text(text) => Self::Text(text),
            Value::Pointer(address) => Self::Text(format!("{address:#x}")),
            Value::Bytes(raw) => Self::Text(tagged(&raw)),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Struct(fields) => {
                let fields = fields.into_iter();
                Self::Record(fields.map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Int(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(signed), _) => serializer.serialize_i64(signed),
                (_, Ok(unsigned)) => serializer.serialize_u64(unsigned),
                _ => serializer.serialize_str(&number.to_string()),
            },
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Record(fields) => {
                let mut record = serializer.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(name, value)| record.serialize_entry(name, value))?;
                record.end()
            }
        }
    }
}

/// `{packets: 3, verdict: XDP_DROP}`.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Self::Record(fields) => {
                let fields: Vec<_> =
                    fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                write!(f, "{{{}}}", fields.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(fields: &[(&str, Tree)]) -> Tree {
        Tree::Record(fields.iter().map(|(name, tree)| ((*name).to_owned(), tree.clone())).collect())
    }

    #[test]
    fn only_integers_are_added_up() {
        let counts = |a, b| record(&[("z", Tree::Int(a)), ("a", Tree::List(vec![Tree::Int(b)]))]);
        assert_eq!(Tree::sum(&[counts(1, 10), counts(2, 20)]), Some(counts(3, 30)));
        let named = record(&[("z", Tree::Int(1)), ("name", Tree::Text("x".into()))]);
        assert_eq!(Tree::sum(&[named.clone(), named]), None);
        assert_eq!(Tree::sum(&[Tree::Int(1), Tree::Bool(true)]), None);
        assert_eq!(Tree::sum(&[Tree::Int(i128::MAX), Tree::Int(1)]), None);
        assert_eq!(Tree::sum(&[]), None);
    }

    #[test]
    fn fields_keep_their_order_and_numbers_their_digits() {
        let tree = record(&[
            ("z", Tree::Int(i128::from(u64::MAX))),
            ("a", Tree::Int(-1)),
            ("big", Tree::Int(1 << 70)),
        ]);
        let json = serde_json::to_string(&tree).unwrap();
        assert_eq!(json, r#"{"z":18446744073709551615,"a":-1,"big":"1180591620717411303424"}"#);
        assert_eq!(record(&[("b", Tree::Bool(true))]).to_string(), "{b: true}");
    }

    #[test]
    fn values_become_trees() {
        let value = Value::Struct(vec![
            ("mac".into(), Value::Array(vec![Value::Uint(2), Value::Uint(0)])),
            ("verdict".into(), Value::Enum("XDP_DROP".into(), 1)),
            ("next".into(), Value::Pointer(16)),
            ("rest".into(), Value::Bytes(vec![1, 255])),
        ]);
        let text = Tree::from(value).to_string();
        assert_eq!(text, "{mac: [2, 0], verdict: XDP_DROP, next: 0x10, rest: hex:01ff}");
    }
}

//! Why a field of a value cannot be set.

use thiserror::Error;

use super::ValueError;

/// Why a field of a typed value cannot be set. The value is then unchanged.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldError {
    /// The type has no field of that name.
    #[error("{type_text} has no field `{field}`{}", did_you_mean(near))]
    UnknownField { field: String, type_text: String, near: Vec<String> },
    /// A field is named of a type that has none.
    #[error("{type_text} has no fields: `{rest}` does not belong to it")]
    NoFields { rest: String, type_text: String },
    /// The index is outside of the array.
    #[error("{type_text} has {count} elements: the last index is {}", count.saturating_sub(1))]
    Index { type_text: String, count: u32 },
    /// The text of a path or of a list of fields is malformed.
    #[error("`{text}`: expected {expected}")]
    Syntax { text: String, expected: &'static str },
    /// The field does not take the value.
    #[error("`{place}`, {type_text}: {cause}")]
    Value { place: String, type_text: String, cause: ValueError },
    /// The types are damaged, or do not have the size of the value.
    #[error("the type does not describe the value")]
    Damaged,
}

fn did_you_mean(near: &[String]) -> String {
    near.first().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

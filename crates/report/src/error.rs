//! What can be wrong with measured values. All of it is for the one who measured to mend.
//!
//! Rule: a variant names the row and the round, so that the bad sample can be found.

/// A set of measurements that gives no statistics.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// No value at all.
    #[error("no samples: measure at least one round")]
    Empty,
    /// NaN or infinite; `index` counts from 0.
    #[error("sample {index} is {value}, which is not a finite number")]
    NotFinite { index: usize, value: f64 },
    /// A ratio's pair has no round in common.
    #[error("a ratio needs pairs: {a} rounds against {b}")]
    Unpaired { a: usize, b: usize },
    /// A ratio's second value is zero; `index` counts from 0.
    #[error("round {index} is zero, so nothing can be compared with it")]
    ZeroBase { index: usize },
    /// A benchmark without rows.
    #[error("benchmark \"{scenario}\" has no rows")]
    NoRows { scenario: String },
    /// One row was measured in two units.
    #[error("row \"{row}\" is in {first}, but a later round is in {second}")]
    Units { row: String, first: String, second: String },
    /// A ratio names a row that has no rounds.
    #[error("no row \"{row}\" to build a ratio from")]
    UnknownRow { row: String },
    /// Something is wrong with one row or ratio.
    #[error("\"{row}\": {source}")]
    Row { row: String, source: Box<Error> },
}

impl Error {
    pub(crate) fn in_row(self, row: impl Into<String>) -> Error {
        Error::Row { row: row.into(), source: Box::new(self) }
    }
}

//! `Errors`: all mistakes in a rule file, so that they can be corrected together.

use std::fmt;

/// One mistake in a rule file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub file: String,
    /// Line number from 1; `None` if the error is about the whole file.
    pub line: Option<usize>,
    pub reason: String,
}

/// All mistakes in a rule file; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(pub Vec<Error>);

impl Error {
    /// An error in a file, with a line if it is known.
    pub(super) fn new(file: &str, line: Option<usize>, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, reason: reason.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<_> = self.0.iter().take(SHOWN).map(ToString::to_string).collect();
        f.write_str(&shown.join("\n"))?;
        match self.0.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Self(vec![error])
    }
}

impl std::error::Error for Error {}
impl std::error::Error for Errors {}

/// The number of errors that are listed; the others are counted.
const SHOWN: usize = 20;

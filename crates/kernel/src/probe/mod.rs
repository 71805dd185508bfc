//! Features of the running kernel, found by trying them: load the smallest program, make the
//! smallest map, attach in a namespace that ends with the probe.
//!
//! Rule: no version is compared. Whatever is missing comes with the kernel's own words. A probe
//! leaves nothing behind.

mod attaching;
mod code;
mod loading;
mod maps;
mod table;

use crate::error::Error;
use crate::load::Host;

/// What the kernel was asked for, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// A word for scripts, such as `xdp-link`.
    pub name: String,
    /// What needs it.
    pub purpose: &'static str,
    /// The kernel's words; `None` when it is available.
    pub refusal: Option<String>,
}

impl Feature {
    pub fn is_available(&self) -> bool {
        self.refusal.is_none()
    }
}

/// Tries everything. Takes well below a second; needs what loading needs.
pub fn all() -> Vec<Feature> {
    let mut host = Host::new();
    table::ROWS
        .iter()
        .map(|row| Feature {
            name: row.name.to_owned(),
            purpose: row.purpose,
            refusal: (row.attempt)(&mut host).err(),
        })
        .collect()
}

/// Tries one feature; `None` when no probe is called so.
pub fn one(name: &str) -> Option<Feature> {
    let row = table::ROWS.iter().find(|row| row.name == name)?;
    let refusal = (row.attempt)(&mut Host::new()).err();
    Some(Feature { name: row.name.to_owned(), purpose: row.purpose, refusal })
}

/// What a probe answers: nothing, or the kernel's words.
type Answer = Result<(), String>;

/// The line of an error that says why, without the advice for authors of programs.
fn words(error: &Error) -> String {
    match error {
        Error::Verifier { log, .. } => log.decisive.clone(),
        Error::System(source) | Error::Denied { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

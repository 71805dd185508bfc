//! Detects features of the running kernel by trying them: a probe loads a minimal program, creates
//! a minimal map, or attaches in a network namespace that ends with the probe.
//!
//! Rule: kernel versions are never compared. A missing feature is reported in the kernel's own
//! words. A probe leaves nothing loaded or attached.

mod attaching;
mod code;
mod loading;
mod maps;
mod table;
mod unavailable;

use crate::load::Host;

pub use unavailable::Unavailable;

/// A feature of the kernel, and whether it is available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The name that scripts use, such as `xdp-link`.
    pub name: String,
    /// What requires the feature.
    pub purpose: &'static str,
    /// Why the feature is not available; `None` if it is.
    pub refusal: Option<Unavailable>,
}

impl Feature {
    /// Whether the probe succeeded.
    pub fn is_available(&self) -> bool {
        self.refusal.is_none()
    }
}

/// Tries every feature, in less than a second. Requires the capabilities that loading requires.
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

/// Tries one feature; `None` if no probe has this name.
pub fn one(name: &str) -> Option<Feature> {
    let row = table::ROWS.iter().find(|row| row.name == name)?;
    let refusal = (row.attempt)(&mut Host::new()).err();
    Some(Feature { name: row.name.to_owned(), purpose: row.purpose, refusal })
}

/// Result of a probe.
type Answer = Result<(), Unavailable>;

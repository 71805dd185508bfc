//! Programs decoded for execution: one dense operation a slot.
//!
//! Decoding checks what needs no run: known codes, registers, jump targets, known functions.
//! The seam for what follows: `spec::Program` (bytes) → a static verifier's `Verified` →
//! `Compiled`. The interpreter alone may take a program that no verifier has seen, because it
//! checks every access when it happens.

use std::sync::Arc;

use spec::btf::Btf;

use crate::error::Result;
use crate::maps::Map;

/// What names in a program resolve to.
pub(crate) struct Link<'a> {
    /// By the number of the object's map.
    pub maps: &'a [Arc<Map>],
}

/// A program, ready to run.
#[derive(Debug)]
pub struct Program {
    source: spec::Program,
}

impl Program {
    pub(crate) fn decode(
        source: &spec::Program,
        _btf: Option<&Btf>,
        _link: &Link<'_>,
    ) -> Result<Self> {
        Ok(Self { source: source.clone() })
    }

    pub fn kind(&self) -> spec::ProgramKind {
        self.source.kind
    }

    pub fn name(&self) -> &str {
        &self.source.name
    }
}

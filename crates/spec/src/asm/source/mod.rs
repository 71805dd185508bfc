//! Assembly source of a whole object: sections, symbols, data and maps, as an ELF file.
//!
//! ```
//! let object = spec::asm::source::assemble("drop.s", r#"
//!     .license "GPL"
//!     .map packets array key=4 value=8 entries=1
//!     .section xdp
//! drop:
//!     *(u32 *)(r10 - 4) = 0
//!     r2 = r10
//!     r2 += -4
//!     r1 = packets ll
//!     call bpf_map_lookup_elem
//!     if r0 == 0 goto out
//!     r1 = 1
//!     lock *(u64 *)(r0 + 0) += r1
//! out:
//!     r0 = 1
//!     exit
//! "#)?;
//! let spec = spec::Spec::parse("drop.o", &object)?;
//! assert_eq!(spec.programs[0].name, "drop");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The directives are those that `clang -S` writes, and `.license`, `.map` and `.values`, which
//! spare an author the types that describe maps. An object without types of its own gets some:
//! each source line, function and variable is described. Rule: the text of `clang -S` gives the
//! object that `clang -c` would, without DWARF. Not here: instructions ([`text`](super::text)).

mod data;
mod describe;
mod directive;
mod elf;
mod ext;
mod layout;
mod map;
mod unit;

use thiserror::Error;

use super::text;
use unit::Unit;

/// Why a source gives no object.
#[derive(Debug, Error)]
pub enum Error {
    /// A mistake in the text.
    #[error(transparent)]
    Text(#[from] text::Error),
    /// The generated types are too large.
    #[error("the object's types: {0}")]
    Types(#[source] Box<crate::Error>),
    /// The file cannot be written: it is too large.
    #[error("the object file: {0}")]
    File(String),
}

/// Assembles a source into an ELF file. `name` is the file that source lines refer to.
///
/// # Errors
/// The first mistake.
pub fn assemble(name: &str, text: &str) -> Result<Vec<u8>, Error> {
    let mut unit = Unit::default();
    for (text, line) in text.lines().zip(1..) {
        directive::line(&mut unit, line, text)?;
    }
    layout::complete(&mut unit)?;
    if !unit.has_types() {
        describe::add(&mut unit, name)?;
    }
    elf::write(&unit)
}

#[cfg(test)]
mod tests;

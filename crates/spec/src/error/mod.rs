//! The error of this crate: what is wrong with an object, where, and how to correct it.
//!
//! Every variant names the position as exactly as the file allows ([`Place`]). Not here: errors of
//! a running system, which belong to the runtimes.

mod btf;
mod field;
mod relocation;
mod value;

use std::fmt;

use thiserror::Error;

pub use btf::{BtfSection, InvalidBtf};
pub use field::FieldError;
pub(crate) use relocation::Missing;
pub use relocation::RelocationError;
pub use value::ValueError;

/// A position in an object. Parts that are unknown or do not apply are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The name of the `Spec`, usually the file name.
    pub file: String,
    /// Name of the section.
    pub section: String,
    /// Name of the symbol.
    pub symbol: String,
    /// Bytes from the start of the section, or of the file when no section is named.
    pub offset: Option<u64>,
}

/// Why an object cannot be read, changed or relocated.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Error {
    #[error(
        "{file}: not an ELF file: it starts with {found}; \
         build it with `clang --target=bpf -O2 -g -c`"
    )]
    NotElf { file: String, found: String },

    #[error("{file}: big-endian object; rebuild it with `--target=bpfel` for this machine")]
    WrongEndian { file: String },

    #[error(
        "{file}: made for ELF machine {machine}, not for BPF (247); rebuild it with `--target=bpf`"
    )]
    WrongMachine { file: String, machine: u16 },

    #[error("{file}: {found} instead of a 64-bit relocatable object; compile with `clang -c`")]
    NotRelocatable { file: String, found: String },

    #[error("{at}: {what}; the file is damaged or truncated: copy or build it again")]
    Malformed { at: Place, what: String },

    #[error(
        "{at}: undefined symbol: link the file that defines it with `bpftool gen object`, \
         or declare it `__ksym` or `__kconfig` and compile with -g"
    )]
    Undefined { at: Place },

    #[error("{at}: {what}")]
    Unsupported { at: Place, what: String },

    #[error("{at}: map definition: {what}")]
    Map { at: Place, what: String },

    #[error("{file}: has no map `{name}`; it has {}", words(.known))]
    UnknownMap { file: String, name: String, known: Vec<String> },

    #[error(
        "{file}: does not read the configuration option `{name}`{}",
        if .known.is_empty() { String::new() } else { format!(", but {}", .known.join(", ")) }
    )]
    UnknownKconfig { file: String, name: String, known: Vec<String> },

    #[error(
        "{file}: `{text}` is not a value for configuration option `{name}`: expected y, n, m, a \
         number of {size} bytes or text in double quotes"
    )]
    KconfigValue { file: String, name: String, text: String, size: u32 },

    #[error("{at}: too big: {what}")]
    TooBig { at: Place, what: String },

    #[error("BTF at offset {offset:#x}: {cause}")]
    Btf { offset: usize, cause: InvalidBtf },

    #[error("{at}: field relocation: {cause}")]
    Relocation { at: Place, cause: RelocationError },

    #[error("{file}: has no global `{name}`{}", near_text(.near))]
    UnknownGlobal { file: String, name: String, near: Vec<String> },

    #[error("{file}: global `{name}` of type `{type_text}`: {cause}")]
    GlobalValue { file: String, name: String, type_text: String, cause: Box<ValueError> },
}

impl Error {
    pub(crate) fn malformed(at: Place, what: impl Into<String>) -> Self {
        Self::Malformed { at, what: what.into() }
    }

    pub(crate) fn unsupported(at: Place, what: impl Into<String>) -> Self {
        Self::Unsupported { at, what: what.into() }
    }

    pub(crate) fn map(at: Place, what: impl Into<String>) -> Self {
        Self::Map { at, what: what.into() }
    }

    pub(crate) fn btf(offset: usize, cause: InvalidBtf) -> Self {
        Self::Btf { offset, cause }
    }

    /// Adds file and section to a BTF error; returns other errors unchanged.
    pub(crate) fn in_section(self, file: &str, section: &str) -> Self {
        match self {
            Self::Btf { offset, cause } => {
                let at = Place::new(file).section(section).offset(offset as u64);
                Self::malformed(at, cause.to_string())
            }
            other => other,
        }
    }
}

impl Place {
    pub(crate) fn new(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    pub(crate) fn section(mut self, section: &str) -> Self {
        section.clone_into(&mut self.section);
        self
    }

    pub(crate) fn symbol(mut self, symbol: &str) -> Self {
        symbol.clone_into(&mut self.symbol);
        self
    }

    pub(crate) fn offset(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        let mut separator = ": ";
        if !self.section.is_empty() {
            write!(f, "{separator}section `{}`", self.section)?;
            separator = ", ";
        }
        if !self.symbol.is_empty() {
            write!(f, "{separator}symbol `{}`", self.symbol)?;
            separator = ", ";
        }
        match self.offset {
            Some(offset) => write!(f, "{separator}offset {offset:#x}"),
            None => Ok(()),
        }
    }
}

fn words(known: &[String]) -> String {
    if known.is_empty() { "no maps".to_owned() } else { known.join(", ") }
}

fn near_text(near: &[String]) -> String {
    if near.is_empty() {
        return "; it has no globals at all".to_owned();
    }
    format!("; it has {}", near.join(", "))
}

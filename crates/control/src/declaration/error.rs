//! Why a declaration is not valid.

use std::path::PathBuf;

/// A declaration that is not valid, with its file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct DeclarationError {
    /// Path of the file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a declaration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(Box<crate::Error>),
    /// Every user can change the file or directory.
    #[error("every user can change {0}: withdraw that by `chmod o-w {0}`", path.display())]
    Writable { path: PathBuf },
    /// The file is not TOML, or has unknown keys, or values of another type.
    #[error("{0}")]
    Syntax(Box<toml::de::Error>),
    /// The interface has a name that no interface can have.
    #[error("`{word}` is not a valid name or MAC address of an interface")]
    Interface { word: String },
    /// Two programs with one name.
    #[error(
        "two programs have the name `{name}`: give an object another one by `name`, and remove all \
         but one filter, drop and forward"
    )]
    NameTaken { name: String },
    /// A name that no member can have.
    #[error("invalid name `{name}`: expected letters, digits, `_` and `-`, at most {limit}")]
    Name { name: String, limit: usize },
    /// Several programs on a network card.
    #[error("{number} programs are declared, but a network card runs one: use another mode")]
    Offload { number: usize },
    /// A word in `continue-on` that is not a verdict.
    #[error("{0} (in continue-on)")]
    Verdict(#[from] spec::UnknownVerdict),
    /// A program without any of the keys that determine its kind.
    #[error("a program needs one of the keys filter, drop, forward and object")]
    NoKind,
    /// A program with several of these keys.
    #[error("a program has one of the keys {}, not several", kinds.join(" and "))]
    SeveralKinds { kinds: Vec<&'static str> },
    /// An option of another kind of program.
    #[error("`{option}` is not an option of {kind}; it has {}", allowed.join(", "))]
    Option { option: &'static str, kind: &'static str, allowed: &'static [&'static str] },
    /// Not an amount of memory.
    #[error("invalid memory `{word}`: expected an amount such as 65536, 64KiB or 16MiB")]
    Memory { word: String },
    /// An option of `detect` has another form, or is out of range.
    #[error("invalid detect.{key} `{word}`: expected {expected}")]
    Detect { key: &'static str, word: String, expected: String },
    /// Two files declare the same interface.
    #[error("{interface} is declared by {} as well: keep one of both", other.display())]
    Duplicate { interface: String, other: PathBuf },
    /// Two files declare a program of the same name for an interface, one of them from elsewhere.
    #[error(
        "{interface} has the program {program} in {} as well: it runs on an interface once",
        other.display()
    )]
    Twice { interface: String, program: String, other: PathBuf },
    /// Two files declare programs of an interface, in different modes.
    #[error("{interface} has another mode in {}: its programs run in one mode", other.display())]
    OtherMode { interface: String, other: PathBuf },
    /// Several interfaces have the declared address.
    #[error(
        "{} have the address {address}: declare the interface by its name",
        interfaces.join(" and ")
    )]
    Ambiguous { address: String, interfaces: Vec<String> },
    /// Rules or an object that the file names are not valid.
    #[error("{0}")]
    Invalid(Box<crate::Error>),
}

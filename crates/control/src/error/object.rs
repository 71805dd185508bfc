//! `ObjectError`: no object or program matches the request.

/// Why a request does not determine an object, or a program of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// The name is neither a file nor a built-in program.
    #[error(
        "`{name}` is neither a file nor a built-in program; built in are {}",
        built_in.join(", ")
    )]
    NotFound { name: String, built_in: Vec<&'static str> },
    /// The object has no program of this name.
    #[error("`{object}` has no program `{program}`; it has {}", list(known))]
    NoSuchProgram { object: String, program: String, known: Vec<String> },
    /// The object holds no program at all.
    #[error("`{object}` holds no program")]
    Empty { object: String },
    /// No program of the object can run on an interface, according to their sections.
    #[error(
        "`{object}` holds no XDP program but {}: name one with --program, and specify its type \
         with --type",
        list(known)
    )]
    NoXdpProgram { object: String, known: Vec<String> },
    /// Several programs of the object can run on an interface.
    #[error(
        "`{object}` holds {} programs: choose one with --program: {}",
        known.len(),
        list(known)
    )]
    SeveralPrograms { object: String, known: Vec<String> },
    /// The word is not the name of a program type.
    #[error("unknown program type `{0}`; expected a section name such as xdp, xdp.frags, tc")]
    UnknownType(String),
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

//! Why programs cannot be composed, and what to do instead.

use thiserror::Error;

/// Why programs cannot be composed. Nothing has been changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    #[error("nothing to compose")]
    Empty,

    #[error("{count} programs in one chain; at most {limit} fit")]
    TooMany { count: usize, limit: usize },

    #[error("{object} has no program \"{program}\"; it has: {known}")]
    NoProgram { object: String, program: String, known: String },

    #[error("program \"{program}\" is of type {program_type}; only XDP programs (6) give verdicts")]
    NotXdp { program: String, program_type: u32 },

    #[error("program \"{program}\" has no instructions")]
    NoInstructions { program: String },

    #[error("no verdict of program \"{program}\" continues the chain: programs after it never run")]
    Final { program: String },

    #[error("program \"{program}\" is composed already: it has a map \"{map}\"; compose its parts")]
    Composed { program: String, map: &'static str },

    #[error(
        "programs \"{first}\" and \"{second}\" differ in attach type or load flags; \
         chain them by tail calls"
    )]
    KindsDiffer { first: String, second: String },

    #[error(
        "licenses \"{first}\" and \"{second}\" do not go into one program; chain them by tail calls"
    )]
    LicensesDiffer { first: String, second: String },

    #[error(
        "{first} and {second} both read kernel configuration, which one program can do once; \
         chain them by tail calls"
    )]
    TwoKconfigs { first: String, second: String },

    #[error("map \"{map}\" is pinned by name in two objects with different shapes; rename one")]
    PinnedDiffer { map: String },

    #[error("types of the composed program: {0}")]
    Types(Box<crate::Error>),

    #[error(
        "program \"{program}\" has no function \"{function}\" to call or to replace; \
         it has: {known}"
    )]
    NoFunction { program: String, function: String, known: String },

    #[error("a jump of program \"{program}\" gets too long when its blocks are counted")]
    TooLong { program: String },

    #[error("generated code: {0}")]
    Generated(#[from] crate::asm::Error),
}

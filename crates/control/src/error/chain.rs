//! Why a chain cannot be changed.

use spec::UnknownVerdict;

/// Why a chain cannot be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// Another member has the name.
    #[error("the chain has a member `{name}` already: give the new one another name (--name)")]
    NameTaken { name: String },
    /// Nothing runs on the interface.
    #[error("no program of xway runs on {interface}")]
    Nothing { interface: String },
    /// No member has the name.
    #[error("the chain has no member `{name}`; it has {}", known.join(", "))]
    NoMember { name: String, known: Vec<String> },
    /// A name that no directory can have.
    #[error("invalid name `{name}`: expected letters, digits, `_` and `-`, at most {limit}")]
    Name { name: String, limit: usize },
    /// More members than a chain can have.
    #[error("a chain has at most {limit} members")]
    TooMany { limit: usize },
    /// More members than tail calls for a packet.
    #[error(
        "{count} programs that cannot be composed: the kernel follows at most {limit} tail calls \
         for a packet"
    )]
    TooManyCalls { count: usize, limit: usize },
    /// A program that is made of rules or of a configuration, and of no object.
    #[error("`{program}` is made of rules, and only programs of objects can be composed so far")]
    NotAnObject { program: String },
    /// The object was not kept, and its file has other contents now.
    #[error("{path} was changed since it was attached: attach it again")]
    Changed { path: String },
    /// A built-in program of another version, whose maps its code does not know.
    #[error("{program} was attached by an older version: replace it first (--replace)")]
    OlderVersion { program: String },
    /// Pins of members were removed.
    #[error(
        "pins of {} members are missing, so the chain cannot be changed: detach it and attach its \
         programs again",
        expected.abs_diff(*found)
    )]
    MissingPins { found: usize, expected: usize },
    /// The programs run in several modes.
    #[error("programs run in several modes: detach one of them")]
    SeveralModes,
    /// The chain runs in another mode.
    #[error("the chain runs in {running} mode: detach it before you attach it in {asked} mode")]
    Mode { running: &'static str, asked: &'static str },
    /// A change of a declared chain that takes several steps.
    #[error(
        "this change takes several steps, because of a router, another mode or another program, \
         so it cannot wait for a confirmation: leave out --confirm"
    )]
    Confirm,
    /// Without members, no program could return to them.
    #[error("the removal of the last member cannot wait for a confirmation: leave out --confirm")]
    ConfirmLast,
    /// The return to the running members would be one tail call more than the kernel follows.
    #[error(
        "the kernel follows at most {limit} tail calls for a packet, so no program can return to \
         the {limit} members that run: leave out --confirm"
    )]
    NoReturn { limit: usize },
    /// A word that is not a verdict.
    #[error("{0}")]
    Verdict(#[from] UnknownVerdict),
    /// Each program is accepted, but not all of them as one.
    #[error(
        "the kernel accepts each of the {members} programs, but not the chain: its stack, its \
         instructions or its maps (at most 64) are too many together{}",
        .tail_calls.as_ref().map(|why| format!("; and tail calls cannot chain them: {why}"))
            .unwrap_or_default()
    )]
    Together { members: usize, tail_calls: Option<String> },
    /// A member that only its device may run.
    #[error(
        "`{name}` queries its device, for example for VLAN tags, so it is bound to it, and this \
         kernel refuses tail calls in a bound program ({reason}): use generic mode, or leave out \
         what is queried"
    )]
    BoundMember { name: String, reason: String },
}

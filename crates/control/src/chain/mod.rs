//! Chains: several programs on one interface, composed to one.
//!
//! ```text
//!  generations of the running program ─▶ links ─▶ changed list ─▶ compose ─▶ load ─▶ one swap
//!   (maps, record, place of each)       (objects,                  (spec)    (shares   (a new
//!                                        read again)                          all maps) generation
//!                                                                                       for each)
//! ```
//!
//! Rule: a change takes effect in one step and keeps the maps of all members that remain, so no
//! packet is undecided, and none is lost from a count. The chain is found by its pins alone: any
//! process can continue it, and one that is killed leaves the old chain or the new one.
//! Not here: how programs become one (`spec::compose`).

mod change;
mod link;
mod report;

use kernel::Mode;
use spec::compose::VerdictSet;

pub use report::{ChainReport, MemberReport};

use crate::Control;
use crate::error::{ChainError, Result};
use crate::lockout::Lockout;
use crate::object::Opened;
use change::Chain;

/// How a member is added.
#[derive(Clone, Debug, Default)]
pub struct MemberOptions {
    /// Name of the member; `None`: that of its object.
    pub name: Option<String>,
    /// Program of the object; `None` for the only one that an interface can run.
    pub program: Option<String>,
    /// `None`: the default of its kind, see [`default_priority`].
    pub priority: Option<u32>,
    /// Verdicts after which the next member runs.
    pub continue_on: VerdictSet,
    /// Values of global variables, by name, as text.
    pub set: Vec<(String, String)>,
    /// Mode of the chain if this is its first member; `None`: native.
    pub mode: Option<Mode>,
    /// Whether the program may end the SSH session of this process.
    pub lockout: Lockout,
}

/// What to change of a member.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemberChange {
    pub priority: Option<u32>,
    pub continue_on: Option<VerdictSet>,
}

/// Adds a program. What runs on the interface becomes, or is, a chain.
///
/// # Errors
/// Another owner's program runs, or one that cannot be part of a chain; the name is taken; the
/// programs cannot be composed; the kernel refuses them. Then nothing has changed.
pub fn add(
    control: &Control,
    interface: &str,
    opened: &Opened,
    options: &MemberOptions,
) -> Result<ChainReport> {
    let mut chain = Chain::open(control, interface)?;
    chain.add(opened, options)?;
    chain.apply()
}

/// Removes a member. Without any, nothing runs on the interface.
///
/// # Errors
/// There is no such member, or the rest cannot be composed. Then nothing has changed.
pub fn remove(control: &Control, interface: &str, name: &str) -> Result<ChainReport> {
    let mut chain = Chain::open(control, interface)?;
    chain.remove(name)?;
    chain.apply()
}

/// Moves a member to another priority, or changes the verdicts after which the next one runs.
///
/// # Errors
/// There is no such member, or the members cannot be composed in this way. Then nothing has
/// changed.
pub fn change(
    control: &Control,
    interface: &str,
    name: &str,
    change: MemberChange,
) -> Result<ChainReport> {
    let mut chain = Chain::open(control, interface)?;
    chain.change(name, change)?;
    chain.apply()
}

/// The members of an interface with their counters.
///
/// # Errors
/// There is no such interface, or its programs may not be read.
pub fn show(control: &Control, interface: &str) -> Result<ChainReport> {
    report::read(control, interface)
}

/// Priority of a program of this name: a filter runs before `drop`, `drop` before other objects,
/// and these before `forward`.
pub fn default_priority(name: &str) -> u32 {
    match name {
        "filter" => 100,
        "drop" => 200,
        "forward" => 400,
        _ => 300,
    }
}

/// Parses verdicts after which the next member runs, such as `pass,tx`.
///
/// # Errors
/// A word is not the name of a verdict.
pub fn verdicts(text: &str) -> Result<VerdictSet, ChainError> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    Ok(words.map(str::parse).collect::<Result<_, _>>()?)
}

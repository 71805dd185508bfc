//! `xway chain`.

use clap::{Args, Subcommand};
use control::chain::verdicts;
use spec::compose::VerdictSet;

use super::attach::{Caution, ModeArg, Wait};
use super::object::ObjectArgs;
use super::value::{ValueError, assignment};

/// `xway chain`.
#[derive(Debug, Args)]
pub struct ChainArgs {
    /// Network interface
    pub iface: String,

    #[command(subcommand)]
    pub action: ChainAction,
}

/// What to do with the chain of an interface.
#[derive(Debug, Subcommand)]
pub enum ChainAction {
    /// Add a program of an object to the chain
    ///
    /// What runs on the interface becomes a chain. The change takes effect in one step, and all
    /// maps of the other members are kept.
    Add(Box<ChainAddArgs>),
    /// Remove a member from the chain
    Remove {
        /// Name of the member
        name: String,

        #[command(flatten)]
        wait: Wait,
    },
    /// Change the priority of a member, or the verdicts after which the next one runs
    Move {
        /// Name of the member
        name: String,
        /// Members run in ascending order of this number
        #[arg(long, value_name = "N", required_unless_present = "continue_on")]
        priority: Option<u32>,
        /// Verdicts after which the next member runs, such as pass,tx
        #[arg(long, value_name = "VERDICTS", value_parser = verdict_set)]
        continue_on: Option<VerdictSet>,

        #[command(flatten)]
        wait: Wait,
    },
    /// Move the programs of libxdp's dispatcher to a chain
    ///
    /// The chain replaces the dispatcher in one step, with the maps, priorities and verdicts of its
    /// programs. Their code cannot be read back from the kernel: each is found by name and tag
    /// among the programs of the objects. Nothing changes if one is not found.
    Adopt {
        /// Object files that the programs were loaded from
        #[arg(required = true, value_name = "OBJECT")]
        objects: Vec<String>,
    },
    /// Show the members with their packets by verdict
    Show,
}

/// `xway chain add`.
#[derive(Debug, Args)]
pub struct ChainAddArgs {
    /// Object file such as prog.o, or name of a built-in program (drop, forward)
    pub object: String,

    /// Name of the member (default: name of the object)
    #[arg(long)]
    pub name: Option<String>,

    /// Program of the object; required if there are several
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,

    /// Program type, if the section name does not contain it, such as xdp or xdp.frags
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,

    /// Members run in ascending order of this number (default: filter 100, drop 200, forward 400,
    /// others 300)
    #[arg(long, value_name = "N")]
    pub priority: Option<u32>,

    /// Verdicts after which the next member runs, such as pass,tx; after any other, the chain ends
    #[arg(long, value_name = "VERDICTS", default_value = "pass", value_parser = verdict_set)]
    pub continue_on: VerdictSet,

    /// Mode of the chain; the default is native for the first member
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,

    /// Set a global variable before the program is loaded, such as port=53 (may be repeated)
    #[arg(long = "set", value_name = "GLOBAL=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,

    #[command(flatten)]
    pub caution: Caution,

    #[command(flatten)]
    pub open: ObjectArgs,
}

fn verdict_set(text: &str) -> Result<VerdictSet, ValueError> {
    verdicts(text).map_err(ValueError::library)
}

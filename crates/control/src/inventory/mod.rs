//! Programs and maps in the kernel, of any owner, with everything that refers to them.
//!
//! Rule: an answer is read once and is a plain value. Not here: changing a map, naming an object.

mod bytes;
mod descriptor;
mod graph;
pub mod listing;
mod maps;
mod programs;
mod tree;
mod types;

use std::path::PathBuf;

use serde::Serialize;

pub use bytes::{BytesError, hex, parse_bytes};
pub use descriptor::{DescriptorInfo, descriptor};
pub use graph::{Graph, GraphEdge, GraphNode, NodeId, NodeKind, Relation, graph};
pub use maps::{
    Content, Entries, Entry, Found, Map, MapRef, MapReport, Maps, ProgramName, content, entries,
    found, map, map_kind, map_ref, maps, order,
};
pub use programs::{
    Attachment, MapName, Program, ProgramRef, ProgramReport, Programs, Runs, program, program_kind,
    program_ref, programs,
};
pub use tree::{Tree, tagged};
pub use types::Types;

/// A process that keeps an object alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Name of the command, at most 15 characters.
    pub command: String,
}

impl From<&kernel::list::Owner> for Process {
    fn from(owner: &kernel::list::Owner) -> Self {
        Self { pid: owner.pid, command: owner.command.clone() }
    }
}

fn paths(pins: &[PathBuf]) -> Vec<String> {
    pins.iter().map(|path| path.display().to_string()).collect()
}

/// The kernel writes 0 for "none".
fn some(number: u32) -> Option<u32> {
    (number != 0).then_some(number)
}

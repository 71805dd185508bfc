//! `Explanation`: the path of one packet through a program, line by line.

use control::inventory::Tree;
use serde::Serialize;

/// The path of a packet, composed of the engine's events.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// Name of the object.
    pub object: String,
    /// Name of the program.
    pub program: String,
    /// Number of the packet in the capture, from 1.
    pub packet: u64,
    /// The packet as it arrived, in a line for people.
    pub summary: String,
    /// Length of the packet as it arrived, in bytes.
    pub before_bytes: usize,
    /// Length of the packet after the program, in bytes.
    pub after_bytes: usize,
    /// Stretches of the path in order.
    pub path: Vec<Item>,
    /// Stretches that found no room: a path keeps 10,000.
    pub left_out: u64,
    /// The verdict.
    pub verdict: &'static str,
    /// Value that the program returned.
    pub code: u32,
    /// Why the program was stopped.
    pub fault: Option<String>,
    /// Each copy: where it went, or why it was lost.
    pub went: Vec<String>,
    /// Lines that the program printed about this packet.
    pub log: Vec<String>,
    /// Fields of the packet with other bytes than before.
    pub fields: Vec<FieldChange>,
    /// Values of maps that changed; of a per-CPU map the value of the one CPU that ran.
    pub maps: Vec<MapChange>,
}

/// The kind of the stretch: the beginning of a program, a source line, an instruction of no known
/// source line, or the first turn of a loop.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Item {
    Program {
        /// Name of the program: the requested one, or the target of a redirect.
        name: String,
    },
    Line {
        /// Active functions, 1 in the entry function.
        depth: usize,
        /// Name of the function.
        function: String,
        /// Number of the first instruction.
        slot: usize,
        /// Source file.
        file: String,
        /// Number of the source line.
        line: u32,
        /// The source line.
        text: String,
        /// Effects of the instructions besides computing.
        did: Vec<StepEffect>,
    },
    Insn {
        /// Active functions, 1 in the entry function.
        depth: usize,
        /// Name of the function.
        function: String,
        /// Number of the instruction.
        slot: usize,
        /// The instruction in the kernel's notation.
        text: String,
        /// Effects of the instruction besides computing.
        did: Vec<StepEffect>,
    },
    Loop {
        /// Turns of the loop.
        times: u64,
        /// Stretches of the first turn, as in `path`.
        body: Vec<Item>,
    },
}

/// Kind of the effect.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum StepEffect {
    Branch {
        /// Number of the conditional jump.
        slot: usize,
        /// The comparison with its values, for people.
        test: String,
        /// The jump was taken.
        taken: bool,
    },
    Call {
        /// Name of the helper or kernel function.
        name: String,
        /// Its arguments, for people.
        arguments: Vec<String>,
        /// Its result, for people; `null` where it did not return.
        result: Option<String>,
    },
    Enter {
        /// Name of the function of the program, or of the callback.
        function: String,
        /// Its arguments, for people.
        arguments: Vec<String>,
    },
    Return {
        /// Name of the function of the program.
        function: String,
        /// Its result, for people.
        result: String,
    },
    TailCall {
        /// Name of the program that was called.
        program: String,
        /// Name of the map.
        map: String,
        /// Index in the map.
        index: u64,
    },
    Write {
        /// The value of a map or the field of the packet, for people.
        place: String,
        /// The value before, for people.
        old: String,
        /// The value after, for people.
        new: String,
    },
    Fault {
        /// What was wrong, for people.
        message: String,
    },
}

/// A field of the packet that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// Name of the field, such as `ipv4.ttl`; a layer where that was added or removed.
    pub field: String,
    /// Value before; `null` for a layer that was added.
    pub old: Option<String>,
    /// Value after; `null` for a layer that was removed.
    pub new: Option<String>,
}

/// A value of a map that changed.
#[derive(Clone, Debug, Serialize)]
pub struct MapChange {
    /// Name of the map.
    pub map: String,
    /// The key; of counters by reason, the verdict and the reason.
    pub key: Tree,
    /// Value before; `null` for an absent entry.
    pub old: Option<Tree>,
    /// Value after; `null` for an absent entry.
    pub new: Option<Tree>,
}

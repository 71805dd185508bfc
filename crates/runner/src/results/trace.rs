//! `Traced`: one line of a trace of every instruction of every packet.

use std::collections::BTreeMap;

use kernel::Source;
use serde::Serialize;

/// The event that the line is about: a packet arrives, an instruction ran, a program ended, the
/// packet has its verdict.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Traced {
    Packet {
        /// Number of the packet in the capture, from 1.
        packet: u64,
        /// The packet in a line, for people.
        summary: String,
        /// Length of the packet, in bytes.
        bytes: usize,
    },
    Insn {
        /// Number of the packet.
        packet: u64,
        /// Name of the program.
        program: String,
        /// Name of the function.
        function: String,
        /// Active functions, 1 in the entry function.
        depth: usize,
        /// Number of the instruction.
        slot: usize,
        /// The instruction in the kernel's notation.
        text: String,
        /// Registers that it changed, with their values for people.
        set: BTreeMap<String, String>,
        /// Present where another source line begins.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<Source>,
    },
    End {
        /// Number of the packet.
        packet: u64,
        /// What the program returned; `null` after a fault.
        returned: Option<u64>,
        /// Why the program was stopped.
        fault: Option<String>,
    },
    Verdict {
        /// Number of the packet.
        packet: u64,
        /// The verdict.
        verdict: &'static str,
        /// Length of the packet after the program, in bytes.
        bytes: usize,
        /// What was wrong when the program had ended, such as a lock that is still held.
        fault: Option<String>,
    },
}

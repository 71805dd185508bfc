//! What one packet came to: verdict, bytes, and where its copies went.

use spec::Verdict;

use super::Reason;
use crate::fault::{Cause, Fault};

/// What a program did with a packet, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub verdict: Verdict,
    /// What the program returned; numbers that are no verdict count as aborted.
    pub code: u32,
    /// What stopped the program; the verdict is then aborted.
    pub fault: Option<Box<Fault>>,
    /// As the program left it, before anything behind a redirect ran.
    pub packet: Vec<u8>,
    pub metadata: Vec<u8>,
    /// Each copy that arrived somewhere, in order.
    pub outputs: Vec<Output>,
    /// Each copy that did not.
    pub losses: Vec<Loss>,
}

/// A packet that left the program's hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub port: Port,
    pub packet: Vec<u8>,
    pub metadata: Vec<u8>,
}

/// Where packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Port {
    /// The network stack, received on this interface.
    Stack { ifindex: u32 },
    /// Out of an interface.
    Device { ifindex: u32 },
    /// The network stack on another processor, through a cpumap.
    Cpu { cpu: u32 },
    /// An AF_XDP socket: number of the map (its place in the object), key in it.
    Xsk { map: u32, key: u32 },
}

/// A packet, or a copy of one, that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    pub reason: Reason,
    /// Where it was on its way to, if anywhere.
    pub port: Option<Port>,
    /// What stopped the program of a map entry, where one did.
    pub fault: Option<Box<Fault>>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            verdict: Verdict::Aborted,
            code: 0,
            fault: None,
            packet: Vec::new(),
            metadata: Vec::new(),
            outputs: Vec::new(),
            losses: Vec::new(),
        }
    }
}

impl Run {
    /// The one output, where there is exactly one.
    pub fn output(&self) -> Option<&Output> {
        let [output] = self.outputs.as_slice() else { return None };
        Some(output)
    }

    /// Whether a program was stopped because of [`Worker::set_interrupt`], so that the rest means
    /// nothing.
    ///
    /// [`Worker::set_interrupt`]: crate::Worker::set_interrupt
    pub fn is_interrupted(&self) -> bool {
        let after = self.losses.iter().filter_map(|loss| loss.fault.as_ref());
        self.fault.iter().chain(after).any(|fault| fault.cause == Cause::Interrupted)
    }
}

impl std::fmt::Display for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stack { ifindex } => write!(f, "stack of interface {ifindex}"),
            Self::Device { ifindex } => write!(f, "interface {ifindex}"),
            Self::Cpu { cpu } => write!(f, "cpu {cpu}"),
            Self::Xsk { map, key } => write!(f, "socket {key} of map number {map}"),
        }
    }
}

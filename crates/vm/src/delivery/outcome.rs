//! The outcome of one packet: verdict, bytes, and where its copies went.

use spec::Verdict;

use super::Reason;
use crate::fault::{Cause, Fault};

/// The outcome of a program for one packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Verdict of the program.
    pub verdict: Verdict,
    /// Return code of the program; a number that is not a verdict counts as aborted.
    pub code: u32,
    /// The fault that stopped the program; the verdict is then aborted.
    pub fault: Option<Box<Fault>>,
    /// The packet after the program, before any program after a redirect ran.
    pub packet: Vec<u8>,
    /// Metadata before the packet, after the program.
    pub metadata: Vec<u8>,
    /// Each copy that reached a port, in order.
    pub outputs: Vec<Output>,
    /// Each copy that was lost.
    pub losses: Vec<Loss>,
}

/// A packet that reached a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub port: Port,
    pub packet: Vec<u8>,
    pub metadata: Vec<u8>,
}

/// Destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Port {
    /// The network stack, received on this interface.
    Stack { ifindex: u32 },
    /// The wire of an interface.
    Device { ifindex: u32 },
    /// The network stack on another processor, through a cpumap.
    Cpu { cpu: u32 },
    /// An AF_XDP socket: number of the map in the object, and key.
    Xsk { map: u32, key: u32 },
}

/// A lost packet, or a lost copy of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    pub reason: Reason,
    /// Its destination, if it had one.
    pub port: Option<Port>,
    /// The fault that stopped the program of a map entry, if that lost it.
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
    /// The only output, if there is exactly one.
    pub fn output(&self) -> Option<&Output> {
        let [output] = self.outputs.as_slice() else { return None };
        Some(output)
    }

    /// Whether a program was stopped by [`Worker::set_interrupt`]; the rest of the outcome is then
    /// meaningless.
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

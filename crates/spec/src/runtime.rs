//! The traits that connect an object with the runtime that executes it: verdicts, a map, a runtime.
//!
//! Network functions are written against [`Map`] alone, conformance tests against [`Runtime`].
//! These traits serve the control path: bytes in, bytes out. The packet path does not use them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::model::Spec;

/// What an XDP program decides about a packet. The numbers are the kernel's `enum xdp_action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Verdict {
    /// Drop the packet and raise the trace event `xdp_exception`: the program failed.
    Aborted = 0,
    /// Drop the packet.
    Drop = 1,
    /// Let the network stack receive the packet.
    Pass = 2,
    /// Send the packet out of the interface on which it arrived.
    Tx = 3,
    /// Send the packet to the interface, CPU or AF_XDP socket that a redirect helper chose.
    Redirect = 4,
}

impl Verdict {
    /// Every verdict, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::Aborted, Self::Drop, Self::Pass, Self::Tx, Self::Redirect];

    /// Converts a program's return value. As in drivers, an unknown value is [`Self::Aborted`].
    pub fn from_code(code: u32) -> Self {
        Self::ALL.into_iter().find(|verdict| *verdict as u32 == code).unwrap_or(Self::Aborted)
    }

    /// The name in lower case, as labels, JSON keys and options spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aborted => "aborted",
            Self::Drop => "drop",
            Self::Pass => "pass",
            Self::Tx => "tx",
            Self::Redirect => "redirect",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that does not name a [`Verdict`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unknown verdict `{word}`; expected aborted, drop, pass, tx or redirect")]
pub struct UnknownVerdict {
    /// The word as it was given.
    pub word: String,
}

impl FromStr for Verdict {
    type Err = UnknownVerdict;

    fn from_str(word: &str) -> Result<Self, UnknownVerdict> {
        let found = Self::ALL.into_iter().find(|verdict| verdict.name() == word);
        found.ok_or_else(|| UnknownVerdict { word: word.to_owned() })
    }
}

/// Which state of an element an update requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Create the element, or replace it (`BPF_ANY`).
    #[default]
    Any,
    /// Create the element; fail if the key exists (`BPF_NOEXIST`).
    Absent,
    /// Replace the element; fail if the key does not exist (`BPF_EXIST`).
    Present,
}

/// A loaded map, as the control path sees it.
///
/// The value of a per-CPU map is one value for each possible CPU in order, each padded to a
/// multiple of eight bytes.
pub trait Map {
    /// Error of the runtime that holds the map.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Size of a key in bytes.
    fn key_size(&self) -> usize;

    /// Size in bytes of a value as `lookup` returns it, all CPUs together.
    fn value_size(&self) -> usize;

    /// Reads the value of a key; `None` if the key is absent.
    fn lookup(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Writes the value of a key if the element is in the expected state.
    fn update(&self, key: &[u8], value: &[u8], expect: Expect) -> Result<(), Self::Error>;

    /// Deletes an element; `false` if the key was absent.
    fn delete(&self, key: &[u8]) -> Result<bool, Self::Error>;

    /// Reads all values of an array, in the order of their indices. A runtime that reads several
    /// elements together does so.
    fn array(&self) -> Result<Vec<Vec<u8>>, Self::Error> {
        let mut values = Vec::new();
        while let Some(value) = self.lookup(&(values.len() as u32).to_ne_bytes())? {
            values.push(value);
        }
        Ok(values)
    }

    /// Reads values of an array from this index on: as many as requested, or up to its end.
    fn array_part(&self, first: u32, count: u32) -> Result<Vec<Vec<u8>>, Self::Error> {
        let mut values = Vec::new();
        for index in first..first.saturating_add(count) {
            let Some(value) = self.lookup(&index.to_ne_bytes())? else { break };
            values.push(value);
        }
        Ok(values)
    }

    /// Writes values of an array from this index on. A runtime that writes several elements
    /// together does so; others may read some of the old ones and some of the new ones meanwhile.
    fn update_array(&self, first: u32, values: &[Vec<u8>]) -> Result<(), Self::Error> {
        let indices = first..;
        indices
            .zip(values)
            .try_for_each(|(index, value)| self.update(&index.to_ne_bytes(), value, Expect::Any))
    }

    /// Reads all keys in unspecified order. Elements that are added or deleted meanwhile may be
    /// included or missing.
    fn keys(&self) -> Result<Vec<Vec<u8>>, Self::Error>;
}

/// Packet and context of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// The frame from its Ethernet header on.
    pub packet: Vec<u8>,
    /// Metadata before the packet (`data_meta`), a multiple of four bytes. Linux 6.18 accepts up
    /// to 216, older kernels 32.
    pub metadata: Vec<u8>,
    /// Interface on which the packet arrives.
    pub ingress_ifindex: u32,
    /// Receive queue on which the packet arrives.
    pub rx_queue: u32,
}

/// Result of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Verdict that the program returned.
    pub verdict: Verdict,
    /// The packet as the program left it.
    pub packet: Vec<u8>,
    /// The metadata as the program left it.
    pub metadata: Vec<u8>,
    /// Interface that a redirect chose, where the runtime can report it.
    pub redirect_ifindex: Option<u32>,
}

/// A runtime that loads and executes a [`Spec`]: the kernel or the engine.
pub trait Runtime {
    /// Error of the runtime.
    type Error: std::error::Error + Send + Sync + 'static;
    /// Handle of a loaded map.
    type Map: Map;

    /// Loads all programs and maps, replacing what was loaded before.
    fn load(&mut self, spec: &Spec) -> Result<(), Self::Error>;

    /// Finds a loaded map by its name in the object.
    fn map(&self, name: &str) -> Option<&Self::Map>;

    /// Runs a loaded program once on a packet.
    fn run(&mut self, program: &str, input: &Input) -> Result<Outcome, Self::Error>;
}

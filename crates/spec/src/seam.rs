//! The seam between an object and whoever runs it: verdicts, a map, a runtime.
//!
//! Network functions are written against [`Map`] alone; conformance tests against [`Runtime`].
//! Control path only: bytes in, bytes out. Nothing on the packet path goes through these traits.

use std::fmt;
use std::str::FromStr;

use crate::model::Spec;

/// What an XDP program says of a packet. The numbers are the kernel's `enum xdp_action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Verdict {
    Aborted = 0,
    Drop = 1,
    Pass = 2,
    Tx = 3,
    Redirect = 4,
}

impl Verdict {
    pub const ALL: [Self; 5] = [Self::Aborted, Self::Drop, Self::Pass, Self::Tx, Self::Redirect];

    /// A driver treats any other return value as `Aborted`, after a warning.
    pub fn from_code(code: u32) -> Self {
        Self::ALL.into_iter().find(|verdict| *verdict as u32 == code).unwrap_or(Self::Aborted)
    }

    /// Lower case, as labels, JSON keys and options spell it.
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

impl FromStr for Verdict {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|verdict| verdict.name() == word)
            .ok_or_else(|| format!("`{word}` is no verdict: aborted, drop, pass, tx or redirect"))
    }
}

/// What an update expects to find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    #[default]
    Any,
    Absent,
    Present,
}

/// A live map, seen from the control path.
///
/// The value of a per-CPU map is one value for each possible CPU in order, each padded to a
/// multiple of eight bytes.
pub trait Map {
    type Error: std::error::Error + Send + Sync + 'static;

    fn key_size(&self) -> usize;

    /// Bytes of one value as `lookup` returns it, all CPUs together.
    fn value_size(&self) -> usize;

    /// `None` when the key is absent.
    fn lookup(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;

    fn update(&self, key: &[u8], value: &[u8], expect: Expect) -> Result<(), Self::Error>;

    /// `false` when the key was absent.
    fn delete(&self, key: &[u8]) -> Result<bool, Self::Error>;

    /// All keys, in no promised order; entries changed meanwhile may or may not be there.
    fn keys(&self) -> Result<Vec<Vec<u8>>, Self::Error>;
}

/// Packet and surroundings of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    pub packet: Vec<u8>,
    /// Metadata in front of the packet (`data_meta`), a multiple of four bytes. Linux 6.18
    /// takes up to 216, older kernels 32.
    pub metadata: Vec<u8>,
    pub ingress_ifindex: u32,
    pub rx_queue: u32,
}

/// What one run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub verdict: Verdict,
    pub packet: Vec<u8>,
    pub metadata: Vec<u8>,
    /// Interface that a redirect chose, where the runtime can tell.
    pub redirect_ifindex: Option<u32>,
}

/// Something that brings a [`Spec`] to life.
pub trait Runtime {
    type Error: std::error::Error + Send + Sync + 'static;
    type Map: Map;

    /// Loads all programs and maps, replacing what was loaded before.
    fn load(&mut self, spec: &Spec) -> Result<(), Self::Error>;

    fn map(&self, name: &str) -> Option<&Self::Map>;

    fn run(&mut self, program: &str, input: &Input) -> Result<Outcome, Self::Error>;
}

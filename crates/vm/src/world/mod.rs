//! What Linux would supply around a program, given instead: clock, random numbers, interfaces.
//!
//! Rule: the same world gives the same run. Read from a scenario (TOML) or filled in by whoever
//! looks at a live host; nothing here looks at the system.

use serde::{Deserialize, Serialize};

/// A machine's surroundings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct World {
    pub clock: Clock,
    /// Where `bpf_get_prandom_u32` starts.
    pub seed: u64,
    pub interfaces: Vec<Interface>,
}

/// Time as programs read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clock {
    /// Nanoseconds since boot at the first packet.
    pub start_ns: u64,
    /// Nanoseconds that pass with each look at the clock, so that waiting ends.
    pub step_ns: u64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { start_ns: 1_000_000_000, step_ns: 100 }
    }
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    pub index: u32,
    pub name: String,
    pub mtu: u32,
    pub mac: String,
}

//! backend: opens the tunnels that balancers deliver packets in, without tunnel devices.
//!
//! The program is `bpf/backend/backend.bpf.c`. [`Config`] states which tunnels end here, and
//! [`update`] brings live maps there.

pub mod abi;
mod config;

use spec::{Expect, Map};

use crate::table;

pub use abi::Reason;
pub use config::{Config, ConfigError, DEFAULT_GENEVE_PORT, DEFAULT_GUE_PORT, MOST_ADDED};

/// The compiled program.
pub static OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/backend.o");
/// Name of the program in the object.
pub const PROGRAM: &str = "xway_backend";
/// Name of the program for frames of several buffers (MTU above one page, Linux 5.18), which is
/// only loaded by name.
pub const PROGRAM_FRAGS: &str = "xway_backend_frags";
/// Name of the program that lowers the MSS of connections, at the traffic-control hook for sent
/// packets (Linux 6.6), which is only loaded by name.
pub const PROGRAM_MSS: &str = "xway_backend_mss";
/// Name of the map of prefixes.
pub const PREFIXES: &str = "backend_prefixes";
/// Name of the map of settings.
pub const SETTINGS: &str = "backend_settings";
/// Name of the map that counts lowered announcements.
pub const LOWERED: &str = "backend_lowered";

/// The program's maps, named as in the object.
#[derive(Debug)]
pub struct Maps<'a, M> {
    pub prefixes: &'a M,
    pub settings: &'a M,
}

impl<'a, M> Maps<'a, M> {
    /// Finds the maps by their names in the object.
    pub fn find<E>(map: impl Fn(&str) -> Result<&'a M, E>) -> Result<Self, E> {
        Ok(Self { prefixes: map(PREFIXES)?, settings: map(SETTINGS)? })
    }
}

/// Brings live maps to a configuration. What is new is added before the rest is removed.
///
/// # Errors
/// A map's own, such as a full one; then its prefixes are what they were.
pub fn update<M: Map>(config: &Config, maps: &Maps<'_, M>) -> Result<(), M::Error> {
    table::apply(maps.prefixes, &config.prefixes())?;
    maps.settings.update(&[0; 4], &config.settings().to_bytes(), Expect::Any)
}

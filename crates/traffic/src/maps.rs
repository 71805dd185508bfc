//! What several programs of this crate need of their maps.

use spec::{Map, Verdict};

use crate::error::{ConfigError, Result};

/// The map with this name.
///
/// # Errors
/// [`ConfigError::UnknownMap`] with the names of existing maps.
pub(crate) fn find<'a>(maps: &'a [kernel::Map], name: &str) -> Result<&'a kernel::Map> {
    maps.iter().find(|map| map.name() == name).ok_or_else(|| {
        let known: Vec<&str> = maps.iter().map(kernel::Map::name).collect();
        let (name, known) = (name.to_owned(), known.join(", "));
        ConfigError::UnknownMap { name, known }.into()
    })
}

/// Packets and bytes of a reason in [`STATS`], over all verdicts and processors.
///
/// # Errors
/// The map cannot be read.
pub(crate) fn packets_and_bytes<M: Map>(stats: &M, reason: u32) -> Result<(u64, u64), M::Error> {
    let (mut packets, mut bytes) = (0, 0);
    for verdict in Verdict::ALL {
        let index = reason * Verdict::ALL.len() as u32 + verdict as u32;
        let value = stats.lookup(&index.to_le_bytes())?.unwrap_or_default();
        for pair in value.as_chunks::<8>().0.chunks_exact(2) {
            packets += u64::from_le_bytes(pair[0]);
            bytes += u64::from_le_bytes(pair[1]);
        }
    }
    Ok((packets, bytes))
}

/// Name of the map of `bpf/include/xway/stats.h`.
pub(crate) const STATS: &str = "xway_stats";

//! `Difference`: the first difference between two runtimes.

use serde::Serialize;

/// The first difference between the runtimes.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// Number of the packet, from 1; `null` where a comparison of all elements found the difference
    /// and it did not repeat, or the capture cannot be read twice.
    pub packet: Option<u64>,
    #[serde(flatten)]
    pub what: What,
}

/// What differs.
#[derive(Debug, Serialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum What {
    Verdict {
        /// Verdict of the kernel.
        kernel: String,
        /// Verdict of the engine.
        vm: String,
    },
    Bytes {
        /// Offset of the first byte that differs.
        offset: usize,
        /// Field of the kernel's packet at that byte.
        field: Option<String>,
        /// Bytes of the kernel's packet from there.
        kernel: String,
        /// Bytes of the engine's packet from there.
        vm: String,
    },
    Metadata {
        /// Offset of the first byte that differs.
        offset: usize,
        /// Bytes of the kernel's metadata from there.
        kernel: String,
        /// Bytes of the engine's metadata from there.
        vm: String,
    },
    Map {
        /// Name of the map.
        map: String,
        /// Key of the entry.
        key: String,
        /// Value in the kernel; `null` for an absent entry.
        kernel: Option<String>,
        /// Value in the engine; `null` for an absent entry.
        vm: Option<String>,
    },
    Fault {
        /// What stopped the program in the engine.
        message: String,
    },
}

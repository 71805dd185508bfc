//! `MapError`: a map does not accept a change.

use std::path::PathBuf;

/// Why a map, or one of its entries, cannot be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// User space may not write to the map.
    #[error("map `{map}` is frozen: only programs may write to it")]
    Frozen {
        map: String,
        #[source]
        cause: Box<kernel::Error>,
    },
    /// The index is outside the array.
    #[error("map `{map}` has {entries} entries: the last index is {}", entries.saturating_sub(1))]
    Index {
        map: String,
        entries: u32,
        #[source]
        cause: Box<kernel::Error>,
    },
    /// The map has no place for another entry.
    #[error("map `{map}` is full: it takes {entries} entries; delete one first")]
    Full {
        map: String,
        entries: u32,
        #[source]
        cause: Box<kernel::Error>,
    },
    /// A new entry of an array is requested.
    #[error("map `{map}` is an array: every entry is there already")]
    ArrayEntry {
        map: String,
        #[source]
        cause: Box<kernel::Error>,
    },
    /// The kernel refused the change for another reason.
    #[error("cannot change {key} in `{map}`")]
    Refused {
        map: String,
        key: String,
        #[source]
        cause: Box<kernel::Error>,
    },
    /// An entry of an array is to be deleted.
    #[error("entries of an array cannot be deleted: set {map} to zero instead")]
    NotDeletable { map: String },
    /// The key of a program array is not an index of four bytes.
    #[error("a key of map `{map}` is an index of four bytes")]
    NotAnIndex { map: String },
    /// The directory of a pin does not exist.
    #[error("cannot pin at {}: there is no folder {}", path.display(), folder.display())]
    NoFolder { path: PathBuf, folder: PathBuf },
    /// The directory of a pin is on another file system.
    #[error(
        "cannot pin at {}: {} is in no bpffs; mount one (`mount -t bpf bpf /sys/fs/bpf`)",
        path.display(),
        folder.display()
    )]
    NoBpffs { path: PathBuf, folder: PathBuf },
}

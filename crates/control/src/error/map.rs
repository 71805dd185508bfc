//! `MapError`: a map does not accept a change.

use std::path::PathBuf;

use spec::FieldError;

use super::BytesError;

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
    /// The pin by which the map was opened permits reading only.
    #[error("map `{map}` was opened for reading only: its pin does not permit changes")]
    ReadOnly {
        map: String,
        #[source]
        cause: Box<kernel::Error>,
    },
    /// The text is not an assignment.
    #[error("`{text}`: expected KEY[.FIELD]=VALUE, such as 7.port=53")]
    Assignment { text: String },
    /// The map has no types, so that its fields are unknown.
    #[error(
        "the fields of map `{map}` are unknown, because it has no BTF that this process may read: \
         set the whole value, such as 7=hex:0a0b"
    )]
    NoTypes { map: String },
    /// A key or a value is not of its type.
    #[error("{what} `{text}`: {cause}")]
    Typed { what: &'static str, text: String, cause: Box<FieldError> },
    /// A key or a value without a type cannot be read.
    #[error("{what} {cause}")]
    Untyped { what: &'static str, cause: BytesError },
    /// A processor is named for a map with one value for all.
    #[error("map `{map}` has one value for all processors: leave out --cpu")]
    NotPerCpu { map: String },
    /// There is no processor of that number.
    #[error("there is no processor {cpu}: this machine can have {cpus}, from 0")]
    NoCpu { cpu: usize, cpus: usize },
    /// Entries are kernel objects.
    #[error("map `{map}` holds kernel objects: use `xway map update`")]
    HoldsObjects { map: String },
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

//! BTF: the types of an object or of a kernel.
//!
//! A [`Btf`] is its blob plus an index of where each type starts, so that a kernel's five
//! megabytes cost one pass. Rule: parsing checks that every record lies inside the blob;
//! whatever a record points to (names, other types) is checked at each use, so no view panics
//! or loops on hostile bytes.
//! Type ids count from 1; id 0 is `void`.

mod builder;
mod kernel;
mod print;
mod resolve;
mod types;

use std::fmt;
use std::sync::OnceLock;

use crate::error::Error;

pub use crate::btf_kind::Kind;
pub use crate::error::{BtfSection, InvalidBtf};

pub use builder::{Appended, Builder, Linkage};
pub use kernel::MissingFeatures;
pub use print::Value;
pub use types::{Array, EnumValue, Member, Param, Type, VarPlace};

use types::record_len;

/// A parsed BTF blob, little-endian.
#[derive(Clone, Default)]
pub struct Btf {
    raw: Vec<u8>,
    /// Where the string section starts and ends in `raw`.
    strings: (usize, usize),
    /// Where each type starts in `raw`; entry 0 stands for `void` and is unused.
    offsets: Vec<u32>,
    /// `(hash of the name without flavour, id)`, sorted; made at the first search by name.
    names: OnceLock<Vec<(u32, u32)>>,
}

/// `BTF_MAGIC` as little-endian blobs start.
const MAGIC: u16 = 0xeb9f;
const HEADER_LEN: usize = 24;

impl Btf {
    /// Reads a blob as found in `.BTF`, `/sys/kernel/btf/*` or `bpf(BPF_OBJ_GET_INFO_BY_FD)`.
    ///
    /// # Errors
    /// [`Error::Btf`] when a record lies outside the blob or is of a kind unknown to this crate.
    pub fn parse(raw: &[u8]) -> Result<Self, Error> {
        let header = Header::read(raw)?;
        let offsets = index(raw, header.types)?;
        check_names(raw, header.strings, &offsets)?;
        Ok(Self { raw: raw.to_vec(), strings: header.strings, offsets, names: OnceLock::new() })
    }

    /// The blob as `bpf(BTF_LOAD)` takes it.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Number of ids, `void` included: valid ids are below it.
    pub fn len(&self) -> u32 {
        self.offsets.len().max(1) as u32
    }

    /// Whether it has no types.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }

    /// `None` for `void` and for ids that do not exist.
    pub fn ty(&self, id: u32) -> Option<Type<'_>> {
        let start = *self.offsets.get(id as usize).filter(|_| id != 0)? as usize;
        Type::at(self, id, start)
    }

    /// All types with their ids, in order.
    pub fn types(&self) -> impl Iterator<Item = Type<'_>> {
        (1..self.len()).filter_map(|id| self.ty(id))
    }

    /// The string at an offset of the string section; `None` outside it or when not UTF-8.
    pub fn string(&self, offset: u32) -> Option<&str> {
        self.string_within(offset, usize::MAX)
    }

    /// The string if it has at most `most` bytes, for strings that many records may share.
    pub(crate) fn string_within(&self, offset: u32, most: usize) -> Option<&str> {
        let table = self.raw.get(self.strings.0..self.strings.1)?;
        let bytes = table.get(offset as usize..)?;
        let end = bytes.iter().take(most.saturating_add(1)).position(|byte| *byte == 0)?;
        std::str::from_utf8(&bytes[..end]).ok()
    }

    /// The first type of a kind with exactly this name.
    pub fn find(&self, kind: Kind, name: &str) -> Option<u32> {
        self.find_all(name).find(|ty| ty.kind() == kind && ty.name() == name).map(|ty| ty.id())
    }

    /// All types whose name, flavour (`___suffix`) left out, is that of `name` likewise.
    pub fn find_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Type<'a>> {
        let wanted = essential(name);
        let hash = hash(wanted);
        let names = self.names.get_or_init(|| self.index_names());
        let first = names.partition_point(|(found, _)| *found < hash);
        names[first..]
            .iter()
            .take_while(move |(found, _)| *found == hash)
            .filter_map(|(_, id)| self.ty(*id))
            .filter(move |ty| essential(ty.name()) == wanted)
    }

    fn index_names(&self) -> Vec<(u32, u32)> {
        let named = self.types().filter(|ty| !ty.name().is_empty());
        let mut names: Vec<_> = named.map(|ty| (hash(essential(ty.name())), ty.id())).collect();
        names.sort_unstable();
        names
    }

    /// Offset in the blob of a type's record.
    fn start(&self, id: u32) -> Option<usize> {
        self.offsets.get(id as usize).filter(|_| id != 0).map(|start| *start as usize)
    }

    /// Overwrites four bytes of a record. Never used on what `index` relies on.
    fn put(&mut self, at: usize, word: u32) {
        if let Some(bytes) = self.raw.get_mut(at..at + 4) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Sets size and places of a `DATASEC`; `places` in the order of its variables.
    pub(crate) fn set_datasec(&mut self, id: u32, size: u32, places: &[(u32, u32)]) {
        let Some(start) = self.start(id) else { return };
        self.put(start + 8, size);
        for (number, (offset, size)) in places.iter().enumerate() {
            self.put(start + 12 + number * 12 + 4, *offset);
            self.put(start + 12 + number * 12 + 8, *size);
        }
        self.sort_datasec(start + 12, places.len());
    }

    /// The kernel wants the variables of a `DATASEC` in the order of their offsets.
    fn sort_datasec(&mut self, from: usize, count: usize) {
        let Some(bytes) = self.raw.get_mut(from..from + count * 12) else { return };
        let (records, _) = bytes.as_chunks_mut::<12>();
        records.sort_by_key(|record| types::word(record, 4));
    }

    /// Makes a `FUNC` or `VAR` static, as hidden symbols are once linked.
    pub(crate) fn set_static(&mut self, id: u32) {
        let Some((kind, start)) = self.ty(id).map(|ty| ty.kind()).zip(self.start(id)) else {
            return;
        };
        match kind {
            Kind::Func => self.put(start + 4, (Kind::Func as u32) << 24),
            Kind::Var => self.put(start + 12, 0),
            _ => {}
        }
    }
}

impl PartialEq for Btf {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for Btf {}

impl fmt::Debug for Btf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Btf({} types, {} bytes)", self.len() - 1, self.raw.len())
    }
}

/// The name that counts across kernels: `task_struct` for `task_struct___old`.
pub(crate) fn essential(name: &str) -> &str {
    let bytes = name.as_bytes();
    let flavour = (1..bytes.len().saturating_sub(3))
        .rev()
        .find(|at| bytes[at - 1] != b'_' && &bytes[*at..at + 3] == b"___" && bytes[at + 3] != b'_');
    flavour.map_or(name, |at| &name[..at])
}

/// FNV-1a: names are short, and the order is unspecified.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Byte ranges of the two sections.
struct Header {
    types: (usize, usize),
    strings: (usize, usize),
}

impl Header {
    fn read(raw: &[u8]) -> Result<Self, Error> {
        if raw.len() < HEADER_LEN {
            return Err(Error::btf(raw.len(), InvalidBtf::TruncatedHeader));
        }
        match types::half(raw, 0) {
            MAGIC => {}
            swapped if swapped == MAGIC.swap_bytes() => {
                return Err(Error::btf(0, InvalidBtf::BigEndian));
            }
            magic => return Err(Error::btf(0, InvalidBtf::WrongMagic { magic })),
        }
        let header_len = types::word(raw, 4) as usize;
        let section = |at| {
            let start = header_len.checked_add(types::word(raw, at) as usize)?;
            let end = start.checked_add(types::word(raw, at + 4) as usize)?;
            (header_len >= HEADER_LEN && end <= raw.len()).then_some((start, end))
        };
        let outside = |at, section| Error::btf(at, InvalidBtf::OutsideBlob { section });
        let types = section(8).ok_or_else(|| outside(8, BtfSection::Types))?;
        let strings = section(16).ok_or_else(|| outside(16, BtfSection::Strings))?;
        Ok(Self { types, strings })
    }
}

/// Walks the records once and notes where each starts.
fn index(raw: &[u8], (start, end): (usize, usize)) -> Result<Vec<u32>, Error> {
    let mut offsets = Vec::with_capacity(1 + (end - start) / 24);
    offsets.push(0);
    let mut at = start;
    while at < end {
        let len = record_len(&raw[at..end]).map_err(|cause| Error::btf(at, cause))?;
        offsets.push(at as u32);
        at += len;
    }
    Ok(offsets)
}

/// Types may share a name, but not so that all names together are much longer than the blob: each
/// is read to find types by name.
fn check_names(raw: &[u8], (start, end): (usize, usize), offsets: &[u32]) -> Result<(), Error> {
    let bytes = raw[start..end].iter().enumerate();
    let ends: Vec<usize> = bytes.filter(|(_, byte)| **byte == 0).map(|(at, _)| at).collect();
    let mut left = NAMES * raw.len();
    for at in offsets.iter().skip(1).map(|at| *at as usize) {
        let name = types::word(raw, at) as usize;
        let end = ends.get(ends.partition_point(|end| *end < name)).copied().unwrap_or(name);
        let rest = left.checked_sub(end - name);
        left = rest.ok_or_else(|| Error::btf(at, InvalidBtf::SharedName))?;
    }
    Ok(())
}

/// How often an average byte of a blob may be part of a type's name.
const NAMES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// A blob of `count` integers that share a name of `length` letters.
    fn blob(count: usize, length: usize) -> Vec<u8> {
        let mut raw = vec![0x9f, 0xeb, 1, 0];
        let strings = length as u32 + 2;
        for word in [24, 0, 16 * count as u32, 16 * count as u32, strings] {
            raw.extend(word.to_le_bytes());
        }
        for _ in 0..count {
            raw.extend([1, (Kind::Int as u32) << 24, 4, 32].map(u32::to_le_bytes).concat());
        }
        raw.push(0);
        raw.extend(vec![b'a'; length]);
        raw.push(0);
        raw
    }

    #[test]
    fn long_names_of_many_types_are_refused() {
        let btf = Btf::parse(&blob(10, 100)).unwrap();
        assert_eq!(btf.find_all(&"a".repeat(100)).count(), 10);
        let error = Btf::parse(&blob(1_000, 10_000)).unwrap_err().to_string();
        assert!(error.contains("shares a long name"), "{error}");
    }

    #[test]
    fn flavours_end_at_the_last_triple_underscore() {
        let names = [
            ("task", "task"),
            ("task___old", "task"),
            ("a___b___c", "a___b"),
            ("___x", "___x"),
            ("x___", "x___"),
            ("x____y", "x____y"),
            ("", ""),
        ];
        for (name, wanted) in names {
            assert_eq!(essential(name), wanted, "{name}");
        }
    }
}

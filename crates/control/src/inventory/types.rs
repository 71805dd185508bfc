//! `Types`: keys and values of a map by the types that it was created with, else by those that its
//! kind fixes, else as bytes.

use std::os::fd::AsFd;

use kernel::Map;
use spec::btf::Btf;
use spec::{FieldError, MapDef, MapKind, field};
use sys::bpf::{self, Kind};

use super::bytes::parse_bytes;
use super::tree::{Tree, tagged};
use crate::error::MapError;

/// The types of a map's keys and values.
#[derive(Debug)]
pub struct Types {
    /// Name of the map.
    map: String,
    kind: MapKind,
    btf: Option<Btf>,
    /// BTF type of the keys, 0 for none.
    key: u32,
    /// BTF type of the values, 0 for none.
    value: u32,
}

impl Types {
    /// The types of a map in the kernel; without the right to read its BTF everything is bytes.
    pub fn of(map: &Map) -> Self {
        let info = map.info();
        let btf = (info.btf_id != 0).then(|| load(info.btf_id)).flatten();
        let (name, kind) = (map.name().to_owned(), map.kind());
        Self { map: name, kind, btf, key: info.key_type, value: info.value_type }
    }

    /// Types of an object's map, for either runtime.
    pub fn of_def(def: &MapDef, btf: Option<&Btf>) -> Self {
        let (key, value) = (def.key_type, def.value_type);
        Self { map: def.name.clone(), kind: def.kind, btf: btf.cloned(), key, value }
    }

    /// A key by its type.
    pub fn key(&self, raw: &[u8]) -> Tree {
        self.typed(self.key, raw).or_else(|| self.index(raw)).unwrap_or_else(|| untyped(raw))
    }

    /// A value by its type; of a per-CPU map, the value of one processor.
    pub fn value(&self, raw: &[u8]) -> Tree {
        let typed = self.typed(self.value, raw);
        typed.or_else(|| objects(self.kind, raw)).unwrap_or_else(|| untyped(raw))
    }

    /// The bytes of a key that was typed by a user.
    ///
    /// # Errors
    /// The text does not fit the type, or the size.
    pub fn key_bytes(&self, text: &str, size: u32) -> Result<Vec<u8>, MapError> {
        let typed = self.typed_bytes("key", self.key, text, size as usize).transpose()?;
        match typed {
            Some(bytes) => Ok(bytes),
            None => parse_bytes(text, size as usize)
                .map_err(|cause| MapError::Untyped { what: "key", cause }),
        }
    }

    /// Sets a field of a value, or with an empty path all of it, to what a user typed.
    ///
    /// # Errors
    /// There is no such field, or the text does not fit its type.
    pub fn set_value(&self, bytes: &mut [u8], path: &str, text: &str) -> Result<(), MapError> {
        if path.is_empty() {
            let typed = self.typed_bytes("value", self.value, text, bytes.len()).transpose()?;
            let parsed = match typed {
                Some(typed) => typed,
                None => parse_bytes(text, bytes.len())
                    .map_err(|cause| MapError::Untyped { what: "value", cause })?,
            };
            bytes.copy_from_slice(&parsed);
            return Ok(());
        }
        let Some(btf) = self.btf.as_ref().filter(|_| self.value != 0) else {
            return Err(MapError::NoTypes { map: self.map.clone() });
        };
        field::set(btf, self.value, bytes, path, text)
            .map_err(|cause| typed_error("value", text, cause))
    }

    /// A whole key or value by its type; `None` if it has none, or the text is one of bytes.
    fn typed_bytes(
        &self,
        what: &'static str,
        id: u32,
        text: &str,
        size: usize,
    ) -> Option<Result<Vec<u8>, MapError>> {
        let btf = self.btf.as_ref().filter(|_| id != 0)?;
        let is_scalar = |ty: spec::btf::Type<'_>| !ty.kind().is_composite();
        let is_typed = text.trim_start().starts_with('{') || btf.resolve(id).is_some_and(is_scalar);
        if text.starts_with("hex:") || !is_typed || btf.size_of(id) != Some(size as u64) {
            return None;
        }
        Some(field::parse(btf, id, text).map_err(|cause| typed_error(what, text, cause)))
    }

    /// The key's type in C.
    pub fn key_text(&self) -> Option<String> {
        self.type_text(self.key)
    }

    /// The value's type in C.
    pub fn value_text(&self) -> Option<String> {
        self.type_text(self.value)
    }

    fn typed(&self, id: u32, raw: &[u8]) -> Option<Tree> {
        let btf = self.btf.as_ref().filter(|_| id != 0)?;
        Some(btf.value(id, raw).into())
    }

    fn type_text(&self, id: u32) -> Option<String> {
        Some(self.btf.as_ref().filter(|_| id != 0)?.type_text(id))
    }

    /// Arrays of all kinds are indexed by a number.
    fn index(&self, raw: &[u8]) -> Option<Tree> {
        INDEXED.contains(&self.kind).then(|| word(raw)).flatten()
    }
}

fn typed_error(what: &'static str, text: &str, cause: FieldError) -> MapError {
    MapError::Typed { what, text: text.to_owned(), cause: Box::new(cause) }
}

/// The BTF with this id; `None` where it may not be read.
pub(crate) fn load(id: u32) -> Option<Btf> {
    let fd = bpf::fd_by_id(Kind::Btf, id).ok()?;
    let info = bpf::btf_info(fd.as_fd(), true).ok()?;
    Btf::parse(&info.raw).ok()
}

/// Values of maps that hold kernel objects, as the kernel reads them back.
fn objects(kind: MapKind, raw: &[u8]) -> Option<Tree> {
    let pair = |first: &str| {
        let mut fields = vec![(first.to_owned(), word(raw.get(..4)?)?)];
        if let Some(program) = raw.get(4..8).and_then(word) {
            fields.push(("program_id".to_owned(), program));
        }
        Some(Tree::Record(fields))
    };
    match kind {
        MapKind::DEVMAP | MapKind::DEVMAP_HASH => pair("ifindex"),
        MapKind::CPUMAP => pair("queue_size"),
        MapKind::PROG_ARRAY => Some(Tree::Record(vec![("program_id".to_owned(), word(raw)?)])),
        _ if kind.is_map_of_maps() => Some(Tree::Record(vec![("map_id".to_owned(), word(raw)?)])),
        _ => None,
    }
}

fn word(raw: &[u8]) -> Option<Tree> {
    let number = u32::from_ne_bytes(raw.try_into().ok()?);
    Some(Tree::Int(number.into()))
}

fn untyped(raw: &[u8]) -> Tree {
    Tree::Text(tagged(raw))
}

const INDEXED: &[MapKind] = &[
    MapKind::ARRAY,
    MapKind::PERCPU_ARRAY,
    MapKind::PROG_ARRAY,
    MapKind::ARRAY_OF_MAPS,
    MapKind::PERF_EVENT_ARRAY,
    MapKind::DEVMAP,
    MapKind::DEVMAP_HASH,
    MapKind::CPUMAP,
    MapKind::XSKMAP,
];

#[cfg(test)]
mod tests {
    use spec::btf::Builder;

    use super::*;

    fn bare(kind: MapKind) -> Types {
        Types { map: String::new(), kind, btf: None, key: 0, value: 0 }
    }

    #[test]
    fn without_types_the_kind_tells_or_nothing() {
        let one = 1u32.to_ne_bytes();
        assert_eq!(bare(MapKind::ARRAY).key(&one), Tree::Int(1));
        assert_eq!(bare(MapKind::HASH).key(&[1, 2]).to_string(), "hex:0102");
        assert_eq!(bare(MapKind::PROG_ARRAY).value(&one).to_string(), "{program_id: 1}");
        let pair = [one, 9u32.to_ne_bytes()].concat();
        assert_eq!(bare(MapKind::DEVMAP).value(&pair).to_string(), "{ifindex: 1, program_id: 9}");
        assert_eq!(bare(MapKind::DEVMAP).value(&one).to_string(), "{ifindex: 1}");
        assert_eq!(bare(MapKind::ARRAY).value(&one).to_string(), "hex:01000000");
    }

    #[test]
    fn types_of_the_map_come_first() {
        let mut builder = Builder::new();
        let int = builder.int("int", 32, true);
        let btf = Btf::parse(builder.build().unwrap().raw()).unwrap();
        let types = Types { btf: Some(btf), key: int, value: int, ..bare(MapKind::ARRAY) };
        assert_eq!(types.value(&(-3i32).to_le_bytes()), Tree::Int(-3));
        assert_eq!(types.key_text().as_deref(), Some("int"));
        assert_eq!(types.value(&[1]).to_string(), "hex:01", "too short for its type");
    }
}

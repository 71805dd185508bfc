//! Maps that hold one text, which is recorded beside a program.

use kernel::{Map, MapCreate};
use spec::{Expect, Map as _, MapDef, MapKind};

use crate::error::{Malformed, Result};

/// The text that a map made by [`text_map`] holds; `what` names it in the error.
pub fn text(bytes: Vec<u8>, what: &'static str) -> Result<String, Malformed> {
    String::from_utf8(bytes).map_err(|source| Malformed::Text { what, source })
}

/// A constant map that holds a text.
pub fn text_map(name: &str, text: &str) -> MapDef {
    bytes_map(name, text.as_bytes())
}

/// A constant map that holds bytes.
pub fn bytes_map(name: &str, bytes: &[u8]) -> MapDef {
    MapDef {
        name: name.to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: bytes.len() as u32,
        max_entries: 1,
        contents: Some(bytes.to_vec()),
        frozen: true,
        ..MapDef::default()
    }
}

/// A new map that holds a text, for a program that runs already.
pub fn create_text_map(name: &str, text: &str) -> Result<Map> {
    create(&text_map(name, text))
}

/// Creates a map that holds one value.
pub fn create(def: &MapDef) -> Result<Map> {
    let map = create_empty(def)?;
    map.update(&[0; 4], def.contents.as_deref().unwrap_or_default(), Expect::Any)?;
    Ok(map)
}

/// Creates a map without contents.
pub fn create_empty(def: &MapDef) -> Result<Map> {
    let create = MapCreate {
        kind: def.kind.0,
        key_size: def.key_size,
        value_size: def.value_size,
        max_entries: def.max_entries,
        name: &def.name,
        ..MapCreate::default()
    };
    Ok(Map::create(&create)?)
}

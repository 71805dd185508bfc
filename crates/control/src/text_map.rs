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
    MapDef {
        name: name.to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: text.len() as u32,
        max_entries: 1,
        contents: Some(text.as_bytes().to_vec()),
        frozen: true,
        ..MapDef::default()
    }
}

/// A new map that holds a text, for a program that runs already.
pub fn create_text_map(name: &str, text: &str) -> Result<Map> {
    let create = MapCreate {
        kind: MapKind::ARRAY.0,
        key_size: 4,
        value_size: u32::try_from(text.len()).unwrap_or(u32::MAX),
        max_entries: 1,
        name,
        ..MapCreate::default()
    };
    let map = Map::create(&create)?;
    map.update(&[0; 4], text.as_bytes(), Expect::Any)?;
    Ok(map)
}

//! Fixtures for tests of maps.

use std::sync::Weak;

use spec::MapKind;

use super::MapAttributes;

/// Attributes of an undefined map; tests overwrite fields.
pub(super) fn attributes() -> MapAttributes {
    MapAttributes {
        name: "test".to_owned(),
        number: 0,
        kind: MapKind::HASH,
        key_size: 0,
        value_size: 0,
        max_entries: 0,
        flags: 0,
        extra: 0,
        cpus: 2,
        fields: super::Fields::default(),
        inner: None,
        home: Weak::new(),
    }
}

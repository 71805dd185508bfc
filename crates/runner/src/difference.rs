//! The first difference between two runtimes, described.

use control::inventory::{Types, tagged};
use kernel::PerCpu;
use packet::dissect::dissect;
use spec::MapDef;

use crate::results::What;

/// Key and value of each entry, sorted.
type Raw = [(Vec<u8>, Vec<u8>)];

/// Packets that differ, with the field of the kernel's packet at the first byte that does.
pub fn bytes(kernel: &[u8], vm: &[u8]) -> What {
    let dissection = dissect(kernel);
    let (offset, kernel, vm) = from_difference(kernel, vm);
    let field = dissection.field_at(offset).map(|place| place.to_string());
    What::Bytes { offset, field, kernel, vm }
}

/// Metadata that differs.
pub fn metadata(kernel: &[u8], vm: &[u8]) -> What {
    let (offset, kernel, vm) = from_difference(kernel, vm);
    What::Metadata { offset, kernel, vm }
}

/// The first entry that is in one map only, or has another value there.
pub fn map(def: &MapDef, types: &Types, kernel: &Raw, vm: &Raw) -> What {
    let missing =
        |one: &Raw, other: &Raw| one.iter().find(|it| other.binary_search(it).is_err()).cloned();
    let entry = missing(kernel, vm).or_else(|| missing(vm, kernel));
    let key = entry.map(|(key, _)| key).unwrap_or_default();
    let value = |side: &Raw| {
        let found = side.iter().find(|(one, _)| *one == key);
        found.map(|(_, value)| value_text(def, types, value))
    };
    What::Map {
        map: def.name.clone(),
        key: types.key(&key).to_string(),
        kernel: value(kernel),
        vm: value(vm),
    }
}

/// The offset of the first byte that differs, and the bytes of both sides from there.
fn from_difference(kernel: &[u8], vm: &[u8]) -> (usize, String, String) {
    let same = kernel.iter().zip(vm).take_while(|(a, b)| a == b).count();
    let from = |bytes: &[u8]| {
        let end = bytes.len().min(same + SHOWN);
        let more = if end < bytes.len() { "…" } else { "" };
        format!("{}{more} ({} bytes in all)", tagged(&bytes[same..end]), bytes.len())
    };
    (same, from(kernel), from(vm))
}

/// A value, or the values of each processor.
fn value_text(def: &MapDef, types: &Types, value: &[u8]) -> String {
    if !def.kind.is_per_cpu() {
        return types.value(value).to_string();
    }
    let values = PerCpu::new(value.to_vec(), def.value_size as usize);
    values.values().map(|one| types.value(one).to_string()).collect::<Vec<_>>().join(", ")
}

/// Bytes shown from the first that differs.
const SHOWN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_from_the_first_that_differs() {
        let What::Bytes { offset, field, kernel, vm } = bytes(&[1, 2, 3], &[1, 9]) else {
            panic!("bytes");
        };
        assert_eq!((offset, field.as_deref()), (1, Some("eth.dst")));
        assert_eq!(kernel, "hex:0203 (3 bytes in all)");
        assert_eq!(vm, "hex:09 (2 bytes in all)");
    }
}

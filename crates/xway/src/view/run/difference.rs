//! Where two runtimes part: the first packet or map that is not the same.

use kernel::PerCpu;
use report::text;
use serde::Serialize;
use spec::MapDef;

use crate::cmd::map::types::Types;
use crate::dissect::dissect;
use crate::view::Paint;
use crate::view::bytes::tagged;

#[derive(Debug, Serialize)]
pub struct Difference {
    /// Number of the packet, from 1; `null` where a comparison of all elements found the difference
    /// and no packet could be named.
    pub packet: Option<u64>,
    #[serde(flatten)]
    pub what: What,
}

#[derive(Debug, Serialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum What {
    Verdict {
        kernel: String,
        vm: String,
    },
    /// With the field that the kernel's packet has at the first byte that differs.
    Bytes {
        offset: usize,
        field: Option<String>,
        kernel: String,
        vm: String,
    },
    Metadata {
        offset: usize,
        kernel: String,
        vm: String,
    },
    Map {
        map: String,
        key: String,
        kernel: Option<String>,
        vm: Option<String>,
    },
    Fault {
        message: String,
    },
}

/// Key and value of each entry, sorted.
type Raw = [(Vec<u8>, Vec<u8>)];

impl What {
    pub fn bytes(kernel: &[u8], vm: &[u8]) -> Self {
        let dissection = dissect(kernel);
        let (offset, kernel, vm) = around(kernel, vm);
        let field = dissection.field_at(offset).map(|place| place.to_string());
        Self::Bytes { offset, field, kernel, vm }
    }

    pub fn metadata(kernel: &[u8], vm: &[u8]) -> Self {
        let (offset, kernel, vm) = around(kernel, vm);
        Self::Metadata { offset, kernel, vm }
    }

    /// The first entry that one has and the other has not, or has with another value.
    pub fn map(def: &MapDef, types: &Types, kernel: &Raw, vm: &Raw) -> Self {
        let missing = |one: &Raw, other: &Raw| {
            one.iter().find(|entry| other.binary_search(entry).is_err()).cloned()
        };
        let entry = missing(kernel, vm).or_else(|| missing(vm, kernel));
        let key = entry.map(|(key, _)| key).unwrap_or_default();
        let value = |side: &Raw| {
            let found = side.iter().find(|(one, _)| *one == key);
            found.map(|(_, value)| one_or_each(def, types, value))
        };
        Self::Map {
            map: def.name.clone(),
            key: types.key(&key).to_string(),
            kernel: value(kernel),
            vm: value(vm),
        }
    }
}

impl Difference {
    pub fn text(&self, paint: Paint) -> String {
        let place = match self.packet {
            Some(packet) => format!("first difference at packet {packet}"),
            None => "difference after the run (packet unknown)".to_owned(),
        };
        let what = match &self.what {
            What::Verdict { .. } => "verdicts".to_owned(),
            What::Bytes { offset, field, .. } => {
                let field = field.as_ref().map(|field| format!(" ({field})"));
                format!("bytes from offset {offset}{}", field.unwrap_or_default())
            }
            What::Metadata { offset, .. } => format!("metadata from offset {offset}"),
            What::Map { map, key, .. } => format!("map `{map}`, key {key}"),
            What::Fault { message } => {
                return format!("{}: {}\n", paint.bad(&place), text::line(message));
            }
        };
        let (kernel, vm) = self.what.sides();
        let what = text::line(&what);
        format!("{}: {what}\n  kernel  {kernel}\n  vm      {vm}\n", paint.bad(&place))
    }
}

impl What {
    fn sides(&self) -> (&str, &str) {
        match self {
            Self::Verdict { kernel, vm }
            | Self::Bytes { kernel, vm, .. }
            | Self::Metadata { kernel, vm, .. } => (kernel, vm),
            Self::Map { kernel, vm, .. } => {
                (kernel.as_deref().unwrap_or("absent"), vm.as_deref().unwrap_or("absent"))
            }
            Self::Fault { message } => ("", message),
        }
    }
}

/// The first place where they differ, and what each has from there.
fn around(kernel: &[u8], vm: &[u8]) -> (usize, String, String) {
    let same = kernel.iter().zip(vm).take_while(|(a, b)| a == b).count();
    let from = |bytes: &[u8]| {
        let end = bytes.len().min(same + SHOWN);
        let more = if end < bytes.len() { "…" } else { "" };
        format!("{}{more} ({} bytes in all)", tagged(&bytes[same..end]), bytes.len())
    };
    (same, from(kernel), from(vm))
}

fn one_or_each(def: &MapDef, types: &Types, value: &[u8]) -> String {
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
        let What::Bytes { offset, field, kernel, vm } = What::bytes(&[1, 2, 3], &[1, 9]) else {
            panic!("bytes");
        };
        assert_eq!((offset, field.as_deref()), (1, Some("eth.dst")));
        assert_eq!(kernel, "hex:0203 (3 bytes in all)");
        assert_eq!(vm, "hex:09 (2 bytes in all)");
    }
}

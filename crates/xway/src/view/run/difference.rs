//! Text of the first difference between two runtimes.

use report::text;
use serde::Serialize;

use crate::view::Paint;

/// The first difference between the runtimes, which the command composes.
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

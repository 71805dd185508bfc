//! Positions of the fields of `struct nf_conn` in an object's own types.
//!
//! Programs bring a description of the kernel's structure, whole or in part, and their loads were
//! relocated to it; connections are therefore laid out accordingly.

use spec::btf::{Btf, Kind};

/// Offsets of the supported fields; `None` for fields that the object lacks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionLayout {
    pub status: Option<u32>,
    pub mark: Option<u32>,
    pub timeout: Option<u32>,
}

impl ConnectionLayout {
    /// The layout in these types. Fields that end after `room` bytes are omitted.
    pub fn of(types: Option<&Btf>, room: u64) -> Self {
        let found = types.and_then(|types| types.ty(types.find(Kind::Struct, "nf_conn")?));
        let Some(found) = found else { return Self::default() };
        let at = |name: &str| {
            let member = found.members().find(|member| member.name == name)?;
            let byte = member.bit_offset / 8;
            (u64::from(byte) + 8 <= room).then_some(byte)
        };
        Self { status: at("status"), mark: at("mark"), timeout: at("timeout") }
    }
}

//! Where an object's own types have the fields of `struct nf_conn`.
//!
//! Programs bring a description of the kernel's structure, whole or in part; their loads were
//! relocated to just that, so a connection is laid out after it.

use spec::btf::{Btf, Kind};

/// Offsets of the fields that a connection has here; `None` for those that the object lacks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionLayout {
    pub status: Option<u32>,
    pub mark: Option<u32>,
    pub timeout: Option<u32>,
}

impl ConnectionLayout {
    /// Fields that end behind `room` bytes are left out.
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

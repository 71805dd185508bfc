//! CO-RE: field offsets, sizes and existence that depend on the target's types.

/// One record of `.BTF.ext`'s CO-RE section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRelocation {
    /// `enum bpf_core_relo_kind`.
    pub kind: u32,
    /// Root type in the object's own BTF.
    pub type_id: u32,
    /// Access path: array index, then member or element numbers.
    pub access: Vec<u32>,
}

//! BTF: the types of an object or of a kernel.

/// A parsed BTF blob.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Btf {
    raw: Vec<u8>,
}

impl Btf {
    /// The blob as `bpf(BTF_LOAD)` takes it.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }
}

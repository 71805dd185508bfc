//! Types of functions that have none of their own, because the kernel takes either none or all.

use crate::btf::{Builder, Linkage};

/// Types under construction, with one prototype for XDP programs and one for all others.
#[derive(Default)]
pub(super) struct FunctionTypes {
    /// The types so far.
    pub builder: Builder,
    int: Option<u32>,
    /// Numbers of 8, 16, 32 and 64 bits.
    unsigned: [Option<u32>; 4],
    xdp: Option<u32>,
    other: Option<u32>,
}

impl FunctionTypes {
    /// Adds a `FUNC`. Other objects see entry functions only: the kernel verifies a global function
    /// on its own, for which it needs the true types of its arguments.
    pub fn function(&mut self, name: &str, entry: bool, xdp: bool) -> u32 {
        let proto = if xdp { self.xdp() } else { self.other() };
        let linkage = if entry { Linkage::Global } else { Linkage::Static };
        self.builder.func(&identifier(name), proto, linkage)
    }

    /// `int`
    pub fn int(&mut self) -> u32 {
        *self.int.get_or_insert_with(|| self.builder.int("int", 32, true))
    }

    /// An unsigned number of this size, or an array of bytes if there is none.
    pub fn unsigned(&mut self, size: u32) -> u32 {
        let index = self.int();
        let Self { builder, unsigned, .. } = self;
        let mut int = |name, bits: u32| {
            let known = &mut unsigned[bits.trailing_zeros() as usize - 3];
            *known.get_or_insert_with(|| builder.int(name, bits, false))
        };
        match size {
            1 => int("unsigned char", 8),
            2 => int("unsigned short", 16),
            4 => int("unsigned int", 32),
            8 => int("unsigned long long", 64),
            _ => {
                let byte = int("unsigned char", 8);
                builder.array(byte, index, size)
            }
        }
    }

    /// `int (struct xdp_md *ctx)`
    fn xdp(&mut self) -> u32 {
        let (int, word) = (self.int(), self.unsigned(4));
        let Self { builder, xdp, .. } = self;
        *xdp.get_or_insert_with(|| {
            let fields = XDP_MD.map(|(name, bits)| (name, word, bits));
            let context = builder.structure("xdp_md", 24, &fields);
            let pointer = builder.ptr(context);
            builder.func_proto(int, &[("ctx", pointer)])
        })
    }

    /// `int (void *ctx)`
    pub fn other(&mut self) -> u32 {
        let int = self.int();
        let Self { builder, other, .. } = self;
        *other.get_or_insert_with(|| {
            let pointer = builder.ptr(0);
            builder.func_proto(int, &[("ctx", pointer)])
        })
    }
}

/// The kernel takes only C identifiers as function names.
pub(super) fn identifier(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut text: String = name.chars().map(letter).collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        text.insert(0, '_');
    }
    text
}

/// `struct xdp_md`: fields and their offsets in bits.
const XDP_MD: [(&str, u32); 6] = [
    ("data", 0),
    ("data_end", 32),
    ("data_meta", 64),
    ("ingress_ifindex", 96),
    ("rx_queue_index", 128),
    ("egress_ifindex", 160),
];

//! Calls of helpers, kernel functions and local functions; references to maps.
//!
//! Arguments are in R1 to R5, the result in R0; a call leaves R1 to R5 undefined.

use super::{Assembler, Form, Helper, Label, Reference, Reg};
use crate::insn::{
    CALL, Insn, PSEUDO_CALL, PSEUDO_FUNC, PSEUDO_KFUNC_CALL, PSEUDO_MAP_FD, PSEUDO_MAP_VALUE,
};
use crate::model::Target;

/// A map of the object, by name or by its place in [`Spec::maps`](crate::Spec::maps).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MapRef {
    Name(String),
    Index(usize),
}

impl From<&str> for MapRef {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<usize> for MapRef {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl Assembler {
    /// Calls a kernel helper. Arguments are R1 to R5, the result is R0.
    pub fn call(&mut self, helper: Helper) -> &mut Self {
        self.raw(Insn::new(CALL, 0, 0, 0, helper.0.cast_signed()))
    }

    /// Calls a kernel function by name; the runtime finds it.
    pub fn call_kfunc(&mut self, name: impl Into<String>) -> &mut Self {
        let target = Target::Kfunc { name: name.into(), type_id: 0, weak: false };
        self.refer(Reference::Other(target));
        self.raw(Insn::new(CALL, 0, PSEUDO_KFUNC_CALL, 0, 0))
    }

    /// Calls a function begun with [`function`](Assembler::function), before or after this.
    pub fn call_local(&mut self, function: Label) -> &mut Self {
        self.patch(function, Form::Call);
        self.raw(Insn::new(CALL, 0, PSEUDO_CALL, 0, 0))
    }

    /// Calls a function, by name, of the program that this code is going to be a part of
    /// ([`splice`](crate::compose::splice)).
    pub fn call_function(&mut self, name: impl Into<String>) -> &mut Self {
        self.calls.push((self.slot(), name.into()));
        self.raw(Insn::new(CALL, 0, PSEUDO_CALL, 0, 0))
    }

    /// `dst = &function`, a callback for helpers such as `bpf_loop`.
    pub fn load_function(&mut self, dst: Reg, function: Label) -> &mut Self {
        self.patch(function, Form::Address);
        self.wide(dst, PSEUDO_FUNC, 0, 0)
    }

    /// `dst = map`, as the first argument of a map helper.
    pub fn load_map(&mut self, dst: Reg, map: impl Into<MapRef>) -> &mut Self {
        self.refer(Reference::Map(map.into()));
        self.wide(dst, PSEUDO_MAP_FD, 0, 0)
    }

    /// `dst = &value[offset]`, inside the first value of an array map: no lookup at run time.
    pub fn load_map_value(&mut self, dst: Reg, map: impl Into<MapRef>, offset: u32) -> &mut Self {
        self.refer(Reference::MapValue(map.into(), offset));
        self.wide(dst, PSEUDO_MAP_VALUE, 0, offset.cast_signed())
    }
}

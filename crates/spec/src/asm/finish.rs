//! From what was written to a [`Program`]: distances filled in, names resolved, mistakes found.

use super::{Assembler, Error, Fault, Form, MapRef, Note, Patch, Reference};
use crate::model::{Fixup, Function, MapDef, Program, Target};

/// Code that is going to be a part of a program.
pub(crate) struct Fragment {
    /// Its functions and what they refer to; the first is the entry.
    pub program: Program,
    /// Notes by slot, in order.
    pub notes: Vec<Note>,
    /// Calls of functions that it has not: slot and name.
    pub calls: Vec<(usize, String)>,
}

impl Assembler {
    /// The program alone: maps by index only, and no source lines, which need an object's types.
    /// [`Object`](super::Object) makes a whole [`Spec`](crate::Spec).
    pub fn finish(self) -> Result<Program, Error> {
        Ok(self.assemble(None)?.0)
    }

    /// `maps` are those of the object: names are looked up and indices checked in it.
    pub(super) fn assemble(self, maps: Option<&[MapDef]>) -> Result<(Program, Vec<Note>), Error> {
        let fragment = self.resolve(maps)?;
        if let Some((slot, name)) = fragment.calls.into_iter().next() {
            let fault = Fault::UnknownFunction { slot, name };
            return Err(Error { program: fragment.program.name, fault });
        }
        Ok((fragment.program, fragment.notes))
    }

    /// Everything but calls by name, which are resolved when the code becomes part of a program.
    pub(crate) fn fragment(self, maps: &[MapDef]) -> Result<Fragment, Error> {
        self.resolve(Some(maps))
    }

    fn resolve(self, maps: Option<&[MapDef]>) -> Result<Fragment, Error> {
        let name = self.name.clone();
        self.try_resolve(maps).map_err(|fault| Error { program: name, fault })
    }

    fn try_resolve(mut self, maps: Option<&[MapDef]>) -> Result<Fragment, Fault> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if self.insns.is_empty() {
            return Err(Fault::Empty);
        }
        let functions = self.function_table()?;
        for patch in std::mem::take(&mut self.patches) {
            self.apply(patch, &functions)?;
        }
        let fixups = self
            .references
            .into_iter()
            .map(|(slot, reference)| Ok(Fixup { slot, target: target(slot, reference, maps)? }))
            .collect::<Result<_, Fault>>()?;
        let program = Program {
            name: self.name,
            kind: self.kind,
            autoload: true,
            insns: self.insns,
            fixups,
            functions,
            ..Program::default()
        };
        Ok(Fragment { program, notes: self.notes, calls: self.calls })
    }

    /// The entry and the local functions, each with at least one instruction.
    fn function_table(&mut self) -> Result<Vec<Function>, Fault> {
        let entry = (0, self.name.clone());
        let local = std::mem::take(&mut self.functions);
        let table: Vec<_> = std::iter::once(entry).chain(local).collect();
        let ends = table.iter().skip(1).map(|(slot, _)| *slot).chain([self.insns.len()]);
        if let Some(((_, name), _)) = table.iter().zip(ends).find(|((slot, _), end)| slot == end) {
            return Err(Fault::EmptyFunction { name: name.clone() });
        }
        let function = |(slot, name)| Function { slot, name, type_id: 0, global: false };
        Ok(table.into_iter().map(function).collect())
    }

    fn apply(&mut self, patch: Patch, functions: &[Function]) -> Result<(), Fault> {
        let Patch { slot, label, form } = patch;
        let label = label.0;
        let place = self.labels.get(label).ok_or(Fault::Foreign { label })?;
        let target = place.ok_or(Fault::Unbound { label, slot })?;
        if target >= self.insns.len() {
            return Err(Fault::PastEnd { label, slot });
        }
        check_crossing(form, slot, target, functions)?;
        let distance = target as i64 - slot as i64 - 1;
        let too_far = Fault::TooFar { slot, distance };
        let insn = &mut self.insns[slot];
        match form {
            Form::Near => insn.off = i16::try_from(distance).map_err(|_| too_far)?,
            _ => insn.imm = i32::try_from(distance).map_err(|_| too_far)?,
        }
        Ok(())
    }
}

/// Jumps do not leave their function; calls target the first slot of one.
fn check_crossing(
    form: Form,
    slot: usize,
    target: usize,
    functions: &[Function],
) -> Result<(), Fault> {
    let holder = |slot| functions.partition_point(|function| function.slot <= slot);
    let begins = functions.iter().any(|function| function.slot == target);
    match form {
        Form::Near | Form::Far if holder(slot) != holder(target) => {
            Err(Fault::LeavesFunction { slot, target })
        }
        Form::Call | Form::Address if !begins => Err(Fault::NoFunction { slot, target }),
        _ => Ok(()),
    }
}

fn target(slot: usize, reference: Reference, maps: Option<&[MapDef]>) -> Result<Target, Fault> {
    match reference {
        Reference::Other(target) => Ok(target),
        Reference::Map(map) => Ok(Target::Map { map: map_index(slot, map, maps)? }),
        Reference::MapValue(map, offset) => {
            let map = map_index(slot, map, maps)?;
            match maps.map(|maps| &maps[map]) {
                Some(def) if offset >= def.value_size => {
                    Err(Fault::OutsideValue { slot, name: def.name.clone(), offset })
                }
                _ => Ok(Target::MapValue { map, offset }),
            }
        }
    }
}

fn map_index(slot: usize, map: MapRef, maps: Option<&[MapDef]>) -> Result<usize, Fault> {
    let known = maps.unwrap_or_default();
    match map {
        MapRef::Name(name) => {
            known.iter().position(|def| def.name == name).ok_or(Fault::UnknownMap { slot, name })
        }
        MapRef::Index(index) => match maps {
            Some(maps) if index >= maps.len() => {
                Err(Fault::NoSuchMap { slot, index, count: maps.len() })
            }
            _ => Ok(index),
        },
    }
}

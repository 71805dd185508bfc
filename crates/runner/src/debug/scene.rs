//! What can be read at a position: registers, packet, maps, variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use spec::btf::{Btf, Kind};
use spec::dwarf::{Locals, Variable};
use spec::{Global, MapDef, Spec, Verdict};
use vm::{Map, Run, Step};

use super::position::Position;
use super::stack::{FrameMachine, StackFrame, frames, function};
use super::tracker::{Frame, Tracker};
use super::value::Value;
use crate::error::Unavailable;

/// The object, with its names sorted for expressions.
#[derive(Debug)]
pub struct Object {
    pub spec: Spec,
    pub types: Option<Arc<Btf>>,
    pub globals: BTreeMap<String, Global>,
    /// Values of enumerators.
    pub constants: BTreeMap<String, i128>,
    /// Local variables, if the object has its DWARF.
    pub locals: Locals,
    /// The types of local variables.
    pub local_types: Arc<Btf>,
}

impl Object {
    pub fn new(spec: &Spec, file: &[u8]) -> Self {
        let locals = Locals::parse(file);
        let local_types = Arc::new(locals.types.clone());
        let globals = spec.globals().into_iter().map(|global| (global.name.clone(), global));
        let types = spec.btf.clone().map(Arc::new);
        let all = types.iter().chain([&local_types]).flat_map(|types| types.types());
        let enums = all.filter(|ty| ty.kind().is_enum());
        let constants = enums.flat_map(|ty| ty.values().collect::<Vec<_>>());
        let constants = constants.map(|one| (one.name.to_owned(), one.value));
        // Objects rarely contain the type of verdicts.
        let verdicts = Verdict::ALL.into_iter();
        let verdicts = verdicts.map(|verdict| (constant(verdict), i128::from(verdict as u32)));
        let constants = verdicts.chain(constants).collect();
        let globals = globals.collect();
        Self { spec: spec.clone(), globals, constants, types, locals, local_types }
    }

    /// Whether a function has a local variable of this name.
    pub fn is_local(&self, name: &str) -> bool {
        self.locals.has(name)
    }
}

/// `XDP_DROP`.
fn constant(verdict: Verdict) -> String {
    format!("XDP_{}", verdict.name().to_uppercase())
}

/// The state of the run at a position.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    pub position: Position,
    /// Number of the chosen frame of the stack, from 0 for the innermost.
    pub frame: usize,
    /// The next instruction; `None` after the last one of a packet.
    pub step: Option<&'a Step<'a>>,
    /// The result, after the last instruction of a packet.
    pub run: Option<&'a Run>,
    pub tracker: &'a Tracker,
    pub object: &'a Object,
    /// By their numbers in the object.
    pub maps: &'a [Arc<Map>],
    /// The packet before its first instruction.
    pub received: &'a Received,
}

/// A packet as the program received it.
#[derive(Debug, Default)]
pub struct Received {
    bytes: Vec<u8>,
    /// Position of its first byte in the buffer.
    headroom: u64,
    /// Position of the first byte before the next instruction.
    now: u64,
}

impl Received {
    /// An instruction comes next, after this number of others for the packet.
    pub fn observe(&mut self, step: &Step<'_>, executed: u64) {
        self.now = step.headroom();
        if executed == 0 {
            (self.bytes, self.headroom) = (step.whole_packet(), self.now);
        }
    }

    /// Whether a byte of the packet at an offset is another one than was received at this position.
    pub fn differs(&self, offset: usize, byte: u8) -> bool {
        let before = (self.now + offset as u64).checked_sub(self.headroom);
        let before = before.and_then(|before| usize::try_from(before).ok());
        before.and_then(|before| self.bytes.get(before)) != Some(&byte)
    }
}

impl<'a> Scene<'a> {
    /// Active functions, outermost first.
    pub fn frames(&self) -> &'a [Frame] {
        self.tracker.frames()
    }

    /// The packet's bytes.
    pub fn packet(&self) -> Vec<u8> {
        match (self.step, self.run) {
            (Some(step), _) => step.whole_packet(),
            (None, Some(run)) => run.packet.clone(),
            (None, None) => Vec::new(),
        }
    }

    /// The metadata before the packet.
    pub fn metadata(&self) -> &'a [u8] {
        match (self.step, self.run) {
            (Some(step), _) => step.metadata(),
            (None, Some(run)) => &run.metadata,
            (None, None) => &[],
        }
    }

    /// A map by its name, with its definition.
    pub fn map(&self, name: &str) -> Option<(&'a Arc<Map>, &'a MapDef)> {
        let number = self.object.spec.map_index(name)?;
        Some((self.maps.get(number)?, &self.object.spec.maps[number]))
    }

    /// The value of a key on the processor that runs the packets; `None` if the map has none.
    pub fn value(&self, map: &Map, key: &[u8]) -> Option<Vec<u8>> {
        let mut value = map.read(key).ok()?;
        value.truncate(map.attributes().value_size as usize);
        Some(value)
    }

    /// This position, with another chosen frame.
    pub fn in_frame(&self, frame: usize) -> Self {
        Self { frame, ..*self }
    }

    /// The frames of the stack, innermost first.
    pub fn stack(&self) -> Vec<StackFrame<'a>> {
        let active = self.frames().iter().rev().enumerate();
        active.flat_map(|(number, frame)| frames(frame, &self.object.locals, number == 0)).collect()
    }

    /// The chosen frame of the stack.
    pub fn chosen(&self) -> Option<StackFrame<'a>> {
        match self.frame {
            0 => frames(self.tracker.frame()?, &self.object.locals, true).into_iter().next(),
            number => self.stack().into_iter().nth(number),
        }
    }

    /// A local variable of the chosen frame; `None` if it has none of this name.
    pub fn local(&self, name: &str) -> Option<Result<Value, Unavailable>> {
        if !self.object.is_local(name) {
            return None;
        }
        let variables = self.variables();
        let variable = variables.iter().find(|variable| variable.name == name)?;
        Some(self.value_of(variable))
    }

    /// Local variables of the chosen frame whose names are valid, innermost first.
    pub fn variables(&self) -> Vec<&'a Variable> {
        let Some(chosen) = self.chosen().filter(|_| self.step.is_some()) else {
            return Vec::new();
        };
        let (name, slot, _) = function(chosen.frame);
        self.object.locals.at(name, slot, chosen.inlined.map(|inlined| inlined.number))
    }

    /// The value of a local variable of the chosen frame.
    pub fn value_of(&self, variable: &Variable) -> Result<Value, Unavailable> {
        let none = || Unavailable(format!("`{}` is optimized out here", variable.name));
        let (step, chosen) = self.step.zip(self.chosen()).ok_or_else(none)?;
        let (name, slot, insns) = function(chosen.frame);
        let types = &self.object.local_types;
        let size = types.size_of(variable.type_id).unwrap_or(WORD).min(LARGEST);
        let is_pointer = types.resolve(variable.type_id).is_some_and(|ty| ty.kind() == Kind::Ptr);
        let used = self.object.locals.stack_bytes(name, insns);
        let stack = chosen.frame.registers[10].wrapping_sub(used);
        let machine = FrameMachine { step, frame: chosen.frame, stack };
        let place = variable.place(slot).ok_or_else(none)?;
        let content = place.read(size as usize, is_pointer, &machine).ok_or_else(none)?;
        Ok(Value::partial(content, types, variable.type_id))
    }

    /// Whether a name is that of a variable, which hides a header of the packet.
    pub fn is_variable(&self, name: &str) -> bool {
        self.object.globals.contains_key(name) || self.local(name).is_some()
    }
}

/// Bytes of a variable whose type is not known: those of a register.
const WORD: u64 = 8;
/// Bytes of a local variable that are read: a stack has 512.
const LARGEST: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::Received;

    /// Bytes keep their position in the buffer when a helper moves the packet's first byte.
    #[test]
    fn bytes_are_compared_at_their_position() {
        let at = |now| Received { bytes: vec![1, 2, 3], headroom: 16, now };
        let differing = |now: u64, packet: &[u8]| -> Vec<usize> {
            let bytes = packet.iter().enumerate();
            let differing = bytes.filter(|(offset, byte)| at(now).differs(*offset, **byte));
            differing.map(|(offset, _)| offset).collect()
        };
        assert_eq!(differing(16, &[1, 7, 3]), [1]);
        assert_eq!(differing(14, &[0, 0, 1, 2, 3]), [0, 1]);
        assert_eq!(differing(17, &[2, 3, 0]), [2]);
    }
}

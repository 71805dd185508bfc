//! What can be read at a position: registers, packet, maps, variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use spec::btf::Btf;
use spec::dwarf::{Locals, Location, Variable};
use spec::insn::Insn;
use spec::{Global, MapDef, Spec, Verdict};
use vm::{Map, Run, Step};

use super::position::Position;
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
        let enums = types.iter().flat_map(|types| types.types()).filter(|ty| ty.kind().is_enum());
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

    /// A local variable of the function that runs; `None` if it has none of this name.
    pub fn local(&self, name: &str) -> Option<Result<Value, Unavailable>> {
        let variables = self.variables();
        let variable = variables.iter().find(|variable| variable.name == name)?;
        Some(self.value_of(variable))
    }

    /// Local variables whose names are valid, innermost first.
    pub fn variables(&self) -> Vec<&'a Variable> {
        let Some((name, slot, _)) = self.function() else { return Vec::new() };
        self.object.locals.at(name, slot)
    }

    /// The value of a local variable.
    pub fn value_of(&self, variable: &Variable) -> Result<Value, Unavailable> {
        let name = &variable.name;
        let none = || Unavailable(format!("`{name}` is optimized out here"));
        let (step, (function, slot, insns)) = self.step.zip(self.function()).ok_or_else(none)?;
        let object = self.object;
        let size = object.local_types.size_of(variable.type_id).unwrap_or(WORD as u64);
        let size = usize::try_from(size.min(LARGEST)).unwrap_or(WORD);
        let register = |number: u8| {
            let value = step.registers[usize::from(number.min(10))];
            if Step::is_unset(value) { Err(none()) } else { Ok(value) }
        };
        let word = |word: u64| word.to_le_bytes()[..size.min(WORD)].to_vec();
        let read = |address: u64| step.read(address, size).ok_or_else(none);
        let stack = || {
            let bytes = object.locals.stack_bytes(function, insns);
            step.registers[10].wrapping_sub(bytes)
        };
        let raw = match variable.place(slot).ok_or_else(none)? {
            Location::Register(number) => word(register(number)?),
            Location::Sum { register: number, offset } => {
                word(register(number)?.wrapping_add_signed(offset))
            }
            Location::Memory { register: number, offset } => {
                read(register(number)?.wrapping_add_signed(offset))?
            }
            Location::Stack { offset } => read(stack().wrapping_add_signed(offset))?,
            Location::StackAddress { offset } => word(stack().wrapping_add_signed(offset)),
            Location::Constant(value) => word(value.cast_unsigned()),
        };
        Ok(Value::typed(raw, &object.local_types, variable.type_id))
    }

    /// Name of the function that runs, the slot from its first, and its instructions.
    fn function(&self) -> Option<(&'a str, usize, &'a [Insn])> {
        let step = self.step?;
        let source = step.program.source();
        let after = source.functions.partition_point(|function| function.slot <= step.slot);
        let start = source.functions[..after].last().map_or(0, |function| function.slot);
        let end = source.functions.get(after).map_or(source.insns.len(), |next| next.slot);
        let insns = source.insns.get(start..end)?;
        Some((step.program.function_name(step.slot), step.slot - start, insns))
    }

    /// Whether a name is that of a variable, which hides a header of the packet.
    pub fn is_variable(&self, name: &str) -> bool {
        self.object.globals.contains_key(name) || self.local(name).is_some()
    }
}

/// Bytes of a register.
const WORD: usize = 8;
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

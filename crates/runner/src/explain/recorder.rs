//! Records the path of a run: lines, branches, calls, and writes.
//!
//! Rule: operands of an instruction are read before it runs, since it may overwrite them; its
//! effect is added when the engine reports it. Callbacks run inside a call, so open calls are kept
//! on a stack by depth.

use spec::insn::{self, Insn};
use vm::{CallEvent, Fault, Hook, Pointee, Step, WriteEvent};

use super::branch;
use super::calls::{self, Asked};
use super::changes::{Entry, Values};
use super::path::Path;
use super::words::Words;
use crate::results::{Item, StepEffect};

pub struct Recorder {
    words: Words,
    path: Path,
    values: Values,
    /// Where the last instruction was.
    at: Option<At>,
    /// Calls that have not returned, innermost last.
    waiting: Vec<Waiting>,
    /// What is where the next write goes.
    before: Option<Vec<u8>>,
    /// The last instruction's depth, function and result, to detect returns.
    last: Option<(usize, String)>,
    faulted: bool,
}

/// A place of the path: an instruction there belongs to the same stretch.
#[derive(Clone, PartialEq, Eq)]
struct At {
    program: usize,
    depth: usize,
    function: String,
    /// File and line, else the slot.
    line: Result<(String, u32), usize>,
}

struct Waiting {
    depth: usize,
    name: String,
    asked: Asked,
    /// What the map has under the key.
    old: Option<Vec<u8>>,
    /// Index of a tail call.
    index: u64,
}

/// The record of a run.
pub struct Recorded {
    pub path: Vec<Item>,
    pub left_out: u64,
    pub values: Values,
    pub words: Words,
}

impl Recorder {
    pub fn new(words: Words) -> Self {
        Self {
            words,
            path: Path::default(),
            values: Values::default(),
            at: None,
            waiting: Vec::new(),
            before: None,
            last: None,
            faulted: false,
        }
    }

    /// Ends the record, with a fault after the last instruction, such as a lock that is still held.
    pub fn finish(mut self, fault: Option<&Fault>) -> Recorded {
        if let Some(fault) = fault.filter(|_| !self.faulted) {
            self.fault(fault);
        }
        let (path, left_out) = self.path.finish();
        Recorded { path, left_out, values: self.values, words: self.words }
    }

    fn fault(&mut self, fault: &Fault) {
        self.path.add(StepEffect::Fault { message: fault.to_string() });
        self.faulted = true;
    }

    /// Continues at a place; begins a new section unless it is in the same line.
    fn go(&mut self, step: &Step<'_>) {
        let function = step.program.function_name(step.slot).to_owned();
        let source = step.program.line_at(step.slot).filter(|source| source.line != 0);
        let line = source.map(|source| (source.file.to_string(), source.line)).ok_or(step.slot);
        let (program, depth) = (step.program.number(), step.depth);
        let at = At { program, depth, function: function.clone(), line };
        if self.at.as_ref() == Some(&at) {
            return;
        }
        self.path.push(match source {
            Some(source) => Item::Line {
                depth,
                function,
                slot: step.slot,
                file: super::file_name(&source.file).to_owned(),
                line: source.line,
                text: source.text.trim().to_owned(),
                did: Vec::new(),
            },
            None => Item::Insn {
                depth,
                function,
                slot: step.slot,
                text: self.words.insn(step),
                did: Vec::new(),
            },
        });
        self.at = Some(at);
    }

    /// Records calls and returns since the last instruction.
    fn transfer(&mut self, step: &Step<'_>) {
        let Some((depth, function)) = self.last.take() else {
            let name = step.program.name().to_owned();
            return self.path.push(Item::Program { name });
        };
        if step.depth > depth {
            let (function, arguments) = self.entered(step);
            self.path.add(StepEffect::Enter { function, arguments });
            return;
        }
        let waits = self.waiting.last().is_some_and(|call| call.depth == step.depth);
        if waits && let Some(call) = self.waiting.pop() {
            // Any other call would have been reported.
            let program = step.program.name().to_owned();
            let map = call.asked.map.map_or_else(String::new, |map| self.words.map_name(map));
            self.path.add(StepEffect::TailCall { program, map, index: call.index });
            self.at = None;
        } else if step.depth < depth {
            let result = self.words.any(step, step.registers[0]);
            self.go(step);
            self.path.add(StepEffect::Return { function, result });
        }
    }

    fn entered(&mut self, step: &Step<'_>) -> (String, Vec<String>) {
        let source = step.program.source().function_at(step.slot);
        let known =
            source.and_then(|function| calls::parameters(self.words.btf()?, function.type_id));
        let set = step.registers[1..6].iter().take_while(|value| !Step::is_unset(**value)).count();
        let count = known.unwrap_or(set).min(5);
        let arguments = (1..=count).map(|register| self.words.any(step, step.registers[register]));
        (step.program.function_name(step.slot).to_owned(), arguments.collect())
    }

    /// Reads what the instruction is about to use.
    fn prepare(&mut self, step: &Step<'_>, insn: Insn) {
        self.waiting.retain(|call| call.depth < step.depth);
        if let Some(name) = calls::name(step) {
            let asked = calls::ask(&mut self.words, step, &name);
            let old = self.content(&asked);
            let (depth, index) = (step.depth, step.registers[3] & 0xffff_ffff);
            self.waiting.push(Waiting { depth, name, asked, old, index });
        }
        self.before = target(step, insn).and_then(|(address, len)| step.read(address, len));
        if let Some((address, _)) = target(step, insn)
            && let Pointee::Value { map, element, byte } = step.pointee(address)
        {
            let value = self.whole(step, map, address - byte);
            self.note(map, element, value.clone(), value);
        }
    }

    /// What a map has under a key now; of a per-CPU map on the first processor, which runs it.
    fn content(&self, asked: &Asked) -> Option<Vec<u8>> {
        let map = self.words.map(asked.map?)?;
        let mut value = map.read(asked.key.as_ref()?).ok()?;
        value.truncate(map.attributes().value_size as usize);
        Some(value)
    }

    fn whole(&self, step: &Step<'_>, map: u32, start: u64) -> Option<Vec<u8>> {
        step.read(start, self.words.map(map)?.attributes().value_size as usize)
    }

    fn note(&mut self, map: u32, element: u64, old: Option<Vec<u8>>, new: Option<Vec<u8>>) {
        let key = self.words.key_of(map, element);
        let entry = key.map_or(Entry::Element(element), Entry::Key);
        self.values.note(map, entry, old, new);
    }

    /// What a call did to maps and packet.
    fn effects(&mut self, step: &Step<'_>, waiting: &Waiting, result: u64) {
        let asked = &waiting.asked;
        match waiting.name.as_str() {
            "bpf_map_update_elem" | "bpf_map_delete_elem" => {
                let (Some(map), Some(key)) = (asked.map, asked.key.clone()) else { return };
                let now = self.content(asked);
                self.values.note(map, Entry::Key(key), waiting.old.clone(), now);
            }
            _ => {
                let (Some(from), Some(key)) = (asked.map, asked.key.clone()) else { return };
                if let Pointee::Value { map, element, .. } = step.pointee(result)
                    && map == from
                {
                    self.words.remember(map, element, key);
                }
            }
        }
    }
}

impl Hook for Recorder {
    fn step(&mut self, step: &Step<'_>) {
        self.transfer(step);
        self.go(step);
        self.last = Some((step.depth, step.program.function_name(step.slot).to_owned()));
        if let Some(insn) = step.program.source().insns.get(step.slot) {
            self.prepare(step, *insn);
        }
    }

    fn branch(&mut self, step: &Step<'_>, taken: bool) {
        let test = branch::test(&mut self.words, step);
        self.path.add(StepEffect::Branch { slot: step.slot, test, taken });
    }

    fn call(&mut self, step: &Step<'_>, call: &CallEvent<'_>) {
        let known = self.waiting.iter().rposition(|waiting| waiting.depth <= step.depth);
        let Some(waiting) = known.map(|at| self.waiting.swap_remove(at)) else { return };
        self.words.called(call.name);
        self.effects(step, &waiting, call.result);
        let result = if Step::is_unset(call.result) {
            "nothing: the program continues".to_owned()
        } else {
            calls::answer(&mut self.words, step, &waiting.name, call.result)
        };
        self.go(step);
        let arguments = waiting.asked.arguments;
        self.path.add(StepEffect::Call { name: waiting.name, arguments, result: Some(result) });
        self.last = Some((step.depth, step.program.function_name(step.slot).to_owned()));
    }

    fn write(&mut self, step: &Step<'_>, write: &WriteEvent) {
        let old = self.before.take().unwrap_or_default();
        let new = write.value.to_ne_bytes()[..write.len.min(8)].to_vec();
        let place = match step.pointee(write.address) {
            Pointee::Packet { .. } if old == new => return,
            Pointee::Packet { offset } => {
                let field = self.words.field(step, offset, write.len);
                let (old, new) = (shown(&old), shown(&new));
                let place = field.unwrap_or_else(|| format!("packet{offset:+}"));
                return self.path.add(StepEffect::Write { place, old, new });
            }
            Pointee::Value { map, element, byte } => {
                let value = self.whole(step, map, write.address - byte);
                self.note(map, element, None, value);
                self.words.value_place(map, element, byte)
            }
            _ => return,
        };
        self.path.add(StepEffect::Write { place, old: decimal(&old), new: decimal(&new) });
    }

    fn end(&mut self, result: Result<u64, &Fault>) {
        if let Err(fault) = result {
            for call in std::mem::take(&mut self.waiting) {
                let Waiting { name, asked, .. } = call;
                let arguments = asked.arguments;
                self.path.add(StepEffect::Call { name, arguments, result: None });
            }
            self.fault(fault);
        }
        self.waiting.clear();
        self.last = None;
        self.at = None;
        self.words.forget_packet();
    }
}

/// Where a store or an atomic operation writes, and how much.
fn target(step: &Step<'_>, insn: Insn) -> Option<(u64, usize)> {
    if !matches!(insn.class(), insn::CLASS_ST | insn::CLASS_STX) {
        return None;
    }
    let len = match insn.code & 0x18 {
        insn::SIZE_B => 1,
        insn::SIZE_H => 2,
        insn::SIZE_W => 4,
        _ => 8,
    };
    let base = step.registers.get(usize::from(insn.dst))?;
    Some((base.wrapping_add(insn.off as i64 as u64), len))
}

/// Packet bytes as they stand there.
fn shown(bytes: &[u8]) -> String {
    format!("0x{}", packet::hex(bytes))
}

/// A number of the machine that ran it.
fn decimal(bytes: &[u8]) -> String {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    super::words::number(u64::from_le_bytes(word))
}

//! Questions at the current position.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use control::inventory::{Entries, Tree};
use packet::dissect::dissect;
use serde::Serialize;
use spec::disasm::{self, SpecNames};
use spec::dwarf::Variable;

use super::Debugger;
use super::expression::Expression;
use super::position::Position;
use super::printer::{Answer, OPTIMIZED, Printer};
use super::replay::Visitor;
use super::scene::Scene;
use super::stop::{Display, FramePlace, Reason, SourcePlace, Stop};
use super::value::Value;
use crate::error::{Error, NoPlace, Result, Unavailable};
use crate::explain::file_name;
use crate::maps::listed;

/// Everything at a position, as a front end shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct State {
    /// Active functions, innermost first.
    pub frames: Vec<FramePlace>,
    /// Number of the chosen one, from 0 for the innermost.
    pub frame: usize,
    /// Registers of the chosen function; of one that called another, those that calls preserve.
    pub registers: Vec<Answer>,
    /// Local variables of the chosen function, its parameters among them.
    pub locals: Vec<Answer>,
    /// Parameters of the chosen function, in their order.
    pub arguments: Vec<Answer>,
    /// Global variables.
    pub globals: Vec<Answer>,
    /// The packet.
    pub packet: PacketState,
}

/// Bytes of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The first byte in words, such as `stack-8`.
    pub address: String,
    /// The bytes in hexadecimal digits.
    pub bytes: String,
}

/// A frame of the stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NumberedFrame {
    /// Number of the frame, from 0 for the innermost.
    pub number: usize,
    /// Its function, and where the function is.
    #[serde(flatten)]
    pub place: FramePlace,
}

/// Everything that a front end with panes shows at a position.
#[derive(Debug)]
pub struct Overview {
    /// The position, as motions report it.
    pub stop: Stop,
    /// Functions, values and the packet.
    pub state: State,
    /// All maps.
    pub maps: Vec<MapState>,
}

/// A map at a position.
#[derive(Debug)]
pub struct MapState {
    /// Name of the map.
    pub name: String,
    /// Its entries, or why they cannot be listed.
    pub entries: std::result::Result<Entries, String>,
}

/// The packet at a position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PacketState {
    /// Number of the packet in the capture, from 1.
    pub number: u64,
    /// One line, as packet sniffers print it.
    pub summary: String,
    /// The bytes in hexadecimal digits.
    pub bytes: String,
    /// The metadata before the packet, in hexadecimal digits.
    pub metadata: String,
    /// The headers, outermost first.
    pub headers: Vec<Header>,
    /// Bytes that differ from the packet as it was received.
    pub changed: Vec<Span>,
}

/// Some bytes of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Offset of the first byte.
    pub offset: usize,
    /// Number of bytes.
    pub len: usize,
}

/// A header of the packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Header {
    /// Name of the header, such as `ipv4`.
    pub name: String,
    /// The bytes of the header.
    #[serde(flatten)]
    pub span: Span,
    /// Names and values of the fields.
    pub fields: Vec<(String, String)>,
}

/// An instruction of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodeLine {
    /// Name of the program.
    pub program: String,
    /// Name of the function.
    pub function: String,
    /// Slot of the instruction.
    pub slot: usize,
    /// The disassembled instruction.
    pub insn: String,
    /// The source line, where another begins.
    pub source: Option<SourcePlace>,
    /// Whether this instruction comes next.
    pub is_next: bool,
}

impl PacketState {
    /// The field of a byte, such as `ipv4.ttl`, with its value.
    pub fn field_at(&self, offset: usize) -> Option<(String, String)> {
        let digits = self.bytes.as_bytes().chunks(2).map(|byte| std::str::from_utf8(byte).ok());
        let bytes: Option<Vec<u8>> =
            digits.map(|byte| u8::from_str_radix(byte?, 16).ok()).collect();
        let dissection = dissect(&bytes?);
        let place = dissection.field_at(offset)?;
        Some((place.to_string(), place.field.value.clone()))
    }
}

impl Debugger<'_> {
    /// The current position, as motions report it.
    ///
    /// # Errors
    /// The engine refuses a packet, or a request to end the question came, as in all questions.
    pub fn here(&self) -> Result<Stop> {
        self.stop(self.position, Reason::Position)
    }

    /// The value of an expression in the chosen frame.
    ///
    /// # Errors
    /// It has no value here.
    pub fn evaluate(&self, expression: &Expression) -> Result<Answer> {
        self.evaluate_in(self.frame, expression)
    }

    /// The value of an expression in a frame of the stack, from 0 for the innermost.
    ///
    /// # Errors
    /// It has no value there, or there is no such frame.
    pub fn evaluate_in(&self, frame: usize, expression: &Expression) -> Result<Answer> {
        let wanted = expression.clone();
        let answer = self.look_in(frame, move |scene| {
            let value = wanted.evaluate(scene)?;
            Ok(Printer::new(scene).answer(scene, wanted.text(), &value))
        })?;
        answer.map_err(Error::Unavailable)
    }

    /// Everything that a front end shows of the chosen frame.
    ///
    /// # Errors
    /// As [`Debugger::here`].
    pub fn state(&self) -> Result<State> {
        self.state_in(self.frame)
    }

    /// Everything that a front end shows of a frame of the stack, from 0 for the innermost.
    ///
    /// # Errors
    /// As [`Debugger::here`], and there is no such frame.
    pub fn state_in(&self, frame: usize) -> Result<State> {
        self.look_in(frame, state)
    }

    /// Chooses a frame of the stack, from 0 for the innermost, until the next motion.
    ///
    /// # Errors
    /// As [`Debugger::state_in`].
    pub fn choose_frame(&mut self, number: usize) -> Result<NumberedFrame> {
        let place = self.look_in(number, |scene| {
            let chosen = scene.chosen();
            chosen.map(|chosen| FramePlace::of(&chosen, &scene.object.spec))
        })?;
        let place = place.ok_or(Error::NoFrame { number, frames: 0 })?;
        self.frame = number;
        Ok(NumberedFrame { number, place })
    }

    /// Chooses the frame a number of callers away, or of called functions if it is negative; at
    /// most the outermost or innermost.
    ///
    /// # Errors
    /// No frame is in that direction.
    pub fn choose_frame_by(&mut self, callers: isize) -> Result<NumberedFrame> {
        let last = self.look_in(self.frame, |scene| scene.stack().len())?.saturating_sub(1);
        let wanted = self.frame.saturating_add_signed(callers).min(last);
        if wanted == self.frame && callers != 0 {
            return Err(if callers > 0 { Error::OutermostFrame } else { Error::InnermostFrame });
        }
        self.choose_frame(wanted)
    }

    /// The entries of a map, without those that are zero; at most 1,000.
    ///
    /// # Errors
    /// There is no such map, or it cannot be read by key.
    pub fn map(&self, name: &str) -> Result<Entries> {
        let Some(number) = self.replay.object.spec.map_index(name) else {
            let known = self.maps();
            return Err(Error::UnknownMap { name: name.to_owned(), known });
        };
        self.look(self.position, move |scene| entries(scene, number))?
    }

    /// Everything that a front end with panes shows, read in one run.
    ///
    /// # Errors
    /// As [`Debugger::here`].
    pub fn overview(&self) -> Result<Overview> {
        let displays = self.displays.clone();
        self.look_in(self.frame, move |scene| {
            let maps = scene.object.spec.maps.iter().enumerate().map(|(number, def)| {
                let entries = entries(scene, number).map_err(|error| error.to_string());
                MapState { name: def.name.clone(), entries }
            });
            Overview {
                stop: stop(&scene.in_frame(0), Reason::Position, &displays),
                state: state(scene),
                maps: maps.collect(),
            }
        })
    }

    /// Names of the object's maps.
    pub fn maps(&self) -> Vec<String> {
        self.replay.object.spec.maps.iter().map(|map| map.name.clone()).collect()
    }

    /// The instructions of a program with source lines; of the running one without a name.
    ///
    /// # Errors
    /// The program is not loaded.
    pub fn code(&self, program: Option<&str>) -> Result<Vec<CodeLine>> {
        self.code_at(program, self.here()?.place.as_ref())
    }

    /// As [`Debugger::code`], for a place that is known.
    ///
    /// # Errors
    /// The program is not loaded.
    pub fn code_at(
        &self,
        program: Option<&str>,
        place: Option<&FramePlace>,
    ) -> Result<Vec<CodeLine>> {
        let running = place.map(|place| place.program.as_str());
        let name = program.or(running).unwrap_or(&self.replay.setup.program.name);
        let next = place.filter(|place| place.program == name).map(|place| place.slot);
        let found = self.programs.iter().find(|program| program.name() == name);
        let program = found.ok_or_else(|| NoPlace::Program {
            name: name.to_owned(),
            known: self.programs().into_iter().map(str::to_owned).collect(),
        })?;
        let source = program.source();
        let names = SpecNames { spec: &self.replay.object.spec, program: source };
        let line = |slot| CodeLine {
            program: program.name().to_owned(),
            function: program.function_name(slot).to_owned(),
            slot,
            insn: disasm::insn(&source.insns, slot, &names),
            source: program.lines().iter().find(|line| line.slot == slot && line.line != 0).map(
                |line| SourcePlace {
                    file: file_name(&line.file).to_owned(),
                    line: line.line,
                    text: line.text.trim().to_owned(),
                },
            ),
            is_next: next == Some(slot),
        };
        Ok(disasm::slots(&source.insns).map(line).collect())
    }

    /// Names of the loaded programs, the chosen one first.
    pub fn programs(&self) -> Vec<&str> {
        self.programs.iter().map(|program| program.name()).collect()
    }

    /// All source lines with code, by file and number.
    pub fn source_lines(&self) -> Vec<SourcePlace> {
        let lines = self.programs.iter().flat_map(|program| program.lines());
        let mut lines: Vec<_> = lines
            .filter(|line| line.line != 0)
            .map(|line| SourcePlace {
                file: file_name(&line.file).to_owned(),
                line: line.line,
                text: line.text.to_string(),
            })
            .collect();
        lines.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        lines.dedup_by(|a, b| (&a.file, a.line) == (&b.file, b.line));
        lines
    }

    /// Bytes of memory from a pointer on; fewer if its memory ends before.
    ///
    /// # Errors
    /// The expression has no value here, or it is not the address of memory.
    pub fn memory(&self, pointer: &Expression, len: usize) -> Result<Memory> {
        let (wanted, len) = (pointer.clone(), len.min(MEMORY));
        let memory = self.look_in(self.frame, move |scene| {
            let value = wanted.evaluate(scene)?;
            let unreadable = || Unavailable(format!("`{}` is not the address of memory", wanted));
            let address = value.number().and_then(|address| u64::try_from(address).ok());
            let (address, step) = address.zip(scene.step).ok_or_else(unreadable)?;
            let readable = (1..=len).rev().find_map(|len| step.read(address, len));
            Ok(Memory {
                address: Printer::new(scene).text(scene, &Value::Word(address)),
                bytes: packet::hex(&readable.ok_or_else(unreadable)?),
            })
        })?;
        memory.map_err(Error::Unavailable)
    }

    pub(super) fn stop(&self, position: Position, reason: Reason) -> Result<Stop> {
        let displays = self.displays.clone();
        self.look(position, move |scene| stop(scene, reason, &displays))
    }

    /// Reads something at the current position in a frame of the stack.
    fn look_in<T: Send + 'static>(
        &self,
        frame: usize,
        read: impl FnOnce(&Scene<'_>) -> T + Send + 'static,
    ) -> Result<T> {
        self.look(self.position, move |scene| {
            let frames = if frame == 0 { 1 } else { scene.stack().len() };
            match frame < frames {
                true => Ok(read(&scene.in_frame(frame))),
                false => Err(Error::NoFrame { number: frame, frames }),
            }
        })?
    }

    /// Reads something at a position.
    fn look<T: Send + 'static>(
        &self,
        position: Position,
        read: impl FnOnce(&Scene<'_>) -> T + Send + 'static,
    ) -> Result<T> {
        let look = Look { position, read: Some(read), answer: None };
        let answer = self.replay.run(position.packet, look)?.answer;
        let Position { packet, step } = position;
        answer.ok_or(match packet > self.last {
            true => Error::NoPacket { packets: self.last, wanted: packet },
            false if step > 0 => Error::NoPosition { packet, step },
            false => Error::NotReceived { packet },
        })
    }
}

/// Reads something when a position is reached.
struct Look<F, T> {
    position: Position,
    read: Option<F>,
    answer: Option<T>,
}

impl<T: Send + 'static, F: FnOnce(&Scene<'_>) -> T + Send + 'static> Visitor for Look<F, T> {
    fn visit(&mut self, scene: &Scene<'_>) -> ControlFlow<()> {
        if scene.position < self.position {
            return ControlFlow::Continue(());
        }
        if scene.position == self.position
            && let Some(read) = self.read.take()
        {
            self.answer = Some(read(scene));
        }
        ControlFlow::Break(())
    }
}

fn state(scene: &Scene<'_>) -> State {
    let mut printer = Printer::new(scene);
    State {
        frames: frames(scene),
        frame: scene.frame,
        registers: registers(scene, &mut printer),
        locals: locals(scene, &mut printer, |_| true),
        arguments: locals(scene, &mut printer, |variable| variable.is_parameter),
        globals: globals(scene, &mut printer),
        packet: packet(scene),
    }
}

fn stop(scene: &Scene<'_>, reason: Reason, displays: &BTreeMap<u32, Expression>) -> Stop {
    let displays = displays.iter().map(|(number, wanted)| display(scene, *number, wanted));
    Stop { displays: displays.collect(), ..Stop::at(scene, reason) }
}

/// The value of an expression that is shown at each stop.
fn display(scene: &Scene<'_>, number: u32, wanted: &Expression) -> Display {
    let answer = match wanted.evaluate(scene) {
        Ok(value) => Printer::new(scene).answer(scene, wanted.text(), &value),
        Err(why) => {
            let text = format!("<{why}>");
            let (name, value) = (wanted.text().to_owned(), Tree::Text(text.clone()));
            Answer { name, type_text: None, value, text }
        }
    };
    Display { number, answer }
}

/// The entries of a map, by its number in the object.
fn entries(scene: &Scene<'_>, number: usize) -> Result<Entries> {
    let (map, def) = (&scene.maps[number], &scene.object.spec.maps[number]);
    if let Some(cause) = map.why_absent() {
        let (name, cause) = (def.name.clone(), cause.to_owned());
        return Err(Error::AbsentMap { name, cause });
    }
    let (mut raw, mut left) = (Vec::new(), ENTRIES);
    let mut keep = |key: &[u8], value: &[u8]| {
        if left > 0 {
            raw.push((key.to_vec(), value.to_vec()));
            left -= 1;
        }
    };
    if map.attributes().key_size > 0 {
        let unlisted = |errno| Error::Unlisted { map: def.name.clone(), errno };
        map.scan(&mut || true, &mut keep).map_err(unlisted)?;
    }
    Ok(listed(&scene.object.spec, def, number as u32 + 1, raw))
}

fn frames(scene: &Scene<'_>) -> Vec<FramePlace> {
    let stack = scene.stack();
    stack.iter().map(|frame| FramePlace::of(frame, &scene.object.spec)).collect()
}

fn registers(scene: &Scene<'_>, printer: &mut Printer) -> Vec<Answer> {
    let Some(chosen) = scene.chosen().filter(|_| scene.step.is_some()) else { return Vec::new() };
    let set = (0..REGISTERS).filter_map(|number| Some((number, chosen.register(number)?)));
    set.map(|(number, value)| printer.answer(scene, &format!("r{number}"), &Value::Word(value)))
        .collect()
}

/// Local variables of a kind; of several with one name, the innermost.
fn locals(
    scene: &Scene<'_>,
    printer: &mut Printer,
    is_wanted: impl Fn(&Variable) -> bool,
) -> Vec<Answer> {
    let mut known = BTreeSet::new();
    let variables = scene.variables().into_iter().filter(|one| is_wanted(one));
    let variables = variables.filter(|one| known.insert(one.name.clone()));
    let answers = variables.map(|variable| match scene.value_of(variable) {
        Ok(value) => printer.answer(scene, &variable.name, &value),
        Err(_) => Answer {
            name: variable.name.clone(),
            type_text: Some(scene.object.local_types.type_text(variable.type_id)),
            value: Tree::Text(OPTIMIZED.to_owned()),
            text: OPTIMIZED.to_owned(),
        },
    });
    answers.collect()
}

fn globals(scene: &Scene<'_>, printer: &mut Printer) -> Vec<Answer> {
    let names = scene.object.globals.keys().take(VARIABLES);
    let values = names.filter_map(|name| {
        let value = name.parse::<Expression>().ok()?.evaluate(scene).ok()?;
        Some(printer.answer(scene, name, &value))
    });
    values.collect()
}

fn packet(scene: &Scene<'_>) -> PacketState {
    let bytes = scene.packet();
    let dissection = dissect(&bytes);
    let headers = dissection.layers.into_iter().map(|layer| Header {
        name: layer.name,
        span: Span { offset: layer.range.start, len: layer.range.len() },
        fields: layer.fields.into_iter().map(|one| (one.name.to_owned(), one.value)).collect(),
    });
    PacketState {
        number: scene.position.packet,
        summary: dissection.summary,
        bytes: packet::hex(&bytes),
        metadata: packet::hex(scene.metadata()),
        headers: headers.collect(),
        changed: changed(scene, &bytes),
    }
}

/// Bytes that differ from those that were received, neighbors together.
fn changed(scene: &Scene<'_>, bytes: &[u8]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (offset, byte) in bytes.iter().enumerate() {
        match spans.last_mut().filter(|last| last.offset + last.len == offset) {
            _ if !scene.received.differs(offset, *byte) => {}
            Some(last) => last.len += 1,
            None => spans.push(Span { offset, len: 1 }),
        }
    }
    spans
}

/// Registers of a function.
const REGISTERS: usize = 11;
/// Bytes of memory that are read.
const MEMORY: usize = 4096;
/// Entries of a map that are listed.
const ENTRIES: usize = 1000;
/// Global variables that are listed.
const VARIABLES: usize = 1000;

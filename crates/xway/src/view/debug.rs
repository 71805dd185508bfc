//! Text of `debug`: stops, values, frames, code.

use control::inventory::Entries;
use runner::debug::{
    Answer, CodeLine, Display, FramePlace, Memory, NumberedFrame, PacketState, Reason, SourcePlace,
    Stop, StopPoint,
};
use serde::Serialize;

use super::{Paint, View};

/// A result of one command. JSON has one key, which is what it is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// After a motion.
    Stop(Stop),
    /// After `break`, `watch` and `condition`.
    Breakpoint(StopPoint),
    /// After `delete`, `disable`, `enable` and `info breakpoints`.
    Breakpoints(Vec<StopPoint>),
    /// After `print`.
    Value(Answer),
    /// After `info registers`, `info locals`, `info args` and `info globals`.
    Values(Vec<Answer>),
    /// After `backtrace`, innermost function first.
    Frames(Vec<FramePlace>),
    /// After `frame`, `up` and `down`.
    Frame(NumberedFrame),
    /// After `info packet`.
    Packet(PacketState),
    /// After `x`.
    Dump(Dump),
    /// After `x/16 POINTER`.
    Memory(Memory),
    /// After `display` and `undisplay`.
    Displays(Vec<Display>),
    /// After `info maps`.
    Maps(Vec<String>),
    /// After `info map NAME`.
    Map(Entries),
    /// After `list`.
    Source(Listing),
    /// After `disassemble`.
    Code(Vec<CodeLine>),
    /// After `help`.
    Help(String),
    /// After a command that failed.
    Error(String),
}

/// Bytes of the packet.
#[derive(Clone, Debug, Serialize)]
pub struct Dump {
    /// Offset of the first byte in the packet.
    pub offset: usize,
    /// The bytes in hexadecimal digits.
    pub bytes: String,
}

/// Source lines around one.
#[derive(Clone, Debug, Serialize)]
pub struct Listing {
    /// Path of the file as the compiler recorded it.
    pub file: String,
    /// Number of the line in the middle.
    pub line: u32,
    /// The lines; without the file, those that have code.
    pub lines: Vec<SourcePlace>,
}

impl View for Output {
    fn text(&self, paint: Paint) -> String {
        match self {
            Self::Stop(stop) => self::stop(stop, paint),
            Self::Breakpoint(point) => self::point(point),
            Self::Breakpoints(points) if points.is_empty() => "no breakpoints".to_owned(),
            Self::Breakpoints(points) => lines(points.iter().map(self::point)),
            Self::Value(answer) => value(answer),
            Self::Values(answers) if answers.is_empty() => "none here".to_owned(),
            Self::Values(answers) => lines(answers.iter().map(value)),
            Self::Frames(frames) if frames.is_empty() => "no function is active".to_owned(),
            Self::Frames(frames) => {
                lines((0..).zip(frames).map(|(number, frame)| self::frame(number, frame)))
            }
            Self::Frame(chosen) => frame(chosen.number, &chosen.place),
            Self::Packet(packet) => self::packet(packet, paint),
            Self::Dump(dump) => hex_dump(&dump.bytes, dump.offset),
            Self::Memory(memory) => format!("{}\n{}", memory.address, hex_dump(&memory.bytes, 0)),
            Self::Displays(displays) if displays.is_empty() => "no displays".to_owned(),
            Self::Displays(displays) => lines(displays.iter().map(display)),
            Self::Maps(maps) => lines(maps.iter().cloned()),
            Self::Map(entries) => entries.text(paint),
            Self::Source(listing) => self::listing(listing, paint),
            Self::Code(code) => self::code(code, paint),
            Self::Help(text) => text.clone(),
            Self::Error(text) => paint.bad(text),
        }
    }
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

fn stop(stop: &Stop, paint: Paint) -> String {
    let packet = stop.position.packet;
    let log =
        stop.log.iter().map(|line| format!("packet {}: {}\n", line.position.packet, line.text));
    let reason = match &stop.reason {
        Reason::Breakpoint { number } => format!("breakpoint {number}, "),
        Reason::Watchpoint { number, expression, old, new } => {
            format!("watchpoint {number}: {expression}: {old} → {new}\n")
        }
        Reason::EndOfCapture => "end of the capture, ".to_owned(),
        Reason::StartOfCapture => "start of the capture, ".to_owned(),
        Reason::Position | Reason::Motion => String::new(),
    };
    let mut text = log.collect::<String>() + &reason;
    text.push_str(&format!("packet {packet}"));
    if let Some(verdict) = stop.verdict {
        text.push_str(&format!(": {}", paint.bold(&format!("verdict {verdict}"))));
    }
    if let Some(frame) = &stop.place {
        text.push_str(&format!(", {}", head(frame)));
        let line = match &frame.source {
            Some(source) => format!("{:>LINE$}  {}", source.line, spaced(&source.text)),
            None => format!("{:>LINE$}: {}", frame.slot, frame.insn),
        };
        text.push_str(&format!("\n{}", paint.bold(&line)));
    }
    if let Some(fault) = &stop.fault {
        text.push_str(&format!("\n{}", paint.bad(&format!("fault: {fault}"))));
    }
    for shown in &stop.displays {
        text.push_str(&format!("\n{}", display(shown)));
    }
    if let Some(note) = &stop.note {
        text.push_str(&format!("\n{}", paint.dim(note)));
    }
    text
}

/// A row of the backtrace.
fn frame(number: usize, frame: &FramePlace) -> String {
    let inlined = if frame.inlined { "inlined " } else { "" };
    format!("#{number} {inlined}{}", place(frame))
}

/// Function and place without the text of the line.
fn head(frame: &FramePlace) -> String {
    match &frame.source {
        Some(source) => format!("{} at {}:{}", frame.function, source.file, source.line),
        None => format!("{} at instruction {}", frame.function, frame.slot),
    }
}

fn place(frame: &FramePlace) -> String {
    match frame.source.as_ref().map_or(&frame.insn, |source| &source.text).as_str() {
        // A call of an inlined function has a line without instructions.
        "" => head(frame),
        text => format!("{}: {text}", head(frame)),
    }
}

fn display(shown: &Display) -> String {
    format!("{}: {}", shown.number, value(&shown.answer))
}

fn point(point: &StopPoint) -> String {
    let condition = point.condition.as_ref().map(|condition| format!(" if {condition}"));
    let condition = condition.unwrap_or_default();
    let hits = point.hits.as_ref().map(|hits| format!(", hits {hits}")).unwrap_or_default();
    let log = point.log.as_ref().map(|log| format!(", writes {log}")).unwrap_or_default();
    let once = if point.temporary { ", once" } else { "" };
    let disabled = if point.enabled { "" } else { ", disabled" };
    let (kind, number, what) = (point.kind, point.number, &point.what);
    format!("{kind} {number}: {what}{condition}{hits}{log}{once}{disabled}")
}

fn value(answer: &Answer) -> String {
    match &answer.type_text {
        Some(type_text) => format!("{} = {} ({type_text})", answer.name, answer.text),
        None => format!("{} = {}", answer.name, answer.text),
    }
}

fn packet(packet: &PacketState, paint: Paint) -> String {
    let title = format!("packet {}: {}", packet.number, packet.summary);
    let headers = packet.headers.iter().map(|header| {
        let fields = header.fields.iter().map(|(name, value)| format!("{name} {value}"));
        format!("{}: {}", header.name, fields.collect::<Vec<_>>().join(", "))
    });
    let mut parts = vec![paint.bold(&title)];
    parts.extend(headers);
    if !packet.metadata.is_empty() {
        parts.push(format!("metadata: {}", packet.metadata));
    }
    parts.push(hex_dump(&packet.bytes, 0));
    parts.join("\n")
}

/// Sixteen bytes a line, each line with the offset of its first byte.
fn hex_dump(digits: &str, offset: usize) -> String {
    let bytes: Vec<&[u8]> = digits.as_bytes().chunks(2).collect();
    let line = |(number, bytes): (usize, &[&[u8]])| {
        let bytes = bytes.iter().map(|byte| String::from_utf8_lossy(byte).into_owned());
        format!("{:04x}: {}", offset + number * 16, bytes.collect::<Vec<_>>().join(" "))
    };
    lines(bytes.chunks(16).enumerate().map(line))
}

fn listing(listing: &Listing, paint: Paint) -> String {
    let lines = listing.lines.iter().map(|line| {
        let text = format!("{:>LINE$}  {}", line.line, spaced(&line.text));
        if line.line == listing.line {
            paint.bold(text.trim_end())
        } else {
            text.trim_end().to_owned()
        }
    });
    format!("{}\n{}", paint.dim(&listing.file), self::lines(lines))
}

fn code(code: &[CodeLine], paint: Paint) -> String {
    let mut text = String::new();
    let mut function = "";
    for line in code {
        if line.function != function {
            function = &line.function;
            text.push_str(&format!("{function}:\n"));
        }
        if let Some(source) = &line.source {
            let comment = format!("; {} @ {}:{}", source.text, source.file, source.line);
            text.push_str(&format!("{}\n", paint.dim(&comment)));
        }
        let mark = if line.is_next { "=>" } else { "  " };
        text.push_str(&format!("{mark}{:>4}: {}\n", line.slot, line.insn));
    }
    text
}

/// Indentation by spaces, which each terminal shows the same.
fn spaced(text: &str) -> String {
    text.replace('\t', "    ")
}

/// Columns of a line's number.
const LINE: usize = 5;

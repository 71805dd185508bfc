//! Requests after the launch.

use std::io::Write;

use anyhow::{Context as _, Result, bail};
use runner::debug::{CodeLine, Direction, Expression, FramePlace, Motion, Reason, Stop};
use serde_json::{Value, json};

use super::address::Address;
use super::inbox::Inbox;
use super::next_request;
use super::points::Points;
use super::protocol::{Request, Sender};
use super::variables::Variables;
use crate::cmd::debug::command::{Command, parse};
use crate::cmd::debug::session::Session;
use crate::view::{Form, Paint, rendered};

/// A session with an editor.
#[derive(Debug)]
pub struct Server<'a> {
    session: Session<'a>,
    stop_on_entry: bool,
    points: Points,
    variables: Variables,
    /// Files whose text the client asks for, by reference minus one.
    sources: Vec<String>,
}

/// What follows a response.
enum After {
    Nothing,
    /// A motion, reported by an event.
    Move(Motion, Direction),
    /// The position is reported as the beginning.
    Entry,
    End,
}

impl<'a> Server<'a> {
    pub fn new(session: Session<'a>, stop_on_entry: bool) -> Self {
        Self {
            session,
            stop_on_entry,
            points: Points::default(),
            variables: Variables::default(),
            sources: Vec::new(),
        }
    }

    /// Answers requests until the client leaves.
    ///
    /// # Errors
    /// The input has no messages, or output was closed.
    pub fn serve(mut self, inbox: &Inbox, sender: &mut Sender<impl Write>) -> Result<()> {
        sender.event("initialized", &Value::Null)?;
        while let Some(request) = next_request(|| inbox.next(), sender)? {
            let (result, after) = match self.answer(&request) {
                Ok((body, after)) => (Ok(body), after),
                Err(error) => (Err(error), After::Nothing),
            };
            sender.respond(&request, result)?;
            match after {
                After::Nothing => {}
                After::Move(motion, direction) => self.travel(motion, direction, inbox, sender)?,
                After::Entry => {
                    let stop = self.session.debugger.here()?;
                    sender.event("stopped", &self.stopped("entry", &stop))?;
                }
                After::End => return sender.event("terminated", &Value::Null),
            }
        }
        Ok(())
    }

    fn answer(&mut self, request: &Request) -> Result<(Value, After)> {
        let arguments = &request.arguments;
        if let Some(motion) = motion(&request.command, arguments) {
            let body = match request.command.as_str() {
                "continue" => json!({"allThreadsContinued": true}),
                _ => Value::Null,
            };
            return Ok((body, After::Move(motion.0, motion.1)));
        }
        let debugger = &mut self.session.debugger;
        let body = match request.command.as_str() {
            "setBreakpoints" => self.points.lines(debugger, arguments)?,
            "setFunctionBreakpoints" => self.points.functions(debugger, arguments)?,
            "setInstructionBreakpoints" => self.points.instructions(debugger, arguments)?,
            "setDataBreakpoints" => self.points.data(debugger, arguments)?,
            "setExceptionBreakpoints" => self.points.exceptions(debugger, arguments)?,
            "dataBreakpointInfo" => self.data_info(arguments)?,
            "threads" => {
                let name = format!("packet {}", debugger.position().packet);
                json!({"threads": [{"id": THREAD, "name": name}]})
            }
            "stackTrace" => self.stack(arguments)?,
            "scopes" => self.variables.scopes(debugger, frame_number(arguments)?)?,
            "variables" => self.variables.open(debugger, arguments)?,
            "evaluate" => self.evaluate(arguments)?,
            "disassemble" => self.disassemble(arguments)?,
            "source" => self.source(arguments)?,
            "loadedSources" => self.loaded_sources(),
            "configurationDone" => {
                let motion = After::Move(Motion::Continue, Direction::Forward);
                let after = if self.stop_on_entry { After::Entry } else { motion };
                return Ok((Value::Null, after));
            }
            // The motion ended before it was interrupted.
            "pause" => Value::Null,
            "disconnect" | "terminate" => return Ok((Value::Null, After::End)),
            other => bail!("request `{other}` is not supported"),
        };
        Ok((body, After::Nothing))
    }

    /// Moves, and reports where.
    fn travel(
        &mut self,
        motion: Motion,
        direction: Direction,
        inbox: &Inbox,
        sender: &mut Sender<impl Write>,
    ) -> Result<()> {
        self.variables.forget();
        inbox.can_pause(true);
        let result = self.session.debugger.go(motion, direction);
        inbox.can_pause(false);
        match result {
            Ok(stop) => {
                for line in &stop.log {
                    let output = format!("{}\n", line.text);
                    sender.event("output", &json!({"category": "console", "output": output}))?;
                }
                let reason = match &stop.reason {
                    Reason::Breakpoint { number } => self.points.reason(*number),
                    Reason::Watchpoint { .. } => "data breakpoint",
                    Reason::Position => "goto",
                    Reason::Motion => "step",
                    Reason::EndOfCapture | Reason::StartOfCapture => "pause",
                };
                sender.event("stopped", &self.stopped(reason, &stop))
            }
            Err(runner::Error::MotionInterrupted { .. }) => {
                // Without a request to pause, the client leaves.
                let Some(pause) = inbox.take_pause() else { return Ok(()) };
                sender.respond(&pause, Ok(Value::Null))?;
                let stop = self.session.debugger.here()?;
                sender.event("stopped", &self.stopped("pause", &stop))
            }
            Err(error) => {
                let output = format!("{error}\n");
                sender.event("output", &json!({"category": "stderr", "output": output}))?;
                let stop = self.session.debugger.here()?;
                sender.event("stopped", &self.stopped("pause", &stop))
            }
        }
    }

    fn stopped(&self, reason: &str, stop: &Stop) -> Value {
        let mut body = json!({"reason": reason, "threadId": THREAD, "allThreadsStopped": true});
        let text = match &stop.reason {
            Reason::Watchpoint { expression, old, new, .. } => {
                Some(format!("{expression}: {old} → {new}"))
            }
            Reason::EndOfCapture => Some("end of the capture".to_owned()),
            Reason::StartOfCapture => Some("start of the capture".to_owned()),
            _ => stop.verdict.map(|verdict| format!("verdict {verdict}")),
        };
        if let Some(text) = text {
            body["description"] = text.clone().into();
            body["text"] = stop.fault.clone().unwrap_or(text).into();
        }
        if let Reason::Breakpoint { number } | Reason::Watchpoint { number, .. } = &stop.reason {
            body["hitBreakpointIds"] = json!([number]);
        }
        body
    }

    fn stack(&mut self, arguments: &Value) -> Result<Value> {
        let frames = self.variables.state(&self.session.debugger, 0)?.frames.clone();
        let mut shown = Vec::new();
        for (id, frame) in (1..).zip(&frames) {
            shown.push(self.frame(id, frame));
        }
        if shown.is_empty() {
            let stop = self.session.debugger.here()?;
            let verdict = stop.verdict.unwrap_or("unknown");
            let name = format!("packet {}: verdict {verdict}", stop.position.packet);
            let hint = "label";
            let frame = json!({
                "id": 1, "name": name, "line": 0, "column": 0, "presentationHint": hint,
            });
            shown.push(frame);
        }
        let total = shown.len();
        let start = arguments["startFrame"].as_u64().unwrap_or(0).min(total as u64) as usize;
        shown.drain(..start);
        if let Some(levels) = arguments["levels"].as_u64().filter(|levels| *levels > 0) {
            shown.truncate(usize::try_from(levels).unwrap_or(usize::MAX));
        }
        Ok(json!({"stackFrames": shown, "totalFrames": total}))
    }

    fn frame(&mut self, id: u64, frame: &FramePlace) -> Value {
        let address = Address::of(&self.session.debugger, &frame.program, frame.slot);
        let mut body = json!({
            "id": id, "name": frame.function, "line": 0, "column": 0,
            "instructionPointerReference": address.to_string(),
        });
        if let Some(source) = &frame.source {
            body["line"] = source.line.into();
            body["column"] = 1.into();
            body["source"] = self.source_of(&source.file);
        }
        body
    }

    /// A file: by its path if it is there, else by a number.
    fn source_of(&mut self, file: &str) -> Value {
        let name = file.rsplit('/').next().unwrap_or(file);
        if let Some(path) = self.session.sources.path(file) {
            let path = std::path::absolute(&path).unwrap_or(path);
            return json!({"name": name, "path": path.display().to_string()});
        }
        let known = self.sources.iter().position(|known| known == file);
        let number = known.unwrap_or_else(|| {
            self.sources.push(file.to_owned());
            self.sources.len() - 1
        });
        json!({"name": name, "path": file, "sourceReference": number + 1})
    }

    /// The text of a file; lines without code are empty if only the object is there.
    fn source(&self, arguments: &Value) -> Result<Value> {
        let number = arguments["sourceReference"]
            .as_u64()
            .or_else(|| arguments["source"]["sourceReference"].as_u64());
        let number = number.and_then(|number| usize::try_from(number.checked_sub(1)?).ok());
        let file = number.and_then(|number| self.sources.get(number));
        let file = file.context("this number is not that of a source file")?;
        let mut content = String::new();
        let mut at = 1;
        for line in self.session.sources.lines(&self.session.debugger, file) {
            if line.line > LINES {
                break;
            }
            content.push_str(&"\n".repeat(line.line.saturating_sub(at) as usize));
            content.push_str(&line.text);
            at = line.line;
        }
        content.push('\n');
        Ok(json!({"content": content, "mimeType": "text/x-c"}))
    }

    fn loaded_sources(&mut self) -> Value {
        let mut files: Vec<_> =
            self.session.debugger.source_lines().into_iter().map(|line| line.file).collect();
        files.dedup();
        let sources: Vec<_> = files.iter().map(|file| self.source_of(file)).collect();
        json!({"sources": sources})
    }

    fn data_info(&self, arguments: &Value) -> Result<Value> {
        let name = arguments["name"].as_str().context("`name` must be text")?;
        let reference = arguments["variablesReference"].as_u64().filter(|number| *number > 0);
        let expression = match reference {
            Some(reference) => self.variables.expression(reference, name),
            None => Some(name.to_owned()),
        };
        let parsed = expression.filter(|text| text.parse::<Expression>().is_ok());
        Ok(match parsed {
            Some(text) => json!({
                "dataId": text, "description": text, "accessTypes": ["write"],
            }),
            None => json!({"dataId": null, "description": format!("`{name}` has no expression")}),
        })
    }

    /// A value; in the console of the editor also a command that does not move.
    fn evaluate(&mut self, arguments: &Value) -> Result<Value> {
        let text = arguments["expression"].as_str().context("`expression` must be text")?;
        if arguments["context"] == "repl"
            && let Ok(Some(command)) = parse(text)
            && let Some(shown) = self.console(command)?
        {
            return Ok(json!({"result": shown, "variablesReference": 0}));
        }
        let frame = frame_number(arguments)?;
        let answer = self.session.debugger.evaluate_in(frame, &text.parse()?)?;
        Ok(self.variables.evaluated(&answer))
    }

    fn console(&mut self, command: Command) -> Result<Option<String>> {
        let only_shows = matches!(
            command,
            Command::Info(_)
                | Command::Backtrace
                | Command::List { .. }
                | Command::Disassemble { .. }
                | Command::Dump { .. }
                | Command::Memory { .. }
                | Command::Help { .. }
        );
        if !only_shows {
            return Ok(None);
        }
        let output = self.session.execute(command)?;
        let plain = Paint { colour: false };
        Ok(output.map(|output| rendered(&output, Form::Text, plain)).transpose()?)
    }

    fn disassemble(&mut self, arguments: &Value) -> Result<Value> {
        let reference = arguments["memoryReference"].as_str();
        let address = Address::parse(reference.context("`memoryReference` must be text")?)?;
        let address = address.moved(arguments["offset"].as_i64().unwrap_or(0))?;
        let programs = self.session.debugger.programs();
        let program = programs.get(address.program).context("no program has this address")?;
        let code = self.session.debugger.code(Some(program))?;
        let count = arguments["instructionCount"].as_u64().unwrap_or(0).min(INSNS);
        let first = code.partition_point(|line| line.slot < address.slot) as i64;
        let offset = arguments["instructionOffset"].as_i64().unwrap_or(0);
        let first = first.saturating_add(offset.clamp(-(INSNS as i64), INSNS as i64));
        let mut insns = Vec::new();
        for index in first..first.saturating_add(count as i64) {
            let line = usize::try_from(index).ok().and_then(|index| code.get(index));
            insns.push(match line {
                Some(line) => self.insn(address.program, line),
                None => json!({
                    "address": "-1", "instruction": "", "presentationHint": "invalid",
                }),
            });
        }
        Ok(json!({"instructions": insns}))
    }

    fn insn(&mut self, program: usize, line: &CodeLine) -> Value {
        let address = Address { program, slot: line.slot };
        let mut insn = json!({
            "address": address.to_string(), "instruction": line.insn, "symbol": line.function,
        });
        if let Some(source) = &line.source {
            insn["location"] = self.source_of(&source.file);
            insn["line"] = source.line.into();
        }
        insn
    }
}

/// The frame of the stack that a request concerns, from 0; the innermost without one.
fn frame_number(arguments: &Value) -> Result<usize> {
    match &arguments["frameId"] {
        Value::Null => Ok(0),
        id => {
            let number = id.as_u64().and_then(|id| usize::try_from(id.checked_sub(1)?).ok());
            number.context("`frameId` must be that of a frame")
        }
    }
}

fn motion(command: &str, arguments: &Value) -> Option<(Motion, Direction)> {
    let (motion, direction) = match command {
        "continue" => (Motion::Continue, Direction::Forward),
        "reverseContinue" => (Motion::Continue, Direction::Backward),
        "next" => (Motion::Next, Direction::Forward),
        "stepBack" => (Motion::Next, Direction::Backward),
        "stepIn" => (Motion::Step, Direction::Forward),
        "stepOut" => (Motion::Finish, Direction::Forward),
        _ => return None,
    };
    let by_line = matches!(motion, Motion::Next | Motion::Step);
    let by_insn = by_line && arguments["granularity"] == "instruction";
    Some((if by_insn { Motion::Instruction } else { motion }, direction))
}

/// The only thread.
const THREAD: u64 = 1;
/// Instructions of one response.
const INSNS: u64 = 10_000;
/// Lines of a source file that are shown.
const LINES: u32 = 200_000;

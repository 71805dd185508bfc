//! A session: commands in, results out.

use anyhow::{Context as _, Result};
use runner::debug::{Debugger, Place, Reason, Stop};

use super::command::{Command, Info, help};
use super::source::Sources;
use crate::view::debug::{Dump, Output};

/// A debugger with the source files.
#[derive(Debug)]
pub struct Session<'a> {
    pub debugger: Debugger<'a>,
    pub sources: Sources,
}

impl<'a> Session<'a> {
    pub fn new(debugger: Debugger<'a>, sources: Sources) -> Self {
        Self { debugger, sources }
    }

    /// The result of a command; `None` if it ends the session.
    pub fn execute(&mut self, command: Command) -> Result<Option<Output>> {
        let output = match command {
            Command::Quit => return Ok(None),
            Command::Break { place, condition, is_temporary } => {
                let point = self.debugger.break_at(&place, condition)?;
                Output::Breakpoint(match is_temporary {
                    true => self.debugger.set_temporary(point.number)?,
                    false => point,
                })
            }
            Command::Log { place, message } => {
                let point = self.debugger.break_at(&place, None)?;
                Output::Breakpoint(self.debugger.set_log(point.number, Some(message))?)
            }
            Command::Hits { number, hits } => {
                Output::Breakpoint(self.debugger.set_hits(number, hits)?)
            }
            Command::Watch { expression, condition } => {
                Output::Breakpoint(self.debugger.watch(expression, condition)?)
            }
            Command::Condition { number, condition } => {
                Output::Breakpoint(self.debugger.set_condition(number, condition)?)
            }
            Command::Delete { number } => self.delete(number)?,
            Command::Enable { numbers, is_enabled } => self.enable(&numbers, is_enabled)?,
            Command::Move { motion, direction, times } => {
                self.repeat(times, |debugger| Ok(debugger.go(motion, direction)?))?
            }
            Command::ByPacket { direction, times } => {
                self.repeat(times, |debugger| Ok(debugger.go_by_packet(direction)?))?
            }
            Command::Advance { place, direction } => {
                Output::Stop(self.debugger.go_to_place(&place, direction)?)
            }
            Command::Packet { number } => Output::Stop(self.debugger.go_to_packet(number)?),
            Command::Print { expression } => Output::Value(self.debugger.evaluate(&expression)?),
            Command::Dump { offset, len } => self.dump(offset, len)?,
            Command::Memory { pointer, len } => {
                Output::Memory(self.debugger.memory(&pointer, len)?)
            }
            Command::Display { expression: Some(expression) } => {
                Output::Displays(vec![self.debugger.display(expression)?])
            }
            Command::Display { expression: None } => self.info(&Info::Displays)?,
            Command::Undisplay { number } => {
                self.debugger.undisplay(number)?;
                self.info(&Info::Displays)?
            }
            Command::Info(info) => self.info(&info)?,
            Command::Backtrace => Output::Frames(self.debugger.state()?.frames),
            Command::Frame { number: None } => self.info(&Info::Frame)?,
            Command::Frame { number: Some(number) } => {
                Output::Frame(self.debugger.choose_frame(number)?)
            }
            Command::FrameBy { callers } => Output::Frame(self.debugger.choose_frame_by(callers)?),
            Command::List { around } => self.list(around)?,
            Command::Disassemble { program } => {
                Output::Code(self.debugger.code(program.as_deref())?)
            }
            Command::Help { command } => Output::Help(help(command.as_deref())?),
        };
        Ok(Some(output))
    }

    /// Moves several times, at most to the end of the capture.
    fn repeat(
        &mut self,
        times: u32,
        go: impl Fn(&mut Debugger<'a>) -> Result<Stop>,
    ) -> Result<Output> {
        let mut stop = go(&mut self.debugger)?;
        for _ in 1..times {
            if is_end(&stop) {
                break;
            }
            let before = std::mem::take(&mut stop.log);
            stop = go(&mut self.debugger)?;
            stop.log.splice(0..0, before);
        }
        Ok(Output::Stop(stop))
    }

    fn delete(&mut self, number: Option<u32>) -> Result<Output> {
        match number {
            Some(number) => self.debugger.delete(number)?,
            None => {
                for point in self.debugger.stop_points() {
                    self.debugger.delete(point.number)?;
                }
            }
        }
        Ok(Output::Breakpoints(self.debugger.stop_points()))
    }

    /// Without an effect if one of the numbers is unknown.
    fn enable(&mut self, numbers: &[u32], is_enabled: bool) -> Result<Output> {
        let known = self.debugger.stop_points();
        let all: Vec<u32> = known.iter().map(|point| point.number).collect();
        let unknown = numbers.iter().filter(|number| !all.contains(number));
        // The first unknown number alone is tried, which is the error.
        let chosen: Vec<u32> = match unknown.copied().next() {
            Some(unknown) => vec![unknown],
            None if numbers.is_empty() => all,
            None => numbers.to_vec(),
        };
        for number in chosen {
            self.debugger.set_enabled(number, is_enabled)?;
        }
        Ok(Output::Breakpoints(self.debugger.stop_points()))
    }

    fn info(&mut self, info: &Info) -> Result<Output> {
        Ok(match info {
            Info::Position => Output::Stop(self.debugger.here()?),
            Info::Breakpoints => Output::Breakpoints(self.debugger.stop_points()),
            Info::Registers => Output::Values(self.debugger.state()?.registers),
            Info::Locals => Output::Values(self.debugger.state()?.locals),
            Info::Arguments => Output::Values(self.debugger.state()?.arguments),
            Info::Globals => Output::Values(self.debugger.state()?.globals),
            Info::Packet => Output::Packet(self.debugger.state()?.packet),
            Info::Maps => Output::Maps(self.debugger.maps()),
            Info::Map(name) => Output::Map(self.debugger.map(name)?),
            Info::Frame => Output::Frame(self.debugger.choose_frame(self.debugger.frame())?),
            Info::Displays => Output::Displays(self.debugger.here()?.displays),
        })
    }

    fn dump(&self, offset: usize, len: usize) -> Result<Output> {
        let bytes = self.debugger.state()?.packet.bytes;
        let all = bytes.len() / 2;
        let start = offset.min(all);
        let end = start.saturating_add(len).min(all);
        Ok(Output::Dump(Dump { offset: start, bytes: bytes[start * 2..end * 2].to_owned() }))
    }

    fn list(&self, around: Option<Place>) -> Result<Output> {
        let state = self.debugger.state()?;
        let here = state.frames.into_iter().nth(state.frame).and_then(|place| place.source);
        let first = || self.debugger.source_lines().into_iter().next();
        let none = "the object has no line information: `disassemble` shows instructions";
        let (file, line) = match (around, here) {
            (Some(Place::Line { file: Some(file), line }), _) => {
                let lines = self.debugger.source_lines();
                let known = lines
                    .iter()
                    .find(|one| one.file == file || one.file.ends_with(&format!("/{file}")));
                let known = known.with_context(|| format!("there is no source file `{file}`"))?;
                (known.file.clone(), line)
            }
            (Some(Place::Line { file: None, line }), here) => {
                let here = here.or_else(first).context(none)?;
                (here.file, line)
            }
            (Some(Place::Function(name)), _) => self.function(&name)?,
            (Some(_), _) => anyhow::bail!("`list` takes FILE:LINE, LINE or FUNCTION"),
            (None, here) => {
                let here = here.or_else(first).context(none)?;
                (here.file, here.line)
            }
        };
        Ok(Output::Source(self.sources.around(&self.debugger, &file, line)))
    }

    /// File and first line of a function.
    fn function(&self, name: &str) -> Result<(String, u32)> {
        for program in self.debugger.programs() {
            let code = self.debugger.code(Some(program))?;
            let line = code.into_iter().find(|line| line.function == name && line.source.is_some());
            if let Some(source) = line.and_then(|line| line.source) {
                return Ok((source.file, source.line));
            }
        }
        anyhow::bail!("there is no function `{name}` with line information")
    }
}

fn is_end(stop: &Stop) -> bool {
    matches!(stop.reason, Reason::EndOfCapture | Reason::StartOfCapture)
}

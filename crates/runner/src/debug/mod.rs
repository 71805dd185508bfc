//! A debugger over a capture, which moves forward and backward.
//!
//! ```no_run
//! use runner::debug::{Debugger, Direction, Motion};
//! use runner::{Callbacks, Options};
//!
//! let options = Options {
//!     object: "firewall.o".to_owned(),
//!     input: "monday.pcap".into(),
//!     ..Options::default()
//! };
//! let mut debugger = Debugger::open(&options, Callbacks::default())?;
//! debugger.break_at(&"verdict drop".parse()?, None)?;
//! let stop = debugger.go(Motion::Continue, Direction::Forward)?;
//! println!("packet {} was dropped", stop.position.packet);
//! let stop = debugger.go(Motion::Step, Direction::Backward)?;
//! println!("by {:?}", stop.place);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rule: no history is stored. The engine is deterministic, so each motion and each question runs
//! the capture again from its beginning to a [`Position`].

mod breakpoint;
mod expression;
mod hits;
mod log;
mod place;
mod position;
mod printer;
mod question;
mod replay;
mod scene;
mod search;
mod stack;
mod stop;
mod tracker;
mod value;

use std::collections::BTreeMap;
use std::sync::Arc;

use vm::Program;

use self::breakpoint::{Breakpoint, Stops, Watchpoint};
use self::replay::Replay;
use self::scene::Object;
use self::search::{Backward, Forward};
use crate::arm::Vm;
use crate::callbacks::Callbacks;
use crate::error::{Error, Result};
use crate::input::Capture;
use crate::options::Options;
use crate::setup::Setup;

pub use self::breakpoint::StopPoint;
pub use self::expression::{Expression, SyntaxError};
pub use self::hits::{HitCondition, InvalidHits};
pub use self::log::{LogLine, LogMessage};
pub use self::place::{InvalidPlace, Place};
pub use self::position::{Direction, Motion, Position};
pub use self::printer::Answer;
pub use self::question::{
    CodeLine, Header, MapState, Memory, NumberedFrame, Overview, PacketState, Span, State,
};
pub use self::stop::{Display, FramePlace, Reason, SourcePlace, Stop};
pub use crate::error::{NoPlace, Unavailable};

/// A program over a capture, at a position.
#[derive(Debug)]
pub struct Debugger<'a> {
    replay: Replay<'a>,
    /// The loaded programs, the chosen one first.
    programs: Vec<Arc<Program>>,
    /// Number of packets that the program receives.
    packets: u64,
    /// Number of the last of them.
    last: u64,
    position: Position,
    /// Number of the chosen frame of the stack, from 0 for the innermost.
    frame: usize,
    breakpoints: Vec<Breakpoint>,
    watchpoints: Vec<Watchpoint>,
    /// Expressions that are shown at each stop, by their numbers.
    displays: BTreeMap<u32, Expression>,
    /// Number of the breakpoint or watchpoint that was made last.
    newest: u32,
}

impl<'a> Debugger<'a> {
    /// Opens the capture and the object, and goes to the first instruction of the first packet.
    ///
    /// # Errors
    /// A file cannot be read, the capture is a pipe or empty, the options do not determine an XDP
    /// program, or the engine refuses the object.
    pub fn open(options: &'a Options, callbacks: Callbacks) -> Result<Self> {
        if !options.input.is_file() {
            let capture = options.input.display().to_string();
            return Err(Error::NotRepeatable { capture });
        }
        let interrupt = callbacks.interrupt.clone();
        let mut capture = Capture::open(options, &callbacks)?;
        // A request ends a motion, not the session.
        let setup = Setup::prepare(options, Callbacks::default(), capture.time_ns())?;
        capture.for_program(&setup.program);
        let (mut packets, mut first, mut last) = (0, None, 0);
        while let Some(packet) = capture.next()? {
            first.get_or_insert(packet.number);
            packets += 1;
            last = packet.number;
        }
        let Some(first) = first else { return Err(Error::NoPacket { packets, wanted: 1 }) };
        let programs = programs(&Vm::observable(&setup)?, &setup.program.name);
        let object = Arc::new(Object::new(&setup.spec, &setup.file));
        Ok(Self {
            replay: Replay { setup, object, interrupt },
            programs,
            packets,
            last,
            position: Position { packet: first, step: 0 },
            frame: 0,
            breakpoints: Vec::new(),
            watchpoints: Vec::new(),
            displays: BTreeMap::new(),
            newest: 0,
        })
    }

    /// Short name of the object.
    pub fn object(&self) -> &str {
        &self.replay.setup.name
    }

    /// Number of packets that the program receives.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Number of the chosen frame of the stack, from 0 for the innermost.
    pub fn frame(&self) -> usize {
        self.frame
    }

    /// The current position.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Moves the position.
    ///
    /// # Errors
    /// The engine refuses a packet, or a request to end the motion came. The position is then
    /// unchanged.
    pub fn go(&mut self, motion: Motion, direction: Direction) -> Result<Stop> {
        let (position, reason, log) = match direction {
            Direction::Forward => self.forward(motion)?,
            Direction::Backward => {
                let (position, reason) = self.backward(motion)?;
                (position, reason, Vec::new())
            }
        };
        let mut stop = self.stop(position, reason)?;
        stop.log = log;
        if let Reason::Breakpoint { number } = stop.reason {
            self.breakpoints.retain(|known| known.number != number || !known.is_temporary);
        }
        let by_line = matches!(motion, Motion::Step | Motion::Next | Motion::Until);
        if by_line && stop.place.as_ref().is_some_and(|place| place.source.is_none()) {
            stop.note = Some(NO_LINES.to_owned());
        }
        self.arrive(position);
        Ok(stop)
    }

    /// Goes to the first instruction of a packet.
    ///
    /// # Errors
    /// The program does not receive such a packet.
    pub fn go_to_packet(&mut self, packet: u64) -> Result<Stop> {
        self.go_to(Position { packet, step: 0 })
    }

    /// Goes to a position.
    ///
    /// # Errors
    /// No such position exists.
    pub fn go_to(&mut self, position: Position) -> Result<Stop> {
        let stop = self.stop(position, Reason::Position)?;
        self.arrive(position);
        Ok(stop)
    }

    /// Goes to the beginning of the next or previous packet that the program receives.
    ///
    /// # Errors
    /// As [`Debugger::here`].
    pub fn go_by_packet(&mut self, direction: Direction) -> Result<Stop> {
        let here = self.position.packet;
        let (found, end) = match direction {
            Direction::Forward => (self.packet_after(here)?, Reason::EndOfCapture),
            Direction::Backward => (self.packet_before(here)?, Reason::StartOfCapture),
        };
        match found {
            Some(packet) => self.go_to_packet(packet),
            None => self.stop(self.position, end),
        }
    }

    /// Goes to a place, or to a breakpoint or watchpoint before it.
    ///
    /// # Errors
    /// The object has no such place, and as [`Debugger::go`].
    pub fn go_to_place(&mut self, place: &Place, direction: Direction) -> Result<Stop> {
        let goal = Breakpoint { number: GOAL, ..self.breakpoint(place, None)? };
        self.breakpoints.push(goal);
        let stop = self.go(Motion::Continue, direction);
        self.breakpoints.pop();
        let mut stop = stop?;
        if stop.reason == (Reason::Breakpoint { number: GOAL }) {
            stop.reason = Reason::Motion;
        }
        Ok(stop)
    }

    /// Stops at a place, under a condition. Returns what was set, with the place that was found.
    ///
    /// # Errors
    /// The object has no such place, or there are too many breakpoints.
    pub fn break_at(&mut self, place: &Place, condition: Option<Expression>) -> Result<StopPoint> {
        let breakpoint = self.breakpoint(place, condition)?;
        let breakpoint = Breakpoint { number: self.number()?, ..breakpoint };
        let point = breakpoint.point();
        self.breakpoints.push(breakpoint);
        Ok(point)
    }

    /// Stops where the value of an expression changes, under a condition.
    ///
    /// # Errors
    /// There are too many watchpoints.
    pub fn watch(
        &mut self,
        expression: Expression,
        condition: Option<Expression>,
    ) -> Result<StopPoint> {
        let number = self.number()?;
        let watchpoint = Watchpoint { number, expression, condition, is_enabled: true };
        let point = watchpoint.point();
        self.watchpoints.push(watchpoint);
        Ok(point)
    }

    /// Shows the value of an expression at each stop. Returns the value here.
    ///
    /// # Errors
    /// There are too many such expressions, and as [`Debugger::here`].
    pub fn display(&mut self, expression: Expression) -> Result<Display> {
        if self.displays.len() >= STOP_POINTS {
            return Err(Error::TooManyStopPoints { most: STOP_POINTS });
        }
        let number = self.displays.last_key_value().map_or(0, |(number, _)| *number) + 1;
        self.displays.insert(number, expression);
        let shown = self.here()?.displays.into_iter().next_back();
        shown.ok_or(Error::NoDisplay { number })
    }

    /// Ends showing an expression at each stop.
    ///
    /// # Errors
    /// None has this number.
    pub fn undisplay(&mut self, number: u32) -> Result<()> {
        self.displays.remove(&number).map(drop).ok_or(Error::NoDisplay { number })
    }

    /// Replaces the condition of a breakpoint or watchpoint.
    ///
    /// # Errors
    /// None has this number.
    pub fn set_condition(
        &mut self,
        number: u32,
        condition: Option<Expression>,
    ) -> Result<StopPoint> {
        if let Some(known) = self.breakpoints.iter_mut().find(|known| known.number == number) {
            known.condition = condition;
            return Ok(known.point());
        }
        let known = self.watchpoints.iter_mut().find(|known| known.number == number);
        let known = known.ok_or(Error::NoStopPoint { number })?;
        known.condition = condition;
        Ok(known.point())
    }

    /// Sets or removes the condition on the number of a breakpoint's hit.
    ///
    /// # Errors
    /// No breakpoint has this number.
    pub fn set_hits(&mut self, number: u32, hits: Option<HitCondition>) -> Result<StopPoint> {
        self.change(number, |known| known.hits = hits)
    }

    /// Sets or removes the message that a breakpoint writes instead of stopping. Motions forward
    /// return these messages, at most 10,000.
    ///
    /// # Errors
    /// No breakpoint has this number.
    pub fn set_log(&mut self, number: u32, log: Option<LogMessage>) -> Result<StopPoint> {
        self.change(number, |known| known.log = log)
    }

    /// Has a breakpoint deleted when it has stopped a motion.
    ///
    /// # Errors
    /// No breakpoint has this number.
    pub fn set_temporary(&mut self, number: u32) -> Result<StopPoint> {
        self.change(number, |known| known.is_temporary = true)
    }

    /// Enables a breakpoint or watchpoint, or disables it, which leaves it in the list without
    /// effect. Hits of one that is enabled again are those since the beginning of the capture.
    ///
    /// # Errors
    /// None has this number.
    pub fn set_enabled(&mut self, number: u32, is_enabled: bool) -> Result<StopPoint> {
        if let Some(known) = self.watchpoints.iter_mut().find(|known| known.number == number) {
            known.is_enabled = is_enabled;
            return Ok(known.point());
        }
        self.change(number, |known| known.is_enabled = is_enabled)
    }

    fn change(&mut self, number: u32, change: impl FnOnce(&mut Breakpoint)) -> Result<StopPoint> {
        let known = self.breakpoints.iter_mut().find(|known| known.number == number);
        let known = known.ok_or(Error::NoStopPoint { number })?;
        change(known);
        Ok(known.point())
    }

    /// Deletes a breakpoint or watchpoint.
    ///
    /// # Errors
    /// None has this number.
    pub fn delete(&mut self, number: u32) -> Result<()> {
        let before = self.breakpoints.len() + self.watchpoints.len();
        self.breakpoints.retain(|known| known.number != number);
        self.watchpoints.retain(|known| known.number != number);
        match self.breakpoints.len() + self.watchpoints.len() {
            after if after == before => Err(Error::NoStopPoint { number }),
            _ => Ok(()),
        }
    }

    /// All breakpoints and watchpoints, by number.
    pub fn stop_points(&self) -> Vec<StopPoint> {
        let breakpoints = self.breakpoints.iter().map(Breakpoint::point);
        let mut points: Vec<_> =
            breakpoints.chain(self.watchpoints.iter().map(Watchpoint::point)).collect();
        points.sort_by_key(|point| point.number);
        points
    }

    fn arrive(&mut self, position: Position) {
        self.position = position;
        self.frame = 0;
    }

    /// A breakpoint without a number.
    fn breakpoint(&self, place: &Place, condition: Option<Expression>) -> Result<Breakpoint> {
        let target = place.find(&self.programs, &self.replay.object.locals, &self.maps())?;
        Ok(Breakpoint {
            number: GOAL,
            place: place.clone(),
            target,
            condition,
            hits: None,
            log: None,
            is_temporary: false,
            is_enabled: true,
        })
    }

    fn number(&mut self) -> Result<u32> {
        if self.breakpoints.len() + self.watchpoints.len() >= STOP_POINTS {
            return Err(Error::TooManyStopPoints { most: STOP_POINTS });
        }
        self.newest += 1;
        Ok(self.newest)
    }

    fn stops(&self) -> Stops {
        Stops::new(&self.breakpoints, &self.watchpoints)
    }

    fn forward(&self, motion: Motion) -> Result<(Position, Reason, Vec<LogLine>)> {
        let from = self.position;
        let stops = self.stops();
        let first = if stops.count_hits() { 0 } else { from.packet };
        let search = self.replay.run(first, Forward::new(from, motion, stops))?;
        let end = (search.last.unwrap_or(from), Reason::EndOfCapture);
        let (position, reason) = search.found.unwrap_or(end);
        Ok((position, reason, search.stops.log))
    }

    fn backward(&self, motion: Motion) -> Result<(Position, Reason)> {
        let from = self.position;
        let stops = self.stops();
        let first = if stops.count_hits() { 0 } else { from.packet };
        let search = self.replay.run(first, Backward::new(from, stops))?;
        let led = search.leads.of(motion, from).filter(|_| motion != Motion::Continue);
        let led = led.map(|step| Position { step, ..from });
        let is_near = |at: Position| motion == Motion::Continue || at.packet == from.packet;
        match (search.hit.filter(|(at, _)| is_near(*at)), led) {
            (Some((position, reason)), led) if led.is_none_or(|led| position >= led) => {
                Ok((position, reason))
            }
            (_, Some(position)) => Ok((position, Reason::Motion)),
            (_, None) => self.before_packet(motion),
        }
    }

    /// Continues backward where the packet begins.
    fn before_packet(&self, motion: Motion) -> Result<(Position, Reason)> {
        let here = Position { step: 0, ..self.position };
        let Some(previous) = self.packet_before(here.packet)? else {
            return Ok((here, Reason::StartOfCapture));
        };
        let stops = self.stops();
        let is_whole = motion == Motion::Continue || stops.count_hits();
        let first = if is_whole { 0 } else { previous };
        let search = self.replay.run(first, Backward::new(here, stops))?;
        match (motion, search.hit, search.previous) {
            (Motion::Continue, Some(hit), _) => Ok(hit),
            (Motion::Continue, None, _) => {
                Ok((search.first.unwrap_or(here), Reason::StartOfCapture))
            }
            (_, Some(hit), Some(last)) if hit.0 == last => Ok(hit),
            (_, _, last) => Ok((last.unwrap_or(here), Reason::Motion)),
        }
    }

    /// The packet that the program received before another.
    fn packet_before(&self, packet: u64) -> Result<Option<u64>> {
        let (mut capture, mut before) = (self.replay.capture()?, None);
        while let Some(one) = capture.next()?.filter(|one| one.number < packet) {
            before = Some(one.number);
        }
        Ok(before)
    }

    /// The packet that the program receives after another.
    fn packet_after(&self, packet: u64) -> Result<Option<u64>> {
        let mut capture = self.replay.capture()?;
        while let Some(one) = capture.next()? {
            if one.number > packet {
                return Ok(Some(one.number));
            }
        }
        Ok(None)
    }
}

/// The loaded programs, the named one first.
fn programs(vm: &Vm, main: &str) -> Vec<Arc<Program>> {
    let mut programs = vm.machine().programs();
    programs.sort_by_key(|program| program.name() != main);
    programs
}

/// Breakpoints and watchpoints that a session may have.
const STOP_POINTS: usize = 1000;
/// Number of the breakpoint that is the goal of a motion; others count from 1.
const GOAL: u32 = 0;
/// Why a motion by lines executed one instruction.
const NO_LINES: &str =
    "this function has no line information, so the motion was by one instruction";

//! Breakpoints and watchpoints: where a run stops.

use std::collections::BTreeMap;

use serde::Serialize;

use super::expression::Expression;
use super::hits::HitCondition;
use super::log::{LogLine, LogMessage};
use super::place::{Place, Target};
use super::printer::Printer;
use super::scene::Scene;
use super::stop::Reason;
use super::value::Value;

/// A breakpoint.
#[derive(Clone, Debug)]
pub struct Breakpoint {
    /// Number by which it is deleted.
    pub number: u32,
    /// The place as it was requested.
    pub place: Place,
    /// What the place is in the object.
    pub(super) target: Target,
    /// Stops only where this is true.
    pub condition: Option<Expression>,
    /// Stops only at hits for which this is true.
    pub hits: Option<HitCondition>,
    /// Writes this and does not stop.
    pub log: Option<LogMessage>,
    /// It is deleted when it has stopped a motion.
    pub is_temporary: bool,
    /// Otherwise it neither stops nor writes.
    pub is_enabled: bool,
}

/// A watchpoint: stops where the value of an expression changes.
#[derive(Clone, Debug)]
pub struct Watchpoint {
    /// Number by which it is deleted.
    pub number: u32,
    /// The expression.
    pub expression: Expression,
    /// Stops only where this is true.
    pub condition: Option<Expression>,
    /// Otherwise it does not stop.
    pub is_enabled: bool,
}

/// A breakpoint or watchpoint in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StopPoint {
    /// Number by which it is deleted.
    pub number: u32,
    /// `breakpoint` or `watchpoint`.
    pub kind: &'static str,
    /// The place, or the expression.
    pub what: String,
    /// The condition, if it has one.
    pub condition: Option<String>,
    /// The condition on the number of the hit, counted from the beginning of the capture.
    pub hits: Option<String>,
    /// The message that it writes; it does not stop then.
    pub log: Option<String>,
    /// Whether it is deleted when it has stopped a motion.
    pub temporary: bool,
    /// Whether it has an effect.
    pub enabled: bool,
}

/// All that are enabled, with what was watched last.
#[derive(Clone, Debug, Default)]
pub struct Stops {
    breakpoints: Vec<Breakpoint>,
    watchpoints: Vec<Watchpoint>,
    /// The packet of the values.
    packet: u64,
    /// By number, depth and inlined function: the activation, and the value there.
    values: BTreeMap<(u32, usize, Option<usize>), (u64, Value)>,
    /// Number of hits, by number of the breakpoint.
    hits: BTreeMap<u32, u64>,
    /// Messages of breakpoints, oldest first.
    pub log: Vec<LogLine>,
}

/// A change of a value.
#[derive(Debug)]
pub struct Watched {
    number: u32,
    expression: String,
    old: String,
    new: String,
}

impl Watched {
    pub fn reason(self) -> Reason {
        let Self { number, expression, old, new } = self;
        Reason::Watchpoint { number, expression, old, new }
    }

    /// The reason of a stop before the change.
    pub fn undone(self) -> Reason {
        let Self { number, expression, old, new } = self;
        Reason::Watchpoint { number, expression, old: new, new: old }
    }
}

impl Stops {
    pub fn new(breakpoints: &[Breakpoint], watchpoints: &[Watchpoint]) -> Self {
        let breakpoints = breakpoints.iter().filter(|one| one.is_enabled).cloned().collect();
        let watchpoints = watchpoints.iter().filter(|one| one.is_enabled).cloned().collect();
        Self { breakpoints, watchpoints, ..Self::default() }
    }

    /// Whether breakpoints must see each position of the capture.
    pub fn count_hits(&self) -> bool {
        self.breakpoints.iter().any(|breakpoint| breakpoint.hits.is_some())
    }

    /// The first breakpoint at this position. Counts hits, and writes messages if `logs`.
    pub fn breakpoint(&mut self, scene: &Scene<'_>, logs: bool) -> Option<Reason> {
        let mut first = None;
        for breakpoint in &self.breakpoints {
            let is_hit =
                breakpoint.target.matches(scene) && holds(breakpoint.condition.as_ref(), scene);
            if !is_hit {
                continue;
            }
            let count = self.hits.entry(breakpoint.number).or_default();
            *count += 1;
            match &breakpoint.log {
                _ if breakpoint.hits.is_some_and(|hits| !hits.holds(*count)) => {}
                Some(log) if logs && self.log.len() < LOG => {
                    let (position, number) = (scene.position, breakpoint.number);
                    self.log.push(LogLine { position, number, text: log.at(scene) });
                }
                Some(_) => {}
                None => {
                    let number = breakpoint.number;
                    first.get_or_insert(Reason::Breakpoint { number });
                }
            }
        }
        first
    }

    /// The first watchpoint whose value has changed. Must see each position of a packet.
    pub fn changed(&mut self, scene: &Scene<'_>) -> Option<Watched> {
        if self.packet != scene.position.packet {
            self.packet = scene.position.packet;
            self.values.clear();
        }
        let mut changed = None;
        for watchpoint in &self.watchpoints {
            let Ok(new) = watchpoint.expression.evaluate(scene) else { continue };
            let is_of_frame = watchpoint.expression.is_of_frame(scene.object);
            let chosen = scene.chosen().filter(|_| is_of_frame);
            let depth = chosen.map_or(0, |chosen| chosen.frame.depth);
            let (activation, inlined) = chosen.map_or((0, None), |chosen| chosen.identity());
            let key = (watchpoint.number, depth, inlined);
            let old = self.values.insert(key, (activation, new.clone()));
            let old = old.filter(|(known, old)| *known == activation && *old != new);
            if let Some((_, old)) = old
                && changed.is_none()
                && holds(watchpoint.condition.as_ref(), scene)
            {
                let expression = watchpoint.expression.text().to_owned();
                let mut printer = Printer::new(scene);
                let (old, new) = (printer.text(scene, &old), printer.text(scene, &new));
                let number = watchpoint.number;
                changed = Some(Watched { number, expression, old, new });
            }
        }
        changed
    }
}

/// Whether a condition is true; one that cannot be evaluated is not.
fn holds(condition: Option<&Expression>, scene: &Scene<'_>) -> bool {
    condition.is_none_or(|condition| condition.evaluate(scene).is_ok_and(|value| value.is_true()))
}

impl Breakpoint {
    pub(super) fn point(&self) -> StopPoint {
        let what = match &self.target {
            // A line without code stands for the next one.
            Target::Line { .. } => self.target.to_string(),
            _ => self.place.to_string(),
        };
        let condition = self.condition.as_ref().map(ToString::to_string);
        StopPoint {
            number: self.number,
            kind: "breakpoint",
            what,
            condition,
            hits: self.hits.as_ref().map(ToString::to_string),
            log: self.log.as_ref().map(ToString::to_string),
            temporary: self.is_temporary,
            enabled: self.is_enabled,
        }
    }
}

impl Watchpoint {
    pub(super) fn point(&self) -> StopPoint {
        let condition = self.condition.as_ref().map(ToString::to_string);
        let what = self.expression.to_string();
        let (number, kind, enabled) = (self.number, "watchpoint", self.is_enabled);
        let (hits, log, temporary) = (None, None, false);
        StopPoint { number, kind, what, condition, hits, log, temporary, enabled }
    }
}

/// Messages that one motion writes.
const LOG: usize = 10_000;

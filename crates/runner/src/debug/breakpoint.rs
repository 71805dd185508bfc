//! Breakpoints and watchpoints: where a run stops.

use std::collections::BTreeMap;

use serde::Serialize;

use super::expression::Expression;
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
}

/// All of them, with what was watched last.
#[derive(Clone, Debug, Default)]
pub struct Stops {
    breakpoints: Vec<Breakpoint>,
    watchpoints: Vec<Watchpoint>,
    /// The packet of the values.
    packet: u64,
    /// By number and depth: the activation, and the value there.
    values: BTreeMap<(u32, usize), (u64, Value)>,
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
        let (breakpoints, watchpoints) = (breakpoints.to_vec(), watchpoints.to_vec());
        Self { breakpoints, watchpoints, ..Self::default() }
    }

    /// The first breakpoint at this position.
    pub fn breakpoint(&self, scene: &Scene<'_>) -> Option<Reason> {
        let hit = self.breakpoints.iter().find(|breakpoint| {
            breakpoint.target.matches(scene) && holds(breakpoint.condition.as_ref(), scene)
        });
        hit.map(|hit| Reason::Breakpoint { number: hit.number })
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
            let frame =
                scene.tracker.frame().filter(|_| watchpoint.expression.is_of_frame(scene.object));
            let (depth, activation) = frame.map_or((0, 0), |frame| (frame.depth, frame.activation));
            let key = (watchpoint.number, depth);
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
        StopPoint { number: self.number, kind: "breakpoint", what, condition }
    }
}

impl Watchpoint {
    pub(super) fn point(&self) -> StopPoint {
        let condition = self.condition.as_ref().map(ToString::to_string);
        let what = self.expression.to_string();
        StopPoint { number: self.number, kind: "watchpoint", what, condition }
    }
}

//! Motions as searches: the first position after, or the last one before, where a run must stop.

use std::ops::ControlFlow::{self, Break, Continue};

use super::breakpoint::{Stops, Watched};
use super::position::{Motion, Position};
use super::replay::Visitor;
use super::scene::Scene;
use super::stop::Reason;
use super::tracker::SourceLine;

/// The next stop after a position.
pub struct Forward {
    pub from: Position,
    pub motion: Motion,
    pub stops: Stops,
    /// Where the motion began.
    pub origin: Option<Origin>,
    pub found: Option<(Position, Reason)>,
    /// The last position of the capture.
    pub last: Option<Position>,
}

/// The function and line in which a motion began.
pub struct Origin {
    activation: u64,
    line: Option<SourceLine>,
}

impl Forward {
    pub fn new(from: Position, motion: Motion, stops: Stops) -> Self {
        Self { from, motion, stops, origin: None, found: None, last: None }
    }

    /// Whether the motion itself ends here.
    fn ends(&self, scene: &Scene<'_>) -> bool {
        let Some(frame) = scene.tracker.frame().filter(|_| scene.step.is_some()) else {
            return self.motion != Motion::Continue;
        };
        let is_gone = |origin: &Origin| !scene.tracker.has(origin.activation);
        match (self.motion, &self.origin) {
            (Motion::Continue, _) => false,
            (Motion::Instruction, _) | (_, None) => true,
            _ if scene.position.packet != self.from.packet => true,
            (Motion::Step | Motion::Next | Motion::Until, Some(Origin { line: None, .. })) => true,
            (Motion::Step, Some(origin)) => {
                frame.activation != origin.activation || frame.line != origin.line
            }
            (Motion::Next, Some(origin)) => {
                let is_own = frame.activation == origin.activation;
                is_gone(origin) || is_own && frame.line != origin.line
            }
            (Motion::Until, Some(origin)) => {
                let is_own = frame.activation == origin.activation;
                is_gone(origin) || is_own && is_after(frame.line.as_ref(), origin.line.as_ref())
            }
            (Motion::Finish, Some(origin)) => is_gone(origin),
        }
    }
}

/// Whether a line follows another one of the same file.
fn is_after(line: Option<&SourceLine>, other: Option<&SourceLine>) -> bool {
    line.zip(other).is_some_and(|(line, other)| line.0 == other.0 && line.1 > other.1)
}

impl Visitor for Forward {
    fn visit(&mut self, scene: &Scene<'_>) -> ControlFlow<()> {
        let watched = self.stops.changed(scene);
        if scene.position < self.from {
            // Hits are counted from the beginning.
            self.stops.breakpoint(scene, false);
            return Continue(());
        }
        self.last = Some(scene.position);
        if scene.position == self.from {
            self.stops.breakpoint(scene, false);
            self.origin = scene
                .tracker
                .frame()
                .map(|frame| Origin { activation: frame.activation, line: frame.line.clone() });
            return Continue(());
        }
        let hit = self.stops.breakpoint(scene, true);
        let reason = watched.map(Watched::reason).or(hit);
        let reason = reason.or_else(|| self.ends(scene).then_some(Reason::Motion));
        self.found = reason.map(|reason| (scene.position, reason));
        if self.found.is_some() { Break(()) } else { Continue(()) }
    }
}

/// The last stop before a position.
pub struct Backward {
    pub from: Position,
    pub stops: Stops,
    /// The last breakpoint or watchpoint.
    pub hit: Option<(Position, Reason)>,
    /// The first position that was shown, and the one that was shown last.
    pub first: Option<Position>,
    pub previous: Option<Position>,
    /// Where the other motions lead, in steps of the same packet.
    pub leads: Leads,
}

/// Where motions other than to a breakpoint lead; `None` for the packet before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leads {
    step: Option<u64>,
    next: Option<u64>,
    call: Option<u64>,
    has_line: bool,
}

impl Leads {
    /// The step to which a motion leads.
    pub fn of(&self, motion: Motion, from: Position) -> Option<u64> {
        let instruction = from.step.checked_sub(1);
        match motion {
            Motion::Step if self.has_line => self.step,
            Motion::Next | Motion::Until if self.has_line => self.next,
            Motion::Finish => self.call.or_else(|| instruction.map(|_| 0)),
            _ => instruction,
        }
    }
}

impl Backward {
    pub fn new(from: Position, stops: Stops) -> Self {
        let (hit, first, previous) = (None, None, None);
        Self { from, stops, hit, first, previous, leads: Leads::default() }
    }
}

impl Visitor for Backward {
    fn visit(&mut self, scene: &Scene<'_>) -> ControlFlow<()> {
        let position = scene.position;
        self.first.get_or_insert(position);
        let watched = self.stops.changed(scene);
        if let (Some(watched), Some(previous)) = (watched, self.previous) {
            self.hit = Some((previous, watched.undone()));
        }
        if position >= self.from {
            let tracker = scene.tracker;
            let (step, next) = (tracker.step_back(), tracker.next_back());
            let has_line = tracker.was_in_line();
            self.leads = Leads { step, next, call: tracker.call(), has_line };
            return Break(());
        }
        if let Some(reason) = self.stops.breakpoint(scene, false) {
            self.hit = Some((position, reason));
        }
        self.previous = Some(position);
        Continue(())
    }
}

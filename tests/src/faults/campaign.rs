//! Which faults are injected, and what is demanded afterwards.
//!
//! Rule: every point begins in the old state and ends there. A finding costs the scene: the next
//! point gets a new one, so that one defect is not reported twice.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lab::until;

use super::call::Kind;
use super::report::{Finding, Report, Tally};
use super::scenario::{Place, SCENARIOS, Scenario};
use super::scene::{Observed, Scene};
use super::trace::{Ending, Fault, Point, Trace};
use crate::differential::Rng;

/// How much is tried.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names of scenarios; empty for all.
    pub commands: Vec<String>,
    /// Only calls whose name contains this, such as `LINK_CREATE`.
    pub call: String,
    /// Points for each command, chosen at random; `None` for all.
    pub limit: Option<usize>,
    pub seed: u64,
    /// Scenes at the same time.
    pub jobs: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { commands: Vec::new(), call: String::new(), limit: None, seed: 1, jobs: 1 }
    }
}

/// Runs the campaign; `progress` receives each command's result as it is known.
///
/// # Errors
/// The campaign cannot run here, or a command does not work without any fault.
pub fn run(options: &Options, progress: impl Fn(&Tally) + Sync) -> Result<Report, String> {
    let queue: VecDeque<_> = chosen(options)?.into_iter().enumerate().collect();
    let (queue, done) = (Mutex::new(queue), Mutex::new(Vec::new()));
    let work = || -> Result<(), String> {
        while let Some((number, scenario)) = locked(&queue).pop_front() {
            let tally = command(scenario, options)?;
            progress(&tally);
            locked(&done).push((number, tally));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..options.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let ended = jobs.into_iter().map(|job| job.join());
        ended.collect::<Vec<_>>().into_iter().try_for_each(|job| {
            job.unwrap_or_else(|_| Err("a job of the campaign panicked".to_owned()))
        })
    })?;
    let mut commands = std::mem::take(&mut *locked(&done));
    commands.sort_by_key(|(number, _)| *number);
    Ok(Report { commands: commands.into_iter().map(|(_, tally)| tally).collect() })
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn chosen(options: &Options) -> Result<Vec<&'static Scenario>, String> {
    let wanted = &options.commands;
    let known = |name: &String| SCENARIOS.iter().any(|one| one.name == name);
    if let Some(unknown) = wanted.iter().find(|name| !known(name)) {
        let names: Vec<_> = SCENARIOS.iter().map(|one| one.name).collect();
        return Err(format!("unknown command `{unknown}`: expected {}", names.join(", ")));
    }
    let is_wanted =
        |one: &&Scenario| wanted.is_empty() || wanted.iter().any(|name| one.name == name);
    Ok(SCENARIOS.iter().filter(is_wanted).collect())
}

/// All points of one command.
fn command(scenario: &'static Scenario, options: &Options) -> Result<Tally, String> {
    let named = |error: String| format!("{}: {error}", scenario.name);
    let mut trial = Trial::begin(scenario).map_err(named)?;
    let points = points(&trial.calls, options, scenario.most_points);
    let mut tally = Tally { command: scenario.name, calls: trial.calls.len(), ..Tally::default() };
    for point in points {
        let Some(outcome) = trial.point(point).map_err(named)? else { continue };
        tally.points += 1;
        tally.gaps += usize::from(outcome.gap);
        match outcome.state {
            Some(State::Old) => tally.old += 1,
            Some(State::New) => tally.new += 1,
            None => {}
        }
        let is_clean = outcome.broken.is_empty() && outcome.leaks.is_empty();
        let finding = |what: String| {
            let point = outcome.point.clone();
            Finding { command: scenario.name, point, what }
        };
        tally.broken.extend(outcome.broken.into_iter().map(finding));
        tally.leaks.extend(outcome.leaks.into_iter().map(finding));
        if !is_clean {
            trial.renew().map_err(named)?;
        }
    }
    Ok(tally)
}

/// Every call that changes something is a point to kill at; every call is failed with each error.
fn points(calls: &[Kind], options: &Options, most: usize) -> Vec<Point> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut all = Vec::new();
    for kind in calls {
        let count = counts.entry(kind.name).or_default();
        let kill = kind.changes.then_some(Fault::Kill);
        let faults = kill.into_iter().chain((0..kind.errors.len()).map(Fault::Fail));
        all.extend(faults.map(|fault| Point { call: kind.name, index: *count, fault }));
        *count += 1;
    }
    let last = calls.iter().rfind(|kind| kind.changes);
    all.extend(last.map(|kind| Point {
        call: kind.name,
        index: counts[kind.name] - 1,
        fault: Fault::KillAfter,
    }));
    all.retain(|point| point.call.contains(&options.call));
    let limit = options.limit.unwrap_or(most).min(most).min(all.len());
    if limit == all.len() {
        return all;
    }
    let mut rng = Rng::new(options.seed);
    for place in 0..limit {
        let other = place + rng.below(all.len() - place);
        all.swap(place, other);
    }
    all.truncate(limit);
    all
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Old,
    New,
}

/// A scenario with its undisturbed run.
struct Trial {
    scenario: &'static Scenario,
    scene: Scene,
    old: Observed,
    new: Observed,
    calls: Vec<Kind>,
    /// How the undisturbed command ended.
    code: i32,
}

struct Outcome {
    point: String,
    state: Option<State>,
    gap: bool,
    broken: Vec<String>,
    leaks: Vec<String>,
}

impl Trial {
    fn begin(scenario: &'static Scenario) -> Result<Self, String> {
        let (scene, old, new, trace) = rehearse(scenario)?;
        let Ending::Exited(code @ (0 | 1)) = trace.ending else {
            return Err(format!("without any fault: {:?}: {}", trace.ending, trace.stderr));
        };
        let mut trial = Self { scenario, scene, old, new, calls: trace.calls.clone(), code };
        let leaks = trial.undo(&trace, trial.old != trial.new)?;
        if !leaks.is_empty() {
            return Err(format!("without any fault: {}", leaks.join("; ")));
        }
        Ok(trial)
    }

    /// After a finding: a new scene in the old state.
    fn renew(&mut self) -> Result<(), String> {
        (self.scene, self.old, self.new, _) = rehearse(self.scenario)?;
        if self.old != self.new { self.scene.back() } else { Ok(()) }
    }

    /// `None` when the command did not get to this call.
    fn point(&mut self, point: Point) -> Result<Option<Outcome>, String> {
        let trace = self.scene.trace(Some(point))?;
        let Some(hit) = trace.hit.clone() else {
            self.settle(&trace)?;
            return Ok(None);
        };
        let mut outcome = Outcome {
            point: format!("{hit}; it {}", ended(&trace)),
            state: None,
            gap: false,
            broken: Vec::new(),
            leaks: Vec::new(),
        };
        outcome.broken.extend(ended_badly(&trace));
        self.judge_path(&trace, &mut outcome);
        outcome.broken.extend(self.scene.repair().err());
        self.judge_state(&trace, &mut outcome);
        if outcome.broken.is_empty() && outcome.leaks.is_empty() {
            match self.undo(&trace, outcome.state == Some(State::New)) {
                Ok(leaks) => outcome.leaks.extend(leaks),
                Err(error) => outcome.broken.push(error),
            }
        }
        Ok(Some(outcome))
    }

    /// A command that was not disturbed leaves the new state.
    fn settle(&mut self, trace: &Trace) -> Result<(), String> {
        self.scene.repair()?;
        let is_new = self.state_of(&self.scene.observe()) == Some(State::New);
        self.undo(trace, is_new).map(|_| ())
    }

    /// The data path alone runs the old or the new state.
    fn judge_path(&self, trace: &Trace, outcome: &mut Outcome) {
        let mut path = Vec::new();
        let known = settled(|| {
            path = self.scene.path();
            path == self.old.path || path == self.new.path
        });
        if known {
            return;
        }
        if self.scenario.has_gap && matches!(trace.ending, Ending::Killed(_)) {
            outcome.gap = true;
            return;
        }
        let found = difference(&self.old.path, &path);
        outcome.broken.push(format!("neither the old nor the new data path: {found}"));
    }

    /// After the next command everything is as in the old or the new state.
    fn judge_state(&self, trace: &Trace, outcome: &mut Outcome) {
        let mut found = None;
        settled(|| {
            let seen = self.scene.observe();
            outcome.state = self.state_of(&seen);
            found = Some(seen);
            outcome.state.is_some()
        });
        let Some(found) = found else { return };
        match outcome.state {
            None if found.path != self.old.path && found.path != self.new.path => {
                let lost = difference(&self.old.path, &found.path);
                outcome.broken.push(format!("after the next command: {lost}"));
            }
            None => {
                let (old, new) = (&self.old, &self.new);
                let nearer = if found.path == old.path { old } else { new };
                let is_whole = nearer.rest.iter().all(|line| found.rest.contains(line));
                let found = difference(&nearer.rest, &found.rest);
                if is_whole { outcome.leaks.push(found) } else { outcome.broken.push(found) }
            }
            Some(State::Old) if self.old != self.new => {
                if trace.ending == Ending::Exited(self.code) {
                    outcome.broken.push("reported success, but the old state is there".to_owned());
                }
            }
            Some(_) => {}
        }
    }

    fn state_of(&self, seen: &Observed) -> Option<State> {
        match seen {
            seen if *seen == self.old => Some(State::Old),
            seen if *seen == self.new => Some(State::New),
            _ => None,
        }
    }

    /// Back into the old state. Answers what of the command's is still there.
    fn undo(&mut self, trace: &Trace, is_new: bool) -> Result<Vec<String>, String> {
        if is_new {
            self.scene.back()?;
            let mut seen = self.scene.observe();
            settled(|| {
                seen = self.scene.observe();
                seen == self.old
            });
            if seen != self.old {
                let found = difference(&self.old.path, &seen.path);
                let rest = difference(&self.old.rest, &seen.rest);
                return Err(format!("cannot be undone: {found} {rest}"));
            }
        }
        let mut leaked = Vec::new();
        settled(|| {
            leaked = self.scene.leaked(&trace.created);
            leaked.is_empty()
        });
        Ok(leaked)
    }
}

/// A scene in the new state, both states, and the undisturbed run. The first run of all only makes
/// the files that every later one finds, such as locks.
fn rehearse(scenario: &Scenario) -> Result<(Scene, Observed, Observed, Trace), String> {
    let mut scene = Scene::new(scenario)?;
    let before = scene.observe();
    scene.trace(None)?;
    scene.repair()?;
    if scene.observe().path != before.path || scenario.place == Place::Home {
        scene.back()?;
    }
    let old = scene.observe();
    let trace = scene.trace(None)?;
    scene.repair()?;
    let new = scene.observe();
    Ok((scene, old, new, trace))
}

/// A command may fail, but it neither hangs nor panics.
fn ended_badly(trace: &Trace) -> Option<String> {
    let last = trace.stderr.trim_end();
    match trace.ending {
        Ending::Late => Some(format!("it hangs: {last}")),
        Ending::Exited(PANICKED) => Some(format!("it panicked: {last}")),
        Ending::Killed(signal) if signal != nix::sys::signal::Signal::SIGKILL => {
            Some(format!("it was ended by {signal}: {last}"))
        }
        _ if last.contains("panicked at") => Some(format!("a thread panicked: {last}")),
        _ => None,
    }
}

/// How a command ended, for a finding.
fn ended(trace: &Trace) -> String {
    let said = trace.stderr.lines().next().unwrap_or_default();
    match trace.ending {
        Ending::Exited(code) => format!("ended with {code} {said}"),
        Ending::Killed(signal) => format!("was ended by {signal}"),
        Ending::Late => "did not end".to_owned(),
    }
}

/// Whether a condition comes true in time: the kernel frees objects a little later.
fn settled(mut condition: impl FnMut() -> bool) -> bool {
    until("a settled state", SETTLING, || Ok(condition().then_some(()))).is_ok()
}

/// Lines that are not in both.
fn difference(expected: &[String], found: &[String]) -> String {
    let missing = expected.iter().filter(|line| !found.contains(line));
    let added = found.iter().filter(|line| !expected.contains(line));
    let lines =
        missing.map(|line| format!("- {line}")).chain(added.map(|line| format!("+ {line}")));
    let mut lines: Vec<_> = lines.take(SHOWN).collect();
    if lines.is_empty() {
        lines.push(format!("{} lines instead of {}", found.len(), expected.len()));
    }
    lines.join("\n")
}

const SETTLING: Duration = Duration::from_secs(5);
/// Exit code of a Rust program that panicked.
const PANICKED: i32 = 101;
/// Lines of a difference.
const SHOWN: usize = 12;

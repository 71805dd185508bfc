//! `FilterMonitor`: what an active filter counts, with rates.

use std::time::{Duration, Instant};

use filter::{Action, Rule};

use super::active::ActiveFilter;
use super::limits::{self, Limit, LimitingRule};
use super::maps::FilterMaps;
use super::report::{FilterReport, LoadedRules, Reading};
use crate::Control;
use crate::error::Result;

/// Reads a filter's counters repeatedly: a rate needs the counts of the previous reading.
#[derive(Debug)]
pub struct FilterMonitor {
    control: Control,
    interface: String,
    active: ActiveFilter,
    maps: FilterMaps,
    loaded: LoadedRules,
    last: (Instant, Reading),
}

impl FilterMonitor {
    /// Takes the first reading.
    ///
    /// # Errors
    /// No filter runs on the interface, or it may not be read.
    pub fn new(control: &Control, interface: &str) -> Result<Self> {
        let ask = |active: &ActiveFilter| {
            let (loaded, maps) = loaded(active)?;
            Ok((loaded, Instant::now(), maps.read(active)?, maps))
        };
        let (active, (loaded, then, counts, maps)) =
            ActiveFilter::read_consistent(control, interface, ask)?;
        let (control, interface) = (control.clone(), interface.to_owned());
        Ok(Self { control, interface, active, maps, loaded, last: (then, counts) })
    }

    /// A report with rates since the previous reading. Where other rules were loaded meanwhile,
    /// rates start again; they continue where the same rules have another program, as in a trial.
    pub fn read(&mut self) -> Result<FilterReport> {
        self.read_as(None)
    }

    /// As [`read`](Self::read), for a caller that knows which program runs now, and so whether the
    /// filter has to be found again.
    pub(crate) fn read_running(&mut self, program: u32) -> Result<FilterReport> {
        self.read_as(Some(program))
    }

    fn read_as(&mut self, running: Option<u32>) -> Result<FilterReport> {
        let known = self.active.program_id;
        // Pins that were removed meanwhile belong to a filter that was replaced.
        let unchanged =
            (running == Some(known)).then(|| self.maps.read(&self.active).ok()).flatten();
        let (now, counts) = match unchanged {
            Some(counts) => (Instant::now(), counts),
            None => self.find()?,
        };
        self.loaded.left = self.maps.left(&self.loaded.rules)?;
        let (then, before) = std::mem::replace(&mut self.last, (now, counts));
        let elapsed: Duration = self.last.0 - then;
        let head = (self.interface.as_str(), self.active.mode.name(), self.active.program_id);
        let between = (&before, &self.last.1);
        let mut shown = FilterReport::new(head, &self.loaded, between, elapsed.as_secs_f64());
        shown.limits = self.limits(&shown)?;
        shown.bans = self.maps.bans()?;
        Ok(shown)
    }

    /// Finds the filter that runs now, and reads its counters.
    fn find(&mut self) -> Result<(Instant, Reading)> {
        let known = self.active.program_id;
        let ask = |active: &ActiveFilter| {
            if active.program_id == known {
                return Ok((None, Instant::now(), self.maps.read(active)?));
            }
            let (loaded, maps) = loaded(active)?;
            let (now, counts) = (Instant::now(), maps.read(active)?);
            Ok((Some((loaded, maps)), now, counts))
        };
        let (active, (other, now, counts)) =
            ActiveFilter::read_consistent(&self.control, &self.interface, ask)?;
        self.active = active;
        if let Some((loaded, maps)) = other {
            let is_same = loaded.rules == self.loaded.rules;
            (self.loaded, self.maps) = (loaded, maps);
            if !is_same {
                self.last = (now, counts.clone());
            }
        }
        Ok((now, counts))
    }

    /// The state of each rule with a limit.
    fn limits(&self, report: &FilterReport) -> Result<Vec<Limit>> {
        let rules = self.loaded.rules.rules.iter().zip(&report.rules);
        let limiting = rules.filter(|(rule, _)| matches!(rule.action, Action::Limit(_)));
        let limiting = limiting.map(|(_, report)| LimitingRule {
            number: report.number as u32,
            name: &report.name,
            rate: &report.rate,
            over: report.taken,
            over_pps: report.taken_pps,
        });
        let limiting: Vec<_> = limiting.collect();
        self.maps.limits.as_ref().map_or(Ok(Vec::new()), |maps| limits::read(maps, &limiting))
    }

    /// The filter that ran at the last reading.
    pub fn active(&self) -> &ActiveFilter {
        &self.active
    }

    /// Id of the program that ran at the last reading.
    pub fn program_id(&self) -> u32 {
        self.active.program_id
    }
}

fn loaded(active: &ActiveFilter) -> Result<(LoadedRules, FilterMaps)> {
    let file = active.file()?;
    let texts = file.ruleset.rules.iter().map(Rule::body).collect();
    let maps = FilterMaps::open(active, &file.ruleset)?;
    let left = maps.left(&file.ruleset)?;
    Ok((LoadedRules { rules: file.ruleset, sets: file.scope.sets, texts, left }, maps))
}

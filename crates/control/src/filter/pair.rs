//! `Pair`: a filter before the active one, both as one program.
//!
//! Rule: the active rules decide as before, with their own maps. Not here: how the program replaces
//! the active one, and how that is restored.

use filter::runtime::trial::new_name;
use filter::{Compiled, PROGRAM, PROGRAM_FRAGS, Ruleset};
use kernel::Object;
use spec::{Spec, Verdict, compose};

use super::active::ActiveFilter;
use super::load::FilterPlacement;
use super::update::Update;
use crate::error::Result;
use crate::target::Placement;
use crate::target::by_frame_size;

/// Two compiled filters: the first runs without effect, the second decides.
#[derive(Debug)]
pub struct Pair {
    pub first: Compiled,
    /// The active rules, or none.
    pub active: Compiled,
}

impl Pair {
    /// Loads both as one program, the first with `rules`. `separate` renames the maps of the first
    /// part, and `install` attaches the program in place of the active filter.
    pub fn load<T>(
        mut self,
        update: &Update,
        rules: &Ruleset,
        asked: &FilterPlacement,
        separate: impl FnOnce(&mut Spec, &mut Spec) -> Result<(), spec::Error>,
        install: impl Fn(Object, &str, &Placement) -> Result<T>,
    ) -> Result<T> {
        let active = update.active.as_ref();
        if let Some(active) = active {
            self.active.spec.maps.extend(active.stored_maps()?);
        }
        let placement = update.placement(asked);
        let active_rules = active.map(ActiveFilter::rules).transpose()?.unwrap_or_default();
        let tagging =
            update.tagging(&[rules, &active_rules], placement.mode, asked.ignore_stripped_tags)?;
        for part in [&mut self.first, &mut self.active] {
            tagging.apply(&mut part.spec, &[PROGRAM, PROGRAM_FRAGS])?;
        }
        separate(&mut self.first.spec, &mut self.active.spec)?;
        let large = update.target.has_large_frames();
        let installed = by_frame_size(large, [PROGRAM, PROGRAM_FRAGS], |program| {
            let spec = self.composed(program)?;
            let reused = active.map_or(Ok(Vec::new()), |active| active.reusable(&spec))?;
            let programs = vec![program.to_owned()];
            let object = update.target.load_sharing(&spec, programs, placement.mode, reused)?;
            self.first.actions.fill(|name| object.map(&new_name(name)))?;
            if active.is_none() {
                self.active.actions.fill(|name| object.map(name))?;
            }
            install(object, program, &placement)
        })?;
        tagging.keep();
        Ok(installed)
    }

    fn composed(&self, program: &str) -> Result<Spec> {
        let link = |spec, go_on| compose::Link { spec, program, go_on };
        let any = compose::VerdictSet::from_iter(Verdict::ALL);
        let links =
            [link(&self.first.spec, any), link(&self.active.spec, compose::VerdictSet::EMPTY)];
        Ok(compose::chain_of_calls(&links)?)
    }
}

//! A filter in front of the one in force, both as one program.
//!
//! Rule: the rules in force decide as ever, with their own maps. How the program takes
//! their place, and how they come back, is up to who has one.

use filter::runtime::parts::new_name;
use filter::{Compiled, PROGRAM, PROGRAM_FRAGS, Ruleset};
use kernel::Object;
use spec::{Spec, Verdict, compose};

use super::active::ActiveFilter;
use super::load::FilterPlacement;
use super::update::Update;
use crate::error::Result;
use crate::target::Placement;
use crate::target::by_frame_size;

/// Both parts as they were made: the first goes on whatever it says, the second ends the search.
#[derive(Debug)]
pub struct Pair {
    pub front: Compiled,
    pub behind: Compiled,
}

impl Pair {
    /// Loads both as one program, the first with these rules; `separate` gives the maps of the
    /// first names of their own, and `install` attaches the program in place of the filter that is
    /// active.
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
            self.behind.spec.maps.extend(active.keeping()?);
        }
        let placement = update.placement(asked);
        let behind = active.map(ActiveFilter::rules).transpose()?.unwrap_or_default();
        let tagging =
            update.tagging(&[rules, &behind], placement.mode, asked.ignore_stripped_tags)?;
        for part in [&mut self.front, &mut self.behind] {
            tagging.apply(&mut part.spec, &[PROGRAM, PROGRAM_FRAGS])?;
        }
        separate(&mut self.front.spec, &mut self.behind.spec)?;
        let large = update.target.has_large_frames();
        let installed = by_frame_size(large, [PROGRAM, PROGRAM_FRAGS], |program| {
            let spec = self.composed(program)?;
            let kept = active.map_or(Ok(Vec::new()), |active| active.kept(&spec))?;
            let programs = vec![program.to_owned()];
            let object = update.target.load_sharing(&spec, programs, placement.mode, kept)?;
            self.front.actions.fill(|name| object.map(&new_name(name)))?;
            if active.is_none() {
                self.behind.actions.fill(|name| object.map(name))?;
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
            [link(&self.front.spec, any), link(&self.behind.spec, compose::VerdictSet::EMPTY)];
        Ok(compose::chain_of_calls(&links)?)
    }
}

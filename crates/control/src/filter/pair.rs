//! `Pair`: a filter before the active one, both as one program.
//!
//! Rule: the active rules decide as before, with their own maps, and so do the other members of a
//! chain, of which the pair is the filter's member meanwhile. Not here: how the earlier program is
//! restored (`state::Trial`).

use filter::runtime::parts::new_name;
use filter::{Compiled, PROGRAM, PROGRAM_FRAGS, Ruleset};
use kernel::{Map, Object};
use spec::{Spec, Verdict, compose};

use super::active::{ActiveFilter, NAME};
use super::chained;
use super::load::FilterPlacement;
use super::update::Update;
use crate::composition::LoadedChain;
use crate::error::Result;
use crate::state::Trial;
use crate::target::{Loading, Placement, by_frame_size};

/// Two compiled filters: the first runs without effect, the second decides.
#[derive(Debug)]
pub struct Pair {
    pub first: Compiled,
    /// The active rules, or none.
    pub active: Compiled,
    /// See [`Attempt`](super::ruleset::Attempt).
    pub tentative: bool,
}

/// A pair that is loaded and not attached yet.
#[derive(Debug)]
pub enum LoadedPair<'a> {
    /// It replaces the active filter, or is the only program.
    Alone(Object, &'a str, &'a Placement),
    /// It is the filter's member of a chain.
    Member(Box<LoadedChain<'a>>),
}

impl Pair {
    /// Loads both as one program, the first with `rules`. `separate` renames the maps of the first
    /// part, and `begin` attaches the program for the duration of a trial.
    pub fn load<T>(
        mut self,
        update: &Update,
        rules: &Ruleset,
        asked: &FilterPlacement,
        separate: impl FnOnce(&mut Spec, &mut Spec) -> Result<(), spec::Error>,
        begin: impl Fn(&LoadedPair<'_>) -> Result<T>,
    ) -> Result<T> {
        let active = update.active.as_ref();
        let placement = update.placement(asked);
        let active_rules = active.map(ActiveFilter::rules).transpose()?.unwrap_or_default();
        let tagging =
            update.tagging(&[rules, &active_rules], placement.mode, asked.ignore_stripped_tags)?;
        for part in [&mut self.first, &mut self.active] {
            tagging.apply(&mut part.spec, &[PROGRAM, PROGRAM_FRAGS])?;
        }
        separate(&mut self.first.spec, &mut self.active.spec)?;
        let large = update.target.has_large_frames();
        let begun = by_frame_size(large, [PROGRAM, PROGRAM_FRAGS], |program| {
            let loaded = match update.is_chained()? {
                true => self.load_in_chain(update, program)?,
                false => self.load_alone(update, program, &placement)?,
            };
            self.first.actions.fill(|name| loaded.map(&new_name(name)))?;
            if active.is_none() {
                self.active.actions.fill(|name| loaded.map(name))?;
            }
            begin(&loaded)
        })?;
        tagging.keep();
        Ok(begun)
    }

    fn load_alone<'a>(
        &self,
        update: &Update,
        program: &'a str,
        placement: &'a Placement,
    ) -> Result<LoadedPair<'a>> {
        let mut spec = self.composed(program)?;
        let mut reused = Vec::new();
        if let Some(active) = &update.active {
            spec.maps.extend(active.stored_maps()?);
            reused = active.reusable(&spec)?;
        }
        let programs = vec![program.to_owned()];
        let loading = Loading { mode: placement.mode, tentative: self.tentative };
        let object = update.target.load_sharing(&spec, programs, loading, reused)?;
        Ok(LoadedPair::Alone(object, program, placement))
    }

    fn load_in_chain<'a>(&self, update: &'a Update, program: &str) -> Result<LoadedPair<'a>> {
        let mut chain = chained::open(&update.target)?;
        let link = chain.link(NAME)?;
        // What is stored with the filter continues with its other maps.
        link.spec = self.composed(program)?;
        program.clone_into(&mut link.member.program);
        chain.set_tentative(self.tentative);
        Ok(LoadedPair::Member(Box::new(chain.load()?)))
    }

    fn composed(&self, program: &str) -> Result<Spec> {
        let link = |spec, go_on| compose::Link { spec, program, go_on };
        let any = compose::VerdictSet::from_iter(Verdict::ALL);
        let links =
            [link(&self.first.spec, any), link(&self.active.spec, compose::VerdictSet::EMPTY)];
        Ok(compose::chain_of_calls(&links)?)
    }
}

impl LoadedPair<'_> {
    /// A map, by its name in the composed object of both filters.
    pub fn map(&self, name: &str) -> kernel::Result<&Map> {
        match self {
            Self::Alone(object, ..) => object.map(name),
            Self::Member(chain) => chain.map(NAME, name),
        }
    }

    /// Attaches the program for the duration of a trial.
    ///
    /// # Errors
    /// The kernel refuses it; then nothing has changed.
    pub fn try_out(&self, update: &Update) -> Result<Trial> {
        match self {
            Self::Alone(object, program, placement) => update.try_out((object, program), placement),
            Self::Member(chain) => chain.try_out(),
        }
    }
}

//! A filter in front of the one in force, both as one program.
//!
//! Rule: the rules in force decide as ever, with their own maps. Nothing is kept before the change
//! is committed; dropped, the program of before is back.

use anyhow::Result;
use functions::filter::act::Acts;
use functions::filter::trial::new_name;
use functions::filter::{PROGRAM, PROGRAM_FRAGS};
use kernel::Object;
use spec::{Spec, Verdict, compose};

use super::change::Change;
use super::live::{Live, NAME};
use crate::args::FilterPlacement;
use crate::cmd::attach::by_size;
use crate::state;

/// Both parts as they were made: the first goes on whatever it says, the second ends the search.
#[derive(Debug)]
pub struct Parts {
    pub front: Spec,
    /// What the rules in front do.
    pub acts: Acts,
    pub behind: Spec,
}

impl Parts {
    /// Takes the place of the filter in force, for now.
    pub fn install(mut self, change: &Change, live: &Live) -> Result<(Object, state::Change)> {
        self.behind.maps.extend(live.keeping()?);
        let placement = change.placement(&FilterPlacement::default());
        let large = change.target.has_large_frames();
        by_size(large, [PROGRAM, PROGRAM_FRAGS], |program| {
            let spec = self.composed(program)?;
            let kept = live.kept(&spec)?;
            let programs = vec![program.to_owned()];
            let object = change.target.load_sharing(&spec, programs, placement.mode, kept)?;
            self.acts.fill(|name| object.map(&new_name(name)))?;
            let change = change.target.install(NAME, &object, program, &placement)?;
            Ok((object, change))
        })
    }

    fn composed(&self, program: &str) -> Result<Spec> {
        let link = |spec, go_on| compose::Link { spec, program, go_on };
        let any = compose::VerdictSet::from_iter(Verdict::ALL);
        let links = [link(&self.front, any), link(&self.behind, compose::VerdictSet::EMPTY)];
        Ok(compose::chain_of_calls(&links)?)
    }
}

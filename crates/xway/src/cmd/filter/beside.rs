//! A filter in front of the one in force, both as one program.
//!
//! Rule: the rules in force decide as ever, with their own maps. How the program takes their place,
//! and how they come back, is up to who has one.

use anyhow::Result;
use functions::filter::act::Acts;
use functions::filter::trial::new_name;
use functions::filter::{PROGRAM, PROGRAM_FRAGS};
use kernel::Object;
use spec::{Spec, Verdict, compose};

use super::change::Change;
use super::live::Live;
use crate::args::{FilterPlacement, Placement};
use crate::cmd::attach::by_size;

/// Both parts as they were made: the first goes on whatever it says, the second ends the search.
#[derive(Debug)]
pub struct Parts {
    pub front: Spec,
    /// What the rules in front do.
    pub acts: Acts,
    pub behind: Spec,
}

impl Parts {
    /// Loads both as one program, which `install` puts in the place of the filter in force.
    pub fn load<T>(
        mut self,
        change: &Change,
        live: &Live,
        install: impl Fn(Object, &str, &Placement) -> Result<T>,
    ) -> Result<T> {
        self.behind.maps.extend(live.keeping()?);
        let placement = change.placement(&FilterPlacement::default());
        let large = change.target.has_large_frames();
        by_size(large, [PROGRAM, PROGRAM_FRAGS], |program| {
            let spec = self.composed(program)?;
            let kept = live.kept(&spec)?;
            let programs = vec![program.to_owned()];
            let object = change.target.load_sharing(&spec, programs, placement.mode, kept)?;
            self.acts.fill(|name| object.map(&new_name(name)))?;
            install(object, program, &placement)
        })
    }

    fn composed(&self, program: &str) -> Result<Spec> {
        let link = |spec, go_on| compose::Link { spec, program, go_on };
        let any = compose::VerdictSet::from_iter(Verdict::ALL);
        let links = [link(&self.front, any), link(&self.behind, compose::VerdictSet::EMPTY)];
        Ok(compose::chain_of_calls(&links)?)
    }
}

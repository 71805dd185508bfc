//! A filter in front of the one in force, both as one program.
//!
//! Rule: the rules in force decide as ever, with their own maps. How the program takes their place,
//! and how they come back, is up to who has one.

use anyhow::Result;
use functions::filter::trial::new_name;
use functions::filter::{Compiled, PROGRAM, PROGRAM_FRAGS};
use kernel::Object;
use spec::{Spec, Verdict, compose};

use super::change::Change;
use crate::args::{FilterPlacement, Placement};
use crate::cmd::attach::by_size;

/// Both parts as they were made: the first goes on whatever it says, the second ends the search.
#[derive(Debug)]
pub struct Parts {
    pub front: Compiled,
    pub behind: Compiled,
}

impl Parts {
    /// Loads both as one program, which `install` puts in the place of the filter in force.
    pub fn load<T>(
        mut self,
        change: &Change,
        asked: &FilterPlacement,
        install: impl Fn(Object, &str, &Placement) -> Result<T>,
    ) -> Result<T> {
        let live = change.live.as_ref();
        if let Some(live) = live {
            self.behind.spec.maps.extend(live.keeping()?);
        }
        let placement = change.placement(asked);
        let large = change.target.has_large_frames();
        by_size(large, [PROGRAM, PROGRAM_FRAGS], |program| {
            let spec = self.composed(program)?;
            let kept = live.map_or(Ok(Vec::new()), |live| live.kept(&spec))?;
            let programs = vec![program.to_owned()];
            let object = change.target.load_sharing(&spec, programs, placement.mode, kept)?;
            self.front.acts.fill(|name| object.map(&new_name(name)))?;
            if live.is_none() {
                self.behind.acts.fill(|name| object.map(name))?;
            }
            install(object, program, &placement)
        })
    }

    fn composed(&self, program: &str) -> Result<Spec> {
        let link = |spec, go_on| compose::Link { spec, program, go_on };
        let any = compose::VerdictSet::from_iter(Verdict::ALL);
        let links =
            [link(&self.front.spec, any), link(&self.behind.spec, compose::VerdictSet::EMPTY)];
        Ok(compose::chain_of_calls(&links)?)
    }
}

//! Applies the headers that rules need to global variables and maps of the program.

use spec::Spec;

use crate::abi::Need;
use crate::maps::FRAGMENTS;
use crate::{Needs, Policies, Policy, Reason};

impl Needs {
    /// Sets the headers that the program reads, and sizes the map of first fragments if they are
    /// tracked.
    ///
    /// # Errors
    /// The object is not the filter's.
    pub fn apply(self, policies: &Policies, spec: &mut Spec) -> Result<(), spec::Error> {
        spec.set_global(Self::GLOBAL, &self.to_global())?;
        spec.set_global("filter_policies", &policies.to_global())?;
        let tracks = policies.policy(Reason::LaterFragment) == Some(Policy::Track);
        if let Some(map) = spec.maps.iter_mut().find(|map| map.name == FRAGMENTS)
            && tracks
            && self.has(Need::Transport)
        {
            map.max_entries = TRACKED;
        }
        Ok(())
    }
}

/// The most first fragments that are remembered; the oldest one is replaced first.
const TRACKED: u32 = 8192;

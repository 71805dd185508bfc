//! Which programs are loaded and which maps they need, found before anything is made.

use std::collections::BTreeSet;

use spec::{Initial, Spec, Target};

use super::LoadOptions;
use crate::error::{Error, Result};

/// Numbers into [`Spec::programs`] and [`Spec::maps`].
#[derive(Debug, Default)]
pub(super) struct Plan {
    programs: BTreeSet<usize>,
    maps: BTreeSet<usize>,
}

impl Plan {
    pub fn new(spec: &Spec, options: &LoadOptions) -> Result<Self> {
        let mut plan = Self::default();
        let chosen = match &options.programs {
            Some(names) => names.iter().map(|name| numbered(spec, name)).collect::<Result<_>>()?,
            None => (0..spec.programs.len()).filter(|n| spec.programs[*n].autoload).collect(),
        };
        let chosen: Vec<usize> = chosen;
        chosen.into_iter().for_each(|number| plan.add_program(spec, number));
        Ok(plan)
    }

    pub fn programs(&self) -> impl Iterator<Item = usize> {
        self.programs.iter().copied()
    }

    /// Whether one of the programs uses the map.
    pub fn needs_map(&self, number: usize) -> bool {
        self.maps.contains(&number)
    }

    /// Each program and map is added once, so this ends.
    fn add_program(&mut self, spec: &Spec, number: usize) {
        if !self.programs.insert(number) {
            return;
        }
        for fixup in &spec.programs[number].fixups {
            if let Target::Map { map } | Target::MapValue { map, .. } = fixup.target {
                self.add_map(spec, map);
            }
        }
    }

    fn add_map(&mut self, spec: &Spec, number: usize) {
        if !self.maps.insert(number) {
            return;
        }
        for initial in &spec.maps[number].initial {
            match initial {
                Initial::Map { map, .. } => self.add_map(spec, *map),
                Initial::Program { program, .. } => self.add_program(spec, *program),
            }
        }
    }
}

fn numbered(spec: &Spec, name: &str) -> Result<usize> {
    spec.programs.iter().position(|program| program.name == name).ok_or_else(|| {
        let known = spec.programs.iter().map(|program| program.name.clone()).collect();
        Error::UnknownProgram { object: spec.name.clone(), name: name.to_owned(), known }
    })
}

//! Which programs are loaded and which maps they need, determined before anything is created.

use std::collections::BTreeSet;

use crate::model::{Initial, Spec, Target};

/// Numbers into [`Spec::programs`] and [`Spec::maps`]: the programs that are wanted, those that
/// maps of theirs hold, and all maps of both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    programs: BTreeSet<usize>,
    maps: BTreeSet<usize>,
}

impl Plan {
    /// Plans for the named programs; without names, for all that need no reference by another one.
    ///
    /// # Errors
    /// The name that no program has.
    pub fn new(spec: &Spec, names: Option<&[String]>) -> Result<Self, UnknownProgram> {
        let mut plan = Self::default();
        let chosen = match names {
            Some(names) => {
                names.iter().map(|name| numbered(spec, name)).collect::<Result<_, _>>()?
            }
            None => (0..spec.programs.len()).filter(|n| spec.programs[*n].autoload).collect(),
        };
        let chosen: Vec<usize> = chosen;
        chosen.into_iter().for_each(|number| plan.add_program(spec, number));
        Ok(plan)
    }

    /// Numbers of the programs to load, in order.
    pub fn programs(&self) -> impl Iterator<Item = usize> {
        self.programs.iter().copied()
    }

    /// Whether a program is loaded.
    pub fn needs_program(&self, number: usize) -> bool {
        self.programs.contains(&number)
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

/// No program of the object has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no program `{name}`; the object has {}", .known.join(", "))]
pub struct UnknownProgram {
    /// The unknown name.
    pub name: String,
    /// Names of the object's programs.
    pub known: Vec<String>,
}

fn numbered(spec: &Spec, name: &str) -> Result<usize, UnknownProgram> {
    spec.programs.iter().position(|program| program.name == name).ok_or_else(|| {
        let known = spec.programs.iter().map(|program| program.name.clone()).collect();
        UnknownProgram { name: name.to_owned(), known }
    })
}

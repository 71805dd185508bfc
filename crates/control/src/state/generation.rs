//! One generation of an interface: a program and its maps, pinned side by side.

use std::fs;
use std::path::{Path, PathBuf};

use kernel::{Map, Object, Program};

use super::{if_pinned, remove};
use crate::error::{Context as _, Result};

/// A directory of pins. It is complete when it contains the program, which is pinned last.
#[derive(Clone, Debug)]
pub struct Generation {
    folder: PathBuf,
}

impl Generation {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Pins all maps of `object`, then `program`. With `before` it is the generation of a trial,
    /// after which `before` runs again.
    pub(super) fn create(
        &self,
        object: &Object,
        program: &Program,
        before: Option<&Program>,
    ) -> Result<Self> {
        let shown = || format!("cannot keep the program at {}", self.folder.display());
        fs::create_dir(&self.folder).with_context(shown)?;
        match self.fill(object, program, before) {
            Ok(()) => Ok(self.clone()),
            Err(error) => {
                // The first error is reported; the next writer removes what is left.
                let _ = self.remove();
                Err(error)
            }
        }
    }

    fn fill(&self, object: &Object, program: &Program, before: Option<&Program>) -> Result<()> {
        fs::create_dir(self.maps()).context("cannot create the directory of maps")?;
        for map in object.maps() {
            map.pin(&self.maps().join(pin_name(map.name())))?;
        }
        if let Some(before) = before {
            before.pin(&self.folder.join(BEFORE))?;
        }
        program.pin(&self.folder.join(PROGRAM))?;
        Ok(())
    }

    /// Name of what was attached: the name of the directory without its number.
    pub fn name(&self) -> &str {
        let name = self.folder_name();
        name.rsplit_once('-').map_or(name, |(name, _)| name)
    }

    pub(super) fn folder_name(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    pub(super) fn number(&self) -> u64 {
        let name = self.folder_name();
        name.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
    }

    /// The program; `None` if the process that made it was killed before it was complete.
    pub fn program(&self) -> Result<Option<Program>> {
        if_pinned(Program::from_pin(&self.folder.join(PROGRAM)))
    }

    /// The program that runs again after a trial; `None` for other generations.
    pub(super) fn before(&self) -> Result<Option<Program>> {
        if_pinned(Program::from_pin(&self.folder.join(BEFORE)))
    }

    /// A map of the object; `None` if the object has no such map.
    pub fn map_if_kept(&self, name: &str) -> Result<Option<Map>> {
        if_pinned(Map::from_pin(&self.maps().join(pin_name(name))))
    }

    /// A map of the object.
    ///
    /// # Errors
    /// The object has no such map, or it cannot be opened.
    pub fn map(&self, name: &str) -> Result<Map> {
        let path = self.maps().join(pin_name(name));
        Map::from_pin(&path).with_context(|| format!("cannot open the pinned map `{name}`"))
    }

    /// Removes all pins; a program that is attached continues to run.
    pub(super) fn remove(&self) -> Result<()> {
        for pin in files(&self.maps()) {
            remove(&pin, |path| fs::remove_file(path))?;
        }
        remove(&self.maps(), |path| fs::remove_dir(path))?;
        for pin in [PROGRAM, BEFORE] {
            remove(&self.folder.join(pin), |path| fs::remove_file(path))?;
        }
        remove(&self.folder, |path| fs::remove_dir(path))
    }

    fn maps(&self) -> PathBuf {
        self.folder.join("maps")
    }
}

/// The name of a pin: a bpffs reserves names with dots.
pub(super) fn pin_name(name: &str) -> String {
    let usable = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = name.trim_start_matches('.');
    name.chars().map(|c| if usable(c) { c } else { '_' }).take(NAME_LIMIT).collect()
}

fn files(path: &Path) -> Vec<PathBuf> {
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

const PROGRAM: &str = "program";
const BEFORE: &str = "before";
const NAME_LIMIT: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_pins_have_no_dots() {
        assert_eq!(pin_name(".rodata.str1.1"), "rodata_str1_1");
        assert_eq!(pin_name("../etc/passwd"), "_etc_passwd");
        assert_eq!(pin_name("drop_rules4"), "drop_rules4");
    }

    #[test]
    fn a_generation_is_named_after_its_object() {
        let generation = Generation::at(PathBuf::from("/x/if-3/my-filter-12"));
        assert_eq!(generation.name(), "my-filter");
        assert_eq!(generation.number(), 12);
    }
}

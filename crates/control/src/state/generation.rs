//! One generation of an interface: a program and its maps, pinned side by side.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernel::{Map, Object, Program};
use spec::Map as _;
use sys::thread::monotonic_ns;

use super::identity::Identity;
use super::sharing::{IDENTITY, create_dir, is_shared, share_map};
use super::{if_pinned, remove};
use crate::error::{Context as _, Result};
use crate::map_names::DEADLINE;
use crate::maps::open_pin;

/// What is pinned beside the program and the maps of a generation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Companions<'a> {
    /// The program that runs again after a trial, or if the change is not confirmed.
    pub before: Option<&'a Program>,
    /// The program that replaces this generation's own once the change is confirmed.
    pub confirmed: Option<&'a Program>,
}

/// The program of a generation and its maps, each with the name of its pin.
#[derive(Debug)]
pub struct Pins<'a> {
    /// Name of what is attached.
    pub name: String,
    pub maps: Vec<(String, &'a Map)>,
}

impl<'a> Pins<'a> {
    /// All maps of an object.
    pub fn of(name: &str, object: &'a Object) -> Self {
        let maps = object.maps().iter().map(|map| (map.name().to_owned(), map));
        Self { name: name.to_owned(), maps: maps.collect() }
    }
}

/// A directory of pins. It is complete when it contains the program, which is pinned last.
#[derive(Clone, Debug)]
pub struct Generation {
    folder: PathBuf,
}

impl Generation {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Pins the maps, then `program`.
    pub(super) fn create(
        &self,
        pins: &Pins<'_>,
        program: &Program,
        companions: Companions<'_>,
    ) -> Result<Self> {
        let shown = || format!("cannot keep the program at {}", self.folder.display());
        create_dir(&self.folder).with_context(shown)?;
        match self.fill(pins, program, companions) {
            Ok(()) => Ok(self.clone()),
            Err(error) => {
                // The first error is reported; the next writer removes what is left.
                let _ = self.remove();
                Err(error)
            }
        }
    }

    fn fill(&self, pins: &Pins<'_>, program: &Program, companions: Companions<'_>) -> Result<()> {
        create_dir(&self.maps()).context("cannot create the directory of maps")?;
        for (name, map) in &pins.maps {
            let pin = self.maps().join(pin_name(name));
            map.pin(&pin)?;
            if is_shared(name) {
                share(&pin)?;
            }
        }
        let pin = self.folder.join(IDENTITY);
        Identity::of(program, companions.confirmed)?.map()?.pin(&pin)?;
        share(&pin)?;
        for (companion, pin) in [(companions.before, BEFORE), (companions.confirmed, CONFIRMED)] {
            companion.map_or(Ok(()), |companion| companion.pin(&self.folder.join(pin)))?;
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

    pub fn number(&self) -> u64 {
        let name = self.folder_name();
        name.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
    }

    /// The program; `None` if the process that made it was killed before it was complete.
    pub fn program(&self) -> Result<Option<Program>> {
        if_pinned(Program::from_pin(&self.program_pin()))
    }

    /// Where the program is pinned.
    pub fn program_pin(&self) -> PathBuf {
        self.folder.join(PROGRAM)
    }

    /// What the kernel calls its programs; `None` if an earlier version made it, or if the process
    /// that made it was killed before it was complete.
    pub fn identity(&self) -> Result<Option<Identity>> {
        let map = if_pinned(open_pin(&self.folder.join(IDENTITY)))?;
        map.as_ref().map_or(Ok(None), Identity::read)
    }

    /// Whether it runs as this program: as its own, or as the one that follows a confirmation.
    pub(super) fn is_of(&self, program: u32) -> Result<bool> {
        if let Some(identity) = self.identity()? {
            return Ok(identity.find(program).is_some());
        }
        let is_it = |one: Option<Program>| one.is_some_and(|one| one.id() == program);
        Ok(is_it(self.program()?) || is_it(self.confirmed()?))
    }

    /// The program that follows a confirmation; `None` if there is nothing to confirm.
    pub fn confirmed(&self) -> Result<Option<Program>> {
        if_pinned(Program::from_pin(&self.folder.join(CONFIRMED)))
    }

    /// Whether the change must be confirmed, or was not completed after its confirmation.
    pub fn is_unconfirmed(&self) -> bool {
        self.folder.join(CONFIRMED).exists()
    }

    /// Time in which the change must be confirmed, zero if it is over; `None` if there is nothing
    /// to confirm.
    pub fn time_left(&self) -> Result<Option<Duration>> {
        if !self.is_unconfirmed() {
            return Ok(None);
        }
        let deadline = self.map(DEADLINE)?.lookup(&[0; 4])?.and_then(|bytes| bytes.try_into().ok());
        let deadline = deadline.map_or(0, u64::from_ne_bytes);
        Ok(Some(Duration::from_nanos(deadline.saturating_sub(monotonic_ns()))))
    }

    /// Completes a confirmation: the program that runs now becomes the generation's own.
    pub(super) fn complete(&self) -> Result<()> {
        remove(&self.folder.join(BEFORE), |path| fs::remove_file(path))?;
        let shown = || format!("cannot complete the confirmation at {}", self.folder.display());
        let [confirmed, program] = [CONFIRMED, PROGRAM].map(|name| self.folder.join(name));
        fs::rename(confirmed, program).with_context(shown)
    }

    /// The program that runs again after a trial, or if the change is not confirmed; `None` for
    /// other generations.
    pub(super) fn before(&self) -> Result<Option<Program>> {
        if_pinned(Program::from_pin(&self.folder.join(BEFORE)))
    }

    /// Names of the pins of its maps.
    pub fn map_names(&self) -> Vec<String> {
        let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        files(&self.maps()).iter().filter_map(name).collect()
    }

    /// A map of the object; `None` if the object has no such map.
    pub fn map_if_kept(&self, name: &str) -> Result<Option<Map>> {
        if_pinned(open_pin(&self.maps().join(pin_name(name))))
    }

    /// A map of the object.
    ///
    /// # Errors
    /// The object has no such map, or it cannot be opened.
    pub fn map(&self, name: &str) -> Result<Map> {
        let path = self.maps().join(pin_name(name));
        open_pin(&path).with_context(|| format!("cannot open the pinned map `{name}`"))
    }

    /// Pins another map in place of the one of this name.
    pub fn replace_map(&self, name: &str, map: &Map) -> Result<()> {
        self.stage_map(name, map)?.commit()
    }

    /// Pins a map beside the one of this name, which it replaces when it is committed.
    pub fn stage_map(&self, name: &str, map: &Map) -> Result<StagedMap> {
        let [path, new] =
            ["", "_new"].map(|suffix| self.maps().join(pin_name(&format!("{name}{suffix}"))));
        remove(&new, |path| fs::remove_file(path))?;
        map.pin(&new)?;
        let staged = StagedMap { new, path };
        if is_shared(name) {
            share(&staged.new)?;
        }
        Ok(staged)
    }

    /// Removes all pins; a program that is attached continues to run.
    pub(super) fn remove(&self) -> Result<()> {
        for pin in files(&self.maps()) {
            remove(&pin, |path| fs::remove_file(path))?;
        }
        remove(&self.maps(), |path| fs::remove_dir(path))?;
        for pin in [PROGRAM, CONFIRMED, BEFORE, IDENTITY] {
            remove(&self.folder.join(pin), |path| fs::remove_file(path))?;
        }
        remove(&self.folder, |path| fs::remove_dir(path))
    }

    fn maps(&self) -> PathBuf {
        self.folder.join("maps")
    }
}

/// A map that is pinned beside the one that it will replace; unpinned if it does not.
#[derive(Debug)]
#[must_use]
pub struct StagedMap {
    new: PathBuf,
    path: PathBuf,
}

impl StagedMap {
    /// Replaces the map, in one step.
    ///
    /// # Errors
    /// The pin cannot be renamed.
    pub fn commit(self) -> Result<()> {
        let path = &self.path;
        fs::rename(&self.new, path).with_context(|| format!("cannot replace {}", path.display()))
    }
}

impl Drop for StagedMap {
    fn drop(&mut self) {
        // It is not there any more if it was committed.
        let _ = fs::remove_file(&self.new);
    }
}

/// The name of a pin: a bpffs reserves names with dots.
pub fn pin_name(name: &str) -> String {
    let usable = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = name.trim_start_matches('.');
    name.chars().map(|c| if usable(c) { c } else { '_' }).take(NAME_LIMIT).collect()
}

fn share(pin: &Path) -> Result<()> {
    share_map(pin).with_context(|| format!("cannot change the permissions of {}", pin.display()))
}

fn files(path: &Path) -> Vec<PathBuf> {
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

const PROGRAM: &str = "program";
const BEFORE: &str = "before";
const CONFIRMED: &str = "confirmed";
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

//! `Journal`: records changes of more than one step until they are complete.
//!
//! Rule: the record is written before the first step with an effect, when the new program is
//! complete and pinned; removing it is the commit. If a process that holds the writers' lock finds
//! a record, its writer was killed or failed, and the previous program is restored. A program that
//! another process attached meanwhile remains.
//!
//! ```text
//! <state>/net-<namespace>.undo     one step for each interface of the change
//! ```

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use kernel::Mode;
use serde::{Deserialize, Serialize};
use sys::dir::{Access, Dir};
use sys::errno::{ENOENT, ENOPROTOOPT};
use sys::net::Ifindex;

use super::root::{self, PART};
use crate::error::{Context as _, Result};

/// The record of one network namespace.
#[derive(Clone, Debug)]
pub struct Journal {
    root: PathBuf,
    name: String,
}

/// The change of one interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub ifindex: u32,
    /// Name of the new generation's directory.
    pub generation: String,
    /// The program of the new generation.
    pub new: Running,
    /// The previous program, if there was one.
    pub old: Option<Running>,
}

/// A program that runs on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    pub program: u32,
    #[serde(with = "mode_name")]
    pub mode: Mode,
}

/// Contents of the file. Ids of programs and interfaces are valid within one boot and one
/// namespace only, and the inode number of a namespace is reused.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    boot: String,
    cookie: u64,
    steps: Vec<Step>,
}

impl Journal {
    /// The journal of a namespace; `namespace` is the name of its directory of pins, `net-<inode>`.
    pub fn new(root: &Path, namespace: &str) -> Self {
        Self { root: root.to_owned(), name: format!("{namespace}{SUFFIX}") }
    }

    /// Journals of all namespaces that have a record, with the namespaces' inode numbers.
    pub fn all(root: &Path) -> Result<Vec<(u64, Self)>> {
        let names = root::find(root)?.map_or(Ok(Vec::new()), |dir| dir.names())?;
        let inode = |name: &str| name.strip_prefix("net-")?.strip_suffix(SUFFIX)?.parse().ok();
        let names = names.into_iter().filter_map(|name| name.into_string().ok());
        let all =
            names.filter_map(|name| Some((inode(&name)?, Self { root: root.to_owned(), name })));
        Ok(all.collect())
    }

    /// Removes partly written records. The caller holds the writers' lock.
    pub fn remove_parts(root: &Path) -> Result<()> {
        let Some(dir) = root::find(root)? else { return Ok(()) };
        let is_part = |name: &&OsString| {
            let name = name.to_string_lossy();
            name.starts_with("net-") && name.ends_with(PART)
        };
        dir.names()?.iter().filter(is_part).try_for_each(|name| root::remove(&dir, name))
    }

    /// Recorded steps; empty without a record.
    pub fn steps(&self) -> Result<Vec<Step>> {
        let Some(dir) = root::find(&self.root)? else { return Ok(Vec::new()) };
        Ok(self.read(&dir)?.map(|record| record.steps).unwrap_or_default())
    }

    /// Recorded steps of the calling thread's namespace. A record of another boot, or of a former
    /// namespace with the same number, is removed.
    pub fn steps_here(&self) -> Result<Vec<Step>> {
        let Some(dir) = root::find(&self.root)? else { return Ok(Vec::new()) };
        match self.read(&dir)? {
            Some(record) if (&record.boot, record.cookie) == (&boot()?, cookie()?) => {
                Ok(record.steps)
            }
            _ => self.remove(&dir).map(|()| Vec::new()),
        }
    }

    /// Records a step; it replaces one of the same interface.
    pub fn begin(&self, step: &Step) -> Result<()> {
        let mut steps = self.steps_here()?;
        steps.retain(|one| one.ifindex != step.ifindex);
        steps.push(step.clone());
        self.write(steps).with_context(|| {
            let directory = self.root.display();
            format!("the change cannot be recorded in {directory}, so it was not begun")
        })
    }

    /// Commits the changes of these interfaces with one write.
    pub fn end(&self, ifindexes: &[Ifindex]) -> Result<()> {
        let mut steps = self.steps_here()?;
        let known = steps.len();
        steps.retain(|one| !ifindexes.contains(&Ifindex(one.ifindex)));
        if steps.len() == known {
            return Ok(());
        }
        self.write(steps).context("the record of the change cannot be removed")
    }

    /// Removes the record of a namespace that no longer exists.
    pub fn discard(&self) -> Result<()> {
        root::find(&self.root)?.map_or(Ok(()), |dir| self.remove(&dir))
    }

    /// `None` without a file, and for a truncated one: its change did not begin, because the record
    /// precedes the first step.
    fn read(&self, dir: &Dir) -> Result<Option<Record>> {
        let mut file = match dir.open_file(&self.name, Access::Read) {
            Err(error) if error.is(ENOENT) => return Ok(None),
            other => other?,
        };
        let mut text = Vec::new();
        file.read_to_end(&mut text).with_context(|| format!("cannot read {}", self.name))?;
        Ok(serde_json::from_slice(&text).ok())
    }

    fn write(&self, steps: Vec<Step>) -> Result<()> {
        let dir = root::open(&self.root)?;
        if steps.is_empty() {
            return self.remove(&dir);
        }
        let text = serde_json::to_vec(&Record { boot: boot()?, cookie: cookie()?, steps })
            .map_err(io::Error::from)?;
        root::replace(&dir, &self.name, &text)
    }

    fn remove(&self, dir: &Dir) -> Result<()> {
        root::remove(dir, &self.name)
    }
}

fn boot() -> Result<String> {
    Ok(sys::proc::setting("kernel/random/boot_id")?.trim().to_owned())
}

/// Unique number of the namespace; 0 on a kernel without it, where only the boot is compared.
fn cookie() -> Result<u64> {
    match sys::netns::cookie() {
        Err(error) if error.is(ENOPROTOOPT) => Ok(0),
        other => Ok(other?),
    }
}

/// Serializes modes as the option `--mode` spells them.
mod mode_name {
    use kernel::Mode;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub fn serialize<S: Serializer>(mode: &Mode, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(mode.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mode, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Mode::ALL.into_iter().find(|mode| mode.name() == name);
        known.ok_or_else(|| D::Error::custom("unknown mode"))
    }
}

const SUFFIX: &str = ".undo";

#[cfg(test)]
mod tests {
    use super::*;

    fn step(ifindex: u32) -> Step {
        let running = |program, mode| Running { program, mode };
        Step {
            ifindex,
            generation: "filter-2".to_owned(),
            new: running(9, Mode::Generic),
            old: Some(running(7, Mode::Native)),
        }
    }

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("xway-journal-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_change_of_several_interfaces_ends_in_one_step() {
        let folder = folder("steps");
        let journal = Journal::new(&folder, "net-5");
        root::open(&folder).unwrap();
        [3, 4, 5].iter().for_each(|ifindex| journal.begin(&step(*ifindex)).unwrap());
        journal.begin(&step(4)).unwrap();
        assert_eq!(journal.steps_here().unwrap(), [step(3), step(5), step(4)]);
        let all: Vec<_> =
            Journal::all(&folder).unwrap().into_iter().map(|(inode, _)| inode).collect();
        assert_eq!(all, [5]);
        journal.end(&[Ifindex(3), Ifindex(4)]).unwrap();
        assert_eq!(journal.steps().unwrap(), [step(5)]);
        journal.end(&[Ifindex(5)]).unwrap();
        assert!(Journal::all(&folder).unwrap().is_empty());
        assert!(journal.steps().unwrap().is_empty());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn records_of_another_boot_and_torn_ones_are_removed() {
        let folder = folder("stale");
        root::open(&folder).unwrap();
        let journal = Journal::new(&folder, "net-5");
        let record = |boot: String, cookie| Record { boot, cookie, steps: vec![step(3)] };
        let whole = serde_json::to_string(&record(boot().unwrap(), cookie().unwrap())).unwrap();
        let stale =
            serde_json::to_string(&record("earlier".to_owned(), cookie().unwrap())).unwrap();
        let other = serde_json::to_string(&record(boot().unwrap(), cookie().unwrap() + 1)).unwrap();
        for (text, count) in [(&*whole, 1), (&whole[..40], 0), ("", 0), (&stale, 0), (&other, 0)] {
            std::fs::write(folder.join("net-5.undo"), text).unwrap();
            assert_eq!(journal.steps_here().unwrap().len(), count, "{text}");
            assert_eq!(Journal::all(&folder).unwrap().len(), count, "{text}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}

//! Finds labs, and removes those whose creator has ended.
//!
//! Rule: only what a record announces under the lab's own prefix is removed, and only processes
//! that the lab started, identified by their start time.

use std::fs;
use std::io;

use serde::Serialize;
use sys::netns;

use crate::error::{Error, Result};
use crate::record::{self, RecordContents};

/// A lab as `xway lab list` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabState {
    /// Name of the lab.
    pub id: String,
    /// Name of its topology, if it was built from one.
    pub topology: Option<String>,
    /// Short names of its hosts.
    pub hosts: Vec<String>,
    /// Its maker is alive.
    pub running: bool,
    /// Whether it persists after the process that created it.
    pub kept: bool,
}

/// Labs that were collected.
#[derive(Debug, Serialize)]
pub struct CollectedLabs {
    /// Ids of the labs.
    pub removed: Vec<String>,
}

/// All labs of this machine, by name.
pub fn list() -> Result<Vec<LabState>> {
    let _all = record::lock_all()?;
    record::ids()?.into_iter().map(state_of).collect()
}

/// Removes labs whose creator has ended; with `kept` also those that were kept.
pub fn gc(kept: bool) -> Result<CollectedLabs> {
    let _all = record::lock_all()?;
    let mut removed = Vec::new();
    for id in record::ids()? {
        let Some(_lock) = record::idle_lock(&id)? else { continue };
        let contents = record::contents_of(&id)?;
        if contents.kept && !kept {
            continue;
        }
        remove(&id, &contents)?;
        removed.push(id);
    }
    Ok(CollectedLabs { removed })
}

/// Removes everything that the record announces, and the record last. Continues after an error, and
/// returns the first one.
pub(crate) fn remove(id: &str, contents: &RecordContents) -> Result<()> {
    let killed = contents.processes.iter().map(|process| process.kill().map(|_| ()));
    let deleted = contents.namespaces.iter().map(|name| netns::delete(name).map(|_| ()));
    // Collected first, so that one failure does not stop the others.
    let outcomes: Vec<sys::Result<()>> = killed.chain(deleted).collect();
    outcomes.into_iter().collect::<sys::Result<()>>()?;
    let folder = record::folder_of(id);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::record("remove", &folder, error))
        }
        _ => Ok(()),
    }
}

fn state_of(id: String) -> Result<LabState> {
    let contents = record::contents_of(&id)?;
    let prefix = record::prefix_of(&id);
    let short = |name: &String| name.strip_prefix(&prefix).unwrap_or(name).to_owned();
    Ok(LabState {
        hosts: contents.namespaces.iter().map(short).collect(),
        running: record::idle_lock(&id)?.is_none(),
        topology: contents.topology,
        kept: contents.kept,
        id,
    })
}

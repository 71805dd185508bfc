//! Offloads that were switched off for a program, and are to be on again when it is gone.
//!
//! ```text
//! <state>/net-<namespace>-if-<ifindex>.offload    names of features, one a line
//! ```
//!
//! Rule: a feature is written down before it is switched off. The next command that writes switches
//! on what no program of ours needs any more, so nothing stays off for a command that was killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sys::net::ethtool::Ethtool;

use super::remove;

/// The record of an interface, which need not exist.
#[derive(Clone, Debug)]
pub struct Offload {
    path: PathBuf,
}

impl Offload {
    pub(super) fn of(stem: &Path) -> Self {
        let mut path = stem.as_os_str().to_owned();
        path.push(".offload");
        Self { path: path.into() }
    }

    /// Switches features of an interface off, which are not in this record yet.
    pub fn switch_off(&self, interface: &str, features: &[String]) -> Result<()> {
        let mut names = self.names()?;
        names.extend(features.iter().cloned());
        names.sort();
        names.dedup();
        let part = self.path.with_extension("offload-part");
        fs::write(&part, names.join("\n"))
            .and_then(|()| fs::rename(&part, &self.path))
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        let ethtool = Ethtool::open()?;
        features.iter().try_for_each(|name| Ok(ethtool.set_feature(interface, name, false)?))
    }

    /// Switches on what was switched off; without an interface, which may be gone, there is nothing
    /// to switch.
    pub fn restore(&self, interface: Option<&str>) -> Result<()> {
        let names = self.names()?;
        if let (Some(interface), false) = (interface, names.is_empty()) {
            let ethtool = Ethtool::open()?;
            for name in &names {
                ethtool.set_feature(interface, name, true).with_context(|| {
                    format!("{name} of {interface} stays off: `ethtool -K {interface} {name} on`")
                })?;
            }
        }
        remove(&self.path, |path| fs::remove_file(path))
    }

    /// What is off for a program.
    pub fn names(&self) -> Result<Vec<String>> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => {
                Err(error).with_context(|| format!("cannot read {}", self.path.display()))
            }
        }
    }
}

/// Records of one namespace: the interface's number and its record.
pub(super) fn records(root: &Path, namespace: u64) -> Vec<(u32, Offload)> {
    let prefix = format!("net-{namespace}-{}", super::IF);
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let number = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix(&prefix)?.strip_suffix(".offload")?.parse().ok()
    };
    entries
        .filter_map(|entry| Some((number(&entry.path())?, Offload { path: entry.path() })))
        .collect()
}

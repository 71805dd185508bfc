//! Offloads that were switched off for a program, to be switched on when it is detached.
//!
//! ```text
//! <state>/net-<namespace>-if-<ifindex>.offload    names of features, one a line
//! ```
//!
//! Rule: a feature is recorded before it is switched off. The next process that changes the state
//! switches on features that no program of the state directory needs off, so a process that was
//! killed leaves none off.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use sys::dir::Access;
use sys::errno::ENOENT;
use sys::net::ethtool::Ethtool;

use super::root;
use crate::error::{Context as _, Result};

/// The record of an interface, which need not exist.
#[derive(Clone, Debug)]
pub struct Offload {
    root: PathBuf,
    name: String,
}

impl Offload {
    /// `interface` is `net-<namespace>-if-<ifindex>`.
    pub(super) fn new(root: &Path, interface: &str) -> Self {
        Self { root: root.to_owned(), name: format!("{interface}{SUFFIX}") }
    }

    /// Records features of an interface and switches them off.
    pub fn switch_off(&self, interface: &str, features: &[String]) -> Result<()> {
        let mut names = self.names()?;
        names.extend(features.iter().cloned());
        names.sort();
        names.dedup();
        self.write(&names.join("\n")).with_context(|| {
            format!("cannot record that {} of {interface} is off", features.join(", "))
        })?;
        let ethtool = Ethtool::open()?;
        features.iter().try_for_each(|name| Ok(ethtool.set_feature(interface, name, false)?))
    }

    /// Switches recorded features on and removes the record. `interface` is `None` if the interface
    /// no longer exists.
    pub fn restore(&self, interface: Option<&str>) -> Result<()> {
        let names = self.names()?;
        if let (Some(interface), false) = (interface, names.is_empty()) {
            let ethtool = Ethtool::open()?;
            for name in &names {
                ethtool.set_feature(interface, name, true).with_context(|| {
                    format!("{name} of {interface} remains off: `ethtool -K {interface} {name} on`")
                })?;
            }
        }
        root::find(&self.root)?.map_or(Ok(()), |dir| root::remove(&dir, &self.name))
    }

    /// Features that are off for a program.
    pub fn names(&self) -> Result<Vec<String>> {
        let Some(dir) = root::find(&self.root)? else { return Ok(Vec::new()) };
        let mut file = match dir.open_file(&self.name, Access::Read) {
            Err(error) if error.is(ENOENT) => return Ok(Vec::new()),
            other => other?,
        };
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(|| format!("cannot read {}", self.name))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    fn write(&self, text: &str) -> Result<()> {
        let dir = root::open(&self.root)?;
        root::replace(&dir, &self.name, text.as_bytes())
    }
}

/// Records of one namespace, each with the number of its interface.
pub(super) fn records(root: &Path, namespace: u64) -> Result<Vec<(u32, Offload)>> {
    let prefix = format!("net-{namespace}-{}", super::IF);
    let names = root::find(root)?.map_or(Ok(Vec::new()), |dir| dir.names())?;
    let number = |name: &str| name.strip_prefix(&prefix)?.strip_suffix(SUFFIX)?.parse().ok();
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    let all =
        names.filter_map(|name| Some((number(&name)?, Offload { root: root.to_owned(), name })));
    Ok(all.collect())
}

const SUFFIX: &str = ".offload";

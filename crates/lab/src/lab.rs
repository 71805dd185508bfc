//! `Lab`: the guard over a set of hosts.
//!
//! Dropping it removes its namespaces, which takes their interfaces and addresses along, and kills
//! the processes that it started. [`Lab::keep`] is the explicit word against that.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::BuildHasher;
use std::sync::Arc;

use sys::netns::NetNs;

use crate::error::{Error, Result};
use crate::gc;
use crate::host::Host;
use crate::limits::{ID_ATTEMPTS, LONGEST_HOST, LONGEST_ID};
use crate::record::{self, Record};

/// A set of hosts in network namespaces; dropping it removes them.
#[derive(Debug)]
pub struct Lab {
    record: Arc<Record>,
    hosts: Vec<Host>,
    /// Lock of a lab that is removed with this value; a kept one has none.
    lock: Option<File>,
}

impl Lab {
    /// Creates an empty lab with a new name, after removing labs of killed processes.
    pub fn new() -> Result<Self> {
        gc::gc(false)?;
        for _ in 0..ID_ATTEMPTS {
            if let Some((record, lock)) = Record::create(&random_id())? {
                return Ok(Self { record: record.into(), hosts: Vec::new(), lock: Some(lock) });
            }
        }
        Err(Error::NoFreeName { attempts: ID_ATTEMPTS })
    }

    /// Opens a kept lab of this machine. Dropping the result does not remove it.
    pub fn open(id: &str) -> Result<Self> {
        let missing = || Error::NoLab(id.to_owned());
        if !record::is_name(id, LONGEST_ID) || !record::folder_of(id).is_dir() {
            return Err(missing());
        }
        let contents = record::contents_of(id)?;
        if !contents.kept {
            return Err(Error::NotKept(id.to_owned()));
        }
        let record = Arc::new(Record::open(id)?);
        let prefix = record::prefix_of(id);
        let mut hosts = Vec::new();
        for name in &contents.namespaces {
            let short = name.strip_prefix(&prefix).unwrap_or(name);
            hosts.push(Host::new(short, NetNs::open(name)?, Arc::clone(&record))?);
        }
        Ok(Self { record, hosts, lock: None })
    }

    /// The run's name, part of every namespace's name.
    pub fn id(&self) -> &str {
        self.record.id()
    }

    /// The hosts, in the order in which they were created.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Finds a host by its name.
    pub fn host(&self, name: &str) -> Result<&Host> {
        let found = self.hosts.iter().find(|host| host.name() == name);
        found.ok_or_else(|| Error::NoHost { lab: self.id().to_owned(), host: name.to_owned() })
    }

    /// A new namespace `xw-ID-NAME` with only a loopback interface, which is up.
    pub fn add_host(&mut self, name: &str) -> Result<Host> {
        if !record::is_name(name, LONGEST_HOST) {
            return Err(Error::Name { what: "host", name: name.to_owned(), most: LONGEST_HOST });
        }
        let namespace = self.record.namespace(name);
        self.record.add_namespace(&namespace)?;
        let host = Host::new(name, NetNs::create(&namespace)?, Arc::clone(&self.record))?;
        host.prepare()?;
        self.hosts.push(host.clone());
        Ok(host)
    }

    /// What `list` shows as this lab's topology.
    pub(crate) fn set_topology(&self, name: &str) -> Result<()> {
        self.record.set_topology(name)
    }

    /// Leaves the lab running after this process; `Lab::open` finds it, `gc(true)` or
    /// [`Lab::remove`] removes it. Returns its name.
    pub fn keep(mut self) -> Result<String> {
        self.record.keep()?;
        self.lock = None;
        Ok(self.id().to_owned())
    }

    /// Removes everything now, also of a kept lab, and reports the first error.
    pub fn remove(mut self) -> Result<()> {
        let held = self.lock.take();
        let outcome = self.tear_down();
        drop(held);
        outcome
    }

    fn tear_down(&mut self) -> Result<()> {
        self.hosts.clear();
        // No other process may read the folder during its removal.
        let _all = record::lock_all()?;
        let contents = self.record.contents()?;
        if contents.kept {
            self.record.removing()?;
        }
        gc::remove(self.record.id(), &contents)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // A destructor cannot report; the next run collects what is left.
            let _ = self.tear_down();
        }
    }
}

/// Five letters and digits: a letter first, so that no name looks like a number.
fn random_id() -> String {
    const DIGITS: &[u8] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bits = RandomState::new().hash_one(std::process::id());
    let mut next = |range: usize| {
        let digit = DIGITS[bits as usize % range];
        bits /= range as u64;
        char::from(digit)
    };
    let first = next(24);
    std::iter::once(first).chain((0..4).map(|_| next(32))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_names_are_names() {
        for _ in 0..100 {
            let id = random_id();
            assert!(record::is_name(&id, LONGEST_ID), "{id}");
        }
    }
}

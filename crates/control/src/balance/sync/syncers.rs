//! `Syncers`: the synchronization of all balancers of this namespace, for the daemon.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use super::super::balancers;
use super::declared;
use super::options::SyncOptions;
use super::runner::Syncer;
use crate::Control;
use crate::error::{Result, full};

/// By the name of the interface.
#[derive(Debug, Default)]
pub struct Syncers {
    running: BTreeMap<String, (SyncOptions, Syncer)>,
    /// Why others do not synchronize, which is reported once.
    failed: BTreeMap<String, String>,
}

impl Syncers {
    /// Begins with balancers whose file has peers, and ends with those that are gone or have
    /// others. `report` gets the reason why one does not synchronize, once; it is tried again.
    pub fn follow(&mut self, control: &Control, mut report: impl FnMut(&str, String)) {
        // What cannot be read, because an interface vanishes meanwhile, is read the next time.
        let Ok(all) = balancers(control) else { return };
        let mut wanted = BTreeMap::new();
        for (interface, running) in all {
            match declared(&running) {
                Ok(Some(sync)) => drop(wanted.insert(interface, sync)),
                Ok(None) => {}
                Err(error) => report(&interface, full(&error)),
            }
        }
        let is_wanted = |interface: &str, options: &SyncOptions| {
            let sync = wanted.get(interface);
            sync.is_some_and(|sync| SyncOptions::of(sync).is_ok_and(|one| one == *options))
        };
        self.running.retain(|interface, (options, _)| is_wanted(interface, options));
        for (interface, sync) in &wanted {
            if self.running.contains_key(interface) {
                continue;
            }
            let start = || -> Result<_> {
                let options = SyncOptions::of(sync)?;
                let syncer = Syncer::start(control, interface, &options)?;
                Ok((options, syncer))
            };
            match start() {
                Ok(started) => {
                    self.failed.remove(interface);
                    self.running.insert(interface.clone(), started);
                }
                Err(error) => {
                    let reason = full(&error);
                    let before = self.failed.insert(interface.clone(), reason.clone());
                    if before.as_ref() != Some(&reason) {
                        report(interface, reason);
                    }
                }
            }
        }
    }

    /// Makes the steps that are due. One that fails ends, until [`Self::follow`] begins it again.
    pub fn step(&mut self, mut report: impl FnMut(&str, String)) {
        self.running.retain(|interface, (_, syncer)| match syncer.step() {
            Ok(()) => true,
            Err(error) => {
                report(interface, full(&error));
                false
            }
        });
    }

    /// When the next step is due.
    pub fn due(&self) -> Option<Instant> {
        self.running.values().map(|(_, syncer)| syncer.due()).min()
    }

    /// Readable when a peer sent something.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.running.values().map(|(_, syncer)| syncer.fd())
    }
}

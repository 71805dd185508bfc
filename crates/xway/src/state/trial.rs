//! A trial: for a time a program runs in the place of another one, which stays kept beside it.
//!
//! Rule: who tries holds a lock of the trial's own and not the writers': others may change what
//! runs meanwhile, and then nothing is put back. Who is killed lets go of that lock, so the next
//! that writes or looks knows, and puts back what ran before. A trial may run upon another one.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use kernel::{Attach, Mode, Object, Program, Replace};
use sys::net::{Ifindex, Netlink};

use super::{Change, Generation, Slot, Writer, remove};

/// Dropped, what ran before is back, unless somebody else changed it meanwhile. Whoever holds the
/// writers' lock must let it go before.
#[derive(Debug)]
pub struct Trial {
    root: PathBuf,
    ifindex: Ifindex,
    program: u32,
    /// Its lock's.
    file: PathBuf,
    change: Option<Change>,
    lock: Option<File>,
}

impl Slot {
    /// Attaches as [`Slot::change`] does, upon `before`, which runs now; where nothing runs, the
    /// program goes with its maker. `root` is the state's.
    pub fn try_out(
        &self,
        root: &Path,
        name: &str,
        object: &Object,
        attach: &Attach<'_>,
        before: Option<&Program>,
    ) -> Result<Trial> {
        let next = self.next(name);
        let file = self.trial(next.number());
        let lock = lock(&file)?;
        let change = self.change_upon(&next, object, attach, before)?;
        Ok(Trial {
            root: root.to_owned(),
            ifindex: attach.ifindex,
            program: attach.program.id(),
            file,
            change: Some(change),
            lock: Some(lock),
        })
    }

    /// Puts back what ran before trials whose makers were killed. Answers what runs then, given
    /// what runs now; what cannot be put back stays.
    pub(super) fn end_abandoned_trials(
        &self,
        ifindex: Ifindex,
        running: &[(Mode, u32)],
    ) -> Vec<u32> {
        let put_back = |(mode, program): &(Mode, u32)| {
            let before = self.before_abandoned(*program)?;
            let attach = Attach { ifindex, program: &before, mode: *mode, replace: Replace::Yes };
            kernel::attach(&attach).and_then(kernel::Link::keep).ok()?;
            Some(before.id())
        };
        running.iter().map(|one| put_back(one).unwrap_or(one.1)).collect()
    }

    /// The program that should run, if this one is a trial's and nobody waits for its end.
    pub(super) fn before_abandoned(&self, program: u32) -> Option<Program> {
        let before = self.generation_of(program).filter(|one| !self.is_tried(one))?.before()?;
        Some(self.before_abandoned(before.id()).unwrap_or(before))
    }

    fn is_tried(&self, generation: &Generation) -> bool {
        let lock = File::open(self.trial(generation.number())).ok();
        lock.is_some_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }
}

fn lock(path: &Path) -> Result<File> {
    let shown = path.display();
    let file = File::create(path).with_context(|| format!("cannot make {shown}"))?;
    file.try_lock().with_context(|| format!("cannot lock {shown}"))?;
    Ok(file)
}

impl Trial {
    /// Whether it still decides; it does not on an interface that is gone.
    pub fn runs(&self) -> Result<bool> {
        let link = Netlink::open()?.link_by_index(self.ifindex);
        Ok(link.is_ok_and(|link| link.xdp.programs().any(|(_, id)| id == self.program)))
    }

    pub fn program(&self) -> u32 {
        self.program
    }
}

impl Drop for Trial {
    /// Errors have nowhere to go: what is left is put back by the next writer. One in whose place
    /// another trial runs is left for that one's end.
    fn drop(&mut self) {
        let Some(change) = self.change.take() else { return };
        let Ok(writer) = Writer::open(&self.root) else { return change.leave() };
        if self.runs().unwrap_or(false) {
            drop(change);
        } else {
            change.leave();
        }
        drop(self.lock.take());
        let _ = remove(&self.file, |path| fs::remove_file(path));
        let _ = writer.sweep();
    }
}

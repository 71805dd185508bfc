//! A trial: for a time a program runs in the place of another one, which stays kept beside it.
//!
//! Rule: who tries holds the interface's own lock and not the writers': others may change what runs
//! meanwhile, and then nothing is put back. Who is killed lets go of that lock, so the next writer
//! knows, and puts back what ran before.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use kernel::{Attach, Mode, Object, Program, Replace};
use sys::net::Ifindex;

use super::{Change, Slot, Writer, remove};

/// Dropped, what ran before is back, unless somebody else changed it meanwhile.
#[derive(Debug)]
pub struct Trial {
    root: PathBuf,
    slot: Slot,
    program: u32,
    change: Option<Change>,
    _lock: File,
}

impl Slot {
    /// Attaches as [`Slot::change`] does, upon `before`, which runs now. `root` is the state's.
    ///
    /// # Errors
    /// Also when something is tried here already.
    pub fn try_out(
        &self,
        root: &Path,
        name: &str,
        object: &Object,
        attach: &Attach<'_>,
        before: &Program,
    ) -> Result<Trial> {
        let lock = self.lock_trial()?;
        let change = self.change_upon(name, object, attach, Some(before))?;
        let (root, slot, program) = (root.to_owned(), self.clone(), attach.program.id());
        Ok(Trial { root, slot, program, change: Some(change), _lock: lock })
    }

    /// Puts back what ran before a trial whose maker was killed. Answers what runs then, given
    /// what runs now; what cannot be put back stays.
    pub(super) fn end_abandoned_trial(
        &self,
        ifindex: Ifindex,
        running: &[(Mode, u32)],
    ) -> Vec<u32> {
        let put_back = |(mode, program): &(Mode, u32)| {
            let before = self.abandoned(*program)?;
            let attach = Attach { ifindex, program: &before, mode: *mode, replace: Replace::Yes };
            kernel::attach(&attach).and_then(kernel::Link::keep).ok()?;
            // An empty file harms nobody.
            let _ = fs::remove_file(&self.trial);
            Some(before.id())
        };
        running.iter().map(|one| put_back(one).unwrap_or(one.1)).collect()
    }

    /// The program of before, if this one is a trial's and nobody waits for its end.
    fn abandoned(&self, program: u32) -> Option<Program> {
        let before = self.generation_of(program)?.before()?;
        let lock = File::open(&self.trial).ok();
        let is_tried =
            lock.is_some_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
        (!is_tried).then_some(before)
    }

    fn lock_trial(&self) -> Result<File> {
        let path = self.trial.display();
        let file = File::create(&self.trial).with_context(|| format!("cannot make {path}"))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                bail!("another trial runs on this interface: wait for its end, or interrupt it")
            }
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {path}"))
            }
        }
    }
}

impl Trial {
    /// Whether the program is still in its place here.
    fn is_kept(&self) -> bool {
        self.slot.generation_of(self.program).is_some()
    }
}

impl Drop for Trial {
    /// Errors have nowhere to go: what is left is put back by the next writer.
    fn drop(&mut self) {
        let Some(change) = self.change.take() else { return };
        match Writer::open(&self.root) {
            Ok(_writer) => {
                // That writer has swept: a generation that is there runs.
                if self.is_kept() {
                    drop(change)
                } else {
                    change.leave()
                }
                let _ = remove(&self.slot.trial, |path| fs::remove_file(path));
            }
            Err(_) => change.leave(),
        }
    }
}

//! The state directory: programs that remain attached after a process ended, found by their pins.
//!
//! ```text
//! <state>/lock                                          lock of the writer, with its name
//! <state>/net-<namespace>-if-<ifindex>-<n>.trial        lock of the trial of generation n
//! <state>/net-<namespace>-if-<ifindex>.offload          offloads that are off for its program
//! <state>/net-<namespace>.undo                          changes that are not complete
//! <state>/bpf/net-<namespace>/if-<ifindex>/link         the bpf_link, as long as it is attached
//!                                          /<name>-<n>/ a generation: its program and maps
//! ```
//!
//! Rule: only the kernel knows which programs run. A generation is valid if the interface runs its
//! program; all others are left over, and the next process that changes the state removes them.

mod confirmation;
mod counts;
mod egress;
mod generation;
mod identity;
mod journal;
mod lock;
mod offload;
mod root;
mod sharing;
mod slot;
mod transaction;
mod trial;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use sys::cap::{Cap, Caps};
use sys::dir::effective_user;
use sys::errno::{EACCES, ENOENT, EPERM};
use sys::mount::Owners;
use sys::net::{Ifindex, Link, Netlink};
use sys::netns::{NetNs, NetNsId};

use crate::error::{Context as _, Error, Result, full};

pub use crate::error::Holder;
pub use generation::{Companions, Generation, Pins, StagedMap, pin_name};
pub use identity::{Identity, ProgramIdentity};
use journal::{Journal, Step};
use lock::Lock;
pub use offload::Offload;
pub use slot::Slot;
pub use transaction::{Scope, Transaction};
pub use trial::Trial;

use crate::Control;
use crate::notice::Notice;

/// A state directory that was prepared for a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Initialized {
    /// Absolute path of the state directory.
    pub state: String,
    /// Number of the user who owns it.
    pub owner: u32,
    /// Number of the group that may read it; `null` if no group may.
    pub group: Option<u32>,
}

/// Creates the state directory, mounts its bpffs, and gives both to a user, a group, or both.
///
/// # Errors
/// This process may not mount (`CAP_SYS_ADMIN`) or change owners (`CAP_CHOWN`), or the user could
/// replace a directory above it.
pub fn prepare(control: &Control, owners: Owners) -> Result<Initialized> {
    let directory = std::path::absolute(control.root()).context("--state is not a valid path")?;
    let shown = || format!("cannot prepare {} (--state)", directory.display());
    let bpffs = sys::mount::bpffs_for(&directory.join(BPFFS), Some(owners)).with_context(shown)?;
    if let Some(readers) = owners.readers {
        sharing::share_all(&bpffs, readers).with_context(shown)?;
    }
    Ok(Initialized {
        state: directory.display().to_string(),
        owner: owners.user.unwrap_or_else(effective_user),
        group: owners.readers,
    })
}

/// The state directory, for reading.
#[derive(Debug)]
pub struct State {
    control: Control,
    bpffs: PathBuf,
}

/// The state directory, for changing. No other process changes it meanwhile.
#[derive(Debug)]
pub struct Writer {
    state: State,
    _lock: Lock,
}

impl State {
    /// Opens the directory without creating anything. A directory that does not exist is empty.
    ///
    /// # Errors
    /// This user may not read the directory, or another user can change it.
    pub fn read(control: &Control) -> Result<Self> {
        let root = std::path::absolute(control.root()).context("--state is not a valid path")?;
        let root = root::find(&root).map_err(unreadable)?.map_or(root, |dir| dir.path().to_owned());
        let bpffs = root.join(BPFFS);
        let bpffs = sys::mount::find_bpffs(&bpffs).unwrap_or(bpffs);
        match fs::read_dir(&bpffs) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let place = format!("cannot read {}", bpffs.display());
                Err(unreadable(Error::While { what: place, cause: Box::new(error.into()) }))
            }
            _ => Ok(Self { control: control.at(root), bpffs }),
        }
    }

    /// The slot of an interface, which may be empty.
    pub fn slot(&self, netns: NetNsId, ifindex: Ifindex) -> Slot {
        self.at(self.folder(netns).join(format!("{IF}{}", ifindex.0)))
    }

    /// The slots of one namespace that are not empty.
    fn slots_of(&self, netns: NetNsId) -> Result<Vec<(Ifindex, Slot)>> {
        let number = |path: &Path| path.file_name()?.to_str()?.strip_prefix(IF)?.parse().ok();
        let all = folders(&self.folder(netns))?.into_iter();
        Ok(all.filter_map(|path| Some((Ifindex(number(&path)?), self.at(path)))).collect())
    }

    /// Claims an interface for the purpose `what`. The claim is held while the file is open; only
    /// one process can hold it. Returns the holder if another process has it.
    pub fn claim(
        control: &Control,
        netns: NetNsId,
        ifindex: Ifindex,
        what: &str,
    ) -> Result<Result<File, Holder>> {
        let name = format!("{what}-net-{}-{IF}{}", netns.inode, ifindex.0);
        lock::claim(&root::open(control.root())?, &name)
    }

    /// Claims the state directory for the purpose `what`, as [`claim`](Self::claim) claims an
    /// interface.
    pub fn claim_directory(control: &Control, what: &str) -> Result<Result<File, Holder>> {
        lock::claim(&root::open(control.root())?, &format!("{what}-net-all"))
    }

    /// Restores the program that ran on an interface before a trial or a change whose process was
    /// killed, or before a change that was not confirmed in time. Processes that only read do so as
    /// well. Without the necessary rights, or while another process writes (and so restores it),
    /// nothing happens.
    pub fn restore_abandoned(&self, slot: &Slot, running: impl IntoIterator<Item = u32>) {
        let is_abandoned = |program| matches!(slot.successor(program), Ok(Some(_)));
        let steps = slot.journal().steps().unwrap_or_default();
        let is_incomplete = || steps.iter().any(|step| !slot.is_trial_step(step));
        let needs_repair = running.into_iter().any(is_abandoned) || is_incomplete();
        if needs_repair && Writer::is_free(&self.control) {
            let _restored = Writer::open(&self.control);
        }
    }

    fn folder(&self, netns: NetNsId) -> PathBuf {
        self.bpffs.join(format!("net-{}", netns.inode))
    }

    /// All slots that are not empty, of every namespace.
    pub fn slots(&self) -> Result<Vec<Slot>> {
        let mut all = Vec::new();
        for netns in folders(&self.bpffs)? {
            all.extend(folders(&netns)?.into_iter().map(|path| self.at(path)));
        }
        Ok(all)
    }

    fn at(&self, folder: PathBuf) -> Slot {
        Slot::new(&self.control, folder)
    }
}

impl Slot {
    /// Whether a step belongs to a trial whose process still runs.
    fn is_trial_step(&self, step: &Step) -> bool {
        self.is_tried(&self.generation(&step.generation))
    }
}

impl Writer {
    /// Creates the directory and its bpffs if they are missing, waits for other writers, undoes
    /// interrupted changes and removes what is left over.
    ///
    /// # Errors
    /// This process lacks rights, another process holds the lock for too long, or the directory
    /// cannot be used.
    pub fn open(control: &Control) -> Result<Self> {
        Self::at(control).map_err(with_rights)
    }

    fn at(control: &Control) -> Result<Self> {
        let root = std::path::absolute(control.root()).context("--state is not a valid path")?;
        let dir = root::open(&root)?;
        let root = dir.path().to_owned();
        let lock = Lock::wait(&dir, LOCK, LOCK_PATIENCE)?;
        let bpffs = sys::mount::bpffs(&root.join(BPFFS))?;
        let writer = Self { state: State { control: control.at(root), bpffs }, _lock: lock };
        writer.repair()?;
        writer.sweep()?;
        Ok(writer)
    }

    /// Whether no process is changing the state.
    pub fn is_free(control: &Control) -> bool {
        let Ok(Some(dir)) = root::find(control.root()) else { return false };
        let lock = root::existing_lock(&dir, LOCK);
        lock.is_ok_and(|file| file.is_none_or(|file| file.try_lock().is_ok()))
    }

    /// Undoes incomplete changes, in this namespace and in others. A change that cannot be undone
    /// remains on record, and is reported.
    fn repair(&self) -> Result<()> {
        let here = NetNs::current().and_then(|netns| netns.id()).map(|id| id.inode).ok();
        Journal::remove_parts(self.control.root())?;
        for (inode, journal) in Journal::all(self.control.root())? {
            let undone = match sys::netns::find(inode) {
                _ if here == Some(inode) => self.undo(inode, &journal),
                Some(netns) => {
                    let entered = netns.enter(|| self.undo(inode, &journal));
                    entered.map_err(Error::from).and_then(|undone| undone)
                }
                None => journal.discard(),
            };
            if let Err(error) = undone {
                self.control.notify(&Notice::NotUndone(full(&error)));
            }
        }
        Ok(())
    }

    /// Undoes the recorded changes of the calling thread's namespace.
    fn undo(&self, inode: u64, journal: &Journal) -> Result<()> {
        let folder = self.bpffs.join(format!("net-{inode}"));
        let mut outcome = Ok(());
        for step in journal.steps_here()? {
            let slot = self.at(folder.join(format!("{IF}{}", step.ifindex)));
            if !slot.is_trial_step(&step) {
                // The first error is returned, after all other interfaces were attempted.
                outcome = outcome.and(slot.undo(&step));
            }
        }
        outcome
    }

    /// Removes generations that no interface runs. In this namespace, the kernel lists interfaces
    /// and programs; in others, the pinned links show them. Generations that an incomplete change
    /// needs remain.
    fn sweep(&self) -> Result<()> {
        for slot in self.slots()? {
            if !slot.is_on_record()? {
                slot.sweep()?;
            }
        }
        let running = |link: &Link| link.xdp.programs().collect();
        let links = Netlink::open()?.links()?;
        let links: HashMap<_, Vec<_>> =
            links.iter().map(|link| (link.ifindex, running(link))).collect();
        lock::remove_unclaimed(&root::open(self.control.root())?)?;
        for (ifindex, slot) in self.slots_of(NetNs::current()?.id()?)? {
            if slot.is_on_record()? {
                continue;
            }
            let running = links.get(&ifindex).map_or(&[][..], Vec::as_slice);
            let mut wanted = slot.end_abandoned(ifindex, running)?;
            // The program of an interface that was moved to another namespace.
            wanted.extend(slot.attached()?);
            slot.sweep_but(&wanted)?;
        }
        self.remove_stale_trials()?;
        self.restore_offloads(NetNs::current()?.id()?)
    }

    /// Removes lock files of trials that failed, or were killed, before they had a generation.
    fn remove_stale_trials(&self) -> Result<()> {
        let mut known = Vec::new();
        for slot in self.slots()? {
            known.extend(slot.trials()?);
        }
        lock::remove_free(&root::open(self.control.root())?, |name| {
            name.ends_with(slot::TRIAL) && !known.iter().any(|one| one == name)
        })
    }

    /// Switches on offloads that are off for a program that no longer runs.
    fn restore_offloads(&self, netns: NetNsId) -> Result<()> {
        let records = offload::records(self.control.root(), netns.inode)?;
        if records.is_empty() {
            return Ok(());
        }
        let links = Netlink::open()?.links()?;
        for (number, record) in records {
            let slot = self.slot(netns, Ifindex(number));
            let link = links.iter().find(|link| link.ifindex.0 == number);
            let programs = link.into_iter().flat_map(|link| link.xdp.programs());
            let ours = programs.map(|(_mode, id)| slot.generation_of(id));
            let ours = ours.collect::<Result<Vec<_>>>()?;
            if slot.attached()?.is_none() && ours.iter().all(Option::is_none) {
                record.restore(link.map(|link| link.name.as_str()))?;
            }
        }
        Ok(())
    }
}

impl std::ops::Deref for Writer {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

/// Adds the missing capabilities to the error of a process that may not change the state.
fn with_rights(error: Error) -> Error {
    let all = Caps::effective().map(Caps::missing).unwrap_or_default();
    let missing: Vec<_> = NEEDED.into_iter().filter(|cap| all.contains(cap)).collect();
    if !is_denied(&error) || missing.is_empty() {
        return error;
    }
    Error::MissingCapabilities { missing, cause: Box::new(error) }
}

/// The error of a process that may not read the state, which differs from that of an empty state.
fn unreadable(error: Error) -> Error {
    if !is_denied(&error) {
        return error;
    }
    Error::UnreadableState { cause: Box::new(error) }
}

fn is_denied(error: &Error) -> bool {
    matches!(error.errno(), Some(EPERM | EACCES))
}

/// Capabilities to mount the bpffs, to attach, to load, and to pass the verifier as root does.
const NEEDED: [Cap; 4] = [Cap::SysAdmin, Cap::NetAdmin, Cap::Bpf, Cap::Perfmon];
const OBJ_GET: &str = "bpf(OBJ_GET)";

/// Directories in a directory, sorted; empty if the directory does not exist.
fn folders(path: &Path) -> Result<Vec<PathBuf>> {
    let shown = || format!("cannot read {}", path.display());
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.with_context(shown)?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.with_context(shown)?;
        if entry.file_type().with_context(shown)?.is_dir() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// `None` if nothing is pinned. A pin that cannot be opened is an error: its object may be in use
/// and must not be treated as absent, and so be removed.
fn if_pinned<T>(opened: kernel::Result<T>) -> Result<Option<T>> {
    match opened {
        Err(kernel::Error::System(error)) if error.is(ENOENT) && error.call == OBJ_GET => Ok(None),
        other => Ok(Some(other?)),
    }
}

/// Removes a file or an empty directory; it is not an error if it does not exist.
fn remove(path: &Path, how: impl Fn(&Path) -> io::Result<()>) -> Result<()> {
    match how(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Name of an interface's directory, before the interface's number.
const IF: &str = "if-";
/// Name of the bpffs in the state directory.
const BPFFS: &str = "bpf";
/// Name of the writers' lock file.
const LOCK: &str = "lock";
/// Time to wait for another writer.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);

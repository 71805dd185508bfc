//! What stays attached after `xway` ended, found again through its pins.
//!
//! ```text
//! <state>/lock                                          one writer at a time; who it is
//! <state>/net-<namespace>-if-<ifindex>-<n>.trial        who tries generation n there holds it
//! <state>/net-<namespace>-if-<ifindex>.offload          offloads that are off for its program
//! <state>/net-<namespace>.undo                          changes that are not complete
//! <state>/bpf/net-<namespace>/if-<ifindex>/link         the bpf_link, as long as it is attached
//!                                          /<name>-<n>/ a generation: its program and maps
//! ```
//!
//! Rule: only the kernel knows what runs. A generation counts if the interface runs its program;
//! whatever else lies here is left over and is swept away by the next command that writes.

mod counts;
mod generation;
mod journal;
mod lock;
mod offload;
mod root;
mod slot;
mod transaction;
mod trial;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sys::cap::{Cap, Caps};
use sys::net::{Ifindex, Link, Netlink};
use sys::netns::{NetNs, NetNsId};

use crate::error::{Context as _, Error, Result, full};

pub use generation::Generation;
use journal::{Journal, Step};
pub use lock::Holder;
use lock::Lock;
pub use offload::Offload;
pub use slot::Slot;
pub use transaction::{Scope, Transaction};
pub use trial::Trial;

use crate::Control;
use crate::notice::Notice;

/// The folder of pins, for looking.
#[derive(Debug)]
pub struct State {
    control: Control,
    bpffs: PathBuf,
}

/// The folder of pins, for changing. No other process changes it meanwhile.
#[derive(Debug)]
pub struct Writer {
    state: State,
    _lock: Lock,
}

impl State {
    /// Makes nothing. Without a bpffs there are no pins, and every question is answered so.
    ///
    /// # Errors
    /// This user may not look, or another user can change what would be seen.
    pub fn look(control: &Control) -> Result<Self> {
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

    /// The place of an interface, whether there is anything in it or not.
    pub fn slot(&self, netns: NetNsId, ifindex: Ifindex) -> Slot {
        self.at(self.folder(netns).join(format!("{IF}{}", ifindex.0)))
    }

    /// The places of one namespace in which there is something.
    fn slots_of(&self, netns: NetNsId) -> Result<Vec<(Ifindex, Slot)>> {
        let number = |path: &Path| path.file_name()?.to_str()?.strip_prefix(IF)?.parse().ok();
        let all = folders(&self.folder(netns))?.into_iter();
        Ok(all.filter_map(|path| Some((Ifindex(number(&path)?), self.at(path)))).collect())
    }

    /// Being the only one that does something on an interface, for as long as the file is open;
    /// or who else is.
    pub fn claim(
        control: &Control,
        netns: NetNsId,
        ifindex: Ifindex,
        what: &str,
    ) -> Result<Result<File, Holder>> {
        let name = format!("{what}-net-{}-{IF}{}", netns.inode, ifindex.0);
        lock::claim(&root::open(control.root())?, &name)
    }

    /// Puts back what ran on an interface before a trial or a change whose process was killed. A
    /// command that only reads may do so, too: nothing happens for lack of rights, or while another
    /// process writes, which does it.
    pub fn heal(&self, slot: &Slot, running: impl IntoIterator<Item = u32>) {
        let is_ill = |program| matches!(slot.before_abandoned(program), Ok(Some(_)));
        let steps = slot.journal().steps().unwrap_or_default();
        let is_incomplete = || steps.iter().any(|step| !slot.is_trial_step(step));
        if (running.into_iter().any(is_ill) || is_incomplete()) && Writer::is_free(&self.control) {
            let _healed = Writer::open(&self.control);
        }
    }

    fn folder(&self, netns: NetNsId) -> PathBuf {
        self.bpffs.join(format!("net-{}", netns.inode))
    }

    /// All places, of every namespace.
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
    /// Whether a step belongs to a trial that another process still holds.
    fn is_trial_step(&self, step: &Step) -> bool {
        self.is_tried(&self.generation(&step.generation))
    }
}

impl Writer {
    /// Makes the folder and its bpffs, waits for other writers, repairs and sweeps.
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

    /// Undoes changes that were not completed, in this namespace and in others. What cannot be
    /// undone stays on record, and is reported.
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

    /// In the namespace of the calling thread.
    fn undo(&self, inode: u64, journal: &Journal) -> Result<()> {
        let folder = self.bpffs.join(format!("net-{inode}"));
        let mut outcome = Ok(());
        for step in journal.steps_here()? {
            let slot = self.at(folder.join(format!("{IF}{}", step.ifindex)));
            if !slot.is_trial_step(&step) {
                // The first failure is reported, after the other interfaces were tried.
                outcome = outcome.and(slot.undo(&step));
            }
        }
        outcome
    }

    /// Removes generations that no interface runs. The interfaces of this namespace and their
    /// programs are listed; in other namespaces, the links show them. What a step on record needs
    /// remains.
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
            let mut wanted = slot.end_abandoned_trials(ifindex, running)?;
            // An interface that was moved to another namespace is none of this one's links.
            wanted.extend(slot.attached()?);
            slot.sweep_but(&wanted)?;
        }
        self.remove_stale_trials()?;
        self.restore_offloads(NetNs::current()?.id()?)
    }

    /// Removes locks of trials that failed or were killed before they had a generation.
    fn remove_stale_trials(&self) -> Result<()> {
        let mut known = Vec::new();
        for slot in self.slots()? {
            known.extend(slot.trials()?);
        }
        lock::remove_free(&root::open(self.control.root())?, |name| {
            name.ends_with(slot::TRIAL) && !known.iter().any(|one| one == name)
        })
    }

    /// Switches on what is off for a program that runs no more.
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

/// Names the rights that a process lacks which may not keep the state, and so may not attach.
fn with_rights(error: Error) -> Error {
    let lacks = Caps::effective().map(Caps::missing).unwrap_or_default();
    let lacks = NEEDED.iter().filter(|cap| lacks.contains(cap)).map(|cap| cap.name());
    let lacks: Vec<_> = lacks.collect();
    if !is_denied(&error) || lacks.is_empty() {
        return error;
    }
    let lacks = lacks.join(", ");
    let error = full(&error);
    Error::NotPermitted(format!(
        "{error}; this process lacks {lacks}: run it as root, or grant them and let root prepare \
         a directory (`xway --state DIR state init --owner USER`)"
    ))
}

/// The error of a process that may not read the state: it must not be taken for an empty state.
fn unreadable(error: Error) -> Error {
    if !is_denied(&error) {
        return error;
    }
    let error = full(&error);
    Error::NotPermitted(format!(
        "not permitted to see what runs: {error}; run it as root (CAP_DAC_READ_SEARCH), or as \
         the owner of the state directory"
    ))
}

fn is_denied(error: &Error) -> bool {
    match error.innermost() {
        Error::System(call) => call.is(EPERM) || call.is(EACCES),
        Error::Io(error) => error.kind() == io::ErrorKind::PermissionDenied,
        Error::Kernel(error) => error.errno().is_some_and(|errno| [EPERM, EACCES].contains(&errno)),
        _ => false,
    }
}

/// To mount the bpffs; to attach; to load; to be taken by the verifier as it is for root.
const NEEDED: [Cap; 4] = [Cap::SysAdmin, Cap::NetAdmin, Cap::Bpf, Cap::Perfmon];
const EPERM: i32 = 1;
const EACCES: i32 = 13;
const ENOENT: i32 = 2;
const OBJ_GET: &str = "bpf(OBJ_GET)";

/// Folders in a folder, sorted; none when there is no such folder.
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

/// `None` where nothing is pinned. A pin that cannot be opened is an error: what it holds may run,
/// and must not be taken for absent and swept away.
fn if_pinned<T>(opened: kernel::Result<T>) -> Result<Option<T>> {
    match opened {
        Err(kernel::Error::System(error)) if error.is(ENOENT) && error.call == OBJ_GET => Ok(None),
        other => Ok(Some(other?)),
    }
}

/// Removes a file or an empty folder; gone already is as good.
fn remove(path: &Path, how: impl Fn(&Path) -> io::Result<()>) -> Result<()> {
    match how(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// How an interface's folder is called, before its number.
const IF: &str = "if-";
/// Name of the bpffs in the state directory.
const BPFFS: &str = "bpf";
/// The file that one writer at a time holds, and how long to wait for another one.
const LOCK: &str = "lock";
const LOCK_PATIENCE: Duration = Duration::from_secs(30);

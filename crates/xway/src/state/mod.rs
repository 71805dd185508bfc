//! What stays attached after `xway` ended, found again through its pins.
//!
//! ```text
//! <state>/lock                                          one writer at a time; who it is
//! <state>/net-<namespace>-if-<ifindex>-<n>.trial        who tries generation n there holds it
//! <state>/net-<namespace>-if-<ifindex>.offload          offloads that are off for its program
//! <state>/bpf/net-<namespace>/if-<ifindex>/link         the bpf_link, as long as it is attached
//!                                          /<name>-<n>/ a generation: its program and maps
//! ```
//!
//! Rule: the kernel alone says what runs. A generation counts if the interface runs its program;
//! whatever else lies here is left over and is swept away by the next command that writes.

mod counts;
mod generation;
mod lock;
mod offload;
mod slot;
mod trial;

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use sys::cap::{Cap, Caps};
use sys::net::{Ifindex, Link, Netlink};
use sys::netns::{NetNs, NetNsId};

pub use generation::Generation;
pub use lock::Holder;
use lock::Lock;
pub use offload::Offload;
pub use slot::{Change, Slot};
pub use trial::Trial;

/// The folder of pins, for looking.
#[derive(Debug)]
pub struct State {
    root: PathBuf,
    bpffs: PathBuf,
}

/// The same for changing: nobody else changes it meanwhile.
#[derive(Debug)]
pub struct Writer {
    state: State,
    _lock: Lock,
}

impl State {
    /// Makes nothing. Without a bpffs there are no pins, and every question is answered so.
    pub fn look(root: &Path) -> Self {
        let bpffs = root.join("bpf");
        let bpffs = sys::mount::find_bpffs(&bpffs).unwrap_or(bpffs);
        Self { root: root.to_owned(), bpffs }
    }

    /// The place of an interface, whether there is anything in it or not.
    pub fn slot(&self, netns: NetNsId, ifindex: Ifindex) -> Slot {
        self.at(self.folder(netns).join(format!("{IF}{}", ifindex.0)))
    }

    /// The places of one namespace in which there is something.
    fn slots_of(&self, netns: NetNsId) -> Vec<(Ifindex, Slot)> {
        let number = |path: &Path| path.file_name()?.to_str()?.strip_prefix(IF)?.parse().ok();
        let all = folders(&self.folder(netns)).into_iter();
        all.filter_map(|path| Some((Ifindex(number(&path)?), self.at(path)))).collect()
    }

    /// Being the only one that does something on an interface, for as long as the file is open;
    /// or who else is.
    pub fn claim(
        root: &Path,
        netns: NetNsId,
        ifindex: Ifindex,
        what: &str,
    ) -> Result<Result<File, Holder>> {
        let path = root.join(format!("{what}-net-{}-{IF}{}", netns.inode, ifindex.0));
        lock::claim(&path)
    }

    /// Puts back what ran on an interface before a trial whose maker was killed. Who looks may say
    /// so, too: nothing happens for want of rights, or while somebody writes, who does it.
    pub fn heal(&self, slot: &Slot, running: impl IntoIterator<Item = u32>) {
        let is_ill = running.into_iter().any(|program| slot.before_abandoned(program).is_some());
        if is_ill && Writer::is_free(&self.root) {
            let _healed = Writer::open(&self.root);
        }
    }

    fn folder(&self, netns: NetNsId) -> PathBuf {
        self.bpffs.join(format!("net-{}", netns.inode))
    }

    /// All places, of every namespace.
    pub fn slots(&self) -> Vec<Slot> {
        let interfaces = folders(&self.bpffs).into_iter().flat_map(|netns| folders(&netns));
        interfaces.map(|path| self.at(path)).collect()
    }

    fn at(&self, folder: PathBuf) -> Slot {
        Slot::new(&self.root, folder)
    }
}

impl Writer {
    /// Makes the folder and its bpffs, waits for other writers, and sweeps.
    pub fn open(root: &Path) -> Result<Self> {
        Self::at(root).map_err(with_rights)
    }

    fn at(root: &Path) -> Result<Self> {
        let root = &std::path::absolute(root).context("--state is no path")?;
        DirBuilder::new().recursive(true).mode(0o700).create(root).with_context(|| {
            format!("cannot make the state folder {} (--state)", root.display())
        })?;
        let lock = Lock::wait(&root.join(LOCK), LOCK_PATIENCE)?;
        let bpffs = sys::mount::bpffs(&root.join("bpf"))?;
        let writer = Self { state: State { root: root.clone(), bpffs }, _lock: lock };
        writer.sweep()?;
        Ok(writer)
    }

    /// Whether nobody writes at this moment.
    pub fn is_free(root: &Path) -> bool {
        lock::open(&root.join(LOCK)).is_ok_and(|file| file.try_lock().is_ok())
    }

    /// Removes what nobody runs. Only this namespace can be asked which interfaces it has and
    /// what they run; for others their links tell.
    fn sweep(&self) -> Result<()> {
        for slot in self.slots() {
            slot.sweep()?;
        }
        let running = |link: &Link| link.xdp.programs().collect();
        let links = Netlink::open()?.links()?;
        let links: HashMap<_, Vec<_>> =
            links.iter().map(|link| (link.ifindex, running(link))).collect();
        for (ifindex, slot) in self.slots_of(NetNs::current()?.id()?) {
            let running = links.get(&ifindex).map_or(&[][..], Vec::as_slice);
            let mut wanted = slot.end_abandoned_trials(ifindex, running);
            // An interface that was moved to another namespace is none of this one's links.
            wanted.extend(slot.attached());
            slot.sweep_but(&wanted)?;
        }
        self.restore_offloads(NetNs::current()?.id()?)
    }

    /// Switches on what is off for a program that runs no more.
    fn restore_offloads(&self, netns: NetNsId) -> Result<()> {
        let records = offload::records(&self.root, netns.inode);
        if records.is_empty() {
            return Ok(());
        }
        let links = Netlink::open()?.links()?;
        for (number, record) in records {
            let slot = self.slot(netns, Ifindex(number));
            let link = links.iter().find(|link| link.ifindex.0 == number);
            let mut programs = link.into_iter().flat_map(|link| link.xdp.programs());
            let is_ours = |(_, id): (_, u32)| slot.generation_of(id).is_some();
            if slot.attached().is_none() && !programs.any(is_ours) {
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

/// Whoever may not keep the state may not attach either: says which rights are missing.
fn with_rights(error: anyhow::Error) -> anyhow::Error {
    let denied = error.chain().any(|cause| {
        let by_kernel = cause.downcast_ref::<sys::Error>().is_some_and(|one| one.is(EPERM));
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        by_kernel || io == Some(io::ErrorKind::PermissionDenied)
    });
    let lacks = Caps::effective().map(Caps::missing).unwrap_or_default();
    let lacks = NEEDED.iter().filter(|cap| lacks.contains(cap)).map(|cap| cap.name());
    let lacks: Vec<_> = lacks.collect();
    if !denied || lacks.is_empty() {
        return error;
    }
    let lacks = lacks.join(", ");
    anyhow!("{error:#}; this process lacks {lacks}: run it as root or grant them")
}

/// To mount the bpffs, to attach, to load.
const NEEDED: [Cap; 3] = [Cap::SysAdmin, Cap::NetAdmin, Cap::Bpf];
const EPERM: i32 = 1;

/// Folders in a folder, sorted; none when there is no such folder.
fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut paths: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    paths.sort();
    paths
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
/// The file that one writer at a time holds, and how long to wait for another one.
const LOCK: &str = "lock";
const LOCK_PATIENCE: Duration = Duration::from_secs(30);

//! The slot of one interface: its link and its generations.

use std::path::{Path, PathBuf};
use std::{fs, io};

use kernel::{Attach, ExpectedState, Link, LinkInfo, Program};
use sys::net::Ifindex;

use super::generation::{Generation, pin_name};
use super::journal::Journal;
use super::offload::Offload;
use super::sharing::create_dir;
use super::{folders, if_pinned, remove};
use crate::Control;
use crate::error::{Context as _, Result};
use crate::notice::Notice;

/// The pins of one interface, in a directory that need not exist.
#[derive(Clone, Debug)]
pub struct Slot {
    folder: PathBuf,
    control: Control,
    /// Names of the namespace's and the interface's directories.
    names: [String; 2],
}

impl Slot {
    pub(super) fn new(control: &Control, folder: PathBuf) -> Self {
        let name = |path: Option<&Path>| {
            let name = path.and_then(Path::file_name).unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        let names = [name(folder.parent()), name(Some(&folder))];
        Self { control: control.clone(), names, folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn root(&self) -> &Path {
        self.control.root()
    }

    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    pub(crate) fn notify(&self, notice: &Notice) {
        self.control.notify(notice);
    }

    /// Name of the file that is locked while a generation is a trial.
    pub(super) fn trial(&self, number: u64) -> String {
        format!("{}-{number}{TRIAL}", self.names.join("-"))
    }

    /// Names of the lock files of all generations.
    pub(super) fn trials(&self) -> Result<Vec<String>> {
        Ok(self.generations()?.iter().map(|one| self.trial(one.number())).collect())
    }

    /// The journal of this interface's namespace.
    pub(super) fn journal(&self) -> Journal {
        Journal::new(self.control.root(), &self.names[0])
    }

    /// Whether a change of this interface is not complete.
    pub(super) fn is_on_record(&self) -> Result<bool> {
        let name = |step: &super::Step| format!("{}{}", super::IF, step.ifindex);
        Ok(self.journal().steps()?.iter().any(|step| name(step) == self.names[1]))
    }

    /// The record of offloads that are off for the program.
    pub fn offload(&self) -> Offload {
        Offload::new(self.control.root(), &self.names.join("-"))
    }

    /// The next generation of this name, which does not exist yet.
    pub(super) fn next(&self, name: &str) -> Result<Generation> {
        let number = self.generations()?.iter().map(Generation::number).max().unwrap_or(0) + 1;
        Ok(self.numbered(name, number))
    }

    pub(super) fn numbered(&self, name: &str, number: u64) -> Generation {
        Generation::at(self.folder.join(format!("{}-{number}", pin_name(name))))
    }

    /// The generation in the directory of this name.
    pub(super) fn generation(&self, name: &str) -> Generation {
        Generation::at(self.folder.join(pin_name(name)))
    }

    pub(super) fn make_folder(&self) -> Result<()> {
        for folder in self.folder.parent().into_iter().chain([&*self.folder]) {
            match create_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    let shown = || format!("cannot create the directory {}", folder.display());
                    return Err(error).with_context(shown);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Attaches a program. The running one is opened by its pin, which needs fewer rights than
    /// opening it by id. With `caller_restores`, the caller restores a program of another mode if
    /// the change fails.
    pub(super) fn attach(
        &self,
        attach: &Attach<'_>,
        running: Option<u32>,
        caller_restores: bool,
    ) -> Result<Link> {
        let program = running.map_or(Ok(None), |id| self.program(id))?;
        let link = self.link()?;
        let expected =
            ExpectedState { program: program.as_ref(), link: link.as_ref(), caller_restores };
        Ok(kernel::attach_expecting(attach, expected)?)
    }

    /// Detaches exactly this program.
    pub fn detach(&self, ifindex: Ifindex, program: u32, mode: kernel::Mode) -> Result<()> {
        let program = self.open(program)?;
        let link = self.link()?;
        let expected = ExpectedState {
            program: Some(&program),
            link: link.as_ref(),
            ..ExpectedState::default()
        };
        Ok(kernel::detach(ifindex, mode, expected)?)
    }

    /// Opens a program by its pin in this slot, else by its id, which needs `CAP_SYS_ADMIN`.
    pub fn open(&self, id: u32) -> Result<Program> {
        self.program(id)?.map_or_else(|| Ok(Program::from_id(id)?), Ok)
    }

    /// A program that is pinned in this slot.
    pub(super) fn program(&self, id: u32) -> Result<Option<Program>> {
        if let Some(ours) = self.generation_of(id)? {
            let own = ours.program()?.filter(|one| one.id() == id);
            return own.map_or_else(|| ours.confirmed(), |own| Ok(Some(own)));
        }
        let replaced = if_pinned(Program::from_pin(&self.replaced()))?;
        Ok(replaced.filter(|one| one.id() == id))
    }

    /// Pin of another owner's program until the change that replaces it is complete.
    pub(super) fn replaced(&self) -> PathBuf {
        self.folder.join(REPLACED)
    }

    /// Makes the attachment outlive this process. An attachment without a link object (netlink)
    /// needs no pin; the pin of an older link is removed, since it would report no attachment.
    pub(super) fn keep(&self, mut link: Link) -> Result<()> {
        let id = link.info()?.map(|info| info.id);
        if id != self.link_info()?.map(|info| info.id) {
            remove(&self.link_path(), |path| fs::remove_file(path))?;
        }
        if id.is_some() && !self.link_path().exists() {
            link.pin(&self.link_path())?;
        }
        Ok(link.keep()?)
    }

    /// Removes the pin of a detached link. If an exchange of modes failed, the old program was
    /// restored without a link, and its generation must not be removed with this link's.
    pub(super) fn forget_detached(&self) -> Result<()> {
        match self.link()? {
            Some(link) if link.ifindex()?.is_none() => {
                remove(&self.link_path(), |path| fs::remove_file(path))
            }
            _ => Ok(()),
        }
    }

    /// The pinned link, attached or not.
    pub fn link(&self) -> Result<Option<Link>> {
        if_pinned(Link::from_pin(&self.link_path()))
    }

    /// The program of the pinned link while it is attached, in whatever namespace its interface is.
    pub fn attached(&self) -> Result<Option<u32>> {
        let Some(link) = self.link()? else { return Ok(None) };
        let info = link.ifindex()?.map_or(Ok(None), |_| link.info())?;
        Ok(info.map(|info| info.prog_id))
    }

    /// The generation of this program; `None` if it has none in this slot.
    ///
    /// # Errors
    /// A pin cannot be opened, so the program may have a generation.
    pub fn generation_of(&self, program_id: u32) -> Result<Option<Generation>> {
        for one in self.generations()? {
            if one.is_of(program_id)? {
                return Ok(Some(one));
            }
        }
        Ok(None)
    }

    /// All generations of this program: one for each member of a chain.
    ///
    /// # Errors
    /// A pin cannot be opened, so the program may have another generation.
    pub fn generations_of(&self, program_id: u32) -> Result<Vec<Generation>> {
        let mut all = Vec::new();
        for one in self.generations()? {
            if one.is_of(program_id)? {
                all.push(one);
            }
        }
        Ok(all)
    }

    /// Names of what was attached as this program: one for each member of a chain.
    pub fn names_of(&self, program_id: u32) -> Result<String> {
        let generations = self.generations_of(program_id)?;
        let names: Vec<_> = generations.iter().map(Generation::name).collect();
        Ok(names.join(", "))
    }

    /// Removes generations that the pinned link does not run. Without a link (attached by netlink,
    /// or not at all), only incomplete generations are known to be left over; `sweep_but`
    /// removes more.
    pub fn sweep(&self) -> Result<()> {
        match self.link()? {
            Some(link) if link.ifindex()?.is_some() => {
                self.keep_only(link.info()?.map(|info| info.prog_id))
            }
            Some(_detached) => self.clear(),
            None => self.keep_where(|one| Ok(one.program()?.is_some())),
        }
    }

    /// Removes all generations except those of the running programs, and those that run again after
    /// a trial or without a confirmation.
    pub fn sweep_but(&self, running: &[u32]) -> Result<()> {
        let mut wanted = Vec::new();
        for id in running {
            for generation in self.generations_of(*id)? {
                self.settle(&generation)?;
                self.complete(&generation, *id)?;
            }
            wanted.extend(self.below(*id)?);
        }
        self.keep_where(|one| Ok(one.program()?.is_some_and(|it| wanted.contains(&it.id()))))
    }

    /// A program, and those that run again when it, and each of them, ends as a trial.
    fn below(&self, program: u32) -> Result<Vec<u32>> {
        let mut all = vec![program];
        let mut last = program;
        for _ in self.generations()? {
            let before = self.generation_of(last)?.map_or(Ok(None), |one| one.before())?;
            let Some(before) = before else { break };
            last = before.id();
            all.push(last);
        }
        Ok(all)
    }

    /// Removes every pin. A link without other references is detached by this.
    pub fn clear(&self) -> Result<()> {
        remove(&self.link_path(), |path| fs::remove_file(path))?;
        self.keep_only(None)
    }

    pub(super) fn keep_only(&self, program_id: Option<u32>) -> Result<()> {
        self.sweep_but(program_id.as_slice())
    }

    /// Removes unwanted generations, after all of them were examined without an error.
    fn keep_where(&self, wanted: impl Fn(&Generation) -> Result<bool>) -> Result<()> {
        let mut unwanted = Vec::new();
        for one in self.generations()? {
            if !wanted(&one)? {
                unwanted.push(one);
            }
        }
        for generation in unwanted {
            generation.remove()?;
            let trial = self.root().join(self.trial(generation.number()));
            remove(&trial, |path| fs::remove_file(path))?;
        }
        let left = self.generations()?;
        let left: Vec<_> = left.iter().map(|one| one.name().to_owned()).collect();
        self.sweep_egress(&left)?;
        remove(&self.replaced(), |path| fs::remove_file(path))?;
        self.prune();
        Ok(())
    }

    /// Removes the interface's and the namespace's directories if they are empty.
    pub(super) fn prune(&self) {
        let _in_use = fs::remove_dir(&self.folder);
        let _in_use = self.folder.parent().map(fs::remove_dir);
    }

    fn link_info(&self) -> Result<Option<LinkInfo>> {
        Ok(self.link()?.map_or(Ok(None), |link| link.info())?)
    }

    fn generations(&self) -> Result<Vec<Generation>> {
        Ok(folders(&self.folder)?.into_iter().map(Generation::at).collect())
    }

    pub fn link_path(&self) -> PathBuf {
        self.folder.join(LINK)
    }
}

const LINK: &str = "link";
/// Suffix of the name of a trial's lock.
pub(super) const TRIAL: &str = ".trial";
const REPLACED: &str = "replaced";

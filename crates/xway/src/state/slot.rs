//! The place of one interface: its link and its generations.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use kernel::{Attach, Link, LinkInfo, Object, Program};

use super::generation::{Generation, pin_name};
use super::offload::Offload;
use super::{folders, remove};

/// A folder that need not exist.
#[derive(Clone, Debug)]
pub struct Slot {
    folder: PathBuf,
    /// How files beside the pins begin.
    stem: PathBuf,
}

/// A program that is attached but not yet kept.
#[derive(Debug)]
pub struct Change {
    slot: Slot,
    link: Option<Link>,
    generation: Option<Generation>,
}

impl Change {
    /// Keeps the new program and lets the old generation go.
    pub fn commit(mut self) -> Result<()> {
        if let Some(link) = self.link.take() {
            self.slot.keep(link)?;
        }
        let program = self.generation.take().and_then(|generation| generation.program());
        self.slot.keep_only(program.map(|program| program.id()))
    }

    /// Leaves everything as it is now.
    pub(super) fn leave(mut self) {
        if let Some(link) = self.link.take() {
            // Nothing but a link of this process's own is refused, and this one was there before.
            let _ = link.keep();
        }
        self.generation = None;
    }
}

impl Drop for Change {
    /// The link's guard puts back what ran before; then nobody runs the new generation. Errors
    /// have nowhere to go: what stays pinned is swept by the next writer.
    fn drop(&mut self) {
        drop(self.link.take());
        let _ = self.slot.forget_detached();
        if let Some(generation) = self.generation.take() {
            let _ = generation.remove();
        }
        self.slot.prune();
    }
}

impl Slot {
    pub(super) fn new(root: &Path, folder: PathBuf) -> Self {
        let mut names: Vec<_> = folder.iter().rev().take(2).map(|name| name.display()).collect();
        names.reverse();
        let name = names.iter().map(ToString::to_string).collect::<Vec<_>>().join("-");
        Self { stem: root.join(name), folder }
    }

    /// The file that is locked while a generation is a trial.
    pub(super) fn trial(&self, number: u64) -> PathBuf {
        let mut path = self.stem.clone().into_os_string();
        path.push(format!("-{number}.trial"));
        path.into()
    }

    /// Offloads that are off for the program.
    pub fn offload(&self) -> Offload {
        Offload::of(&self.stem)
    }

    /// Attaches: a new generation beside the old one, then one atomic change of the link. Nothing
    /// is kept before [`Change::commit`]; dropped, the old state is back.
    pub fn change(&self, name: &str, object: &Object, attach: &Attach<'_>) -> Result<Change> {
        self.change_upon(&self.next(name), object, attach, None)
    }

    /// The folder of the next generation of this name.
    pub(super) fn next(&self, name: &str) -> Generation {
        let number = self.generations().iter().map(Generation::number).max().unwrap_or(0) + 1;
        Generation::at(self.folder.join(format!("{}-{number}", pin_name(name))))
    }

    /// The same as a generation; with `before` for a trial upon that program.
    pub(super) fn change_upon(
        &self,
        next: &Generation,
        object: &Object,
        attach: &Attach<'_>,
        before: Option<&Program>,
    ) -> Result<Change> {
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make the folder {}", self.folder.display()))?;
        let generation = Some(next.create(object, attach.program, before)?);
        let mut change = Change { slot: self.clone(), link: None, generation };
        change.link = Some(kernel::attach(attach)?);
        Ok(change)
    }

    /// Makes the link outlive this process. One that the kernel keeps by itself, without an
    /// object, leaves no pin: that of an older link would say that nothing is attached.
    fn keep(&self, mut link: Link) -> Result<()> {
        let id = link.info()?.map(|info| info.id);
        if id != self.link_info().map(|info| info.id) {
            remove(&self.link_path(), |path| fs::remove_file(path))?;
        }
        if id.is_some() && !self.link_path().exists() {
            link.pin(&self.link_path())?;
        }
        Ok(link.keep()?)
    }

    /// Unpins a link that holds nothing. Where an exchange of modes failed, the old program was
    /// put back without a link, and its generation must not be swept with this one's.
    fn forget_detached(&self) -> Result<()> {
        match self.link() {
            Some(link) if link.ifindex()?.is_none() => {
                remove(&self.link_path(), |path| fs::remove_file(path))
            }
            _ => Ok(()),
        }
    }

    /// The pinned link, whether it is still attached or not.
    pub fn link(&self) -> Option<Link> {
        Link::from_pin(&self.link_path()).ok()
    }

    /// The program of the pinned link, as long as it is attached, wherever its interface is now.
    pub fn attached(&self) -> Option<u32> {
        let link = self.link()?;
        link.ifindex().ok()??;
        Some(link.info().ok()??.prog_id)
    }

    /// The generation that this program belongs to.
    pub fn generation_of(&self, program_id: u32) -> Option<Generation> {
        let runs = |one: &Generation| one.program().is_some_and(|it| it.id() == program_id);
        self.generations().into_iter().find(runs)
    }

    /// Removes what the pinned link does not run. Without a link (attached by netlink, or nothing)
    /// only incomplete generations are known to be left over: `sweep_but` knows more.
    pub fn sweep(&self) -> Result<()> {
        match self.link() {
            Some(link) if link.ifindex()?.is_some() => {
                self.keep_only(link.info()?.map(|info| info.prog_id))
            }
            Some(_detached) => self.clear(),
            None => self.keep_where(|one| one.program().is_some()),
        }
    }

    /// Removes all generations but those of the programs that the interface runs, and those that
    /// are to run when a trial is over.
    pub fn sweep_but(&self, running: &[u32]) -> Result<()> {
        let mut wanted = Vec::new();
        for id in running {
            self.generation_of(*id).map_or(Ok(()), |one| self.settle(&one))?;
            wanted.extend(self.below(*id));
        }
        self.keep_where(|one| one.program().is_some_and(|it| wanted.contains(&it.id())))
    }

    /// A program, and those below it that are to run again when a trial is over.
    fn below(&self, program: u32) -> Vec<u32> {
        let before = |id: &u32| Some(self.generation_of(*id)?.before()?.id());
        let most = self.generations().len() + 1;
        std::iter::successors(Some(program), before).take(most).collect()
    }

    /// Removes every pin. What nothing else holds is detached by that.
    pub fn clear(&self) -> Result<()> {
        remove(&self.link_path(), |path| fs::remove_file(path))?;
        self.keep_only(None)
    }

    fn keep_only(&self, program_id: Option<u32>) -> Result<()> {
        self.sweep_but(program_id.as_slice())
    }

    fn keep_where(&self, wanted: impl Fn(&Generation) -> bool) -> Result<()> {
        let unwanted = self.generations().into_iter().filter(|one| !wanted(one));
        for generation in unwanted {
            generation.remove()?;
            remove(&self.trial(generation.number()), |path| fs::remove_file(path))?;
        }
        self.prune();
        Ok(())
    }

    /// Removes folders without pins: this one, and that of the namespace. Those with pins stay
    /// because the kernel removes none that is not empty.
    fn prune(&self) {
        let _in_use = fs::remove_dir(&self.folder);
        let _in_use = self.folder.parent().map(fs::remove_dir);
    }

    fn link_info(&self) -> Option<LinkInfo> {
        self.link()?.info().ok()?
    }

    fn generations(&self) -> Vec<Generation> {
        folders(&self.folder).into_iter().map(Generation::at).collect()
    }

    fn link_path(&self) -> PathBuf {
        self.folder.join(LINK)
    }
}

const LINK: &str = "link";

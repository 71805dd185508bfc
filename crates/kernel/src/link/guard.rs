//! An attachment as a guard: update, pin, keep, detach.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use sys::bpf::{self, LinkInfo, LinkTarget};
use sys::errno::{ENOENT, EPERM};
use sys::net::{Ifindex, Netlink, XdpExpect, XdpMode};

use super::netlink::NetlinkAttachment;
use crate::error::{Error, Result, named};
use crate::program::Program;

/// A program on an interface.
#[derive(Debug)]
pub struct Link {
    pub(super) held: Held,
    /// `None` if the link was opened by id or pin and its mode was not read.
    pub(super) mode: Option<XdpMode>,
    /// Put back on drop: what ran there before.
    pub(super) before: Option<ReplacedProgram>,
    /// Another process or a pin holds the link as well.
    pub(super) shared: bool,
    pub(super) kept: bool,
}

/// What ran on an interface, and how; with a socket of the namespace that the interface is in.
#[derive(Debug)]
pub(super) struct ReplacedProgram {
    /// Socket in the interface's network namespace.
    pub netlink: Netlink,
    /// The interface.
    pub ifindex: Ifindex,
    /// Mode of the attachment.
    pub mode: XdpMode,
    /// The attached program.
    pub program: Program,
    /// What took its place: only that is ever replaced again.
    pub ours: Program,
}

#[derive(Debug)]
pub(super) enum Held {
    /// Ends with the last descriptor and pin.
    Bpf { fd: OwnedFd, pins: Vec<PathBuf> },
    /// Persists until a process removes it.
    Netlink(NetlinkAttachment),
}

impl Link {
    /// Needs `CAP_SYS_ADMIN`. The attachment does not end with this handle as long as another
    /// process or a pin holds it.
    pub fn from_id(id: u32) -> Result<Self> {
        let fd = bpf::fd_by_id(bpf::Kind::Link, id).map_err(Error::from_call)?;
        Ok(Self::made(Held::Bpf { fd, pins: Vec::new() }, None, true))
    }

    /// Opens a pinned link.
    ///
    /// # Errors
    /// [`Error::WrongPin`] when something else is pinned there.
    pub fn from_pin(path: &Path) -> Result<Self> {
        let shown = path.to_string_lossy().into_owned();
        let fd = bpf::open_pin(&shown).map_err(Error::from_call)?;
        match bpf::obj_kind(fd.as_fd()).map_err(Error::from_call)? {
            Some(bpf::Kind::Link) => {
                let pins = vec![path.to_owned()];
                Ok(Self::made(Held::Bpf { fd, pins }, None, true))
            }
            _ => Err(Error::WrongPin { path: shown, wanted: "link" }),
        }
    }

    /// A second handle on the same link. Dropping it changes nothing.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an attachment by netlink, which has no handle.
    pub fn duplicate(&self) -> Result<Self> {
        let Held::Bpf { fd, .. } = &self.held else {
            return Err(Error::Unsupported {
                what: "a second handle on an attachment made by netlink".to_owned(),
                why: "the kernel has no link for it".to_owned(),
            });
        };
        let fd = fd.try_clone().map_err(|error| {
            Error::System(sys::Error::from_io("fcntl(F_DUPFD_CLOEXEC)", "link", &error))
        })?;
        Ok(Self::made(Held::Bpf { fd, pins: Vec::new() }, self.mode, true))
    }

    /// `None` for an attachment by netlink, for which the kernel has no object.
    pub fn info(&self) -> Result<Option<LinkInfo>> {
        match &self.held {
            Held::Bpf { fd, .. } => bpf::link_info(fd.as_fd()).map(Some).map_err(named("link")),
            Held::Netlink(_) => Ok(None),
        }
    }

    /// Mode of the attachment; `None` if it is not one of XDP.
    pub fn mode(&self) -> Option<XdpMode> {
        self.mode
    }

    /// Whether this is a `bpf_link`, which can be pinned and is updated atomically.
    pub fn is_bpf_link(&self) -> bool {
        matches!(self.held, Held::Bpf { .. })
    }

    /// The interface; `None` after it was deleted or the link was detached.
    pub fn ifindex(&self) -> Result<Option<Ifindex>> {
        if let Held::Netlink(attachment) = &self.held {
            return Ok(Some(attachment.ifindex));
        }
        let target = self.info()?.map(|info| info.target);
        Ok(match target {
            Some(LinkTarget::Xdp { ifindex } | LinkTarget::Tcx { ifindex, .. }) => {
                (ifindex != 0).then_some(Ifindex(ifindex))
            }
            _ => None,
        })
    }

    /// Swaps the program atomically: every packet meets the old or the new one. With `old`, only
    /// if that is the one running now.
    ///
    /// # Errors
    /// [`Error::Overtaken`] when another one is.
    pub fn update(&mut self, new: &Program, old: Option<&Program>) -> Result<()> {
        let ours = self.before.as_ref().map(|_| new.duplicate()).transpose()?;
        self.swap(new, old)?;
        if let Some((before, ours)) = self.before.as_mut().zip(ours) {
            before.ours = ours;
        }
        Ok(())
    }

    fn swap(&mut self, new: &Program, old: Option<&Program>) -> Result<()> {
        let fd = match &mut self.held {
            Held::Bpf { fd, .. } => fd,
            Held::Netlink(attachment) => return attachment.update(new, old),
        };
        let Err(source) = bpf::link_update(fd.as_fd(), new.as_fd(), old.map(AsFd::as_fd)) else {
            return Ok(());
        };
        if old.is_some() && source.is(EPERM) {
            return Err(Error::Overtaken { interface: self.place(), source });
        }
        Err(named(&self.place())(source))
    }

    /// Gives the link a name in a bpf file system, under which it outlives this process.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an attachment by netlink: [`keep`](Self::keep) it.
    pub fn pin(&mut self, path: &Path) -> Result<()> {
        let Held::Bpf { fd, pins } = &mut self.held else {
            return Err(Error::Unsupported {
                what: "pinning an attachment made by netlink".to_owned(),
                why: "the kernel has no link for it; keep it instead".to_owned(),
            });
        };
        bpf::pin(fd.as_fd(), &path.to_string_lossy()).map_err(Error::from_call)?;
        pins.push(path.to_owned());
        (self.shared, self.kept) = (true, true);
        Ok(())
    }

    /// Lets the program run on after this process.
    ///
    /// # Errors
    /// [`Error::NotPinned`] for a link that nothing else would hold.
    pub fn keep(mut self) -> Result<()> {
        if self.is_bpf_link() && !self.shared {
            return Err(Error::NotPinned { what: "attachment".to_owned() });
        }
        self.kept = true;
        Ok(())
    }

    /// Detaches the program now, even if other processes hold the link, removes the known pins, and
    /// restores the program that ran before.
    pub fn detach(mut self) -> Result<()> {
        self.kept = true;
        match self.before.take() {
            Some(before) => self.restore(before),
            None => self.detach_now(),
        }
    }

    pub(super) fn bpf(fd: OwnedFd, mode: Option<XdpMode>) -> Self {
        Self::made(Held::Bpf { fd, pins: Vec::new() }, mode, false)
    }

    pub(super) fn netlink(attachment: NetlinkAttachment) -> Self {
        let mode = Some(attachment.mode);
        Self::made(Held::Netlink(attachment), mode, false)
    }

    fn made(held: Held, mode: Option<XdpMode>, shared: bool) -> Self {
        Self { held, mode, before: None, shared, kept: false }
    }

    /// How messages call it.
    fn place(&self) -> String {
        match self.ifindex() {
            Ok(Some(ifindex)) => format!("link of interface {}", ifindex.0),
            _ => "link".to_owned(),
        }
    }

    #[must_use]
    pub(super) fn remember(mut self, before: ReplacedProgram) -> Self {
        self.before = Some(before);
        self
    }

    fn detach_now(&mut self) -> Result<()> {
        match &mut self.held {
            Held::Bpf { fd, pins } => {
                bpf::link_detach(fd.as_fd()).map_err(named("link"))?;
                for path in pins.drain(..) {
                    match bpf::unpin(&path.to_string_lossy()) {
                        Err(error) if !error.is(ENOENT) => return Err(Error::from_call(error)),
                        _ => {}
                    }
                }
                Ok(())
            }
            Held::Netlink(attachment) => attachment.detach(),
        }
    }

    fn restore(&mut self, mut before: ReplacedProgram) -> Result<()> {
        if self.mode == Some(before.mode) {
            return self.swap(&before.program, Some(&before.ours));
        }
        self.detach_now()?;
        before.restore().map_err(Error::from_call)
    }
}

impl ReplacedProgram {
    /// Attached by netlink, so that it persists.
    pub fn restore(&mut self) -> sys::Result<()> {
        let program = Some(self.program.as_fd());
        self.netlink.set_xdp(self.ifindex, program, Some(self.mode), XdpExpect::Nothing)
    }
}

impl Drop for Link {
    /// A link of its own ends by closing its descriptor; the rest is undone here, as far as the
    /// kernel lets.
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        if let Some(before) = self.before.take() {
            let _ = self.restore(before);
        } else if let Held::Netlink(attachment) = &mut self.held {
            let _ = attachment.detach();
        }
    }
}

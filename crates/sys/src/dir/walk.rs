//! Resolution of a path, one component at a time, with a check of each directory.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, Mode, OFlags};

use super::{Ancestors, Dir, effective_user, failed, metadata};
use crate::{Error, Result};

/// With `mode`, missing directories are created; the second value lists them.
pub(super) fn open(
    path: &Path,
    ancestors: Ancestors,
    mode: Option<u32>,
) -> Result<(Dir, Vec<Dir>)> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Error::from_io("getcwd", path.display().to_string(), &error))?;
    let mut walk = Walk {
        fd: root()?,
        path: PathBuf::from("/"),
        pending: parts(&absolute),
        exposed: false,
        ancestors,
        links: 0,
        created: Vec::new(),
    };
    walk.check()?;
    while let Some(name) = walk.pending.pop() {
        walk.step(&name, mode)?;
    }
    let dir = reopen(&walk.fd, walk.path)?;
    Ok((dir, walk.created))
}

struct Walk {
    /// The directory that was reached; opened with `O_PATH`, which needs no read permission.
    fd: OwnedFd,
    path: PathBuf,
    /// Components to resolve, the next one last.
    pending: Vec<OsString>,
    /// Users other than root and the caller can change a directory passed so far.
    exposed: bool,
    ancestors: Ancestors,
    links: usize,
    created: Vec<Dir>,
}

impl Walk {
    fn step(&mut self, name: &OsStr, mode: Option<u32>) -> Result<()> {
        let path = self.path.join(name);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |fd: &OwnedFd| fs::openat(fd, name, flags, Mode::empty());
        let fd = match (open(&self.fd), mode) {
            (Err(rustix::io::Errno::NOENT), Some(mode)) => match self.create(name, mode) {
                // Another process created it meanwhile: it is checked as one that was there.
                Err(error) if error.is(libc::EEXIST) && error.detail.is_empty() => {
                    open(&self.fd).map_err(failed("openat", &path))?
                }
                created => created?,
            },
            (fd, _) => fd.map_err(failed("openat", &path))?,
        };
        let found = metadata(fd.as_fd(), &path)?;
        if found.is_symlink() {
            return self.follow(&fd, &found, &path);
        }
        if !found.is_dir() {
            return Err(Error::new("openat", path.display().to_string(), libc::ENOTDIR));
        }
        (self.fd, self.path) = (fd, path);
        self.check()
    }

    fn create(&mut self, name: &OsStr, mode: u32) -> Result<OwnedFd> {
        let dir = reopen(&self.fd, self.path.clone())?.create_dir(name, mode)?;
        let copy = dir.fd.try_clone();
        let copy = copy.map_err(|error| Error::from_io("dup", dir.shown(), &error))?;
        self.created.push(dir);
        Ok(copy)
    }

    fn follow(&mut self, fd: &OwnedFd, found: &Metadata, path: &Path) -> Result<()> {
        let refused = |detail: &str| {
            let error = Error::new("openat", path.display().to_string(), libc::ELOOP);
            Err(error.with_detail(detail))
        };
        if self.exposed || !trusted(found.uid()) {
            return refused("another user can change this symbolic link: name its target instead");
        }
        self.links += 1;
        if self.links > LINK_LIMIT {
            return refused("too many symbolic links");
        }
        let target = fs::readlinkat(fd, "", Vec::new()).map_err(failed("readlinkat", path))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        self.pending.extend(parts(&target));
        if target.is_absolute() {
            (self.fd, self.path) = (root()?, PathBuf::from("/"));
            self.check()?;
        }
        Ok(())
    }

    /// Notes or rejects a directory that other users can change.
    fn check(&mut self) -> Result<()> {
        let found = metadata(self.fd.as_fd(), &self.path)?;
        let Some(why) = exposure(&found) else { return Ok(()) };
        self.exposed = true;
        if self.ancestors == Ancestors::Any {
            return Ok(());
        }
        let error = Error::new("openat", self.path.display().to_string(), libc::EPERM);
        Err(error
            .with_detail(format!("{why}: choose a directory that only you or root can change")))
    }
}

impl Dir {
    fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

/// Why users other than root and the caller can change the entries of a directory that belong to
/// root or the caller.
fn exposure(found: &Metadata) -> Option<String> {
    let (mode, owner) = (found.mode(), found.uid());
    if !trusted(owner) {
        return Some(format!("the directory belongs to user {owner}"));
    }
    (is_writable_by_others(mode) && mode & libc::S_ISVTX == 0)
        .then(|| format!("other users can write to the directory (mode {:04o})", mode & 0o7777))
}

/// Whether users other than root and the caller can create entries in a directory.
pub(super) fn is_shared(found: &Metadata) -> bool {
    !trusted(found.uid()) || is_writable_by_others(found.mode())
}

fn is_writable_by_others(mode: u32) -> bool {
    mode & (libc::S_IWGRP | libc::S_IWOTH) != 0
}

fn trusted(user: u32) -> bool {
    user == 0 || user == effective_user()
}

/// Reversed, so that the next component is the last. `..` is kept: the kernel resolves it relative
/// to the descriptor.
fn parts(path: &Path) -> Vec<OsString> {
    let named = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    let mut parts: Vec<_> = path.components().filter_map(named).collect();
    parts.reverse();
    parts
}

fn root() -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::open("/", flags, Mode::empty()).map_err(failed("open", Path::new("/")))
}

fn reopen(fd: &OwnedFd, path: PathBuf) -> Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = fs::openat(fd, ".", flags, Mode::empty()).map_err(failed("openat", &path))?;
    Ok(Dir { fd, path })
}

/// Symbolic links followed in one path, as in the kernel (`MAXSYMLINKS`).
const LINK_LIMIT: usize = 40;

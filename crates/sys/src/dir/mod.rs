//! Directories held open by descriptor, for processes that work where other users can write.
//!
//! Rule: a [`Dir`] never re-reads a path. Names are single components, resolved relative to the
//! descriptor and without following symbolic links, so another user who renames or replaces a
//! directory cannot redirect what is read, created, renamed or removed.
//! Not here: ownership of files. Callers use `std::os::unix::fs::fchown` on what they created.

mod walk;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::{Error, Result};

/// An open directory, and the path under which it was opened, for messages.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

/// Which directories on the way to a [`Dir`] are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ancestors {
    /// Any directory. Symbolic links are followed only as long as no directory so far can be
    /// changed by users other than root and the caller.
    Any,
    /// Only directories that no user other than root and the caller can change, so that the path
    /// names the same directory from now on. Sticky directories such as `/tmp` count if the entry
    /// belongs to root or the caller.
    Protected,
}

/// Access that [`Dir::open_file`] requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    ReadWrite,
}

impl Dir {
    /// Opens an existing directory.
    ///
    /// # Errors
    /// `ENOENT`; `ENOTDIR`; `ELOOP` for a symbolic link and `EPERM` for a directory that
    /// `ancestors` does not accept.
    pub fn open(path: &Path, ancestors: Ancestors) -> Result<Self> {
        walk::open(path, ancestors, None).map(|(dir, _)| dir)
    }

    /// Opens a directory and creates, with `mode`, each directory on the way that is missing.
    /// Also returns the directories that were created, outermost first.
    pub fn open_or_create(
        path: &Path,
        ancestors: Ancestors,
        mode: u32,
    ) -> Result<(Self, Vec<Self>)> {
        walk::open(path, ancestors, Some(mode))
    }

    /// Opens the directory `name`; `ENOTDIR` for a symbolic link.
    pub fn open_dir(&self, name: impl AsRef<OsStr>) -> Result<Self> {
        let path = self.child(name.as_ref())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(&self.fd, name.as_ref(), flags, Mode::empty());
        Ok(Self { fd: fd.map_err(failed("openat", &path))?, path })
    }

    /// Creates the directory `name`; `EEXIST` if anything has this name.
    ///
    /// Where another user can write to this directory, that user can replace the new directory
    /// before it is opened. Therefore it must belong to this process and, there, be empty.
    /// Elsewhere, another process of this user may already have created entries in it.
    pub fn create_dir(&self, name: impl AsRef<OsStr>, mode: u32) -> Result<Self> {
        let (name, path) = (name.as_ref(), self.child(name.as_ref())?);
        fs::mkdirat(&self.fd, name, Mode::from_raw_mode(mode)).map_err(failed("mkdirat", &path))?;
        let dir = self.open_dir(name)?;
        let is_own = dir.metadata()?.uid() == effective_user();
        if !is_own || walk::is_shared(&self.metadata()?) && !dir.names()?.is_empty() {
            let error = Error::new("mkdirat", path.display().to_string(), libc::EEXIST);
            return Err(error.with_detail("another process replaced the new directory"));
        }
        Ok(dir)
    }

    /// Creates the file `name` for reading and writing; `EEXIST` if anything has this name,
    /// symbolic links included.
    pub fn create_file(&self, name: impl AsRef<OsStr>, mode: u32) -> Result<File> {
        self.file(name.as_ref(), OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, mode)
    }

    /// Opens the regular file `name`; `ELOOP` for a symbolic link, `EINVAL` for a device, pipe or
    /// socket.
    pub fn open_file(&self, name: impl AsRef<OsStr>, access: Access) -> Result<File> {
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::ReadWrite => OFlags::RDWR,
        };
        self.file(name.as_ref(), flags, 0)
    }

    /// Opens the regular file `name` for reading and writing, and creates it if it is missing.
    pub fn open_or_create_file(&self, name: impl AsRef<OsStr>, mode: u32) -> Result<File> {
        self.file(name.as_ref(), OFlags::RDWR | OFlags::CREATE, mode)
    }

    /// Opens the named pipe or character device `name` for writing; `None` if there is none of this
    /// name.
    ///
    /// # Errors
    /// `ENXIO` for a pipe without a reader. `EPERM` for a pipe of a user who is neither root, nor
    /// the one of this process, nor `owner`: that user would receive what is written.
    pub fn open_stream(&self, name: impl AsRef<OsStr>, owner: Option<u32>) -> Result<Option<File>> {
        let (name, path) = (name.as_ref(), self.child(name.as_ref())?);
        let refused = |errno, why: &str| {
            Err(Error::new("openat", path.display().to_string(), errno).with_detail(why))
        };
        let is_trusted = |uid| [Some(0), Some(effective_user()), owner].contains(&Some(uid));
        let (kind, uid) = match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => (FileType::from_raw_mode(found.st_mode), found.st_uid),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(failed("fstatat", &path)(errno)),
        };
        match kind {
            // Before it is opened, which fails without a reader.
            FileType::Fifo if !is_trusted(uid) => return refused(libc::EPERM, OTHERS),
            FileType::Fifo | FileType::CharacterDevice => {}
            _ => return Ok(None),
        }
        let wait = OFlags::NONBLOCK;
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | wait;
        let fd = fs::openat(&self.fd, name, flags, Mode::empty());
        let file = File::from(fd.map_err(failed("openat", &path))?);
        let found = metadata(file.as_fd(), &path)?;
        let is_pipe = found.file_type().is_fifo();
        if !is_pipe && !found.file_type().is_char_device() {
            return refused(libc::EINVAL, "another process replaced it");
        }
        if is_pipe && !is_trusted(found.uid()) {
            return refused(libc::EPERM, OTHERS);
        }
        let flags = fs::fcntl_getfl(&file).map_err(failed("fcntl", &path))?;
        fs::fcntl_setfl(&file, flags - wait).map_err(failed("fcntl", &path))?;
        Ok(Some(file))
    }

    /// Renames `from` to `to` within this directory; a file `to` is replaced atomically.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> Result<()> {
        let (path, _) = (self.child(from.as_ref())?, self.child(to.as_ref())?);
        fs::renameat(&self.fd, from.as_ref(), &self.fd, to.as_ref())
            .map_err(failed("renameat", &path))
    }

    /// Removes the file or symbolic link `name`.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> Result<()> {
        self.unlink(name.as_ref(), AtFlags::empty())
    }

    /// Removes the empty directory `name`.
    pub fn remove_dir(&self, name: impl AsRef<OsStr>) -> Result<()> {
        self.unlink(name.as_ref(), AtFlags::REMOVEDIR)
    }

    /// Names in this directory, sorted.
    pub fn names(&self) -> Result<Vec<OsString>> {
        let list = fs::Dir::read_from(&self.fd).map_err(failed("getdents", &self.path))?;
        let mut names = Vec::new();
        for entry in list {
            let entry = entry.map_err(failed("getdents", &self.path))?;
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Owner, permissions and device of the open directory.
    pub fn metadata(&self) -> Result<Metadata> {
        metadata(self.fd.as_fd(), &self.path)
    }

    /// Changes the permissions of the open directory.
    pub fn set_mode(&self, mode: u32) -> Result<()> {
        fs::fchmod(&self.fd, Mode::from_raw_mode(mode)).map_err(failed("fchmod", &self.path))
    }

    /// Gives the open directory to a user, a group, or both.
    pub fn set_owner(&self, user: Option<u32>, group: Option<u32>) -> Result<()> {
        std::os::unix::fs::fchown(&self.fd, user, group)
            .map_err(|error| Error::from_io("fchown", self.path.display().to_string(), &error))
    }

    /// The group that may read the directory: see [`readers`].
    pub fn readers(&self) -> Result<Option<u32>> {
        Ok(readers(&self.metadata()?))
    }

    /// Path under which it was opened, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of the descriptor, for calls that take paths only. It is valid in this process while
    /// the directory is open.
    pub fn descriptor_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
    }

    fn file(&self, name: &OsStr, flags: OFlags, mode: u32) -> Result<File> {
        let path = self.child(name)?;
        // Opening a pipe must not wait for its other end; regular files ignore the flag.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let fd = fs::openat(&self.fd, name, flags, Mode::from_raw_mode(mode))
            .map_err(failed("openat", &path))?;
        let kind = metadata(fd.as_fd(), &path)?.file_type();
        if kind.is_file() {
            return Ok(File::from(fd));
        }
        let is = if kind.is_fifo() { "a pipe" } else { "not a regular file" };
        Err(Error::new("openat", path.display().to_string(), libc::EINVAL).with_detail(is))
    }

    fn unlink(&self, name: &OsStr, flags: AtFlags) -> Result<()> {
        let path = self.child(name)?;
        fs::unlinkat(&self.fd, name, flags).map_err(failed("unlinkat", &path))
    }

    /// Refuses names that leave the directory.
    fn child(&self, name: &OsStr) -> Result<PathBuf> {
        let path = self.path.join(name);
        let mut parts = Path::new(name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(part)), None) if part == name => Ok(path),
            _ => Err(Error::new("openat", path.display().to_string(), libc::EINVAL)
                .with_detail("expected a single name")),
        }
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The group that may read a directory, and what will be created in it. That is marked by the
/// set-group-ID bit, with which new entries get the group of their directory.
pub fn readers(found: &Metadata) -> Option<u32> {
    // The root of a bpffs is sticky, too.
    (found.mode() & 0o6777 == SHARED_DIR).then(|| found.gid())
}

const OTHERS: &str = "it is a pipe of another user";
/// Mode of a directory that a group may read.
pub const SHARED_DIR: u32 = 0o2750;

/// User whose permissions apply to this process.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn metadata(fd: BorrowedFd<'_>, path: &Path) -> Result<Metadata> {
    let object = || path.display().to_string();
    let copy = fd.try_clone_to_owned();
    let file = File::from(copy.map_err(|error| Error::from_io("dup", object(), &error))?);
    file.metadata().map_err(|error| Error::from_io("fstat", object(), &error))
}

fn failed(call: &'static str, path: &Path) -> impl Fn(Errno) -> Error + use<> {
    let object = path.display().to_string();
    move |errno| Error::new(call, object.clone(), errno.raw_os_error())
}

#[cfg(test)]
mod tests;

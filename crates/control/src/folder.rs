//! `Folder` and `NewFile`: files that the user of a command asked for.
//!
//! Rule: the directory is opened once and everything is done below its descriptor. A file is
//! created under a temporary name that nothing had before and gets its name when it is whole, so
//! no planted link is followed and no file is changed in place. A named pipe or a character device
//! is written to instead, unless it is a pipe of another user. Under sudo, what this process
//! created belongs to the caller afterwards, where the directory does; nothing else changes owner.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sys::dir::{Ancestors, Dir};
use sys::errno::{EEXIST, ENXIO};
use sys::identity::Identity;
use sys::poll;
use sys::stdio::is_stdio;

use crate::error::{Context as _, Error, Result};

/// A directory for files of a report.
#[derive(Clone, Debug)]
pub struct Folder {
    dir: Arc<Dir>,
    path: PathBuf,
    owner: Owner,
}

/// A file that is being written; dropped before [`NewFile::keep`], it leaves nothing. Standard
/// output, pipes and devices are written to directly.
#[derive(Debug)]
pub struct NewFile {
    /// The temporary file; `None` for one that is written to directly.
    part: Option<Part>,
    path: PathBuf,
    file: File,
}

/// A file under a temporary name, which is removed when the value is dropped.
#[derive(Debug)]
struct Part {
    dir: Arc<Dir>,
    name: OsString,
    /// The name that it gets.
    target: OsString,
    is_kept: bool,
}

/// The user that new files are given to, if not the one of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner(Option<(u32, u32)>);

impl Folder {
    /// Opens the directory, which is created where it is missing.
    pub fn make(path: &Path) -> Result<Self> {
        let shown = || format!("cannot open the directory {}", path.display());
        let caller = Owner::caller();
        let (dir, created) =
            Dir::open_or_create(path, Ancestors::Any, DIR_MODE).with_context(shown)?;
        created.iter().try_for_each(|dir| caller.give(dir.as_fd())).with_context(shown)?;
        Self::new(dir, path, caller)
    }

    /// Creates the directory `name`; `None` when the name is taken.
    pub fn create(&self, name: &str) -> Result<Option<Self>> {
        let path = self.path.join(name);
        let shown = || format!("cannot create the directory {}", path.display());
        match self.dir.create_dir(name, DIR_MODE) {
            Ok(dir) => {
                self.owner.give(dir.as_fd()).with_context(shown)?;
                Self::new(dir, &path, self.owner).map(Some)
            }
            Err(error) if error.is(EEXIST) => Ok(None),
            Err(error) => Err(error).with_context(shown),
        }
    }

    /// An existing directory.
    pub fn open(path: &Path) -> Result<Self> {
        let dir = Dir::open(path, Ancestors::Any)
            .with_context(|| format!("cannot open the directory {}", path.display()))?;
        Self::new(dir, path, Owner::caller())
    }

    /// The directory of a file that is to be written, and the file's name.
    pub fn of(path: &Path) -> Result<(Self, &OsStr)> {
        let name = path.file_name();
        let name = name.ok_or_else(|| Error::NotAFileName { path: path.to_owned() })?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = Self::open(parent.unwrap_or(Path::new(".")));
        Ok((folder.with_context(|| format!("cannot write {}", path.display()))?, name))
    }

    fn new(dir: Dir, path: &Path, caller: Owner) -> Result<Self> {
        let owner = caller.within(&dir)?;
        Ok(Self { dir: Arc::new(dir), path: path.to_owned(), owner })
    }

    /// Writes a file, replacing one of this name as a whole: a reader meets the old text or the
    /// new one, also after a crash.
    pub fn put(&self, name: &str, text: &str) -> Result<PathBuf> {
        let mut file = self.file(name)?;
        file.write(text.as_bytes())?;
        file.keep()
    }

    /// As [`put`](Self::put), for a text with a secret: only its owner can read the file.
    pub fn put_secret(&self, name: &str, text: &str) -> Result<PathBuf> {
        let mut file = self.begin(name.as_ref(), SECRET_MODE)?;
        file.write(text.as_bytes())?;
        file.keep()
    }

    /// Begins a file.
    pub fn file(&self, name: impl AsRef<OsStr>) -> Result<NewFile> {
        self.begin(name.as_ref(), FILE_MODE)
    }

    fn begin(&self, name: &OsStr, mode: u32) -> Result<NewFile> {
        let path = self.path.join(name);
        let shown = || format!("cannot write {}", path.display());
        let (part, file) = self.part(name, mode).with_context(shown)?;
        self.owner.give(file.as_fd()).with_context(shown)?;
        let (dir, target) = (Arc::clone(&self.dir), name.to_owned());
        let part = Some(Part { dir, name: part, target, is_kept: false });
        Ok(NewFile { part, path, file })
    }

    /// Opens the named pipe or character device `name`, shown as `path`; `None` if it is neither.
    fn stream(&self, name: &OsStr, path: &Path, deadline: Option<Instant>) -> Result<Option<File>> {
        let Owner(caller) = Owner::caller();
        loop {
            match self.dir.open_stream(name, caller.map(|(uid, _)| uid)) {
                Err(error) if error.is(ENXIO) => {}
                other => {
                    return other.with_context(|| format!("cannot write {}", path.display()));
                }
            }
            let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if is_late || sys::signal::is_pending() {
                return Err(Error::NoReader { path: path.to_owned() });
            }
            std::thread::sleep(READER_INTERVAL);
        }
    }

    /// A file under a name of its own: that of another run, or a planted one, is left alone.
    fn part(&self, name: &OsStr, mode: u32) -> sys::Result<(OsString, File)> {
        let mut number = 0;
        loop {
            let mut part = OsString::from(".");
            part.push(name);
            part.push(format!(".{}-{number}.part", std::process::id()));
            match self.dir.create_file(&part, mode) {
                Err(error) if error.is(EEXIST) && number < PARTS_MAX => number += 1,
                other => return other.map(|file| (part, file)),
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the file of this name is, or will be.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Removes the file `name`.
    pub fn remove(&self, name: &OsStr) -> Result<()> {
        let shown = || format!("cannot remove {}", self.path.join(name).display());
        self.dir.remove_file(name).with_context(shown)
    }

    /// Removes the directory `name` if it is empty.
    pub fn remove_empty(&self, name: &OsStr) {
        // One with files in it is kept.
        let _in_use = self.dir.remove_dir(name);
    }
}

impl NewFile {
    /// Begins the file at `path`; `-` is standard output. A named pipe has a reader first: see
    /// [`at_until`](Self::at_until).
    pub fn at(path: &Path) -> Result<Self> {
        Self::at_until(path, None)
    }

    /// As [`at`](Self::at), but waits for the reader of a named pipe at most until `deadline`, and
    /// until a signal arrives.
    ///
    /// # Errors
    /// [`Error::NoReader`]; the file cannot be created.
    pub fn at_until(path: &Path, deadline: Option<Instant>) -> Result<Self> {
        if let Some(file) = stream(path) {
            let file = file.with_context(|| format!("cannot write {}", path.display()))?;
            return Ok(Self { part: None, path: path.to_owned(), file });
        }
        let (folder, name) = Folder::of(path)?;
        if let Some(file) = folder.stream(name, path, deadline)? {
            return Ok(Self { part: None, path: path.to_owned(), file });
        }
        let mut file = folder.file(name)?;
        // As the caller wrote it, for messages.
        file.path = path.to_owned();
        Ok(file)
    }

    /// Another descriptor of the file, for a writer.
    pub fn writer(&self) -> Result<File> {
        self.file.try_clone().with_context(|| format!("cannot write {}", self.path.display()))
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Gives the file its name and returns its path.
    pub fn keep(mut self) -> Result<PathBuf> {
        if let Some(part) = &mut self.part {
            part.dir
                .rename(&part.name, &part.target)
                .with_context(|| format!("cannot write {}", self.path.display()))?;
            part.is_kept = true;
        }
        Ok(self.path)
    }

    /// Keeps the first bytes of a file that cannot be completed. From standard output and devices,
    /// nothing is taken back.
    pub fn keep_start(self, bytes: u64) -> Result<PathBuf> {
        if self.part.is_some() {
            let cut = self.file.set_len(bytes);
            cut.with_context(|| format!("cannot write {}", self.path.display()))?;
        }
        self.keep()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether all readers of a pipe closed it.
    pub fn is_reader_gone(&self) -> bool {
        // Of a descriptor that cannot be queried, the next write reports the state.
        self.part.is_none() && poll::is_reader_gone(self.file.as_fd()).unwrap_or(false)
    }
}

/// Standard output or a device, which is not replaced.
fn stream(path: &Path) -> Option<io::Result<File>> {
    // Opened anew, it could be another user's after privileges were dropped.
    if is_stdio(path) || path == Path::new("/dev/stdout") {
        return Some(sys::stdio::stdout());
    }
    path.starts_with("/dev").then(|| File::options().write(true).open(path))
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_kept {
            // An error that led here is being reported already.
            let _gone = self.dir.remove_file(&self.name);
        }
    }
}

impl Owner {
    fn caller() -> Self {
        Self(Identity::of_sudo().map(|user| (user.uid, user.gid)))
    }

    /// Who owns new files of a directory: the caller in one of the caller's, else this process.
    fn within(self, dir: &Dir) -> Result<Self> {
        let Self(Some((uid, _))) = self else { return Ok(self) };
        let is_callers = dir.metadata()?.uid() == uid;
        Ok(if is_callers { self } else { Self(None) })
    }

    /// Gives away what this process has just created.
    fn give(self, created: BorrowedFd<'_>) -> std::io::Result<()> {
        let Self(Some((uid, gid))) = self else { return Ok(()) };
        fchown(created, Some(uid), Some(gid))
    }
}

const DIR_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;
const SECRET_MODE: u32 = 0o600;
/// How often a named pipe without a reader is opened again.
const READER_INTERVAL: Duration = Duration::from_millis(20);
/// Temporary names that are tried.
const PARTS_MAX: u32 = 100;

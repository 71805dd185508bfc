//! The state directory's location and permissions.
//!
//! Rule: no user other than root and the caller can change the directory or a directory above it,
//! so its path always names the same directory. No other user can open a file in it: a lock file
//! that others can open, even for reading, is a lock that others can hold. A group may be permitted
//! to read the directory and parts of its bpffs (`sharing`).

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use sys::dir::{Access, Ancestors, Dir, SHARED_DIR, effective_user};
use sys::errno::{EACCES, ENOENT};

use crate::error::{Context as _, Result};

/// Opens the directory for a process that changes something. Creates it if it is missing, and
/// withdraws permissions of other users.
///
/// # Errors
/// Another user can change the directory or owns it.
pub fn open(root: &Path) -> Result<Dir> {
    let refused = || format!("cannot use the state directory {} (--state)", root.display());
    let (dir, created) =
        Dir::open_or_create(root, Ancestors::Protected, PRIVATE_DIR).with_context(refused)?;
    if !created.is_empty() {
        share_with_group(&dir);
    }
    let found = dir.metadata()?;
    if found.uid() != effective_user() {
        let detail = format!("it belongs to user {}, not to you", found.uid());
        let error = sys::Error::new("openat", dir.path().display().to_string(), EACCES);
        return Err(error.with_detail(detail)).with_context(refused);
    }
    let is_private = found.mode() & OTHERS == 0 || dir.readers()?.is_some();
    if !is_private && dir.names()?.iter().all(|name| is_own(name)) {
        dir.set_mode(PRIVATE_DIR)?;
    }
    Ok(dir)
}

/// Lets the group `xway`, if this host has one, read a directory that root created.
fn share_with_group(dir: &Dir) {
    let group = if effective_user() == 0 { sys::identity::group(GROUP) } else { None };
    if let Some(group) = group {
        // Without the rights to it, only the group is denied what it may read.
        let _ = dir.set_owner(None, Some(group)).and_then(|()| dir.set_mode(SHARED_DIR));
    }
}

/// Opens the directory for a process that only reads; `None` if there is none.
pub fn find(root: &Path) -> Result<Option<Dir>> {
    match Dir::open(root, Ancestors::Protected) {
        Err(error) if error.is(ENOENT) => Ok(None),
        other => other.map(Some).with_context(|| {
            format!("cannot read the state directory {} (--state)", root.display())
        }),
    }
}

/// Opens a file that is locked, creates it if it is missing, and withdraws permissions that other
/// users have.
pub fn lock_file(dir: &Dir, name: impl AsRef<OsStr>) -> Result<File> {
    let file = dir.open_or_create_file(name.as_ref(), PRIVATE_FILE)?;
    if file.metadata()?.mode() & OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(PRIVATE_FILE)).with_context(|| {
            format!("cannot withdraw permissions of {}", dir.path().join(name.as_ref()).display())
        })?;
    }
    Ok(file)
}

/// Opens a lock file of another process; `None` if there is none.
pub fn existing_lock(dir: &Dir, name: impl AsRef<OsStr>) -> Result<Option<File>> {
    match dir.open_file(name, Access::Read) {
        Err(error) if error.is(ENOENT) => Ok(None),
        other => Ok(Some(other?)),
    }
}

/// Replaces a file in one step. A process that is killed meanwhile leaves `<name>.part`.
pub fn replace(dir: &Dir, name: &str, contents: &[u8]) -> Result<()> {
    let part = format!("{name}{PART}");
    remove(dir, &part)?;
    let written = dir.create_file(&part, PRIVATE_FILE)?.write_all(contents).map_err(Into::into);
    let renamed = written.and_then(|()| Ok(dir.rename(&part, name)?));
    if renamed.is_err() {
        // The first error is reported; the next writer removes what is left.
        let _ = remove(dir, &part);
    }
    renamed
}

/// Removes a file; it is not an error if there is none.
pub fn remove(dir: &Dir, name: impl AsRef<OsStr>) -> Result<()> {
    match dir.remove_file(name) {
        Err(error) if !error.is(ENOENT) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether only this program creates files of this name. A directory with other names has other
/// uses, such as `/tmp`: its permissions are not changed.
fn is_own(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    [super::LOCK, super::BPFFS, "lab"].contains(&&*name) || name.contains("net-")
}

/// Group that may read what root keeps in a new state directory.
const GROUP: &str = "xway";
/// Appended to the name of a file while it is written.
pub const PART: &str = ".part";
const PRIVATE_DIR: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
/// Permissions of the group and of all others.
const OTHERS: u32 = 0o077;

//! `Identity`: the user on whose behalf a privileged process works, and becoming that user.
//!
//! Rule: groups change before the user, all of them and irrevocably; a failure leaves nothing
//! half done unnoticed, because the caller must stop. Everything is looked up before a fork.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::{fs, io};

use crate::{Error, Result};

/// A user with all groups and the entry of the user database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// All groups, the primary one included.
    groups: Vec<libc::gid_t>,
    entry: Option<Entry>,
}

/// From the user database.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    name: CString,
    home: OsString,
    shell: OsString,
}

impl Identity {
    /// The user who started this process by sudo; `None` for a process that is not root's, and for
    /// root itself.
    pub fn of_sudo() -> Option<Self> {
        // SAFETY: takes nothing and cannot fail.
        let is_root = unsafe { libc::geteuid() } == 0;
        let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
        let (uid, gid) = number("SUDO_UID").zip(number("SUDO_GID"))?;
        (is_root && uid != 0 && uid != u32::MAX && gid != u32::MAX).then(|| Self::new(uid, gid))
    }

    fn new(uid: u32, gid: u32) -> Self {
        let entry = entry(uid);
        let groups = entry.as_ref().and_then(|entry| groups(&entry.name, gid));
        Self { uid, gid, groups: groups.unwrap_or_else(|| vec![gid]), entry }
    }

    /// The login shell, where the user database names one.
    pub fn shell(&self) -> Option<&OsStr> {
        self.entry.as_ref().map(|entry| entry.shell.as_os_str()).filter(|shell| !shell.is_empty())
    }

    /// Makes the whole process this user's, without a way back: no capability remains.
    pub fn assume(&self) -> Result<()> {
        let name = self.uid.to_string();
        become_user(self.uid, self.gid, &self.groups)
            .map_err(|error| Error::from_io("setresuid", name, &error))
    }

    /// Makes a command run as this user, with the user's `HOME`, `USER` and `LOGNAME`. What was
    /// prepared on the command before (namespaces, mounts) is done before, with all rights.
    pub fn run_as(&self, command: &mut Command) {
        if let Some(entry) = &self.entry {
            let name = OsStr::from_bytes(entry.name.as_bytes());
            command.env("HOME", &entry.home).env("USER", name).env("LOGNAME", name);
        }
        let (uid, gid, groups) = (self.uid, self.gid, self.groups.clone());
        let change = move || become_user(uid, gid, &groups);
        // SAFETY: between fork and exec the closure only makes system calls and reads `errno`.
        unsafe { command.pre_exec(change) };
    }
}

/// The number of a user of `/etc/passwd`. Other databases, which may need the network, are not
/// queried.
pub fn user(name: &str) -> Option<u32> {
    number_of(name, &fs::read_to_string("/etc/passwd").ok()?)
}

/// The number of a group of `/etc/group`, as [`user`].
pub fn group(name: &str) -> Option<u32> {
    number_of(name, &fs::read_to_string("/etc/group").ok()?)
}

/// In both files, the third field of a line is the number of the first.
fn number_of(name: &str, database: &str) -> Option<u32> {
    let mut lines = database.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.find_map(|fields| match fields[..] {
        [one, _, number, ..] if one == name => number.parse().ok(),
        _ => None,
    })
}

fn become_user(uid: u32, gid: u32, groups: &[libc::gid_t]) -> io::Result<()> {
    // SAFETY: `groups` is only read, and has the stated length.
    check(unsafe { libc::setgroups(groups.len(), groups.as_ptr()) })?;
    // SAFETY: takes numbers only.
    check(unsafe { libc::setresgid(gid, gid, gid) })?;
    // SAFETY: takes numbers only.
    check(unsafe { libc::setresuid(uid, uid, uid) })
}

fn check(status: libc::c_int) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn entry(uid: u32) -> Option<Entry> {
    let mut buffer = vec![0; ENTRY_BYTES];
    // SAFETY: a struct of numbers and pointers, for which all-zero is valid.
    let mut found: libc::passwd = unsafe { std::mem::zeroed() };
    let mut answer = ptr::null_mut();
    let (start, length) = (buffer.as_mut_ptr(), buffer.len());
    // SAFETY: all three are exclusive, and the buffer has the stated length.
    let status = unsafe { libc::getpwuid_r(uid, &raw mut found, start, length, &raw mut answer) };
    if status != 0 || answer.is_null() {
        return None;
    }
    let copy = |text: *const libc::c_char| {
        // SAFETY: each field points to a zero-terminated text in `buffer`, which is alive.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_owned())
    };
    let text = |field| copy(field).map_or_else(OsString::new, os);
    let name = copy(found.pw_name)?;
    Some(Entry { name, home: text(found.pw_dir), shell: text(found.pw_shell) })
}

fn os(text: CString) -> OsString {
    OsString::from_vec(text.into_bytes())
}

fn groups(name: &CStr, gid: u32) -> Option<Vec<libc::gid_t>> {
    let mut groups = vec![0; GROUPS_MAX];
    let mut count = GROUPS_MAX as libc::c_int;
    // SAFETY: the name is zero-terminated, and `groups` has room for `count` numbers.
    let status =
        unsafe { libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &raw mut count) };
    groups.truncate(usize::try_from(count).ok()?);
    (status >= 0).then_some(groups)
}

/// Bytes for one entry of the user database.
const ENTRY_BYTES: usize = 16 << 10;
/// Groups of one user, at most: a user in more of them gets the primary one only.
const GROUPS_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups_have_numbers() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\n\nxdp:x:990:991::/:/bin/false\n";
        assert_eq!([number_of("xdp", passwd), number_of("none", passwd)], [Some(990), None]);
        assert_eq!(number_of("xway", "root:x:0:\nxway:x:995:ann,bob\n"), Some(995));
        assert_eq!((user("root"), group("root")), (Some(0), Some(0)));
    }

    #[test]
    fn the_database_is_read() {
        let root = Identity::new(0, 0);
        assert!(root.groups.contains(&0), "{root:?}");
        assert_eq!(root.entry.as_ref().map(|entry| entry.name.as_c_str()), Some(c"root"));
        assert!(root.shell().is_some());
        let unknown = Identity::new(4_000_000_000, 4_000_000_001);
        assert_eq!((unknown.groups.as_slice(), unknown.shell()), (&[4_000_000_001][..], None));
    }
}

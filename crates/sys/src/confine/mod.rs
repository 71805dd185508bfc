//! Gives up privileges and access to files and system calls before untrusted input is parsed.
//!
//! Rule: no restriction is ever lifted, and each applies to threads that are started later; so it
//! is applied while the process has one thread. What a kernel does not offer is left out and
//! reported by [`support`], because the remaining layers are worth having without it. Not here:
//! which command needs which file.

mod calls;

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use crate::cap::{self, Cap, Caps};
use crate::identity::Identity;
use crate::{Error, Result};

/// What this kernel offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// Version of Landlock's interface; `None` where it is absent or switched off.
    pub landlock: Option<u32>,
    /// Filters of system calls, on this architecture.
    pub seccomp: bool,
}

/// What a confined process may still use of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelUse {
    /// Only files, memory and time.
    None,
    /// It loads BPF programs and fills maps, to learn whether the verifier accepts the programs. It
    /// cannot attach or run them.
    LoadPrograms,
}

/// Proof that privileges were dropped.
#[derive(Debug)]
pub struct Unprivileged(KernelUse);

/// Files and directories that a confined process may still open.
#[derive(Clone, Debug, Default)]
pub struct Files {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

/// Becomes the invoking user when started by sudo and gives up all capabilities but those for the
/// given use of the kernel, as far as the process has them. Root itself also keeps the two that let
/// it open files of other users, which [`Unprivileged::confine`] then limits.
///
/// # Errors
/// The change of user may be incomplete: the process must end.
pub fn drop_privileges(kernel: KernelUse) -> Result<Unprivileged> {
    check_single()?;
    let before = Caps::effective()?;
    let wanted = match kernel {
        KernelUse::None => 0,
        KernelUse::LoadPrograms => LOAD,
    };
    if let Some(user) = Identity::of_sudo() {
        if wanted != 0 {
            keep_across_users()?;
        }
        user.assume()?;
    }
    let dac = if crate::dir::effective_user() == 0 { DAC } else { 0 };
    cap::set(before, wanted | dac)?;
    Ok(Unprivileged(kernel))
}

/// Lets a process without root regain the capabilities that it had as root.
fn keep_across_users() -> Result<()> {
    calls::enable("prctl(PR_SET_KEEPCAPS)", libc::PR_SET_KEEPCAPS)
}

/// Asks the kernel, and changes nothing.
pub fn support() -> Support {
    Support { landlock: landlock_version(), seccomp: calls::are_supported() }
}

impl Files {
    /// Allows reading a file, or a directory with everything below it. One that does not exist is
    /// ignored: opening it fails as it would have.
    pub fn read(&mut self, path: &Path) {
        self.read.push(path.to_owned());
    }

    /// Allows writing a file, or creating, renaming and removing files in a directory.
    pub fn write(&mut self, path: &Path) {
        self.write.push(path.to_owned());
    }
}

impl Unprivileged {
    /// Limits this process to `files`, to the system calls that reading, computing and writing
    /// take, and to its present privileges: no network, no program is executed. A process that
    /// loads programs may also make the commands of `bpf(2)` for that.
    pub fn confine(self, files: &Files) -> Result<()> {
        restrict_files(files).map_err(landlock_failed)?;
        calls::restrict(self.0)
    }
}

/// Limits the calling thread, and programs that it executes, to reading and executing installed
/// files, and to these capabilities, as far as root has them. A user without root keeps the
/// capabilities that were granted, because programs would not inherit them otherwise.
pub fn only_installed_programs(caps: &[Cap]) -> Result<()> {
    calls::no_new_privileges()?;
    restrict_programs().map_err(landlock_failed)?;
    match crate::dir::effective_user() {
        0 => cap::keep(caps.iter().fold(0, |bits, cap| bits | 1 << *cap as u8)),
        _ => Ok(()),
    }
}

/// Limits this process, a service, to these capabilities, as far as it has them, for good: no
/// program that it executed could regain others, and it executes none. Calls that only serve other
/// purposes, such as tracing processes, mounting and loading kernel modules, fail.
///
/// # Errors
/// The process has several threads, or the kernel refuses a restriction.
pub fn service(caps: &[Cap]) -> Result<()> {
    check_single()?;
    let bits = caps.iter().fold(0, |bits, cap| bits | 1 << *cap as u8);
    cap::limit(bits)?;
    cap::keep(bits)?;
    calls::forbid()
}

fn restrict_programs() -> std::result::Result<(), RulesetError> {
    let mut ruleset = everything_forbidden()?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    INSTALLED
        .iter()
        .for_each(|path| allow(&mut ruleset, Path::new(path), read | AccessFs::Execute));
    SYSTEM.iter().for_each(|path| allow(&mut ruleset, Path::new(path), read));
    ruleset.restrict_self()?;
    Ok(())
}

/// A Landlock domain without rights, as far as the kernel has them.
fn everything_forbidden() -> std::result::Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(VERSION))?
        .handle_access(AccessNet::from_all(VERSION))?
        .scope(Scope::from_all(VERSION))?
        .create()
}

fn restrict_files(files: &Files) -> std::result::Result<(), RulesetError> {
    let mut ruleset = everything_forbidden()?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write =
        read | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::MakeReg | AccessFs::RemoveFile;
    for path in SYSTEM.iter().map(Path::new).chain(files.read.iter().map(PathBuf::as_path)) {
        allow(&mut ruleset, path, read);
    }
    files.write.iter().for_each(|path| allow(&mut ruleset, path, write));
    // Also sets no_new_privs, which is left to the filter of system calls where Landlock is absent.
    ruleset.restrict_self()?;
    Ok(())
}

fn landlock_failed(error: RulesetError) -> Error {
    Error::new("landlock", "", libc::EINVAL).with_detail(error.to_string())
}

/// What cannot be allowed remains forbidden: a file that does not exist, or a pipe, which Landlock
/// does not restrict.
fn allow(ruleset: &mut RulesetCreated, path: &Path, access: BitFlags<AccessFs>) {
    if let Ok(opened) = PathFd::new(path) {
        let _forbidden = ruleset.add_rule(PathBeneath::new(opened, access));
    }
}

/// Other threads would keep their rights.
fn check_single() -> Result<()> {
    let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count);
    match threads {
        Ok(count) if count > 1 => Err(Error::new("setresuid", "", libc::EBUSY)
            .with_detail("privileges must be dropped before threads are started")),
        _ => Ok(()),
    }
}

fn landlock_version() -> Option<u32> {
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call takes no attributes and only returns a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION_FLAG) };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// `CAP_DAC_OVERRIDE` and `CAP_DAC_READ_SEARCH`.
const DAC: u64 = 1 << 1 | 1 << 2;
/// Bits of `CAP_NET_ADMIN`, `CAP_SYSLOG` (for addresses of symbols that objects refer to),
/// `CAP_PERFMON` and `CAP_BPF`.
const LOAD: u64 = 1 << 12 | 1 << 34 | 1 << 38 | 1 << 39;
/// Newest rights that are handled; of a kernel that knows fewer, those.
const VERSION: ABI = ABI::V6;
/// `LANDLOCK_CREATE_RULESET_VERSION`.
const VERSION_FLAG: u32 = 1;
/// Where distributions install programs, libraries and their data.
const INSTALLED: [&str; 7] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/etc/iproute2"];
/// What the C library, libpcap and the reader of the machine's shape open when they need it.
const SYSTEM: [&str; 9] = [
    "/etc/hosts",
    "/etc/services",
    "/etc/protocols",
    "/etc/networks",
    "/etc/ethers",
    "/etc/nsswitch.conf",
    "/etc/ld.so.cache",
    "/sys/devices/system/cpu",
    "/proc/self",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_is_refused() {
        let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
        assert!(threads > 1, "the test harness has a thread of its own");
        assert!(drop_privileges(KernelUse::None).unwrap_err().is(libc::EBUSY));
    }

    #[test]
    fn the_kernel_is_asked() {
        let support = support();
        let is_new = crate::proc::kernel_release().unwrap().starts_with("6.18");
        assert!(support.seccomp || !is_new, "{support:?}");
    }
}

//! The system calls of a process that reads files, computes and writes files.
//!
//! Rule: a list of what is allowed; everything else fails with `EPERM`, so that a call which a
//! new C library prefers falls back or reports an error instead of ending the process. `clone3`
//! fails with `ENOSYS`: its flags are in memory, which a filter cannot read, and the C library
//! then uses `clone`.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use super::KernelUse;
use crate::{Error, Result};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type BackendResult<T> = std::result::Result<T, BackendError>;

/// Whether kernel and architecture have filters.
pub(super) fn are_supported() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    let (operation, flags) = (libc::SECCOMP_GET_ACTION_AVAIL, 0);
    // SAFETY: the action is only read.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, operation, flags, &raw const action) };
    answer == 0 && arch().is_some()
}

/// Applies both filters to the calling thread and to those that it starts; does nothing where
/// there are none. Either way, no program that is executed later gains privileges.
pub(super) fn restrict(kernel: KernelUse) -> Result<()> {
    no_new_privileges()?;
    let Some(arch) = arch().filter(|_| are_supported()) else { return Ok(()) };
    let hidden = Rules::from([(libc::SYS_clone3, Vec::new())]);
    let no_clone3 = (hidden, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32));
    let listed = (
        allowed(kernel).map_err(invalid)?,
        SeccompAction::Errno(libc::EPERM as u32),
        SeccompAction::Allow,
    );
    for (rules, otherwise, matched) in [no_clone3, listed] {
        let filter = SeccompFilter::new(rules, otherwise, matched, arch);
        let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(invalid)?;
        seccompiler::apply_filter(&program).map_err(invalid)?;
    }
    Ok(())
}

/// Forbids the calls that no service of this project makes, in the calling thread and in those that
/// it starts.
pub(super) fn forbid() -> Result<()> {
    no_new_privileges()?;
    let Some(arch) = arch().filter(|_| are_supported()) else { return Ok(()) };
    let rules = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch);
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(invalid)?;
    seccompiler::apply_filter(&program).map_err(invalid)
}

fn invalid(error: impl std::fmt::Display) -> Error {
    Error::new("seccomp", "", libc::EINVAL).with_detail(error.to_string())
}

fn arch() -> Option<TargetArch> {
    TargetArch::try_from(std::env::consts::ARCH).ok()
}

pub(super) fn no_new_privileges() -> Result<()> {
    enable("prctl(PR_SET_NO_NEW_PRIVS)", libc::PR_SET_NO_NEW_PRIVS)
}

/// Enables an option of the calling thread; `call` names the call in errors.
pub(super) fn enable(call: &'static str, option: libc::c_int) -> Result<()> {
    let (on, unused): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: takes numbers only.
    let answer = unsafe { libc::prctl(option, on, unused, unused, unused) };
    if answer != 0 { Err(Error::last(call, "")) } else { Ok(()) }
}

fn allowed(kernel: KernelUse) -> BackendResult<Rules> {
    let mut rules: Rules = ANY.iter().map(|call| (*call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    rules.extend(OLD.iter().map(|call| (*call, Vec::new())));
    // A thread, and no process or namespace; no memory becomes executable.
    rules.insert(libc::SYS_clone, vec![masked(0, THREADS, THREAD)?]);
    rules.insert(libc::SYS_mmap, vec![masked(2, EXECUTABLE, 0)?]);
    rules.insert(libc::SYS_mprotect, vec![masked(2, EXECUTABLE, 0)?]);
    // Signals to itself, settings of itself, and no ioctl that types into a terminal.
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, equal(0, &[own])?);
    rules.insert(libc::SYS_sched_setaffinity, equal(0, &[0])?);
    rules.insert(libc::SYS_prlimit64, equal(0, &[0])?);
    rules.insert(libc::SYS_ioctl, equal(1, &IOCTLS)?);
    // A line editor notices another size of the terminal by a pair of its own.
    rules.insert(libc::SYS_socketpair, equal(0, &[libc::AF_UNIX as u64])?);
    rules.insert(libc::SYS_fcntl, equal(1, &FCNTLS)?);
    rules.insert(libc::SYS_prctl, equal(0, &PRCTLS)?);
    if kernel == KernelUse::LoadPrograms {
        rules.insert(libc::SYS_bpf, equal(0, &BPF_COMMANDS)?);
    }
    Ok(rules)
}

fn masked(argument: u8, mask: u64, value: u64) -> BackendResult<SeccompRule> {
    rule(argument, SeccompCmpOp::MaskedEq(mask), value)
}

/// One rule for each value: any of them may hold.
fn equal(argument: u8, values: &[u64]) -> BackendResult<Vec<SeccompRule>> {
    values.iter().map(|value| rule(argument, SeccompCmpOp::Eq, *value)).collect()
}

fn rule(argument: u8, operation: SeccompCmpOp, value: u64) -> BackendResult<SeccompRule> {
    // The kernel reads these arguments as 32-bit numbers, except for flags of `clone` and
    // protections, whose upper halves are unused.
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value)
        .and_then(|condition| SeccompRule::new(vec![condition]))
}

const THREAD: u64 = libc::CLONE_THREAD as u64;
/// `CLONE_THREAD`, and every flag that makes a namespace.
const THREADS: u64 = THREAD | 0x7e02_0000;
/// `PROT_EXEC`.
const EXECUTABLE: u64 = 4;
/// `TCGETS`, `TCSETSW` (to edit a line), `TIOCGWINSZ`, `FIONREAD`, `FIONBIO`, `FIOCLEX`, `TCGETS2`,
/// `TCSETS2` (to restore a terminal).
const IOCTLS: [u64; 8] = [0x5401, 0x5403, 0x5413, 0x541b, 0x5421, 0x5451, 0x802c_542a, 0x402c_542b];
/// `F_DUPFD`, `F_GETFD`, `F_SETFD`, `F_GETFL`, `F_SETFL`, `F_DUPFD_CLOEXEC`.
const FCNTLS: [u64; 6] = [0, 1, 2, 3, 4, 1030];
/// `PR_SET_NAME`, `PR_GET_NAME`, `PR_SET_VMA`.
const PRCTLS: [u64; 3] = [15, 16, 0x5356_4d41];

/// Commands of `bpf(2)` that load a program with its maps and types, and read what the kernel made
/// of it (`enum bpf_cmd`): creation, elements, `PROG_LOAD`, `OBJ_GET_INFO_BY_FD`, `BTF_LOAD`,
/// `MAP_FREEZE`, batches, `PROG_BIND_MAP`. None attaches, runs, pins or opens other objects.
const BPF_COMMANDS: [u64; 14] = [0, 1, 2, 3, 4, 5, 15, 18, 22, 24, 25, 26, 27, 35];

/// Calls that execute programs, trace processes, change mounts and namespaces, load kernel code,
/// use keys, or stop the machine.
const FORBIDDEN: [i64; 36] = [
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_personality,
];

/// Calls that are allowed with any arguments.
const ANY: [i64; 95] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_lseek,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_umask,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_signalfd4,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_membarrier,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getgroups,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_capget,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrlimit,
    libc::SYS_getrusage,
    libc::SYS_clone3,
    libc::SYS_flock,
    libc::SYS_renameat,
];

/// Calls that only older architectures have.
#[cfg(target_arch = "x86_64")]
const OLD: [i64; 19] = [
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_mkdir,
    libc::SYS_getdents,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_pipe,
    libc::SYS_dup2,
    libc::SYS_epoll_wait,
    libc::SYS_time,
    libc::SYS_arch_prctl,
    libc::SYS_eventfd,
    libc::SYS_signalfd,
];

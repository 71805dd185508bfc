//! Which system calls count, and with which errors the kernel can answer them.
//!
//! Rule: a call that changes something is a point to kill the process at and to fail; a call that
//! only reads is a point to fail. Errors are those that the call can return on a healthy system
//! under pressure or without permission; calls that cannot fail so are not listed.

use nix::errno::Errno::{self, *};

/// A system call at its entry: number and arguments.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub number: u64,
    pub args: [u64; 6],
}

/// What a system call does, as far as the campaign distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    pub changes: bool,
    pub errors: &'static [Errno],
}

impl Entry {
    /// `None` for calls that neither change anything nor can fail plausibly.
    pub fn kind(&self) -> Option<Kind> {
        match self.number {
            BPF => row(BPF_COMMANDS, self.args[0]),
            OPENAT if self.creates() => Some(kind("openat(write)", CHANGES, &[EACCES, ENOSPC])),
            OPENAT => Some(kind("openat", READS, &[EMFILE])),
            WRITE if self.args[0] <= STDERR => Some(kind("write(output)", CHANGES, &[EIO])),
            MMAP if self.args[3] & MAP_SHARED != 0 && !self.is_anonymous() => {
                Some(kind("mmap(shared)", CHANGES, &[ENOMEM]))
            }
            FCNTL if self.args[1] == F_DUPFD_CLOEXEC => {
                Some(kind("fcntl(F_DUPFD_CLOEXEC)", READS, &[EMFILE]))
            }
            PRLIMIT if self.args[2] == 0 => None,
            // No netlink message is so short: a socket pair between processes.
            RECVFROM if self.args[2] < NETLINK_HEADER => Some(kind("recvfrom", READS, &[EINTR])),
            number => row(CALLS, number),
        }
    }

    /// Opens a file for writing, or creates it.
    pub fn creates(&self) -> bool {
        self.number == OPENAT && self.args[2] & (O_WRONLY | O_RDWR | O_CREAT) != 0
    }

    fn is_anonymous(&self) -> bool {
        self.args[4] as u32 == u32::MAX
    }
}

/// A netlink request for information, in place of `sendto`.
pub const QUERY: Kind = kind("sendto(query)", READS, &[ENOBUFS]);

type Row = (u64, &'static str, bool, &'static [Errno]);

fn row(table: &[Row], number: u64) -> Option<Kind> {
    let found = table.iter().find(|row| row.0 == number)?;
    Some(kind(found.1, found.2, found.3))
}

const fn kind(name: &'static str, changes: bool, errors: &'static [Errno]) -> Kind {
    Kind { name, changes, errors }
}

const CHANGES: bool = true;
const READS: bool = false;

pub const BPF: u64 = 321;
pub const SENDTO: u64 = 44;
pub const OPENAT: u64 = 257;
pub const MKDIR: u64 = 83;
pub const MKDIRAT: u64 = 258;
pub const UNSHARE: u64 = 272;
/// The last step of the start-up code of Rust's runtime; what comes before is not the program's.
pub const SIGALTSTACK: u64 = 131;
const WRITE: u64 = 1;
const MMAP: u64 = 9;
const FCNTL: u64 = 72;
const PRLIMIT: u64 = 302;
const RECVFROM: u64 = 45;
/// Bytes of `struct nlmsghdr`.
const NETLINK_HEADER: u64 = 16;
const STDERR: u64 = 2;
const MAP_SHARED: u64 = 1;
const F_DUPFD_CLOEXEC: u64 = 1030;
const O_WRONLY: u64 = 1;
const O_RDWR: u64 = 2;
pub const O_CREAT: u64 = 0o100;

/// Commands of `bpf(2)` by number (`include/uapi/linux/bpf.h`).
const BPF_COMMANDS: &[Row] = &[
    (bpf::MAP_CREATE, "bpf(MAP_CREATE)", CHANGES, &[EPERM, ENOMEM]),
    (1, "bpf(MAP_LOOKUP_ELEM)", READS, &[ENOMEM]),
    (2, "bpf(MAP_UPDATE_ELEM)", CHANGES, &[ENOMEM, E2BIG, EBUSY]),
    (3, "bpf(MAP_DELETE_ELEM)", CHANGES, &[EBUSY]),
    (4, "bpf(MAP_GET_NEXT_KEY)", READS, &[ENOMEM]),
    (bpf::PROG_LOAD, "bpf(PROG_LOAD)", CHANGES, &[EPERM, ENOMEM, EAGAIN, EINVAL]),
    (6, "bpf(OBJ_PIN)", CHANGES, &[EPERM, ENOMEM, EEXIST]),
    (7, "bpf(OBJ_GET)", READS, &[ENOMEM, EMFILE]),
    (8, "bpf(PROG_ATTACH)", CHANGES, &[ENOMEM, EINVAL]),
    (9, "bpf(PROG_DETACH)", CHANGES, &[ENOENT]),
    (10, "bpf(PROG_TEST_RUN)", CHANGES, &[ENOMEM, EINTR, EINVAL]),
    (13, "bpf(PROG_GET_FD_BY_ID)", READS, &[EMFILE, EPERM]),
    (14, "bpf(MAP_GET_FD_BY_ID)", READS, &[EMFILE, EPERM]),
    (bpf::RAW_TRACEPOINT_OPEN, "bpf(RAW_TRACEPOINT_OPEN)", CHANGES, &[ENOMEM, EPERM]),
    (bpf::BTF_LOAD, "bpf(BTF_LOAD)", CHANGES, &[EPERM, ENOMEM]),
    (19, "bpf(BTF_GET_FD_BY_ID)", READS, &[EMFILE]),
    (22, "bpf(MAP_FREEZE)", CHANGES, &[EBUSY]),
    (24, "bpf(MAP_LOOKUP_BATCH)", READS, &[ENOMEM]),
    (26, "bpf(MAP_UPDATE_BATCH)", CHANGES, &[ENOMEM]),
    (27, "bpf(MAP_DELETE_BATCH)", CHANGES, &[ENOMEM]),
    (bpf::LINK_CREATE, "bpf(LINK_CREATE)", CHANGES, &[EPERM, EBUSY, ENOMEM]),
    (29, "bpf(LINK_UPDATE)", CHANGES, &[EPERM, EBUSY, ENOMEM]),
    (30, "bpf(LINK_GET_FD_BY_ID)", READS, &[EMFILE, EPERM]),
    (34, "bpf(LINK_DETACH)", CHANGES, &[EPERM]),
    (35, "bpf(PROG_BIND_MAP)", CHANGES, &[ENOMEM]),
];

/// Commands of `bpf(2)` that create an object.
pub mod bpf {
    pub const MAP_CREATE: u64 = 0;
    pub const PROG_LOAD: u64 = 5;
    pub const RAW_TRACEPOINT_OPEN: u64 = 17;
    pub const BTF_LOAD: u64 = 18;
    pub const LINK_CREATE: u64 = 28;
}

/// x86-64 numbers (`arch/x86/entry/syscalls/syscall_64.tbl`).
const CALLS: &[Row] = &[
    (1, "write", CHANGES, &[ENOSPC, EIO]),
    (16, "ioctl", CHANGES, &[EPERM, EOPNOTSUPP]),
    (18, "pwrite64", CHANGES, &[ENOSPC]),
    (20, "writev", CHANGES, &[ENOSPC]),
    (41, "socket", READS, &[EMFILE, ENOBUFS]),
    (42, "connect", CHANGES, &[ECONNREFUSED]),
    (SENDTO, "sendto", CHANGES, &[ENOBUFS, EPERM]),
    (RECVFROM, "recvfrom", READS, &[ENOBUFS, EINTR]),
    (46, "sendmsg", CHANGES, &[ENOBUFS, EPERM]),
    (47, "recvmsg", READS, &[ENOBUFS, EINTR]),
    (49, "bind", CHANGES, &[EADDRINUSE, EBUSY, ENOMEM]),
    (50, "listen", CHANGES, &[EADDRINUSE]),
    (53, "socketpair", READS, &[EMFILE]),
    (54, "setsockopt", CHANGES, &[EPERM, ENOMEM]),
    (56, "clone", CHANGES, &[EAGAIN]),
    (57, "fork", CHANGES, &[EAGAIN]),
    (58, "vfork", CHANGES, &[EAGAIN]),
    (59, "execve", CHANGES, &[ENOMEM]),
    (62, "kill", CHANGES, &[EPERM]),
    (73, "flock", CHANGES, &[EINTR, ENOLCK]),
    (74, "fsync", CHANGES, &[EIO]),
    (77, "ftruncate", CHANGES, &[EIO]),
    (80, "chdir", CHANGES, &[EACCES]),
    (81, "fchdir", CHANGES, &[EACCES]),
    (82, "rename", CHANGES, &[ENOSPC, EACCES]),
    (MKDIR, "mkdir", CHANGES, &[ENOSPC, EACCES]),
    (84, "rmdir", CHANGES, &[EBUSY, EIO]),
    (86, "link", CHANGES, &[ENOSPC]),
    (87, "unlink", CHANGES, &[EIO, EACCES]),
    (88, "symlink", CHANGES, &[ENOSPC]),
    (89, "readlink", READS, &[ENOMEM]),
    (90, "chmod", CHANGES, &[EPERM]),
    (91, "fchmod", CHANGES, &[EPERM]),
    (92, "chown", CHANGES, &[EPERM]),
    (93, "fchown", CHANGES, &[EPERM]),
    (142, "sched_setparam", CHANGES, &[EPERM]),
    (144, "sched_setscheduler", CHANGES, &[EPERM]),
    (165, "mount", CHANGES, &[EPERM, ENOMEM]),
    (166, "umount2", CHANGES, &[EBUSY, EPERM]),
    (203, "sched_setaffinity", CHANGES, &[EINVAL]),
    (217, "getdents64", READS, &[ENOMEM]),
    (233, "epoll_ctl", CHANGES, &[ENOMEM]),
    (MKDIRAT, "mkdirat", CHANGES, &[ENOSPC, EACCES]),
    (260, "fchownat", CHANGES, &[EPERM]),
    (263, "unlinkat", CHANGES, &[EIO, EACCES]),
    (264, "renameat", CHANGES, &[ENOSPC]),
    (267, "readlinkat", READS, &[ENOMEM]),
    (268, "fchmodat", CHANGES, &[EPERM]),
    (UNSHARE, "unshare", CHANGES, &[ENOSPC, EPERM, ENOMEM]),
    (283, "timerfd_create", READS, &[EMFILE]),
    (289, "signalfd4", READS, &[EMFILE]),
    (290, "eventfd2", READS, &[EMFILE]),
    (291, "epoll_create1", READS, &[EMFILE]),
    (293, "pipe2", READS, &[EMFILE]),
    (302, "prlimit64", CHANGES, &[EPERM]),
    (307, "sendmmsg", CHANGES, &[ENOBUFS]),
    (308, "setns", CHANGES, &[EPERM, ENOMEM]),
    (316, "renameat2", CHANGES, &[ENOSPC]),
    (319, "memfd_create", READS, &[EMFILE]),
    (429, "move_mount", CHANGES, &[EPERM]),
    (430, "fsopen", CHANGES, &[EPERM, EMFILE]),
    (431, "fsconfig", CHANGES, &[EPERM]),
    (432, "fsmount", CHANGES, &[EPERM, ENOMEM]),
    (434, "pidfd_open", READS, &[EMFILE]),
    (435, "clone3", CHANGES, &[EAGAIN]),
    (437, "openat2", READS, &[EMFILE]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u64, args: [u64; 6]) -> Option<&'static str> {
        Entry { number, args }.kind().map(|kind| kind.name)
    }

    #[test]
    fn calls_are_distinguished_by_their_arguments() {
        let at = |index: usize, value: u64| {
            let mut args = [0; 6];
            args[index] = value;
            args
        };
        assert_eq!(name(OPENAT, at(2, 0)), Some("openat"));
        assert_eq!(name(OPENAT, at(2, O_CREAT)), Some("openat(write)"));
        assert_eq!(name(BPF, at(0, bpf::LINK_CREATE)), Some("bpf(LINK_CREATE)"));
        assert_eq!(name(BPF, at(0, 15)), None, "reading an object's description");
        assert_eq!(name(WRITE, at(0, 1)), Some("write(output)"));
        assert_eq!(name(WRITE, at(0, 7)), Some("write"));
        assert_eq!(name(PRLIMIT, at(2, 0)), None, "reading a limit");
        let errors =
            |length| Entry { number: RECVFROM, args: at(2, length) }.kind().unwrap().errors;
        assert_eq!((errors(8), errors(8192)), (&[EINTR][..], &[ENOBUFS, EINTR][..]));
        assert_eq!(name(202, [0; 6]), None, "futex");
    }
}

//! Capabilities of this process, and the memory lock limit that older kernels charge BPF to.

use std::fmt;
use std::fs;

use crate::{Error, Result};

/// Capabilities that BPF and networking require.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cap {
    NetAdmin = 12,
    NetRaw = 13,
    /// Nothing needs it; with it, the limit on locked memory does not count.
    IpcLock = 14,
    SysAdmin = 21,
    SysResource = 24,
    Perfmon = 38,
    Bpf = 39,
}

impl Cap {
    /// Capabilities without which some function fails.
    pub const ALL: [Self; 6] =
        [Self::NetAdmin, Self::NetRaw, Self::SysAdmin, Self::SysResource, Self::Perfmon, Self::Bpf];

    /// Name such as `CAP_BPF`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::IpcLock => "CAP_IPC_LOCK",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::SysResource => "CAP_SYS_RESOURCE",
            Self::Perfmon => "CAP_PERFMON",
            Self::Bpf => "CAP_BPF",
        }
    }
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps(u64);

impl Caps {
    /// The effective set of the calling thread.
    pub fn effective() -> Result<Self> {
        let path = "/proc/thread-self/status";
        let text =
            fs::read_to_string(path).map_err(|error| Error::from_io("read", path, &error))?;
        parse(&text).ok_or_else(|| {
            Error::new("read", path, libc::EINVAL).with_detail("no CapEff line in it")
        })
    }

    /// Whether `cap` is in the set; `CAP_SYS_ADMIN` includes BPF and PERFMON as in the kernel.
    pub fn allows(self, cap: Cap) -> bool {
        let bit = |cap: Cap| self.0 & (1 << cap as u8) != 0;
        bit(cap) || (matches!(cap, Cap::Bpf | Cap::Perfmon) && bit(Cap::SysAdmin))
    }

    /// Capabilities of [`Cap::ALL`] that the process lacks.
    pub fn missing(self) -> Vec<Cap> {
        Cap::ALL.into_iter().filter(|cap| !self.allows(*cap)).collect()
    }
}

/// Gives up every capability of the calling thread, for good; other threads keep theirs.
pub fn give_up() -> Result<()> {
    keep(0)
}

/// Gives up every capability of the calling thread but those of a set that have a bit here, as
/// far as it has them.
pub(crate) fn keep(bits: u64) -> Result<()> {
    set(Caps::effective().unwrap_or(Caps(0)), bits)
}

/// Leaves only these capabilities in the bounding set, so that they are the most that the thread
/// can have again. A process that may not change the set has no others to gain.
pub(crate) fn limit(bits: u64) -> Result<()> {
    for cap in 0..u64::BITS {
        if bits & 1 << cap != 0 {
            continue;
        }
        // SAFETY: takes numbers only.
        let answer = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, cap, 0, 0, 0) };
        match Error::last("prctl(PR_CAPBSET_DROP)", cap.to_string()) {
            _ if answer == 0 => {}
            // Unknown capabilities end the list.
            error if error.is(libc::EINVAL) => break,
            error if error.is(libc::EPERM) => break,
            error => return Err(error),
        }
    }
    Ok(())
}

/// Has the calling thread keep, of the capabilities that it had, those with a bit here.
pub(crate) fn set(had: Caps, bits: u64) -> Result<()> {
    let kept = bits & had.0;
    let (low, high) = (kept as u32, (kept >> 32) as u32);
    // `struct __user_cap_header_struct` of version 3: the calling thread; and two of
    // `struct __user_cap_data_struct`: effective, permitted, inheritable.
    let (header, data) = ([VERSION_3, 0], [low, low, 0, high, high, 0]);
    let (header, data) = ((&raw const header), (&raw const data));
    // SAFETY: both point to whole structs of this version; they are only read.
    if unsafe { libc::syscall(libc::SYS_capset, header, data) } != 0 {
        return Err(Error::last("capset", format!("{kept:#x}")));
    }
    Ok(())
}

fn parse(status: &str) -> Option<Caps> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok().map(Caps)
}

/// Memory that this process may lock, in bytes; `None` for unlimited.
pub fn memlock() -> Result<Option<u64>> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is exclusive.
    if unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) } != 0 {
        return Err(Error::last("getrlimit(RLIMIT_MEMLOCK)", ""));
    }
    Ok((limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur))
}

/// Lifts the limit for the whole process. Only kernels before 5.11 charge BPF to it.
pub fn lift_memlock() -> Result<()> {
    let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is only read.
    if unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) } != 0 {
        return Err(Error::last("setrlimit(RLIMIT_MEMLOCK)", ""));
    }
    Ok(())
}

/// `_LINUX_CAPABILITY_VERSION_3`.
const VERSION_3: u32 = 0x2008_0522;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gives_up_its_own() {
        let given_up = std::thread::spawn(|| give_up().and_then(|()| Caps::effective()));
        assert_eq!(given_up.join().unwrap().unwrap(), Caps(0));
    }

    #[test]
    fn sets_are_read_from_status() {
        let root = parse("Name:\tx\nCapEff:\t000001ffffffffff\n").unwrap();
        assert_eq!(root.missing(), []);
        let old_root = Caps(1 << Cap::SysAdmin as u8 | 1 << Cap::NetAdmin as u8);
        assert!(old_root.allows(Cap::Bpf), "CAP_SYS_ADMIN stands for CAP_BPF");
        assert_eq!(old_root.missing(), [Cap::NetRaw, Cap::SysResource]);
        assert_eq!(parse("Name:\tx\n"), None);
        assert_eq!(parse("CapEff:\tzz\n"), None);
    }
}

//! The environment of a failed call: the process, the kernel, and the attempt.

use sys::cap::{self, Cap, Caps};

use crate::device::{Device, Wanted};

/// A failed attempt to set up a socket.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attempt<'a> {
    /// The interface, if it is known.
    pub device: Option<&'a Device>,
    /// Requirements of the socket.
    pub wanted: Wanted,
    /// Bytes of the memory.
    pub memory: u64,
    /// Frames are unaligned.
    pub unaligned: bool,
    /// Bytes for metadata before transmitted packets, or 0.
    pub tx_metadata: u32,
    /// Entries of the ring that was created or mapped, or packets of a budget.
    pub entries: u32,
    /// Entries of the tx ring.
    pub tx_ring: u32,
}

/// The arguments of [`advice`](super::advice).
#[derive(Clone, Copy, Debug)]
pub struct Environment<'a> {
    /// The failed attempt.
    pub attempt: Attempt<'a>,
    /// The running kernel.
    pub kernel: Kernel,
    /// The process has `CAP_NET_RAW`.
    pub can_use_raw_sockets: bool,
    /// Bytes that the user may lock; `None` without a limit for this process.
    pub lockable: Option<u64>,
}

/// Major and minor version of a kernel release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel(pub u32, pub u32);

impl<'a> Environment<'a> {
    /// Collects the environment of the calling process.
    pub fn gather(attempt: Attempt<'a>) -> Self {
        let caps = Caps::effective();
        // A set of capabilities that cannot be read must not be reported as the cause.
        let has = |cap| caps.as_ref().map_or(true, |caps| caps.allows(cap));
        let limit = cap::memlock().ok().flatten();
        Self {
            attempt,
            kernel: Kernel::running(),
            can_use_raw_sockets: has(Cap::NetRaw),
            lockable: if has(Cap::IpcLock) { None } else { limit },
        }
    }
}

impl Kernel {
    /// Version of the running kernel; 0.0 if it cannot be read.
    pub fn running() -> Self {
        sys::proc::kernel_release().ok().and_then(|text| Self::parse(&text)).unwrap_or(Self(0, 0))
    }

    fn parse(release: &str) -> Option<Self> {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit());
        Some(Self(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }
}

impl std::fmt::Display for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_number() {
        assert_eq!(Kernel::parse("6.1.0-25-amd64"), Some(Kernel(6, 1)));
        assert_eq!(Kernel::parse("5.15"), Some(Kernel(5, 15)));
        assert_eq!(Kernel::parse("x"), None);
        assert!(Kernel(5, 15) > Kernel(5, 4) && Kernel(6, 1) > Kernel(5, 15));
    }

    #[test]
    fn a_kernel_runs() {
        assert!(Kernel::running() >= Kernel(4, 18));
    }
}

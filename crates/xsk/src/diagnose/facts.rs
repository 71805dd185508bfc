//! What the advice depends on: the process, the kernel, and what was attempted.

use sys::cap::{self, Cap, Caps};

use crate::device::{Device, Wanted};

/// What was attempted, as far as it got.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attempt<'a> {
    pub device: Option<&'a Device>,
    pub wanted: Wanted,
    /// Bytes of the memory.
    pub memory: u64,
    /// Frames may lie anywhere in it.
    pub unaligned: bool,
    /// Bytes for metadata in front of transmitted packets, or 0.
    pub tx_metadata: u32,
    /// Entries of the ring that was made or mapped, or packets of a budget.
    pub entries: u32,
    /// Entries of the tx ring.
    pub tx_ring: u32,
}

/// Everything that [`advice`](super::advice) looks at.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    pub attempt: Attempt<'a>,
    pub kernel: Kernel,
    pub can_use_raw_sockets: bool,
    /// Bytes that the user may lock; `None` where nothing limits this process.
    pub lockable: Option<u64>,
}

/// Major and minor number of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel(pub u32, pub u32);

impl<'a> Facts<'a> {
    /// About the calling process, now.
    pub fn gather(attempt: Attempt<'a>) -> Self {
        let caps = Caps::effective();
        // Where the set cannot be read it must not be what is blamed.
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
    /// The running one; 0.0 where it does not say.
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

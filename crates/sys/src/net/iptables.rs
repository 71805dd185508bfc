//! What the rules of a table of `iptables-legacy` have counted: the kernel's own list, by socket
//! option. Its built-in chains are in `legacy_chains`.
//!
//! Rule: as [`Nftables`](super::Nftables), a question takes microseconds. Not here: changing rules.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::{Error, Result};

/// The tables of one protocol of the namespace that it was opened in.
#[derive(Debug)]
pub struct Iptables {
    socket: OwnedFd,
    pub(super) is_ipv6: bool,
}

/// Where a built-in chain hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chain {
    Prerouting,
    Input,
}

impl Iptables {
    /// The tables of IPv4. Needs `CAP_NET_ADMIN` and `CAP_NET_RAW`.
    pub fn open() -> Result<Self> {
        Self::of(false)
    }

    /// The tables of IPv4 or IPv6. Needs `CAP_NET_ADMIN` and `CAP_NET_RAW`.
    pub(super) fn of(is_ipv6: bool) -> Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let family = if is_ipv6 { libc::AF_INET6 } else { libc::AF_INET };
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::socket(family, kind, libc::IPPROTO_RAW) };
        if fd < 0 {
            return Err(Error::last("socket(IPPROTO_RAW)", ""));
        }
        // SAFETY: `fd` was just returned by `socket` and has no other owner.
        Ok(Self { socket: unsafe { OwnedFd::from_raw_fd(fd) }, is_ipv6 })
    }

    /// Packets that the first rule of a built-in chain has counted; of an empty chain, its policy.
    ///
    /// # Errors
    /// `ENOENT` when there is no such table, or it has no such chain.
    pub fn first_counted(&self, table: &str, chain: Chain) -> Result<u64> {
        let info = self.info(table)?;
        let gone = || Error::new("getsockopt(IPT_SO_GET_INFO)", table, libc::ENOENT);
        let (size, at) = entry(&info, chain).ok_or_else(gone)?;
        let entries = self.entries(table, size)?;
        let count = entries.get(at + COUNTERS..).and_then(<[u8]>::first_chunk);
        count.map(|count| u64::from_ne_bytes(*count)).ok_or_else(gone)
    }

    /// `struct ipt_getinfo` of a table.
    pub(super) fn info(&self, table: &str) -> Result<Vec<u8>> {
        let mut info = named(table, GETINFO);
        self.read("getsockopt(IPT_SO_GET_INFO)", table, IPT_SO_GET_INFO, &mut info)?;
        Ok(info)
    }

    /// All entries of a table. A rule more or less since its size was read is `EAGAIN`.
    pub(super) fn entries(&self, table: &str, size: usize) -> Result<Vec<u8>> {
        let mut entries = named(table, GET_ENTRIES + size);
        entries[NAME..NAME + 4].copy_from_slice(&(size as u32).to_ne_bytes());
        let call = "getsockopt(IPT_SO_GET_ENTRIES)";
        self.read(call, table, IPT_SO_GET_ENTRIES, &mut entries)?;
        Ok(entries.split_off(GET_ENTRIES))
    }

    fn read(&self, call: &'static str, table: &str, option: i32, into: &mut [u8]) -> Result<()> {
        let (fd, mut length) = (self.socket.as_raw_fd(), into.len() as libc::socklen_t);
        let at = into.as_mut_ptr().cast();
        let level = if self.is_ipv6 { libc::SOL_IPV6 } else { libc::SOL_IP };
        // SAFETY: `into` is exclusive and `length` its size.
        let status = unsafe { libc::getsockopt(fd, level, option, at, &raw mut length) };
        if status < 0 { Err(Error::last(call, table)) } else { Ok(()) }
    }
}

/// A buffer of `size` bytes that begins with the table's name.
fn named(table: &str, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    let length = table.len().min(NAME - 1);
    bytes[..length].copy_from_slice(&table.as_bytes()[..length]);
    bytes
}

/// The size of all entries, and where among them the chain's first is.
fn entry(info: &[u8], chain: Chain) -> Option<(usize, usize)> {
    let word = |at: usize| {
        let bytes = info.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_ne_bytes(bytes))
    };
    let hook = match chain {
        Chain::Prerouting => 0,
        Chain::Input => 1,
    };
    (word(VALID_HOOKS)? & 1 << hook != 0).then_some(())?;
    let at = word(HOOK_ENTRY + 4 * hook)? as usize;
    Some((word(SIZE)? as usize, at))
}

// include/uapi/linux/netfilter_ipv4/ip_tables.h at v6.18.
const IPT_SO_GET_INFO: i32 = 64;
const IPT_SO_GET_ENTRIES: i32 = 65;
/// Bytes of a table's name.
const NAME: usize = 32;
/// `struct ipt_getinfo`, and where in it which chains there are, where each begins, and how long
/// all of it is.
const GETINFO: usize = 84;
pub(super) const VALID_HOOKS: usize = 32;
pub(super) const HOOK_ENTRY: usize = 36;
pub(super) const SIZE: usize = 80;
/// `struct ipt_get_entries` before the entries, which are aligned to eight bytes.
const GET_ENTRIES: usize = 40;
/// Where `struct ipt_entry` has its counters.
const COUNTERS: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_where_the_table_says() {
        let mut info = named("raw", GETINFO);
        assert_eq!(&info[..4], b"raw\0");
        for (at, word) in [(VALID_HOOKS, 0b1001_u32), (HOOK_ENTRY, 152), (SIZE, 1000)] {
            info[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        assert_eq!(entry(&info, Chain::Prerouting), Some((1000, 152)));
        assert_eq!(entry(&info, Chain::Input), None, "raw has no INPUT");
        assert_eq!(entry(&info[..50], Chain::Prerouting), None);
        assert_eq!(named(&"x".repeat(40), 64)[30..33], [b'x', 0, 0]);
    }
}

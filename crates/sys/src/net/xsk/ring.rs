//! One of a socket's four rings as mapped memory, and the offsets of its parts.

use std::mem;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use super::read;
use crate::error::{Error, Result};
use crate::mmap::Mapping;

/// The four rings of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingKind {
    /// Empty frames, to the kernel.
    Fill,
    /// Transmitted frames, from the kernel.
    Completion,
    /// Received frames, from the kernel.
    Rx,
    /// Frames to transmit, to the kernel.
    Tx,
}

/// A ring; unmapped on drop. Indices run freely and wrap at 2^32; slots are counted from 0.
#[derive(Debug)]
pub struct RingMapping {
    mapping: Mapping,
    entries: u32,
    offsets: libc::xdp_ring_offset,
}

impl RingMapping {
    pub(super) fn new(fd: BorrowedFd<'_>, kind: RingKind, entries: u32) -> Result<Self> {
        let offsets = offsets(fd, kind)?;
        let slots = u64::from(entries) * kind.slot_size() as u64;
        let len = usize::try_from(offsets.desc + slots).map_err(|_| {
            Error::new("mmap(AF_XDP ring)", format!("{entries} entries"), libc::EOVERFLOW)
        })?;
        let mapping = Mapping::new(fd, kind.page_offset(), len, true)?;
        Ok(Self { mapping, entries, offsets })
    }

    /// Number of entries.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// The index that the producer of the ring advances.
    pub fn producer(&self) -> NonNull<u32> {
        self.mapping.place(self.offsets.producer as usize)
    }

    /// The index that the consumer of the ring advances.
    pub fn consumer(&self) -> NonNull<u32> {
        self.mapping.place(self.offsets.consumer as usize)
    }

    /// The word in which the kernel requests a wakeup.
    pub fn flags(&self) -> NonNull<u32> {
        self.mapping.place(self.offsets.flags as usize)
    }

    /// The first of `entries` slots.
    pub fn slots<T>(&self) -> NonNull<T> {
        self.mapping.place(self.offsets.desc as usize)
    }
}

impl RingKind {
    /// Bytes of a slot: an address, or a descriptor.
    pub fn slot_size(self) -> usize {
        match self {
            Self::Fill | Self::Completion => mem::size_of::<u64>(),
            Self::Rx | Self::Tx => mem::size_of::<libc::xdp_desc>(),
        }
    }

    pub(super) fn option(self) -> i32 {
        match self {
            Self::Fill => libc::XDP_UMEM_FILL_RING,
            Self::Completion => libc::XDP_UMEM_COMPLETION_RING,
            Self::Rx => libc::XDP_RX_RING,
            Self::Tx => libc::XDP_TX_RING,
        }
    }

    pub(super) fn call(self) -> &'static str {
        match self {
            Self::Fill => "setsockopt(XDP_UMEM_FILL_RING)",
            Self::Completion => "setsockopt(XDP_UMEM_COMPLETION_RING)",
            Self::Rx => "setsockopt(XDP_RX_RING)",
            Self::Tx => "setsockopt(XDP_TX_RING)",
        }
    }

    fn page_offset(self) -> u64 {
        match self {
            Self::Fill => libc::XDP_UMEM_PGOFF_FILL_RING,
            Self::Completion => libc::XDP_UMEM_PGOFF_COMPLETION_RING,
            Self::Rx => libc::XDP_PGOFF_RX_RING as u64,
            Self::Tx => libc::XDP_PGOFF_TX_RING as u64,
        }
    }
}

fn offsets(fd: BorrowedFd<'_>, kind: RingKind) -> Result<libc::xdp_ring_offset> {
    let call = "getsockopt(XDP_MMAP_OFFSETS)";
    // SAFETY: a plain C struct of integers; all zeroes is a value of it.
    let mut all: libc::xdp_mmap_offsets = unsafe { mem::zeroed() };
    let len = read(fd, call, libc::XDP_MMAP_OFFSETS, &mut all)?;
    // Linux before 5.4 has no flag word and answers a shorter struct.
    if len < mem::size_of_val(&all) {
        let error = Error::new(call, "", libc::ENOPROTOOPT);
        return Err(error.with_detail("rings without flags: needs Linux 5.4"));
    }
    Ok(match kind {
        RingKind::Fill => all.fr,
        RingKind::Completion => all.cr,
        RingKind::Rx => all.rx,
        RingKind::Tx => all.tx,
    })
}

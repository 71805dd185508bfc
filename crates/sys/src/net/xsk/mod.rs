//! `AF_XDP` sockets: memory registration, rings, binding, options, statistics.
//!
//! Rule: each function is one call of the kernel and keeps its errno. The descriptor belongs to
//! the namespace of the thread that opened it. Who may touch which slot of a ring is the business
//! of the crate `xsk`; here a ring is memory with known offsets.

mod ring;
mod statistics;

use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

pub use ring::{RingKind, RingMapping};
pub use statistics::XskStatistics;

use super::Ifindex;
use crate::error::{Error, Result};

/// One `AF_XDP` socket.
#[derive(Debug)]
pub struct XskSocket {
    socket: OwnedFd,
}

/// Memory as `XDP_UMEM_REG` takes it. Sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct UmemMemory {
    /// First byte of the memory, page-aligned.
    pub start: NonNull<u8>,
    /// Length in bytes.
    pub len: usize,
    /// Size of a chunk in bytes.
    pub chunk_size: u32,
    /// Bytes reserved before each frame.
    pub headroom: u32,
    /// `XDP_UMEM_*`.
    pub flags: u32,
    /// Bytes for `struct xsk_tx_metadata` before transmitted frames, or 0.
    pub tx_metadata_len: u32,
}

/// Where to bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XskBinding {
    /// The interface.
    pub ifindex: Ifindex,
    /// Receive queue.
    pub queue: u32,
    /// `XDP_*` flags of `sockaddr_xdp`.
    pub flags: u16,
}

/// What a call that lets the kernel transmit came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kick {
    /// The ring is empty.
    Done,
    /// Not now, or not all of it.
    Later,
    /// The driver took one packet, dropped it, and the kernel stopped there: copy mode only
    /// (`__xsk_generic_xmit` in net/xdp/xsk.c at v6.18).
    Dropped,
}

/// Chunks may lie at any offset.
pub const UMEM_UNALIGNED: u32 = libc::XDP_UMEM_UNALIGNED_CHUNK_FLAG;
/// Compute requested checksums in software.
pub const UMEM_SOFTWARE_CHECKSUM: u32 = libc::XDP_UMEM_TX_SW_CSUM;
/// Since Linux 6.11 a metadata length counts only with this flag.
pub const UMEM_TX_METADATA: u32 = libc::XDP_UMEM_TX_METADATA_LEN;
/// Share the UMEM of another socket.
pub const BIND_SHARED: u16 = libc::XDP_SHARED_UMEM;
/// Copy frames.
pub const BIND_COPY: u16 = libc::XDP_COPY;
/// Let the driver use the UMEM directly, or fail.
pub const BIND_ZERO_COPY: u16 = libc::XDP_ZEROCOPY;
/// Let the kernel report when it needs a wakeup.
pub const BIND_NEED_WAKEUP: u16 = libc::XDP_USE_NEED_WAKEUP;
/// Accept packets of several buffers.
pub const BIND_MULTI_BUFFER: u16 = libc::XDP_USE_SG;
/// In a ring's flag word: the kernel sleeps until it is called.
pub const RING_NEED_WAKEUP: u32 = libc::XDP_RING_NEED_WAKEUP;
/// In a descriptor's options: the packet continues in the next descriptor.
pub const DESCRIPTOR_CONTINUES: u32 = libc::XDP_PKT_CONTD;
/// In a descriptor's options: `struct xsk_tx_metadata` precedes the data.
pub const DESCRIPTOR_TX_METADATA: u32 = libc::XDP_TX_METADATA;
/// Requests in `struct xsk_tx_metadata`.
pub const REQUEST_TIMESTAMP: u64 = libc::XDP_TXMD_FLAGS_TIMESTAMP as u64;
/// Fill in a checksum.
pub const REQUEST_CHECKSUM: u64 = libc::XDP_TXMD_FLAGS_CHECKSUM as u64;
/// Since Linux 6.15.
pub const REQUEST_LAUNCH_TIME: u64 = 1 << 2;
/// Bits of an address below the offset that unaligned chunks carry in its upper bits.
pub const UNALIGNED_OFFSET_SHIFT: u32 = 48;

impl XskSocket {
    /// Opens a socket in this thread's network namespace.
    pub fn open() -> Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::socket(libc::AF_XDP, kind, 0) };
        if fd < 0 {
            return Err(Error::last("socket(AF_XDP)", ""));
        }
        // SAFETY: `fd` was just returned by `socket` and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { socket })
    }

    /// Takes ownership of a socket that another process opened.
    pub fn from_descriptor(socket: OwnedFd) -> Self {
        Self { socket }
    }

    /// Registers memory with this socket; the kernel keeps the pages until the last socket that
    /// uses them is closed, also when they are unmapped here.
    pub fn register(&self, memory: &UmemMemory) -> Result<()> {
        let registration = libc::xdp_umem_reg {
            addr: memory.start.as_ptr() as u64,
            len: memory.len as u64,
            chunk_size: memory.chunk_size,
            headroom: memory.headroom,
            flags: memory.flags,
            tx_metadata_len: memory.tx_metadata_len,
        };
        let object = format!("{} bytes in chunks of {}", memory.len, memory.chunk_size);
        self.set("setsockopt(XDP_UMEM_REG)", libc::XDP_UMEM_REG, object, &registration)
    }

    /// Makes a ring of `entries`, a power of two.
    pub fn create_ring(&self, kind: RingKind, entries: u32) -> Result<()> {
        self.set(kind.call(), kind.option(), format!("{entries} entries"), &entries)
    }

    /// Maps a ring that was created with `entries`.
    pub fn map_ring(&self, kind: RingKind, entries: u32) -> Result<RingMapping> {
        RingMapping::new(self.as_fd(), kind, entries)
    }

    /// Binds; `shared` is a bound socket whose memory is used (with [`BIND_SHARED`]).
    pub fn bind(&self, to: XskBinding, shared: Option<BorrowedFd<'_>>) -> Result<()> {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: to.flags,
            sxdp_ifindex: to.ifindex.0,
            sxdp_queue_id: to.queue,
            sxdp_shared_umem_fd: shared.map_or(0, |fd| fd.as_raw_fd() as u32),
        };
        let length = mem::size_of_val(&address) as libc::socklen_t;
        let pointer = (&raw const address).cast();
        // SAFETY: the address is a complete `sockaddr_xdp` that outlives the call.
        let answer = unsafe { libc::bind(self.socket.as_raw_fd(), pointer, length) };
        if answer < 0 {
            let object = format!("queue {} of interface {}", to.queue, to.ifindex);
            return Err(Error::last("bind(AF_XDP)", object));
        }
        Ok(())
    }

    /// Whether the driver works on the memory itself.
    pub fn is_zero_copy(&self) -> Result<bool> {
        let mut options = libc::xdp_options { flags: 0 };
        self.read("getsockopt(XDP_OPTIONS)", libc::XDP_OPTIONS, &mut options)?;
        Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Packets that one call in copy mode may transmit, 32 unless set (Linux 6.17). From 32 to
    /// the size of the tx ring, else `EACCES`.
    pub fn set_transmit_budget(&self, packets: u32) -> Result<()> {
        let call = "setsockopt(XDP_MAX_TX_SKB_BUDGET)";
        self.set(call, XDP_MAX_TX_SKB_BUDGET, format!("{packets}"), &packets)
    }

    /// Microseconds that a call may poll the driver itself (`SO_BUSY_POLL`).
    pub fn set_busy_poll(&self, microseconds: u32) -> Result<()> {
        self.set_word("setsockopt(SO_BUSY_POLL)", libc::SO_BUSY_POLL, microseconds)
    }

    /// Keeps interrupts disabled while the socket is polled (Linux 5.11).
    pub fn set_prefer_busy_poll(&self, on: bool) -> Result<()> {
        self.set_word("setsockopt(SO_PREFER_BUSY_POLL)", SO_PREFER_BUSY_POLL, u32::from(on))
    }

    /// Packets that one busy poll handles at most (Linux 5.11).
    pub fn set_busy_poll_budget(&self, packets: u32) -> Result<()> {
        self.set_word("setsockopt(SO_BUSY_POLL_BUDGET)", SO_BUSY_POLL_BUDGET, packets)
    }

    /// Lets the kernel work on the tx ring; never blocks.
    pub fn kick_transmit(&self) -> Result<Kick> {
        let fd = self.socket.as_raw_fd();
        let none = std::ptr::null();
        // SAFETY: no bytes and no address are passed.
        let answer = unsafe { libc::sendto(fd, none, 0, libc::MSG_DONTWAIT, none.cast(), 0) };
        match last_errno(answer) {
            0 => Ok(Kick::Done),
            libc::EBUSY => Ok(Kick::Dropped),
            libc::EAGAIN | libc::ENOBUFS | libc::EINTR => Ok(Kick::Later),
            errno => Err(Error::new("sendto(AF_XDP)", "", errno)),
        }
    }

    /// Lets the kernel read the fill ring, or polls the driver; never blocks. `false` if it is
    /// busy.
    pub fn kick_receive(&self) -> Result<bool> {
        let fd = self.socket.as_raw_fd();
        let (bytes, address) = (std::ptr::null_mut(), std::ptr::null_mut());
        let length = std::ptr::null_mut();
        // SAFETY: no bytes and no address are passed.
        let answer = unsafe { libc::recvfrom(fd, bytes, 0, libc::MSG_DONTWAIT, address, length) };
        match last_errno(answer) {
            0 => Ok(true),
            libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR => Ok(false),
            errno => Err(Error::new("recvfrom(AF_XDP)", "", errno)),
        }
    }

    fn set_word(&self, call: &'static str, option: i32, value: u32) -> Result<()> {
        self.set_at(libc::SOL_SOCKET, call, option, format!("{value}"), &value)
    }

    fn set<T>(&self, call: &'static str, option: i32, object: String, value: &T) -> Result<()> {
        self.set_at(libc::SOL_XDP, call, option, object, value)
    }

    fn set_at<T>(
        &self,
        level: i32,
        call: &'static str,
        option: i32,
        object: String,
        value: &T,
    ) -> Result<()> {
        let fd = self.socket.as_raw_fd();
        let length = mem::size_of::<T>() as libc::socklen_t;
        let pointer = (&raw const *value).cast();
        // SAFETY: `value` is a whole C struct or integer of `length` bytes.
        let answer = unsafe { libc::setsockopt(fd, level, option, pointer, length) };
        if answer < 0 { Err(Error::last(call, object)) } else { Ok(()) }
    }

    /// Bytes that the kernel wrote; older kernels write less and leave the rest of `value`.
    fn read<T: Copy>(&self, call: &'static str, option: i32, value: &mut T) -> Result<usize> {
        read(self.as_fd(), call, option, value)
    }
}

impl AsFd for XskSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn read<T: Copy>(
    fd: BorrowedFd<'_>,
    call: &'static str,
    option: i32,
    value: &mut T,
) -> Result<usize> {
    let mut length = mem::size_of::<T>() as libc::socklen_t;
    let pointer = (&raw mut *value).cast();
    let level = libc::SOL_XDP;
    // SAFETY: the kernel writes at most `length` bytes, the size of `value`, a plain C struct.
    let answer =
        unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, pointer, &raw mut length) };
    if answer < 0 { Err(Error::last(call, "")) } else { Ok(length as usize) }
}

/// 0 for a result that is not a failure.
fn last_errno(answer: isize) -> i32 {
    if answer >= 0 {
        return 0;
    }
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// In `linux/if_xdp.h` since 6.17.
const XDP_MAX_TX_SKB_BUDGET: i32 = 9;
/// In `asm-generic/socket.h` since 5.11.
const SO_PREFER_BUSY_POLL: i32 = 69;
const SO_BUSY_POLL_BUDGET: i32 = 70;

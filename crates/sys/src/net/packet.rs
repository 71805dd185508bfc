//! Whole frames in and out of an interface: an `AF_PACKET` socket.
//!
//! For tests and captures, not for speed. A VLAN tag that the stack removed is restored, so a
//! frame reads as it was on the wire. Frames that this host sends are not seen.

use std::mem;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use super::Ifindex;
use crate::error::{Error, Result};
use crate::poll::readable;

/// Bound to one interface of the namespace that it was opened in.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    ifindex: Ifindex,
}

impl PacketSocket {
    /// Sees every frame that arrives at `ifindex` from now on.
    pub fn open(ifindex: Ifindex) -> Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers are passed. Protocol 0: nothing arrives before `bind`.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if fd < 0 {
            return Err(Error::last("socket(AF_PACKET)", ""));
        }
        // SAFETY: `fd` was just returned by `socket` and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let this = Self { socket, ifindex };
        let packet = libc::SOL_PACKET;
        this.option("setsockopt(PACKET_AUXDATA)", packet, libc::PACKET_AUXDATA, 1)?;
        this.option("setsockopt(PACKET_IGNORE_OUTGOING)", packet, PACKET_IGNORE_OUTGOING, 1)?;
        let (socket, room) = (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE);
        this.option("setsockopt(SO_RCVBUFFORCE)", socket, room, WAITING)?;
        this.bind()?;
        Ok(this)
    }

    /// The next frame, or `None` after `timeout`.
    pub fn receive(&self, timeout: Duration) -> Result<Option<Vec<u8>>> {
        let mut frame = Vec::new();
        Ok(self.receive_into(&mut frame, timeout)?.then_some(frame))
    }

    /// The next frame in place of what was in `frame`; `false` when none came within `timeout`.
    /// With the same `frame` again and again nothing is allocated.
    pub fn receive_into(&self, frame: &mut Vec<u8>, timeout: Duration) -> Result<bool> {
        if self.read(frame)? {
            return Ok(true);
        }
        Ok(!timeout.is_zero() && readable(self.socket.as_fd(), timeout)? && self.read(frame)?)
    }

    /// Number of frames dropped for lack of buffer space since the last call.
    pub fn missed(&self) -> Result<u64> {
        let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = mem::size_of_val(&counts) as libc::socklen_t;
        let (fd, at) = (self.socket.as_raw_fd(), (&raw mut counts).cast());
        let (level, option) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // SAFETY: `counts` is exclusive and `length` its size.
        let status = unsafe { libc::getsockopt(fd, level, option, at, &raw mut length) };
        if status < 0 {
            return Err(Error::last("getsockopt(PACKET_STATISTICS)", self.object()));
        }
        Ok(counts.tp_drops.into())
    }

    /// Hands one whole frame to the driver.
    pub fn send(&self, frame: &[u8]) -> Result<()> {
        // SAFETY: `frame` is readable for its length.
        let sent =
            unsafe { libc::send(self.socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0) };
        if sent < 0 { Err(Error::last("send(AF_PACKET)", self.object())) } else { Ok(()) }
    }

    /// From now on frames pass no queueing discipline and leave on the queue of the processor that
    /// sends them; a full queue is then an error.
    pub fn send_directly(&self) -> Result<()> {
        let (level, option) = (libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS);
        self.option("setsockopt(PACKET_QDISC_BYPASS)", level, option, 1)
    }

    fn bind(&self) -> Result<()> {
        // SAFETY: all-zero is a valid `sockaddr_ll`.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = self.ifindex.0 as i32;
        let length = mem::size_of_val(&address) as libc::socklen_t;
        // SAFETY: `address` is a whole `sockaddr_ll` of `length` bytes.
        let status =
            unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length) };
        if status < 0 { Err(Error::last("bind(AF_PACKET)", self.object())) } else { Ok(()) }
    }

    fn option(&self, call: &'static str, level: i32, option: i32, value: i32) -> Result<()> {
        let fd = self.socket.as_raw_fd();
        let length = mem::size_of_val(&value) as libc::socklen_t;
        // SAFETY: `value` is readable for `length` bytes.
        let status =
            unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), length) };
        if status < 0 { Err(Error::last(call, self.object())) } else { Ok(()) }
    }

    fn read(&self, frame: &mut Vec<u8>) -> Result<bool> {
        frame.clear();
        frame.reserve(LARGEST);
        let mut control = [0u64; 8];
        let mut part = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: LARGEST };
        // SAFETY: all-zero is a valid `msghdr`.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = mem::size_of_val(&control) as _;
        // SAFETY: `message` points at `frame` and `control`, with their lengths.
        let length =
            unsafe { libc::recvmsg(self.socket.as_raw_fd(), &mut message, libc::MSG_DONTWAIT) };
        let Ok(length) = usize::try_from(length) else {
            let error = Error::last("recvmsg(AF_PACKET)", self.object());
            return if error.is(libc::EAGAIN) { Ok(false) } else { Err(error) };
        };
        // SAFETY: the kernel wrote `length` bytes, which fit the part that it was given.
        unsafe { frame.set_len(length) };
        if let Some(tag) = vlan_tag(&message) {
            frame.splice(12.min(length)..12.min(length), tag);
        }
        Ok(true)
    }

    fn object(&self) -> String {
        format!("interface {}", self.ifindex)
    }
}

/// The four bytes that the stack took off, when it did.
fn vlan_tag(message: &libc::msghdr) -> Option<[u8; 4]> {
    // SAFETY: the kernel filled `message`, whose control buffer is still alive.
    let header = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: `CMSG_FIRSTHDR` answers null or a header inside the control buffer.
    let header_ref = unsafe { header.as_ref() }?;
    if header_ref.cmsg_level != libc::SOL_PACKET || header_ref.cmsg_type != libc::PACKET_AUXDATA {
        return None;
    }
    // SAFETY: `header` is a valid header; its data follows.
    let data = unsafe { libc::CMSG_DATA(header) };
    // SAFETY: PACKET_AUXDATA carries one `tpacket_auxdata`; it may be unaligned.
    let auxiliary = unsafe { data.cast::<libc::tpacket_auxdata>().read_unaligned() };
    if auxiliary.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let has_type = auxiliary.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let tag_type = if has_type { auxiliary.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
    let [a, b] = tag_type.to_be_bytes();
    let [c, d] = auxiliary.tp_vlan_tci.to_be_bytes();
    Some([a, b, c, d])
}

/// Since Linux 4.20; not in libc.
const PACKET_IGNORE_OUTGOING: i32 = 23;
/// Bytes of frames that wait to be read, each counted with a page: about 4000 small ones.
const WAITING: i32 = 1 << 24;
/// The largest frame that GRO builds, with its header.
const LARGEST: usize = (1 << 16) + 64;

//! IP packets in and out of any interface, without their link headers: an `AF_PACKET` socket of
//! the type `SOCK_DGRAM`. It sees packets before routing, filters and sockets of the host do.
//!
//! Rule: nothing arrives until [`CookedSocket::listen`], so that an open socket costs no packet
//! anything. Not here: building packets.

use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use packet::{EtherType, Mac};

use super::Ifindex;
use crate::error::{Error, Result};

/// A socket of the namespace that it was opened in.
#[derive(Debug)]
pub struct CookedSocket {
    socket: OwnedFd,
}

/// Instructions of classic BPF (`struct sock_filter`): code, jumps if true and if false, operand.
pub type ClassicFilter<'a> = &'a [(u16, u8, u8, u32)];

impl CookedSocket {
    /// Opens a socket that receives nothing yet. Needs `CAP_NET_RAW`.
    pub fn open() -> Result<Self> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers are passed. Protocol 0: nothing arrives before `bind`.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if fd < 0 {
            return Err(Error::last("socket(AF_PACKET)", ""));
        }
        // SAFETY: `fd` was just returned by `socket` and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let on = 1_i32;
        let length = mem::size_of_val(&on) as libc::socklen_t;
        let (level, option) = (libc::SOL_PACKET, PACKET_IGNORE_OUTGOING);
        // SAFETY: `on` is readable for `length` bytes.
        let status = unsafe {
            libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const on).cast(), length)
        };
        if status < 0 {
            return Err(Error::last("setsockopt(PACKET_IGNORE_OUTGOING)", ""));
        }
        Ok(Self { socket })
    }

    /// From now on receives what arrives at any interface and passes the filter, which sees packets
    /// from their IP header on.
    pub fn listen(&self, filter: ClassicFilter<'_>) -> Result<()> {
        attach_filter(self.socket.as_fd(), filter)?;
        // SAFETY: all-zero is a valid `sockaddr_ll`: of all interfaces.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        let length = mem::size_of_val(&address) as libc::socklen_t;
        // SAFETY: `address` is a whole `sockaddr_ll` of `length` bytes.
        let status =
            unsafe { libc::bind(self.socket.as_raw_fd(), (&raw const address).cast(), length) };
        if status < 0 { Err(Error::last("bind(AF_PACKET)", "")) } else { Ok(()) }
    }

    /// The next packet; `false` if none waits. What is longer than the buffer is cut off.
    pub fn receive(&self, packet: &mut Vec<u8>) -> Result<bool> {
        packet.resize(LONGEST, 0);
        let (at, length) = (packet.as_mut_ptr().cast(), packet.len());
        // SAFETY: `packet` is writable for its length.
        let got = unsafe { libc::recv(self.socket.as_raw_fd(), at, length, libc::MSG_DONTWAIT) };
        let Ok(got) = usize::try_from(got) else {
            packet.clear();
            let error = Error::last("recv(AF_PACKET)", "");
            let passing = [libc::EAGAIN, libc::EINTR, libc::ENETDOWN];
            return if passing.iter().any(|code| error.is(*code)) { Ok(false) } else { Err(error) };
        };
        packet.truncate(got);
        Ok(true)
    }

    /// Sends an IP packet out of an interface, to a MAC address.
    pub fn send(
        &self,
        (ifindex, mac): (Ifindex, Mac),
        kind: EtherType,
        packet: &[u8],
    ) -> Result<()> {
        // SAFETY: all-zero is a valid `sockaddr_ll`.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = kind.0.to_be();
        address.sll_ifindex = ifindex.0 as i32;
        address.sll_halen = 6;
        address.sll_addr[..6].copy_from_slice(&mac.0);
        let size = mem::size_of_val(&address) as libc::socklen_t;
        let (fd, to) = (self.socket.as_raw_fd(), (&raw const address).cast());
        let (at, length) = (packet.as_ptr().cast(), packet.len());
        // SAFETY: `packet` is readable for its length, and `address` for its.
        let sent = unsafe { libc::sendto(fd, at, length, libc::MSG_DONTWAIT, to, size) };
        if sent < 0 {
            return Err(Error::last("sendto(AF_PACKET)", format!("interface {ifindex}")));
        }
        Ok(())
    }
}

impl AsFd for CookedSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Has a socket receive only what passes a filter.
pub(super) fn attach_filter(socket: BorrowedFd<'_>, filter: ClassicFilter<'_>) -> Result<()> {
    let instruction =
        |&(code, jt, jf, k): &(u16, u8, u8, u32)| libc::sock_filter { code, jt, jf, k };
    let mut code: Vec<libc::sock_filter> = filter.iter().map(instruction).collect();
    let program = libc::sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
    let length = mem::size_of_val(&program) as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    let at = (&raw const program).cast();
    // SAFETY: `program` is whole and names `code`, which outlives the call.
    let status = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, at, length) };
    if status < 0 { Err(Error::last("setsockopt(SO_ATTACH_FILTER)", "")) } else { Ok(()) }
}

/// Since Linux 4.20; not in libc.
const PACKET_IGNORE_OUTGOING: i32 = 23;
/// Bytes of a packet that are read.
const LONGEST: usize = 9216;

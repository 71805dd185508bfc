//! Many UDP datagrams in one system call: recvmmsg(2) and sendmmsg(2).
//!
//! Rule: the memory is this value's own, so a call is given no address that outlives it. Not here:
//! making the socket (`std::net::UdpSocket`), and who sent what.

use std::mem;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use crate::error::{Error, Result};

/// Room for [`MOST`](Self::MOST) datagrams, and those that were received last.
#[derive(Debug)]
pub struct Datagrams {
    memory: Vec<u8>,
    lengths: [usize; Self::MOST],
    count: usize,
}

impl Datagrams {
    /// In one call.
    pub const MOST: usize = 64;
    /// Bytes of one; what is longer is cut off.
    pub const LONGEST: usize = 2048;

    /// Creates an empty set of buffers.
    pub fn new() -> Self {
        let memory = vec![0; Self::MOST * Self::LONGEST];
        Self { memory, lengths: [0; Self::MOST], count: 0 }
    }

    /// Waits for the first datagram, up to the socket's read timeout, and receives those that are
    /// queued. Returns their number; 0 after a timeout or a signal.
    pub fn receive(&mut self, socket: &UdpSocket) -> Result<usize> {
        self.count = 0;
        self.lengths = [Self::LONGEST; Self::MOST];
        let mut parts = self.parts();
        let mut messages = messages(&mut parts);
        let (fd, most, flags) = (socket.as_raw_fd(), Self::MOST as u32, libc::MSG_WAITFORONE);
        let none = std::ptr::null_mut();
        // SAFETY: each of `messages` names one part, and each part writable memory of its length;
        // both outlive the call and have no other user.
        let got = unsafe { libc::recvmmsg(fd, messages.as_mut_ptr(), most, flags, none) };
        self.count = told("recvmmsg", got)?;
        for (length, message) in self.lengths.iter_mut().zip(&messages) {
            *length = message.msg_len as usize;
        }
        Ok(self.count)
    }

    /// Sends all received datagrams to the socket's peer. Returns the number that was accepted;
    /// the rest finds no room and is given up.
    pub fn send(&mut self, socket: &UdpSocket) -> Result<usize> {
        let mut parts = self.parts();
        let mut messages = messages(&mut parts);
        let (fd, count) = (socket.as_raw_fd(), self.count as u32);
        // SAFETY: as above, and the kernel only reads the parts.
        let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
        told("sendmmsg", sent)
    }

    /// The datagrams of the last receive call.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let rooms = self.memory.chunks(Self::LONGEST).zip(self.lengths);
        rooms.take(self.count).map(|(room, length)| &room[..length])
    }

    fn parts(&mut self) -> [libc::iovec; Self::MOST] {
        let mut rooms = self.memory.chunks_mut(Self::LONGEST).zip(self.lengths);
        std::array::from_fn(|_| {
            let (room, length) = rooms.next().unwrap_or_default();
            libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: length }
        })
    }
}

impl Default for Datagrams {
    fn default() -> Self {
        Self::new()
    }
}

/// One message for each part.
fn messages(parts: &mut [libc::iovec; Datagrams::MOST]) -> [libc::mmsghdr; Datagrams::MOST] {
    let mut parts = parts.iter_mut();
    std::array::from_fn(|_| {
        // SAFETY: all-zero is a valid `mmsghdr`: no address, no part, no control data.
        let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
        if let Some(part) = parts.next() {
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        message
    })
}

/// How many the kernel took.
fn told(call: &'static str, answer: i32) -> Result<usize> {
    let Ok(count) = usize::try_from(answer) else {
        let error = Error::last(call, "a UDP socket");
        let nothing = [libc::EAGAIN, libc::EINTR, libc::ENOBUFS, libc::ECONNREFUSED];
        return if nothing.iter().any(|code| error.is(*code)) { Ok(0) } else { Err(error) };
    };
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let [a, b] = [0; 2].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        a.connect(b.local_addr().unwrap()).unwrap();
        b.connect(a.local_addr().unwrap()).unwrap();
        b.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        (a, b)
    }

    #[test]
    fn what_comes_together_is_received_together_and_passed_on() {
        let ((from, near), (out, far)) = (pair(), pair());
        let mut datagrams = Datagrams::new();
        assert_eq!(datagrams.receive(&near).unwrap(), 0, "the time is over");
        let words: [&[u8]; 4] = [b"one", b"", b"three", &[7; Datagrams::LONGEST + 1]];
        words.iter().for_each(|word| assert_eq!(from.send(word).unwrap(), word.len()));
        assert_eq!(datagrams.receive(&near).unwrap(), 4);
        let want = [words[0], words[1], words[2], &words[3][..Datagrams::LONGEST]];
        assert_eq!(datagrams.iter().collect::<Vec<_>>(), want);
        assert_eq!(datagrams.send(&out).unwrap(), 4);
        assert_eq!(datagrams.receive(&far).unwrap(), 4);
        assert_eq!(datagrams.iter().collect::<Vec<_>>(), want);
    }

    #[test]
    fn a_batch_has_an_end() {
        let (from, near) = pair();
        let mut datagrams = Datagrams::new();
        (0..Datagrams::MOST + 1).for_each(|_| assert_eq!(from.send(b"x").unwrap(), 1));
        assert_eq!(datagrams.receive(&near).unwrap(), Datagrams::MOST);
        assert_eq!(datagrams.receive(&near).unwrap(), 1);
    }
}

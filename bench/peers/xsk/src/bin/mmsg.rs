//! UDP sockets through the stack, a batch a call: sendmmsg(2), recvmmsg(2).

use std::io;
use std::mem::zeroed;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::process::ExitCode;

use libc::{c_int, iovec, mmsghdr, sockaddr_in};
use peers::frame::{BEYOND, OTHER, OWN, PAYLOAD, PORT, RTT_PORT, TO_PORT};
use peers::kernel::{check, wait_readable};
use peers::{Bridge, Dropped, Options, Port, Role, Wait};

fn main() -> ExitCode {
    peers::main::<One, Two>()
}

/// Messages that are used again and again.
struct Messages {
    headers: Vec<mmsghdr>,
    // What the headers point at.
    _vectors: Vec<iovec>,
    _names: Vec<sockaddr_in>,
    bytes: Vec<u8>,
}

impl Messages {
    fn new() -> Self {
        let mut bytes = vec![0u8; MOST * ROOM];
        // SAFETY: all zeros are addresses and headers.
        let (mut names, header): (Vec<sockaddr_in>, mmsghdr) = unsafe { zeroed_both() };
        let vector = |room: &mut [u8]| iovec { iov_base: room.as_mut_ptr().cast(), iov_len: ROOM };
        let mut vectors: Vec<iovec> = bytes.chunks_exact_mut(ROOM).map(vector).collect();
        let mut headers = vec![header; MOST];
        for ((header, vector), name) in headers.iter_mut().zip(&mut vectors).zip(&mut names) {
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_name = (&raw mut *name).cast();
            header.msg_hdr.msg_namelen = size_of::<sockaddr_in>() as u32;
        }
        Self { headers, _vectors: vectors, _names: names, bytes }
    }

    fn payload(&mut self, at: usize, length: usize) -> &mut [u8] {
        &mut self.bytes[at * ROOM..at * ROOM + length]
    }

    fn set_length(&mut self, at: usize, length: usize) {
        // SAFETY: the header points at the vector of the same place, which lives as long.
        unsafe { (*self.headers[at].msg_hdr.msg_iov).iov_len = length };
    }

    fn send(&mut self, fd: RawFd, n: usize) -> io::Result<usize> {
        // SAFETY: `n` headers, and what they point to, are ours.
        answer(unsafe { libc::sendmmsg(fd, self.headers.as_mut_ptr(), n as u32, FLAGS) })
    }

    fn receive(&mut self, fd: RawFd, n: usize) -> io::Result<usize> {
        for at in 0..n {
            self.set_length(at, ROOM);
            self.headers[at].msg_hdr.msg_namelen = size_of::<sockaddr_in>() as u32;
        }
        let (headers, none) = (self.headers.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: `n` headers, and what they point to, are ours.
        answer(unsafe { libc::recvmmsg(fd, headers, n as u32, FLAGS, none) })
    }

    /// Where all of them go; `None` if they have been connected.
    fn set_target(&mut self, connected: bool) {
        for header in &mut self.headers {
            if connected {
                header.msg_hdr.msg_name = std::ptr::null_mut();
                header.msg_hdr.msg_namelen = 0;
            }
        }
    }
}

unsafe fn zeroed_both() -> (Vec<sockaddr_in>, mmsghdr) {
    // SAFETY: the caller guarantees it.
    let name = unsafe { zeroed() };
    // SAFETY: the caller guarantees it.
    (vec![name; MOST], unsafe { zeroed() })
}

fn answer(count: c_int) -> io::Result<usize> {
    match check(count) {
        Ok(count) => Ok(count as usize),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS)) => Ok(0),
        Err(error) => Err(error),
    }
}

/// The role's frame begins with what a frame's headers would be: the loops count by the numbers
/// that follow them.
struct One {
    socket: UdpSocket,
    messages: Messages,
    frame: Vec<u8>,
    spin: bool,
}

impl One {
    fn new(options: &Options) -> io::Result<Self> {
        let rtt = options.role == Role::Echo && options.wait == Wait::Spin;
        let port = if rtt { RTT_PORT } else { PORT };
        let socket = UdpSocket::bind(SocketAddrV4::new(OWN.into(), port))?;
        buffers(socket.as_raw_fd())?;
        let mut messages = Messages::new();
        if options.role == Role::Tx {
            socket.connect(SocketAddrV4::new(OTHER.into(), port))?;
            messages.set_target(true);
        }
        let mut frame = vec![0; 2048];
        frame[TO_PORT..TO_PORT + 2].copy_from_slice(&port.to_be_bytes());
        Ok(Self { socket, messages, frame, spin: rtt })
    }

    /// Lets a frame's reader see a payload where it looks for it.
    #[inline(always)]
    fn show(&mut self, at: usize, read: &mut impl FnMut(&mut [u8])) {
        let length = self.messages.headers[at].msg_len as usize;
        let payload = self.messages.payload(at, length.min(ROOM));
        self.frame[PAYLOAD..PAYLOAD + payload.len()].copy_from_slice(payload);
        let end = PAYLOAD + payload.len();
        read(&mut self.frame[..end]);
    }
}

impl Port for One {
    fn open(options: &Options) -> io::Result<Self> {
        Self::new(options)
    }

    fn send(
        &mut self,
        n: usize,
        size: usize,
        mut write: impl FnMut(&mut [u8]),
    ) -> io::Result<usize> {
        for at in 0..n {
            // The stack makes the headers; the number alone is the payload's.
            write(&mut self.frame[..size]);
            let payload = &self.frame[PAYLOAD..size];
            self.messages.bytes[at * ROOM..at * ROOM + payload.len()].copy_from_slice(payload);
            self.messages.set_length(at, size - PAYLOAD);
        }
        // What is not sent by the first call is sent later: numbers may not be left out.
        let mut sent = 0;
        while sent < n {
            let (fd, headers) = (self.socket.as_raw_fd(), &mut self.messages.headers[sent..n]);
            // SAFETY: `n` headers, and what they point to, are ours.
            sent += answer(unsafe {
                libc::sendmmsg(fd, headers.as_mut_ptr(), headers.len() as u32, 0)
            })?;
        }
        Ok(sent)
    }

    fn receive(&mut self, n: usize, mut read: impl FnMut(&[u8])) -> io::Result<usize> {
        let came = self.messages.receive(self.socket.as_raw_fd(), n.min(MOST))?;
        for at in 0..came {
            self.show(at, &mut |frame: &mut [u8]| read(frame));
        }
        Ok(came)
    }

    fn echo(&mut self, n: usize, mut turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        let fd = self.socket.as_raw_fd();
        let n = if self.spin { 1 } else { n.min(MOST) };
        let came = self.messages.receive(fd, n)?;
        for at in 0..came {
            self.show(at, &mut turn);
            let length = self.messages.headers[at].msg_len as usize;
            self.messages.set_length(at, length);
        }
        let left = if came > 0 { self.messages.send(fd, came)? } else { 0 };
        Ok((came, left))
    }

    fn wait(&mut self) -> io::Result<()> {
        wait_readable(self.socket.as_raw_fd())
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        Ok(0)
    }

    fn dropped(&self) -> Dropped {
        no_room(self.socket.as_raw_fd())
    }
}

/// Takes from one network and sends into another.
struct Two {
    from: One,
    to: UdpSocket,
}

impl Bridge for Two {
    fn open(options: &Options) -> io::Result<Self> {
        let mut from = One::new(options)?;
        let to = UdpSocket::bind("0.0.0.0:0")?;
        buffers(to.as_raw_fd())?;
        to.connect(SocketAddrV4::new(BEYOND.into(), PORT))?;
        from.messages.set_target(true);
        Ok(Self { from, to })
    }

    fn forward(&mut self, n: usize, mut turn: impl FnMut(&mut [u8])) -> io::Result<(usize, usize)> {
        let came = self.from.messages.receive(self.from.socket.as_raw_fd(), n.min(MOST))?;
        for at in 0..came {
            self.from.show(at, &mut turn);
            let length = self.from.messages.headers[at].msg_len as usize;
            self.from.messages.set_length(at, length);
            self.from.messages.headers[at].msg_hdr.msg_namelen = 0;
        }
        let left = if came > 0 { self.from.messages.send(self.to.as_raw_fd(), came)? } else { 0 };
        Ok((came, left))
    }

    fn wait(&mut self) -> io::Result<()> {
        self.from.wait()
    }

    fn in_flight(&mut self) -> io::Result<usize> {
        Ok(0)
    }

    fn dropped(&self) -> Dropped {
        self.from.dropped()
    }
}

/// Room for many messages, whatever the limit.
fn buffers(fd: RawFd) -> io::Result<()> {
    let bytes: c_int = 8 << 20;
    for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
        let (place, length) = ((&raw const bytes).cast(), size_of_val(&bytes) as u32);
        // SAFETY: the value has the stated number of bytes.
        check(unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, option, place, length) })?;
    }
    Ok(())
}

/// Messages for which a socket's buffer had no room.
fn no_room(fd: RawFd) -> Dropped {
    let mut words = [0u32; SK_MEMINFO_VARS];
    let mut length = size_of_val(&words) as libc::socklen_t;
    let place = (&raw mut words).cast();
    // SAFETY: the value has space for the stated number of bytes.
    unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, place, &mut length) };
    Dropped { ring_full: words[SK_MEMINFO_DROPS].into(), others: 0 }
}

/// Index of the drop counter, from include/uapi/linux/sock_diag.h.
const SK_MEMINFO_DROPS: usize = 8;
const SK_MEMINFO_VARS: usize = 9;
const MOST: usize = 1024;
/// Bytes for one payload.
const ROOM: usize = 1536;
const FLAGS: c_int = libc::MSG_DONTWAIT;

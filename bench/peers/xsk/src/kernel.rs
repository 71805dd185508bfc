//! Calls of the kernel that peers share.

use std::ffi::CString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::thread;
use std::time::{Duration, Instant};

use crate::Dropped;

/// An answer of the kernel, or its error.
pub fn check(answer: i32) -> io::Result<i32> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// The number of an interface.
pub fn ifindex(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: the name ends with zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        number => Ok(number),
    }
}

/// Waits up to a millisecond for frames.
pub fn wait_readable(fd: RawFd) -> io::Result<()> {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one pollfd of our own.
    match check(unsafe { libc::poll(&mut poll, 1, 1) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// Memory for frames, zeroed and present. It lives as long as the process.
pub fn memory(bytes: usize) -> io::Result<NonNull<[u8]>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    // SAFETY: a new mapping, wherever there is room.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    mapped(start, bytes)
}

/// A ring that the kernel shares.
pub fn shared_memory(fd: RawFd, bytes: usize) -> io::Result<NonNull<[u8]>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
    // SAFETY: a new mapping, wherever there is room.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, fd, 0) };
    mapped(start, bytes)
}

fn mapped(start: *mut libc::c_void, bytes: usize) -> io::Result<NonNull<[u8]>> {
    match NonNull::new(start.cast::<u8>()) {
        Some(start) if start.as_ptr().addr() != usize::MAX => {
            Ok(NonNull::slice_from_raw_parts(start, bytes))
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// The kernel keeps a queue for some milliseconds after its last socket was closed.
pub fn until_free<T>(mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        match open() {
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(5));
            }
            answer => return answer,
        }
    }
}

fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EBUSY)
}

/// Puts a socket at its queue's place in an XSKMAP, if there is one.
pub fn steer(map: Option<u32>, queue: u32, socket: RawFd) -> io::Result<()> {
    let Some(id) = map else { return Ok(()) };
    let map = bpf(BPF_MAP_GET_FD_BY_ID, &[u64::from(id), 0])?;
    // SAFETY: the call has just given us this descriptor.
    let map = unsafe { OwnedFd::from_raw_fd(map) };
    let (key, value) = (queue, socket);
    let (key, value) = (&raw const key as u64, &raw const value as u64);
    bpf(BPF_MAP_UPDATE_ELEM, &[map.as_raw_fd() as u64, key, value, 0]).map(drop)
}

fn bpf(command: libc::c_long, attributes: &[u64]) -> io::Result<i32> {
    let bytes = size_of_val(attributes);
    // SAFETY: attributes of that many bytes; what they point at is the callers' and lives.
    check(unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_ptr(), bytes) } as i32)
}

/// Drops of an AF_XDP socket.
pub fn xdp_dropped(socket: RawFd) -> Dropped {
    // SAFETY: all zeros are statistics.
    let mut statistics: libc::xdp_statistics = unsafe { zeroed() };
    let mut length = size_of::<libc::xdp_statistics>() as libc::socklen_t;
    let place = (&raw mut statistics).cast();
    // SAFETY: the value has space for the stated number of bytes.
    unsafe {
        libc::getsockopt(socket, libc::SOL_XDP, libc::XDP_STATISTICS, place, &mut length);
    }
    Dropped { ring_full: statistics.rx_ring_full, others: statistics.rx_dropped }
}

const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_MAP_GET_FD_BY_ID: libc::c_long = 14;

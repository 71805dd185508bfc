//! Memory shared with the kernel: ring buffers and maps that can be mapped.
//!
//! Rule: the other side may write at any moment, so nothing here hands out references into the
//! memory: words are read and written atomically, bytes are copied out. Positions are checked.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::{Error, Result};

/// A shared mapping of a descriptor; unmapped on drop.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len: usize,
    writable: bool,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is unmapped only by `drop`.
unsafe impl Send for Mapping {}
// SAFETY: through a shared reference memory is touched by atomics, or copied without references.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes from `offset` (a multiple of the page size).
    pub fn new(fd: BorrowedFd<'_>, offset: u64, len: usize, writable: bool) -> Result<Self> {
        let fail = |errno| Error::new("mmap", format!("{len} bytes at {offset}"), errno);
        let access = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let offset = libc::off_t::try_from(offset).map_err(|_| fail(libc::EINVAL))?;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), len, access, libc::MAP_SHARED, fd.as_raw_fd(), offset)
        };
        if start == libc::MAP_FAILED {
            return Err(Error::last("mmap", format!("{len} bytes at {offset}")));
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| fail(libc::ENOMEM))?;
        Ok(Self { start, len, writable })
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the length is 0; never true for a mapping.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads a 32-bit word at a byte offset with acquire ordering.
    ///
    /// # Panics
    /// As all accessors: when the word is not inside the mapping or not aligned.
    pub fn load_u32(&self, at: usize) -> u32 {
        self.check(at, size_of::<u32>());
        // SAFETY: `at` is inside the mapping (`check`).
        let place = unsafe { self.start.add(at) };
        // SAFETY: mapped, aligned (`check`), and only touched by atomics on this side.
        unsafe { AtomicU32::from_ptr(place.cast().as_ptr()) }.load(Ordering::Acquire)
    }

    /// Reads a 64-bit word at a byte offset with acquire ordering.
    pub fn load_u64(&self, at: usize) -> u64 {
        self.word(at).load(Ordering::Acquire)
    }

    /// Writes a 64-bit word at a byte offset with release ordering.
    pub fn store_u64(&self, at: usize, value: u64) {
        assert!(self.writable, "stores need a writable mapping");
        self.word(at).store(value, Ordering::Release);
    }

    /// Replaces a 64-bit word at a byte offset if it has the old value; returns whether it had.
    pub fn replace_u64(&self, at: usize, old: u64, new: u64) -> bool {
        assert!(self.writable, "stores need a writable mapping");
        self.word(at).compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Copies bytes out.
    pub fn copy_out(&self, at: usize, into: &mut [u8]) {
        self.check_range(at, into.len());
        // SAFETY: `at` is inside the mapping (`check_range`).
        let place = unsafe { self.start.add(at) };
        // SAFETY: the source is mapped for the whole length (`check_range`), and `into` is
        // private memory; a concurrent write by the kernel can only garble the bytes.
        unsafe { std::ptr::copy_nonoverlapping(place.as_ptr(), into.as_mut_ptr(), into.len()) };
    }

    /// Where an atomic word or a value that only raw pointers touch lies; valid while `self` is.
    pub fn place<T>(&self, at: usize) -> NonNull<T> {
        self.check_range(at, size_of::<T>());
        assert!(at.is_multiple_of(align_of::<T>()), "place at {at} is aligned");
        // SAFETY: `at` is inside the mapping (`check_range`).
        unsafe { self.start.add(at) }.cast()
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        self.check(at, size_of::<u64>());
        // SAFETY: `at` is inside the mapping (`check`).
        let place = unsafe { self.start.add(at) };
        // SAFETY: mapped as long as `self`, aligned (`check`), only touched by atomics.
        unsafe { AtomicU64::from_ptr(place.cast().as_ptr()) }
    }

    fn check(&self, at: usize, size: usize) {
        self.check_range(at, size);
        assert!(at.is_multiple_of(size), "word at {at} is aligned");
    }

    fn check_range(&self, at: usize, size: usize) {
        let end = at.checked_add(size);
        assert!(end.is_some_and(|end| end <= self.len), "{at}+{size} is inside {}", self.len);
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped; no reference into it outlives `self`. A failure
        // would leave the memory mapped, which is harmless.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// Bytes of a page of memory.
pub fn page_size() -> usize {
    // SAFETY: sysconf only reads.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    fn mapping(bytes: &[u8]) -> Mapping {
        let path = std::env::temp_dir().join(format!("xway-mmap-{}", std::process::id()));
        let mut file = File::create_new(&path).unwrap();
        std::fs::remove_file(&path).map(|()| path).unwrap();
        file.write_all(bytes).unwrap();
        // `create_new` opens for writing only; a shared read mapping needs both.
        let again = format!("/proc/self/fd/{}", file.as_raw_fd());
        let file = File::options().read(true).write(true).open(again).unwrap();
        Mapping::new(file.as_fd(), 0, bytes.len(), true).unwrap()
    }

    #[test]
    fn words_and_bytes_are_read_and_written() {
        let map = mapping(&[1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(map.load_u32(4), 2);
        map.store_u64(0, 0x0403_0201);
        assert!(!map.replace_u64(0, 7, 8), "another value");
        assert!(map.replace_u64(0, 0x0403_0201, 0x0403_0200));
        assert!(map.replace_u64(0, 0x0403_0200, 0x0403_0201));
        let mut out = [0; 3];
        map.copy_out(1, &mut out);
        assert_eq!(out, [2, 3, 4]);
        let beyond = std::panic::catch_unwind(|| map.copy_out(6, &mut [0; 3]));
        assert!(beyond.is_err(), "a copy over the end is refused");
    }
}

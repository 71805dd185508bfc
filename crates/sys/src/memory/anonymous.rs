//! A stretch of private memory, zeroed, unmapped on drop.
//!
//! Rule: huge pages are all or nothing. If they are unavailable, the error states what to set;
//! whether to fall back to plain pages is the caller's decision.

use std::ptr::NonNull;

use super::huge::{HUGE_PAGE, why_refused};
use crate::mmap::page_size;
use crate::{Error, Result};

/// Kind of pages of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// Pages of [`page_size`] bytes.
    Plain,
    /// Pages of 2 MiB from the pool that the administrator reserved.
    Huge,
}

/// Private memory of this process. It starts at a page's start.
#[derive(Debug)]
pub struct Anonymous {
    start: NonNull<u8>,
    len: usize,
    /// `len` up to whole pages: what is mapped.
    mapped: usize,
    pages: Pages,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is unmapped only by `drop`.
unsafe impl Send for Anonymous {}
// SAFETY: a shared reference gives out an address and no access to the memory.
unsafe impl Sync for Anonymous {}

impl Anonymous {
    /// `len` bytes, at least one. Huge pages are reserved here, plain ones taken when first
    /// touched (see [`populate`](Self::populate)).
    ///
    /// # Errors
    /// `ENOMEM` where there are too few huge pages: the detail states how many to reserve.
    pub fn new(len: usize, pages: Pages) -> Result<Self> {
        let fail = |errno| Error::new(MAP, describe(len, pages), errno);
        if len == 0 {
            return Err(fail(libc::EINVAL).with_detail("memory has at least one byte"));
        }
        let mapped =
            len.checked_next_multiple_of(pages.size()).ok_or_else(|| fail(libc::ENOMEM))?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | pages.flags();
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            let error = Error::last(MAP, describe(len, pages));
            return Err(match pages {
                Pages::Plain => error,
                Pages::Huge => error.with_detail(why_refused(mapped)),
            });
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| fail(libc::ENOMEM))?;
        Ok(Self { start, len, mapped, pages })
    }

    /// The first byte. All [`len`](Self::len) bytes may be read and written while `self` lives.
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.start
    }

    /// Requested length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the length is 0; never true for a mapping.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Size of its pages.
    pub fn pages(&self) -> Pages {
        self.pages
    }

    /// Asks for pages of a NUMA node; where it has none free, the kernel takes them elsewhere.
    /// Only pages that were not touched yet are moved, so it comes before
    /// [`populate`](Self::populate).
    pub fn prefer_node(&self, node: u32) -> Result<()> {
        let fail = |errno| Error::new("mbind", format!("node {node}"), errno);
        let mut mask = [0u64; MASK];
        let word = mask.get_mut(node as usize / 64).ok_or_else(|| fail(libc::EINVAL))?;
        *word = 1 << (node % 64);
        let bits = MASK * 64 + 1;
        let start = self.start.as_ptr();
        let (call, no_flags) = (libc::SYS_mbind, 0);
        // SAFETY: the range is what `new` mapped, and `mask` has the stated number of bits, the
        // kernel counting one more. A policy changes no contents.
        let status = unsafe {
            libc::syscall(call, start, self.mapped, MPOL_PREFERRED, mask.as_ptr(), bits, no_flags)
        };
        if status != 0 {
            return Err(Error::last("mbind", format!("node {node}")));
        }
        Ok(())
    }

    /// Takes all pages now, so that no packet waits for one and a shortage is an error here
    /// instead of a signal later. Linux before 5.14, or built without `CONFIG_ADVISE_SYSCALLS`,
    /// cannot: there it is done at the first touch.
    pub fn populate(&self) -> Result<()> {
        let start = self.start.as_ptr().cast();
        // SAFETY: the range is what `new` mapped; populating changes no contents.
        let status = unsafe { libc::madvise(start, self.mapped, libc::MADV_POPULATE_WRITE) };
        if status == 0 {
            return Ok(());
        }
        let error = Error::last("madvise(POPULATE_WRITE)", describe(self.len, self.pages));
        if error.is(libc::EINVAL) || error.is(libc::ENOSYS) { Ok(()) } else { Err(error) }
    }
}

impl Drop for Anonymous {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped; users of the address know that it ends here. A failure
        // would leave the memory mapped, which is harmless.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

impl Pages {
    /// Bytes of one.
    pub fn size(self) -> usize {
        match self {
            Self::Plain => page_size(),
            Self::Huge => HUGE_PAGE,
        }
    }

    fn flags(self) -> i32 {
        match self {
            Self::Plain => 0,
            Self::Huge => libc::MAP_HUGETLB | libc::MAP_HUGE_2MB,
        }
    }
}

fn describe(len: usize, pages: Pages) -> String {
    match pages {
        Pages::Plain => format!("{len} bytes"),
        Pages::Huge => format!("{len} bytes in huge pages"),
    }
}

const MAP: &str = "mmap(MAP_ANONYMOUS)";
/// `MPOL_PREFERRED` of include/uapi/linux/mempolicy.h.
const MPOL_PREFERRED: i32 = 1;
/// Words of a node mask: the most nodes that Linux has, 1024.
const MASK: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zeroed_and_as_long_as_asked() {
        for len in [1, 4096, 4097, 1 << 20] {
            let memory = Anonymous::new(len, Pages::Plain).unwrap();
            memory.populate().unwrap();
            let last = memory.as_ptr().as_ptr().wrapping_add(len - 1);
            // SAFETY: the last of `len` mapped bytes, which no other code accesses.
            let before = unsafe { last.replace(7) };
            assert_eq!((memory.len(), before), (len, 0));
            assert_eq!(memory.as_ptr().as_ptr() as usize % page_size(), 0);
        }
    }

    #[test]
    fn impossible_sizes_are_errors() {
        let nothing = Anonymous::new(0, Pages::Plain).unwrap_err();
        assert!(nothing.is(libc::EINVAL), "{nothing}");
        for pages in [Pages::Plain, Pages::Huge] {
            for len in [usize::MAX, usize::MAX / 2] {
                let error = Anonymous::new(len, pages).unwrap_err();
                assert!(error.is(libc::ENOMEM), "{error}");
            }
        }
    }

    #[test]
    fn refused_huge_pages_say_what_to_set() {
        let error = Anonymous::new(1 << 45, Pages::Huge).unwrap_err();
        assert!(error.is(libc::ENOMEM), "{error}");
        assert!(error.detail.contains("16777216 huge pages of 2 MiB"), "{error}");
    }

    #[test]
    fn memory_lies_where_it_is_asked_for() {
        let memory = Anonymous::new(1 << 16, Pages::Plain).unwrap();
        for node in super::super::nodes() {
            memory.prefer_node(node).unwrap();
        }
        memory.populate().unwrap();
        for node in [1023, 1024, u32::MAX] {
            assert!(memory.prefer_node(node).is_err(), "there is no node {node}");
        }
    }
}

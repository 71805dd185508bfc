//! Converts pointers of C to references of Rust.
//!
//! Rule: what can be checked is checked (NULL, alignment, lengths, sizes). The rest is what
//! `xway_xsk.h` requires of its caller: memory that a pointer refers to has the stated size, and is
//! not used by other threads during the call. The `unsafe` of these functions stands for these
//! requirements. Memory that is only written is never read first.

use std::ffi::{CStr, c_char, c_void};
use std::mem::{MaybeUninit, size_of};
use std::{ptr, slice};

use crate::error::{Error, Result};
use crate::limits;

/// The caller's bytes, for reading.
///
/// # Safety
/// `data` is NULL, or points to `len` bytes that are valid during the call.
pub unsafe fn bytes<'a>(data: *const c_void, len: usize) -> Result<&'a [u8]> {
    check(data.cast::<u8>(), len, "packet")?;
    // SAFETY: not NULL and not longer than an allocation can be; the caller guarantees the bytes.
    Ok(unsafe { slice::from_raw_parts(data.cast::<u8>(), len) })
}

/// The caller's bytes, for writing.
///
/// # Safety
/// As for [`bytes`], and no other thread uses them.
pub unsafe fn bytes_mut<'a>(data: *mut c_void, len: usize) -> Result<&'a mut [u8]> {
    check(data.cast::<u8>(), len, "buffer")?;
    // SAFETY: as in `bytes`; the caller guarantees exclusive access. Every byte is a valid value.
    Ok(unsafe { slice::from_raw_parts_mut(data.cast::<u8>(), len) })
}

/// The caller's string, in UTF-8.
///
/// # Safety
/// `text` is NULL, or points to bytes that end with a zero and are valid during the call.
pub unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    check(text, 1, what)?;
    // SAFETY: not NULL, and the caller guarantees the zero at its end.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Error::argument(format!("{what} is not UTF-8")))
}

/// The caller's array, for reading.
///
/// # Safety
/// `first` is NULL, or points to `count` initialized elements that are valid during the call.
pub unsafe fn array<'a, T: Plain>(first: *const T, count: u32, what: &str) -> Result<&'a [T]> {
    let count = count_of(first, count, what)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: not NULL, aligned, not too long, and the caller guarantees the elements.
    Ok(unsafe { slice::from_raw_parts(first, count) })
}

/// The caller's array, for reading and writing.
///
/// # Safety
/// As for [`array`], and no other thread uses it.
pub unsafe fn array_mut<'a, T: Plain>(
    first: *mut T,
    count: u32,
    what: &str,
) -> Result<&'a mut [T]> {
    let count = count_of(first, count, what)?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as in `array`; the caller guarantees exclusive access.
    Ok(unsafe { slice::from_raw_parts_mut(first, count) })
}

/// The caller's array, which is to be written.
///
/// # Safety
/// `first` is NULL, or points to space for `count` elements that no other thread uses during the
/// call.
pub unsafe fn places<'a, T: Plain>(
    first: *mut T,
    count: u32,
    what: &str,
) -> Result<&'a mut [MaybeUninit<T>]> {
    let count = count_of(first, count, what)?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: not NULL, aligned, not too long; the caller guarantees exclusive access.
    Ok(unsafe { slice::from_raw_parts_mut(first.cast(), count) })
}

/// The place that a handle is written to.
///
/// # Safety
/// `place` is NULL, or points to space for a pointer that no other thread uses during the call.
pub unsafe fn place<'a, T>(place: *mut *mut T, what: &str) -> Result<&'a mut MaybeUninit<*mut T>> {
    check(place, size_of::<*mut T>(), what)?;
    // SAFETY: not NULL, aligned; the caller guarantees exclusive access.
    Ok(unsafe { &mut *place.cast() })
}

/// Reads options that may have been compiled with another version of the header. NULL, and fields
/// that the caller's version does not have, result in defaults.
///
/// # Safety
/// `from` is NULL, or points to a struct that begins with its size in bytes and is valid during the
/// call.
pub unsafe fn options<T: Versioned>(from: *const T) -> Result<T> {
    if from.is_null() {
        return Ok(T::default());
    }
    // SAFETY: required of the caller.
    let size = unsafe { stated_size(from) }?;
    let mut value = T::default();
    let known = size.min(size_of::<T>());
    // SAFETY: both have `known` bytes and do not overlap; any bytes are a valid value (`Plain`).
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut value).cast::<u8>(), known) };
    // SAFETY: the end of the `known` bytes, of the `size` bytes that the caller guarantees.
    let behind = unsafe { from.cast::<u8>().add(known) };
    // SAFETY: the rest of the bytes that the caller guarantees.
    let unknown = unsafe { slice::from_raw_parts(behind, size - known) };
    if unknown.iter().any(|byte| *byte != 0) {
        let name = T::NAME;
        return Err(Error::argument(format!(
            "{name} sets an option that this version of the library ({}) does not support",
            env!("CARGO_PKG_VERSION")
        )));
    }
    Ok(value)
}

/// Writes a struct as far as the caller's version of the header has its fields.
///
/// # Safety
/// `to` is NULL, or points to a struct that begins with its size in bytes and that no other thread
/// uses during the call.
pub unsafe fn fill<T: Versioned>(to: *mut T, value: T) -> Result<()> {
    check(to, size_of::<usize>(), T::NAME)?;
    // SAFETY: required of the caller.
    let size = unsafe { stated_size(to) }?;
    // SAFETY: required of the caller; `size` is that of the caller's struct.
    unsafe { write(to, value, size) };
    Ok(())
}

/// Writes the defaults to a struct that does not contain its size yet.
///
/// # Safety
/// `to` is NULL, or points to `size` bytes that no other thread uses during the call.
pub unsafe fn init<T: Versioned>(to: *mut T, size: usize) -> Result<()> {
    check(to, size, T::NAME)?;
    check_size::<T>(size)?;
    // SAFETY: required of the caller.
    unsafe { write(to, T::default(), size) };
    Ok(())
}

/// # Safety
/// `to` points to `size` bytes, at least as many as a size has.
unsafe fn write<T: Versioned>(to: *mut T, value: T, size: usize) {
    let known = size.min(size_of::<T>());
    // SAFETY: the caller guarantees the bytes.
    unsafe { ptr::write_bytes(to.cast::<u8>(), 0, size) };
    // SAFETY: both have `known` bytes and do not overlap.
    unsafe { ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), to.cast::<u8>(), known) };
    // SAFETY: a `Versioned` struct begins with its size, and its alignment was checked.
    unsafe { to.cast::<usize>().write(size) };
}

/// # Safety
/// `from` points to a struct that begins with its size.
unsafe fn stated_size<T: Versioned>(from: *const T) -> Result<usize> {
    check(from, size_of::<usize>(), T::NAME)?;
    // SAFETY: aligned, and the caller guarantees that the struct begins with its size.
    let size = unsafe { from.cast::<usize>().read() };
    check_size::<T>(size)?;
    Ok(size)
}

fn check_size<T: Versioned>(size: usize) -> Result<()> {
    if (T::LEAST..=limits::STRUCT).contains(&size) {
        return Ok(());
    }
    let name = T::NAME;
    Err(Error::argument(format!("{name}: invalid size {size}: set the field to sizeof")))
}

fn count_of<T>(first: *const T, count: u32, what: &str) -> Result<usize> {
    if count > limits::ARRAY {
        let most = limits::ARRAY;
        return Err(Error::argument(format!("{what}: {count} elements; expected at most {most}")));
    }
    let count = count as usize;
    if count > 0 {
        check(first, count * size_of::<T>(), what)?;
    }
    Ok(count)
}

fn check<T>(pointer: *const T, len: usize, what: &str) -> Result<()> {
    if pointer.is_null() {
        return Err(Error::argument(format!("{what} is NULL")));
    }
    if !pointer.is_aligned() {
        return Err(Error::argument(format!("{what} is not aligned for its type")));
    }
    if len > isize::MAX as usize {
        return Err(Error::argument(format!("{what}: invalid length of {len} bytes")));
    }
    Ok(())
}

/// Types for which any bytes that C stored are a valid value.
///
/// # Safety
/// The type is `repr(C)` and consists only of integers, raw pointers and such structs.
pub unsafe trait Plain: Copy {}

/// A struct to which later versions can append fields.
///
/// # Safety
/// Its first field is `size: usize`.
pub unsafe trait Versioned: Plain + Default {
    /// The name of the struct in C.
    const NAME: &'static str;
    /// Size of the struct in its first version.
    const LEAST: usize;
}

// SAFETY: a raw pointer has no invalid value.
unsafe impl Plain for *const c_char {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    /// A struct to which two later versions added a field each.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(C)]
    struct Sizes {
        size: usize,
        first: u64,
        later: u32,
        last: u32,
    }

    impl Default for Sizes {
        fn default() -> Self {
            Self { size: size_of::<Self>(), first: 1, later: 2, last: 3 }
        }
    }

    // SAFETY: consists of integers.
    unsafe impl Plain for Sizes {}
    // SAFETY: begins with its size.
    unsafe impl Versioned for Sizes {
        const NAME: &'static str = "struct sizes";
        const LEAST: usize = 16;
    }

    /// The struct as the next version of the header declares it.
    #[repr(C)]
    struct Larger {
        known: Sizes,
        newer: u64,
    }

    fn read(from: &Sizes) -> Result<Sizes> {
        // SAFETY: begins with its size, and is valid.
        unsafe { options(from) }
    }

    #[test]
    fn an_older_program_leaves_defaults() {
        for (size, later, last) in [(16, 2, 3), (20, 70, 3), (24, 70, 80)] {
            let given = Sizes { size, first: 60, later: 70, last: 80 };
            assert_eq!(read(&given).unwrap(), Sizes { size, first: 60, later, last });
        }
        // SAFETY: NULL is allowed.
        assert_eq!(unsafe { options::<Sizes>(ptr::null()) }.unwrap(), Sizes::default());
    }

    #[test]
    fn a_newer_program_may_not_use_what_is_newer() {
        let known = Sizes { size: size_of::<Larger>(), ..Sizes::default() };
        let mut larger = Larger { known, newer: 0 };
        let all = (&raw const larger).cast::<Sizes>();
        // SAFETY: begins with the size of all of it.
        assert_eq!(unsafe { options(all) }.unwrap().later, 2);
        larger.newer = 1 << 40;
        let all = (&raw const larger).cast::<Sizes>();
        // SAFETY: as above.
        assert!(unsafe { options(all) }.is_err());
    }

    #[test]
    fn sizes_without_sense() {
        for size in [0, 1, 15, 4097, usize::MAX] {
            assert!(read(&Sizes { size, ..Sizes::default() }).is_err(), "{size}");
        }
    }

    #[test]
    fn nothing_is_written_after_the_callers_struct() {
        for size in [16, 20, 24, 32] {
            let mut larger = Larger { known: Sizes { size, ..Sizes::default() }, newer: 9 };
            let value = Sizes { size: 0, first: 60, later: 70, last: 80 };
            let all = (&raw mut larger).cast::<Sizes>();
            // SAFETY: begins with a size, and has at least this number of bytes.
            unsafe { fill(all, value) }.unwrap();
            let Sizes { size: stays, first, later, last } = larger.known;
            assert_eq!((stays, first), (size, 60));
            assert_eq!(later, if size > 16 { 70 } else { 2 });
            assert_eq!(last, if size > 20 { 80 } else { 3 });
            assert_eq!(larger.newer, if size > 24 { 0 } else { 9 });
        }
    }

    #[test]
    fn pointers_that_are_refused() {
        let odd = ptr::without_provenance::<Sizes>(0x1001);
        // SAFETY: refused before it is dereferenced, as all below.
        assert!(unsafe { array(odd, 1, "sizes") }.is_err());
        // SAFETY: as above.
        assert!(unsafe { array(ptr::null::<Sizes>(), 1, "sizes") }.is_err());
        // SAFETY: as above.
        assert!(unsafe { array(ptr::dangling::<Sizes>(), limits::ARRAY + 1, "sizes") }.is_err());
        // SAFETY: as above.
        assert!(unsafe { array(ptr::null::<Sizes>(), 0, "sizes") }.unwrap().is_empty());
        // SAFETY: as above.
        assert!(unsafe { bytes(ptr::dangling::<u8>().cast(), usize::MAX) }.is_err());
        // SAFETY: as above.
        assert!(unsafe { text(ptr::null(), "name") }.is_err());
    }
}

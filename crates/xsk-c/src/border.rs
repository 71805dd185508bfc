//! From C's pointers to Rust's references.
//!
//! Rule: what can be checked is checked (NULL, alignment, lengths, sizes); what remains is the
//! promise that `xway_xsk.h` asks of its caller: memory that a pointer names is as large as was
//! said, and nobody else touches it during the call. The `unsafe` of these functions is that
//! promise. Memory that is only written is never read before.

use std::ffi::{CStr, c_char, c_void};
use std::mem::{MaybeUninit, size_of};
use std::{ptr, slice};

use crate::error::{Error, Result};
use crate::limits;

/// The caller's bytes, to be read.
///
/// # Safety
/// `data` is NULL or names `len` bytes, for the length of the call.
pub unsafe fn bytes<'a>(data: *const c_void, len: usize) -> Result<&'a [u8]> {
    check(data.cast::<u8>(), len, "packet")?;
    // SAFETY: not NULL, no longer than memory can be, and the caller promised the bytes.
    Ok(unsafe { slice::from_raw_parts(data.cast::<u8>(), len) })
}

/// The caller's bytes, to be written.
///
/// # Safety
/// As [`bytes`], and nobody else uses them.
pub unsafe fn bytes_mut<'a>(data: *mut c_void, len: usize) -> Result<&'a mut [u8]> {
    check(data.cast::<u8>(), len, "buffer")?;
    // SAFETY: as in `bytes`; the caller promised them to us alone. Bytes have no wrong value.
    Ok(unsafe { slice::from_raw_parts_mut(data.cast::<u8>(), len) })
}

/// A string, UTF-8.
///
/// # Safety
/// `text` is NULL or names bytes that end with a zero, for the length of the call.
pub unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    check(text, 1, what)?;
    // SAFETY: not NULL, and the caller promised the zero at its end.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Error::argument(format!("{what} is not UTF-8")))
}

/// The caller's array, to be read.
///
/// # Safety
/// `first` is NULL or names `count` initialised elements, for the length of the call.
pub unsafe fn array<'a, T: Plain>(first: *const T, count: u32, what: &str) -> Result<&'a [T]> {
    let count = count_of(first, count, what)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: not NULL, aligned, not too long, and the caller promised the elements.
    Ok(unsafe { slice::from_raw_parts(first, count) })
}

/// The caller's array, to be read and changed.
///
/// # Safety
/// As [`array`], and nobody else uses it.
pub unsafe fn array_mut<'a, T: Plain>(
    first: *mut T,
    count: u32,
    what: &str,
) -> Result<&'a mut [T]> {
    let count = count_of(first, count, what)?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as in `array`; the caller promised the elements to us alone.
    Ok(unsafe { slice::from_raw_parts_mut(first, count) })
}

/// The caller's array, to be filled.
///
/// # Safety
/// `first` is NULL or names room for `count` elements that nobody else uses during the call.
pub unsafe fn places<'a, T: Plain>(
    first: *mut T,
    count: u32,
    what: &str,
) -> Result<&'a mut [MaybeUninit<T>]> {
    let count = count_of(first, count, what)?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: not NULL, aligned, not too long; the caller promised the room to us alone.
    Ok(unsafe { slice::from_raw_parts_mut(first.cast(), count) })
}

/// Where a handle is to be written.
///
/// # Safety
/// `place` is NULL or names room for a pointer that nobody else uses during the call.
pub unsafe fn place<'a, T>(place: *mut *mut T, what: &str) -> Result<&'a mut MaybeUninit<*mut T>> {
    check(place, size_of::<*mut T>(), what)?;
    // SAFETY: not NULL, aligned; the caller promised the room to us alone.
    Ok(unsafe { &mut *place.cast() })
}

/// Options as the caller's version of the header has them; defaults for NULL and for fields that
/// it does not know.
///
/// # Safety
/// `from` is NULL or names a struct that begins with its size in bytes, for the length of the call.
pub unsafe fn options<T: Versioned>(from: *const T) -> Result<T> {
    if from.is_null() {
        return Ok(T::default());
    }
    // SAFETY: as promised to us.
    let size = unsafe { stated_size(from) }?;
    let mut value = T::default();
    let known = size.min(size_of::<T>());
    // SAFETY: `known` bytes are in both, which do not overlap; any bytes make a value (`Plain`).
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut value).cast::<u8>(), known) };
    // SAFETY: one behind `known` of the `size` bytes that the caller promised.
    let behind = unsafe { from.cast::<u8>().add(known) };
    // SAFETY: the rest of the bytes that the caller promised.
    let unknown = unsafe { slice::from_raw_parts(behind, size - known) };
    if unknown.iter().any(|byte| *byte != 0) {
        let name = T::NAME;
        return Err(Error::argument(format!(
            "{name} sets an option that this version of the library ({}) does not know",
            env!("CARGO_PKG_VERSION")
        )));
    }
    Ok(value)
}

/// Fills in a struct as far as the caller's version of the header has it.
///
/// # Safety
/// `to` is NULL or names a struct that begins with its size in bytes, and that nobody else uses
/// during the call.
pub unsafe fn fill<T: Versioned>(to: *mut T, value: T) -> Result<()> {
    check(to, size_of::<usize>(), T::NAME)?;
    // SAFETY: as promised to us.
    let size = unsafe { stated_size(to) }?;
    // SAFETY: as promised to us, and `size` is what the caller's struct has.
    unsafe { write(to, value, size) };
    Ok(())
}

/// Fills in a struct that has no size in it yet.
///
/// # Safety
/// `to` is NULL or names room for `size` bytes that nobody else uses during the call.
pub unsafe fn init<T: Versioned>(to: *mut T, size: usize) -> Result<()> {
    check(to, size, T::NAME)?;
    check_size::<T>(size)?;
    // SAFETY: as promised to us.
    unsafe { write(to, T::default(), size) };
    Ok(())
}

/// # Safety
/// `to` has room for `size` bytes, which is at least that of a size.
unsafe fn write<T: Versioned>(to: *mut T, value: T, size: usize) {
    let known = size.min(size_of::<T>());
    // SAFETY: the caller has the room.
    unsafe { ptr::write_bytes(to.cast::<u8>(), 0, size) };
    // SAFETY: `known` bytes are in both, which do not overlap.
    unsafe { ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), to.cast::<u8>(), known) };
    // SAFETY: a `Versioned` struct begins with its size, and was found to be aligned.
    unsafe { to.cast::<usize>().write(size) };
}

/// # Safety
/// `from` names a struct that begins with its size.
unsafe fn stated_size<T: Versioned>(from: *const T) -> Result<usize> {
    check(from, size_of::<usize>(), T::NAME)?;
    // SAFETY: aligned, and the caller promised that it begins with this.
    let size = unsafe { from.cast::<usize>().read() };
    check_size::<T>(size)?;
    Ok(size)
}

fn check_size<T: Versioned>(size: usize) -> Result<()> {
    if (T::LEAST..=limits::STRUCT).contains(&size) {
        return Ok(());
    }
    let name = T::NAME;
    Err(Error::argument(format!("{name} says that it has {size} bytes: set its size to sizeof")))
}

fn count_of<T>(first: *const T, count: u32, what: &str) -> Result<usize> {
    if count > limits::ARRAY {
        let most = limits::ARRAY;
        return Err(Error::argument(format!("{count} elements in {what}: have {most} at most")));
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
        return Err(Error::argument(format!("{what} is not aligned as its type")));
    }
    if len > isize::MAX as usize {
        return Err(Error::argument(format!("{what} has {len} bytes, more than memory can have")));
    }
    Ok(())
}

/// Types without a wrong value: whatever bytes C left there make one.
///
/// # Safety
/// `repr(C)`, of integers, raw pointers and such structs alone.
pub unsafe trait Plain: Copy {}

/// A struct that may get more fields behind its last in later versions.
///
/// # Safety
/// Its first field is `size: usize`.
pub unsafe trait Versioned: Plain + Default {
    /// As C calls it.
    const NAME: &'static str;
    /// Bytes that it had in the first version.
    const LEAST: usize;
}

// SAFETY: a raw pointer is of a kind with integers here.
unsafe impl Plain for *const c_char {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    /// A struct that got a field, and later another one.
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

    // SAFETY: of integers alone.
    unsafe impl Plain for Sizes {}
    // SAFETY: begins with its size.
    unsafe impl Versioned for Sizes {
        const NAME: &'static str = "struct sizes";
        const LEAST: usize = 16;
    }

    /// As the header of the next version has it.
    #[repr(C)]
    struct Larger {
        known: Sizes,
        newer: u64,
    }

    fn read(from: &Sizes) -> Result<Sizes> {
        // SAFETY: begins with its size, and is there.
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
    fn nothing_is_written_behind_the_callers_struct() {
        for size in [16, 20, 24, 32] {
            let mut larger = Larger { known: Sizes { size, ..Sizes::default() }, newer: 9 };
            let value = Sizes { size: 0, first: 60, later: 70, last: 80 };
            let all = (&raw mut larger).cast::<Sizes>();
            // SAFETY: begins with a size, and has at least so many bytes.
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
        // SAFETY: refused before it is followed, as all below.
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

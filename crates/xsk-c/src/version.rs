//! Which library this is.

use std::ffi::c_char;

/// The version of the library, such as `0.1.0`. Compare with `XWAY_XSK_VERSION` to know whether it
/// is the one whose header a program was built with.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

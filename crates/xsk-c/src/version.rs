//! The version of the library.

use std::ffi::c_char;

/// Return the version of the library, such as `0.1.0`. It equals `XWAY_XSK_VERSION` if the program
/// was built with the header of this version.
#[unsafe(no_mangle)]
pub extern "C" fn xway_xsk_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

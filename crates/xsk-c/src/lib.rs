//! AF_XDP sockets for C: the functions and types that `xway_xsk.h` declares, on top of `xsk`.
//!
//! Rule: values from C are not trusted. A handle is a number that is looked up, never an address
//! that is dereferenced; a handle that is closed, of another kind or in use by another thread is
//! therefore an error. The token of a frame is looked up, too. Only pointers to the caller's own
//! memory must be trusted, since they cannot be checked: they become references in `border` alone.
//! A panic is caught in `error::call`.
//!
//! Not here: anything that a program in Rust needs (`xsk`).

mod books;
mod border;
mod error;
mod frame;
mod handle;
mod interface;
mod limits;
mod metadata;
mod options;
mod rx;
mod socket;
mod stats;
mod tx;
mod umem;
mod version;

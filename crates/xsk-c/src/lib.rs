//! AF_XDP sockets for C: what `xway_xsk.h` declares, on top of `xsk`.
//!
//! Rule: C is not believed. A handle is a number that is looked up, never an address that is
//! followed; so a closed one, one of another kind, or one that another thread is using is an error.
//! A frame's token is looked up, too. What must be believed, since nothing can check it, are
//! pointers to the caller's own memory: they become references in `border` alone. A panic ends in
//! `error::call`.
//!
//! What is not here: anything that a program in Rust would want (`xsk`).

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

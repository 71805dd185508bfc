//! The one crate that touches the operating system: `bpf(2)`, netlink, namespaces, mounts,
//! capabilities, signals.
//!
//! Rule: every function is one system call or one conversation with the kernel, takes and returns
//! owned, typed values, and fails with an [`Error`] that names the call and its object. Nothing
//! here decides anything: policy lives above. Every other crate forbids `unsafe`.

pub mod bpf;
pub mod cap;
pub mod confine;
pub mod cpu;
pub mod dir;
pub mod epoll;
pub mod errno;
mod error;
pub mod identity;
pub mod memory;
pub mod mmap;
pub mod mount;
pub mod net;
pub mod netns;
pub mod pcap;
pub mod poll;
pub mod priority;
pub mod proc;
pub mod process;
pub mod signal;
pub mod thread;
pub mod timer;

pub use error::{Error, Result, errno_name};

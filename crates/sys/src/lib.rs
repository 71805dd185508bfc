//! `xway-sys`: typed wrappers for system calls: `bpf(2)`, netlink, ethtool, AF_XDP, namespaces,
//! mounts, capabilities, signals. No other crate calls the operating system directly.
//!
//! ```no_run
//! use sys::net::Netlink;
//!
//! let link = Netlink::open()?.link("eth0")?;
//! println!("{}: MTU {}, {} receive queues", link.name, link.mtu, link.rx_queues);
//! # Ok::<(), sys::Error>(())
//! ```
//!
//! Rule: every function is one system call or one conversation with the kernel, takes and returns
//! owned, typed values, and fails with an [`Error`] that names the call and its object. Nothing
//! here decides anything: policy belongs to the callers. ARCHITECTURE.md shows the place of the
//! crate in the workspace.

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
pub mod notify;
pub mod pcap;
pub mod poll;
pub mod priority;
pub mod proc;
pub mod process;
pub mod signal;
pub mod stdio;
pub mod thread;
pub mod timer;

pub use error::{Error, Result, errno_name};

//! The crate `xway-xsk`, used as `xsk`: AF_XDP sockets without `unsafe` for their users. Packets
//! move between a queue of an interface and this process, past the network stack of the kernel.
//!
//! A [`Umem`] is memory shared with the kernel and divided into frames. A [`Frame`] is owned by
//! exactly one of program, fill ring, rx ring, tx ring and completion ring, and changes its owner
//! by a move of a value. An [`Interface`] attaches the program that steers packets to sockets; a
//! [`Socket`] has a receiving half, [`Rx`], and a sending half, [`Tx`], that may be in different
//! threads.
//!
//! Invariants: `unsafe` code is only in `ring` and [`umem`]; everything that the kernel writes into
//! a ring is checked before use; the packet path neither allocates nor locks. System calls are in
//! `xway-sys`, programs and maps in `xway-kernel`.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! // Echoes packets of UDP port 7: addresses are swapped in place, frames are sent without a copy.
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let interface = xsk::Interface::builder("eth0").steer("any udp 7".parse()?).open()?;
//! let (mut tx, mut rx) = interface.socket(0).open()?.split();
//! while rx.wait(Duration::from_secs(60))? {
//!     for mut packet in rx.batch(64) {
//!         let (destination, source) = packet[..12].split_at_mut(6);
//!         destination.swap_with_slice(source);
//!         tx.push(packet).map_err(|rejected| rejected.why)?;
//!     }
//!     tx.flush()?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `tokio`: `asynchronous`, sockets whose packets are awaited on a tokio runtime.
//!
//! # Requirements
//!
//! Linux 5.4 or newer; items that need a newer kernel state its version. Opening sockets requires
//! `CAP_NET_RAW`, attaching the program `CAP_NET_ADMIN` and `CAP_BPF`. Errors name what is missing.
//!
//! # Guide
//!
//! `docs/xsk.md` explains setup, zero copy, waiting, metadata and steering; `examples/xsk` has
//! eight programs. `xway-xsk-c` is the same library for C.
#![deny(unsafe_code)]

#[cfg(feature = "tokio")]
pub mod asynchronous;
pub mod device;
pub mod diagnose;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fake;
pub mod interface;
pub mod limits;
pub mod metadata;
mod ring;
pub mod socket;
pub mod steer;
mod sync;
pub mod umem;
pub mod wait;
pub mod workers;

pub use device::Device;
pub use error::{ConfigError, Error, InterfaceReason, Result};
pub use interface::Interface;
pub use socket::{Rx, SendError, SharedTx, Socket, Stats, Tx};
pub use steer::Steer;
pub use umem::{Frame, Umem};
pub use wait::{Deadline, Wait};
pub use workers::{Stop, Worker};

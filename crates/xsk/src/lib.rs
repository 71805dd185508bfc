//! AF_XDP sockets: packets between an interface's queue and this process, past the stack.
//!
//! A [`Umem`](umem) is memory shared with the kernel, cut into frames. A frame is owned by exactly
//! one of user, fill ring, rx ring, tx ring and completion ring, and moving it is a move of a
//! value. `unsafe` is in `ring` and [`umem`] alone, and nothing that the kernel writes into a
//! ring is believed before it was checked. Nothing on the packet path allocates or locks.
//!
//! What is not here: the system calls (`sys`), programs and maps (`kernel`).
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
pub use error::{Error, Result};
pub use interface::Interface;
pub use socket::{Rx, SendError, SharedTx, Socket, Stats, Tx};
pub use steer::Steer;
pub use umem::{Frame, Umem};
pub use wait::{Deadline, Wait};
pub use workers::{Stop, Worker};

//! Traffic out of XDP live frames, and the judge of what arrives.
//!
//! A [`stream`] description becomes [`Template`]s: bytes, and what in them varies. A program made
//! from these writes what varies into every frame; a [`generator`] runs it on the processors that
//! it was given, at a [`rate`]. What arrives is counted by a [`sink`], packet by packet, by the
//! [`Stamp`] that each frame carries. [`replay`] sends captures, [`tcp`] real connections, and
//! [`ndr`] searches for the highest rate that a device under test takes.
//!
//! Rule: frames leave only through the interface that the caller named, and every load is bounded
//! by a count or a time. Threads are started by an explicit `start` alone, and end with its guard.
//! Not here: namespaces (threads inherit the caller's), printing.
#![forbid(unsafe_code)]

mod error;
pub mod generator;
pub mod histogram;
pub mod limits;
pub mod ndr;
pub mod program;
pub mod rate;
pub mod replay;
pub mod sink;
mod stamp;
pub mod stream;
pub mod tcp;
pub mod template;
mod transmit;

pub use error::{ConfigError, Error, InterfaceReason, Result};
pub use histogram::Histogram;
pub use rate::{Profile, Rate};
pub use stamp::{Expect, Kind, Stamp};
pub use template::Template;

//! Descriptions of streams: protocols, fields and sizes by name, as text, flags or values; they
//! become [`Template`](crate::Template)s. The format: `docs/streams.md`.
//!
//! [`File`] holds [`Stream`]s, each an ordered list of [`Layer`]s whose fields are [`Value`]s;
//! [`Quick`] makes the usual ones from a few values. `build` lays them out as bytes.
//!
//! Rule: what can be derived (types of what follows, lengths, checksums) is, unless it is given;
//! what is given is sent, or refused by an [`Error`] that names stream, layer and field.

mod build;
mod error;
mod file;
mod flows;
mod layer;
mod number;
mod quick;
mod range;
mod size;
mod value;

pub use error::Error;
pub use file::{File, Stream};
pub use flows::Flows;
pub use layer::*;
pub use quick::{Quick, QuickProtocol};
pub use size::{IMIX, Shuffle, Sizes};
pub use value::{Atom, Order, Pool, Value, Vary};

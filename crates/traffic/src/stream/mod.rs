//! Descriptions of streams: protocols, fields and sizes by name, as text, flags or values. They
//! become [`Template`](crate::Template)s. The format is described in `docs/streams.md`.
//!
//! [`File`] holds [`Stream`]s, each an ordered list of [`Layer`]s whose fields are [`Value`]s;
//! [`Quick`] makes the usual ones from a few values. `build` lays bytes out and knows no protocol;
//! `layer` knows the protocols and uses it; `file` joins both.
//!
//! Rule: a field without a value is derived where possible (types of the next layer, lengths,
//! checksums). A value that is given is sent, or rejected with an [`Error`] that names stream,
//! layer and field.

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

pub use error::{Error, FlowsError, Reason, SizesError, ValueError};
pub use file::{File, Stream};
pub use flows::Flows;
pub use layer::*;
pub use quick::{Quick, QuickProtocol, UnknownQuickProtocol};
pub use size::{IMIX, Shuffle, Sizes};
pub use value::{Atom, Order, Pool, Value, Vary};

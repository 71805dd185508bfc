//! drop: discards packets by destination prefix, protocol and destination port.
//!
//! The program is `bpf/drop/drop.bpf.c`; how rules become shapes and keys is told in
//! `bpf/drop/drop.abi.h`.

pub mod abi;
mod config;
mod live;
mod plan;
mod shape;

pub use abi::Reason;
pub use config::{Config, Rule};
pub use live::Live;
pub use plan::{Error, Maps, Plan, read, update};
pub use shape::TooManyShapes;

/// The compiled program.
pub const OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/drop.o");
/// The program's name in the object.
pub const PROGRAM: &str = "xway_drop";
/// The same for frames of several buffers: an MTU above one page, Linux 5.18. Loaded only by name.
pub const PROGRAM_FRAGS: &str = "xway_drop_frags";
/// Names of its maps in the object, as [`Maps::find`] asks for them.
pub const SHAPES: &str = "drop_shapes";
pub const RULES4: &str = "drop_rules4";
pub const RULES6: &str = "drop_rules6";

//! The minimal example: a program that drops packets by destination prefix, protocol and port.
//!
//! The filter (`xway-filter`) can express every rule of this program and is the one to use. This
//! program remains because it is small: one C file, three maps and a table of rules, which is
//! enough to show how a function is built, loaded, updated atomically and tested. It also is the
//! lower bound in measurements: it costs 37 ns a packet, the filter with one rule 70 ns. It does
//! not become a fast path of the filter, because the difference comes from what it lacks:
//! rules have one fixed form and no order, packets inside tunnels are not inspected, and the only
//! action is to drop.
//!
//! The program is `bpf/drop/drop.bpf.c`; `bpf/drop/drop.abi.h` describes how rules become shapes
//! and keys.

pub mod abi;
mod config;
mod installed;
mod plan;
mod shape;

pub use abi::Reason;
pub use config::{Config, Rule};
pub use installed::InstalledRules;
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

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
pub static OBJECT: &[u8] = include_bytes!("../../../../bpf/prebuilt/drop.o");
/// Name of the program in the object.
pub const PROGRAM: &str = "xway_drop";
/// Name of the program for frames of several buffers (MTU above one page, Linux 5.18), which is
/// only loaded by name.
pub const PROGRAM_FRAGS: &str = "xway_drop_frags";
/// Name of the map of shapes.
pub const SHAPES: &str = "drop_shapes";
/// Name of the map of IPv4 rules.
pub const RULES4: &str = "drop_rules4";
/// Name of the map of IPv6 rules.
pub const RULES6: &str = "drop_rules6";

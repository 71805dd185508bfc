//! Names of the maps that this crate adds to a program.

/// Names of the reasons of a program's verdicts.
pub const LABELS: &str = "xway_labels";
/// How the program was attached.
pub const RECORD: &str = "xway_record";
/// What is known about the health of a balancer's backends.
pub const HEALTH: &str = "xway_health";
/// What the process that synchronizes a balancer reports.
pub const SYNC: &str = "xway_sync";
/// The rules that a filter was loaded with.
pub const FILTER_FILE: &str = "filter_file";
/// Global variables that were set when a filter was loaded.
pub const FILTER_GLOBALS: &str = "filter_globals";
/// Map with the time at which an unconfirmed change ends, in nanoseconds of the monotonic clock.
pub const DEADLINE: &str = "xway_deadline";
/// Program array with the program to return to after an unconfirmed change.
pub const FALLBACK: &str = "xway_fallback";
/// Id of the dispatcher of libxdp that a chain replaced.
pub const DISPATCHER: &str = "xway_dispatcher";
/// The place of a program in a chain.
pub const MEMBER: &str = "xway_member";
/// The object file that a program comes from.
pub const OBJECT: &str = "xway_object";

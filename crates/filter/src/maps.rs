//! Names of the maps in the compiled program's object.
//!
//! Rule: each name is written once, here; the C sources in `bpf/filter` define the maps.

/// Actions of the rules, by rule number.
pub const RULES: &str = "filter_rules";
/// Counters of the rules, by rule number and processor.
pub const COUNTS: &str = "filter_counts";
/// Counters of actions that failed, such as a full ring buffer.
pub const EVENTS: &str = "filter_events";
/// Interfaces that packets are redirected to.
pub const INTERFACES: &str = "filter_interfaces";
/// Processors that packets are redirected to.
pub const CPUS: &str = "filter_cpus";
/// AF_XDP sockets by receive queue.
pub const SOCKETS: &str = "filter_sockets";
/// Connection requests per destination, counted by the SYN proxy.
pub const GUARDED: &str = "filter_guards";
/// Banned sources.
pub const BANS: &str = "filter_bans";
/// Counters inherited from earlier programs.
pub const CARRIED: &str = "filter_carried";
/// Ring buffer of sampled packets.
pub const SAMPLES: &str = "filter_samples";
/// Settings of the rate limits, by limit number.
pub const LIMITS: &str = "filter_limits";
/// Token buckets of all limits, in lines of eight.
pub const LINES: &str = "filter_lines";
/// Random numbers of the hash that selects a line of buckets.
pub const SEED: &str = "filter_seed";
/// First fragments of packets, for the fragments that follow.
pub const FRAGMENTS: &str = "filter_fragments";
/// Decision pairs of a trial, in the program with the active rules.
pub const PAIRS: &str = "filter_pairs";
/// Ring buffer of packets that a trial would treat differently.
pub const CHANGES: &str = "filter_changes";
/// Ring buffer of tapped packets, in the program with the active rules.
pub const SEEN: &str = "filter_seen";
/// Counters of tapped and lost packets, shared by both programs.
pub const KEPT: &str = "filter_kept";
/// Sampling probability of the tap, in the program before the active rules.
pub const WATCHING: &str = "filter_watching";

//! Bounds of everything that waits or grows.

use std::time::Duration;

/// Until both ends of a new link have a carrier, and until a new address takes packets.
pub(crate) const CARRIER: Duration = Duration::from_secs(5);
/// Until a device's polling threads are there after they were asked for.
pub(crate) const POLLERS: Duration = Duration::from_secs(5);
/// Until other processes have collected or made their labs: milliseconds each.
pub(crate) const LOCK: Duration = Duration::from_secs(30);
/// Real-time priority of polling threads: that of threaded interrupt handlers.
pub(crate) const POLLER_PRIORITY: u32 = 50;
/// Between two looks at a condition.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Bytes of a lab's or host's name: `xw-ID-HOST` is shown in narrow tables.
pub(crate) const LONGEST_ID: usize = 8;
pub(crate) const LONGEST_HOST: usize = 12;
/// Tries to find an unused lab name.
pub(crate) const ID_ATTEMPTS: usize = 64;

/// Packets a second.
pub(crate) const FLOOD_RATE: std::ops::RangeInclusive<u64> = 1..=100_000_000;
pub(crate) const FLOOD_DURATION: Duration = Duration::from_secs(600);
/// Frames that a flood prepares at once unless told otherwise.
pub(crate) const FLOOD_BATCH: u32 = 64;
/// Batches a second of a paced flood, so that no frame waits long for the rest of its batch.
pub(crate) const FLOOD_BATCHES: u64 = 4_000;
/// Looks at the clock, some 30 ns each, that a frame waits for its time before it is given back.
pub(crate) const FLOOD_WAIT: i32 = 4096;
/// Bytes that are written anew in each frame: all headers that a receiver may have changed.
pub(crate) const FLOOD_HEADERS: usize = 128;
/// A page. The kernel keeps a part of it for itself, and says when the rest is too short.
pub(crate) const FLOOD_FRAME: usize = 4096;
/// Runs of one call: below what overflows the kernel's counter, and about a minute of waiting.
pub(crate) const FLOOD_BURST: u64 = 1 << 30;
/// Nice value of a flood that was given a processor: whoever else is there must not set its pace.
pub(crate) const FLOOD_NICE: i32 = -20;
/// Between two looks at whether a paced flood has sent all.
pub(crate) const FLOOD_LOOK_EVERY: Duration = Duration::from_millis(2);

//! Bounds of everything that waits or grows.

use std::time::Duration;

/// Until both ends of a new link have a carrier, and until a new address takes packets.
pub(crate) const CARRIER: Duration = Duration::from_secs(5);
/// How long to wait for a device's polling threads after their creation was requested.
pub(crate) const POLLERS: Duration = Duration::from_secs(5);
/// Until other processes have collected or made their labs: milliseconds each.
pub(crate) const LOCK: Duration = Duration::from_secs(30);
/// Real-time priority of polling threads: that of threaded interrupt handlers.
pub(crate) const POLLER_PRIORITY: u32 = 50;
/// Interval between two checks of a condition.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Bytes of a lab's or host's name: `xw-ID-HOST` is shown in narrow tables.
pub(crate) const LONGEST_ID: usize = 8;
pub(crate) const LONGEST_HOST: usize = 12;
/// Tries to find an unused lab name.
pub(crate) const ID_ATTEMPTS: usize = 64;

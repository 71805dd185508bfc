//! Routing daemons of Debian, BIRD and FRR, in hosts of a lab: started, queried and stopped; and a
//! line of routers that they run on.
//!
//! Rule: a daemon runs only in a namespace of a lab. Its files are in a folder of its own below the
//! temporary directory; it is killed by its process number when the guard is dropped, also after a
//! panic, and by the lab's collector if this process is killed.

mod arrivals;
pub mod bgp;
mod bird;
mod counters;
mod daemon;
mod fork;
mod frr;
mod line;
mod stream;

pub use arrivals::{Arrivals, Arrived};
pub use bird::Bird;
pub use counters::{Drops, netlink_drops, passed, reasons};
pub use daemon::{Folder, cpu_seconds};
pub use fork::Fork;
pub use frr::Frr;
use line::know;
pub use line::{Line, LineRouter, Routing, connect, default_route};
pub use stream::{Receiver, Sender, frame, number};

/// Programs of the packages `bird2` and `frr`.
pub const BIRD: &str = "/usr/sbin/bird";
/// Folder of FRR's daemons.
pub const FRR: &str = "/usr/lib/frr";

/// Fails with the name of the package, if its program is missing.
pub fn require(program: &str, package: &str) {
    let is_there = std::path::Path::new(program).exists();
    assert!(is_there, "{program} is missing: install the Debian package {package} (make setup)");
}

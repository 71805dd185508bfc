//! No path at all: the sink is at the forwarder's first link, so it counts what the sender can do.

use super::{ActivePath, Journey, Path};

/// No forwarder: the limit of the sender.
pub const LIMIT: Path = Path {
    name: "limit",
    about: "nothing is forwarded; the sink itself is on the first link: what the sender can do",
    journey: Journey::Stopped,
    set: |_| Ok(Box::new(Nothing)),
};

struct Nothing;

impl ActivePath for Nothing {}

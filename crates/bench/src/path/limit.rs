//! No way at all: the sink stands at the forwarder's door, so it counts what the sender can do.

use super::{ActivePath, Journey, Path};

pub const LIMIT: Path = Path {
    name: "limit",
    about: "nothing is forwarded; the sink itself is on the first link: what the sender can do",
    journey: Journey::Stopped,
    set: |_| Ok(Box::new(Nothing)),
};

struct Nothing;

impl ActivePath for Nothing {}

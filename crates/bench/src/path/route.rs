//! The kernel's router.

use super::forwarding::Forwarding;
use super::{Journey, Path};

/// The kernel's routing.
pub const ROUTE: Path = Path {
    name: "route",
    about: "Linux routes, no address is changed",
    journey: Journey::Routed,
    set: |line| Ok(Box::new(Forwarding::allow(line)?)),
};

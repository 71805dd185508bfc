//! `Fate`: what became of every frame that was offered to a peer.
//!
//! Rule: offered is what the generator says, never a peer; both are asked when nothing is under way
//! any more. What is lost has a name where somebody counted it: whoever could not take a frame, or
//! the kernel for the socket that it was meant for. What nobody counted is unnamed.

use super::role::{Numbers, Role};

/// Frames of one run, each in one place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fate {
    /// Given to the interface across from the peer's.
    pub offered: u64,
    /// At the end of its way: the peer, or whom it sends to.
    pub arrived: u64,
    /// The peer's interface had no room for it: on veth, a ring of 256.
    pub link: u64,
    /// The peer's socket had no room for it, or no empty frame.
    pub socket: u64,
    /// The peer found no room to send it on.
    pub refused: u64,
    /// Lost between the peer and whom it sends to.
    pub out: u64,
}

impl Fate {
    /// All rows of a role, its arm's first.
    pub fn numbers(&self, role: Role) -> Numbers {
        let lost = self.offered.saturating_sub(self.arrived);
        if role == Role::RxPaced {
            return Numbers(vec![(role.row(), "frames", lost as f64)]);
        }
        let rows = match role {
            Role::EchoLost => ECHO,
            Role::ForwardLost => FORWARD,
            _ => RX,
        };
        let named = [self.link, self.socket, self.refused, self.out];
        // Names that count the kernel's own chatter too come to more than was lost.
        let unnamed = lost as f64 - named.iter().sum::<u64>() as f64;
        let counts = [lost as f64, unnamed].into_iter().chain(named.map(|count| count as f64));
        let share = |count: f64| 100.0 * count / self.offered.max(1) as f64;
        Numbers(rows.into_iter().zip(counts).map(|(row, count)| (row, "%", share(count))).collect())
    }
}

/// Whether a row names a loss, so that it is shown only where there was one.
pub fn is_name(row: &str) -> bool {
    [RX, ECHO, FORWARD].iter().any(|rows| rows[2..].contains(&row))
}

/// In the order of the names.
pub const RX: [&str; 6] =
    ["rx-lost", "rx-unnamed", "rx-lost-link", "rx-lost-socket", "rx-lost-refused", "rx-lost-out"];
pub const ECHO: [&str; 6] = [
    "echo-lost",
    "echo-unnamed",
    "echo-lost-link",
    "echo-lost-socket",
    "echo-lost-refused",
    "echo-lost-out",
];
pub const FORWARD: [&str; 6] = [
    "forward-lost",
    "forward-unnamed",
    "forward-lost-link",
    "forward-lost-socket",
    "forward-lost-refused",
    "forward-lost-out",
];

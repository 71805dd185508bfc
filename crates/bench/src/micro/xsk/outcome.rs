//! `Outcome`: what happened to every frame that was offered to a peer.
//!
//! Rule: the generator reports the frames offered, never the peer; both are read after all frames
//! have arrived or been lost. A loss has a name if a counter covers it: that of an interface or a
//! socket. A loss without a counter is unnamed.

use super::role::{Numbers, Role};

/// Frames of one run, each counted once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Frames passed to the interface opposite the peer's.
    pub offered: u64,
    /// Frames that reached the peer, or the destination it sends to.
    pub arrived: u64,
    /// Frames lost because the receive ring of the peer's interface was full (veth: 256 entries).
    pub link: u64,
    /// Frames lost because the receive ring of the peer's socket was full.
    pub ring_full: u64,
    /// Frames that the kernel dropped for another reason, such as an empty fill ring.
    pub dropped: u64,
    /// Frames that the peer could not send because its transmit ring was full.
    pub refused: u64,
    /// Frames lost between the peer and the destination.
    pub out: u64,
}

/// Rows of one role: all losses, unnamed losses, named losses.
pub type Rows = [&'static str; 7];

impl Outcome {
    /// All rows of a role, its arm's first: in percent of what was offered, or frames.
    pub fn numbers(&self, role: Role) -> Numbers {
        let (rows, unit) = match role {
            Role::RxPaced => (PACED, "frames"),
            Role::EchoLost => (ECHO, "%"),
            Role::ForwardLost => (FORWARD, "%"),
            _ => (RX, "%"),
        };
        let scale = if unit == "%" { 100.0 / self.offered.max(1) as f64 } else { 1.0 };
        let counts = self.counts().map(|count| count * scale);
        Numbers(rows.into_iter().zip(counts).map(|(row, count)| (row, unit, count)).collect())
    }

    /// In the order of [`Rows`].
    fn counts(&self) -> [f64; 7] {
        let lost = self.offered.saturating_sub(self.arrived);
        let Self { link, ring_full, dropped, refused, out, .. } = *self;
        let named = link + ring_full + dropped + refused + out;
        // Below zero where a cause also counted foreign frames.
        let unnamed = lost as f64 - named as f64;
        let [lost, link, ring_full, dropped, refused, out] =
            [lost, link, ring_full, dropped, refused, out].map(|count| count as f64);
        [lost, unnamed, link, ring_full, dropped, refused, out]
    }
}

/// Whether a row names a loss, so that it is shown only where there was one.
pub fn is_name(row: &str) -> bool {
    ALL.iter().any(|rows| rows[2..].contains(&row))
}

/// The rows of all roles that account for every frame.
pub const ALL: [Rows; 4] = [RX, ECHO, FORWARD, PACED];
const RX: Rows = [
    "rx-lost",
    "rx-unnamed",
    "rx-lost-link",
    "rx-lost-ring-full",
    "rx-lost-dropped",
    "rx-lost-refused",
    "rx-lost-out",
];
const ECHO: Rows = [
    "echo-lost",
    "echo-unnamed",
    "echo-lost-link",
    "echo-lost-ring-full",
    "echo-lost-dropped",
    "echo-lost-refused",
    "echo-lost-out",
];
const FORWARD: Rows = [
    "forward-lost",
    "forward-unnamed",
    "forward-lost-link",
    "forward-lost-ring-full",
    "forward-lost-dropped",
    "forward-lost-refused",
    "forward-lost-out",
];
const PACED: Rows = [
    "rx-paced-missing",
    "rx-paced-unnamed",
    "rx-paced-lost-link",
    "rx-paced-lost-ring-full",
    "rx-paced-lost-dropped",
    "rx-paced-lost-refused",
    "rx-paced-lost-out",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_has_the_name_under_which_it_was_counted() {
        let outcome = Outcome { offered: 200, arrived: 150, ..Outcome::default() };
        for (outcome, role, rows) in [
            (
                outcome,
                Role::RxLost,
                [("rx-lost", 25.0), ("rx-unnamed", 25.0), ("rx-lost-link", 0.0)],
            ),
            (
                Outcome { ring_full: 20, dropped: 10, refused: 4, out: 6, link: 10, ..outcome },
                Role::EchoLost,
                [("echo-lost", 25.0), ("echo-unnamed", 0.0), ("echo-lost-link", 5.0)],
            ),
            (
                Outcome { ring_full: 53, ..outcome },
                Role::RxPaced,
                [
                    ("rx-paced-missing", 50.0),
                    ("rx-paced-unnamed", -3.0),
                    ("rx-paced-lost-ring-full", 53.0),
                ],
            ),
        ] {
            let Numbers(numbers) = outcome.numbers(role);
            assert_eq!((numbers[0].0, numbers[0].1), (role.row(), role.unit()));
            for (row, value) in rows {
                let found = numbers.iter().find(|(name, ..)| *name == row);
                assert_eq!(found.map(|(.., value)| *value), Some(value), "{row} of {outcome:?}");
            }
        }
    }

    #[test]
    fn every_name_has_a_row_of_its_own() {
        let mut rows: Vec<&str> = ALL.into_iter().flatten().collect();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), 28);
        assert!(is_name("rx-lost-link") && !is_name("rx-lost") && !is_name("rx-unnamed"));
    }
}

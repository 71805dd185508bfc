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
    /// Where the peer takes its frames from there was no room for it.
    pub ring_full: u64,
    /// The kernel dropped it for another reason: to AF_XDP, an empty frame was missing.
    pub dropped: u64,
    /// The peer found no room to send it on.
    pub refused: u64,
    /// Lost between the peer and whom it sends to.
    pub out: u64,
}

/// Rows of one role: what is lost, the part without a name, the names.
pub type Rows = [&'static str; 7];

impl Fate {
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
        // Below zero where names count what was no frame of ours, too.
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
        let fate = Fate { offered: 200, arrived: 150, ..Fate::default() };
        for (fate, role, rows) in [
            (fate, Role::RxLost, [("rx-lost", 25.0), ("rx-unnamed", 25.0), ("rx-lost-link", 0.0)]),
            (
                Fate { ring_full: 20, dropped: 10, refused: 4, out: 6, link: 10, ..fate },
                Role::EchoLost,
                [("echo-lost", 25.0), ("echo-unnamed", 0.0), ("echo-lost-link", 5.0)],
            ),
            (
                Fate { ring_full: 53, ..fate },
                Role::RxPaced,
                [
                    ("rx-paced-missing", 50.0),
                    ("rx-paced-unnamed", -3.0),
                    ("rx-paced-lost-ring-full", 53.0),
                ],
            ),
        ] {
            let Numbers(numbers) = fate.numbers(role);
            assert_eq!((numbers[0].0, numbers[0].1), (role.row(), role.unit()));
            for (row, value) in rows {
                let found = numbers.iter().find(|(name, ..)| *name == row);
                assert_eq!(found.map(|(.., value)| *value), Some(value), "{row} of {fate:?}");
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

//! Changes that were confirmed, reverted, or wait for a confirmation.

use control::confirmation::{Ending, UnconfirmedChange};
use serde::Serialize;

use super::{Paint, View};

/// Changes, and what happened to them.
#[derive(Debug, Serialize)]
pub struct Changes {
    /// One for each interface.
    pub changes: Vec<UnconfirmedChange>,
    /// `None` if they still wait.
    #[serde(skip)]
    pub ending: Option<Ending>,
}

impl View for Changes {
    fn text(&self, _style: Paint) -> String {
        if self.changes.is_empty() {
            return "no change waits for a confirmation".to_owned();
        }
        self.changes.iter().map(|change| self.line(change)).collect::<Vec<_>>().join("\n")
    }
}

impl Changes {
    fn line(&self, change: &UnconfirmedChange) -> String {
        let UnconfirmedChange { interface, program, left_s } = change;
        match self.ending {
            Some(Ending::Confirm) => format!("{interface}: {program} confirmed"),
            Some(Ending::Revert) => {
                format!("{interface}: {program} ended, the previous state is restored")
            }
            None => format!("{interface}: {program} is undone in {left_s:.0} s"),
        }
    }
}

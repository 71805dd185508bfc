//! Text of `state init`.

use serde::Serialize;

use super::{Paint, View};

/// A state directory that was prepared, which this command alone composes.
#[derive(Debug, Serialize)]
pub struct Initialized {
    /// Absolute path of the state directory.
    pub state: String,
    /// Number of the user who owns it.
    pub owner: u32,
}

impl View for Initialized {
    fn text(&self, _style: Paint) -> String {
        format!("{}: ready for user {}", self.state, self.owner)
    }
}

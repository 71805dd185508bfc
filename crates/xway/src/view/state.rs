//! What `state init` prepared.

use serde::Serialize;

use super::{Paint, View};

#[derive(Debug, Serialize)]
pub struct Initialized {
    pub state: String,
    /// User number.
    pub owner: u32,
}

impl View for Initialized {
    fn text(&self, _style: Paint) -> String {
        format!("{}: ready for user {}", self.state, self.owner)
    }
}

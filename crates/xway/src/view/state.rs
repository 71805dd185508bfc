//! Text of `state init`.

use control::state::Initialized;

use super::{Paint, View};

impl View for Initialized {
    fn text(&self, _style: Paint) -> String {
        format!("{}: ready for user {}", self.state, self.owner)
    }
}

//! Text of `state init`.

use control::state::Initialized;

use super::{Paint, View};

impl View for Initialized {
    fn text(&self, _style: Paint) -> String {
        let readers = self.group.map(|group| format!(", readable by group {group}"));
        format!("{}: ready for user {}{}", self.state, self.owner, readers.unwrap_or_default())
    }
}

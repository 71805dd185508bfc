//! A file of rules as it is understood.
//!
//! Field names are promised in `docs/json.md`.

use serde::Serialize;

use crate::view::{Paint, View};

#[derive(Debug, Serialize)]
pub struct Checked {
    pub file: String,
}

impl View for Checked {
    fn text(&self, _paint: Paint) -> String {
        format!("{}: can be read\n", self.file)
    }
}

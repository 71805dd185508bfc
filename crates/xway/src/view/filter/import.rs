//! Rules that were translated.
//!
//! Field names are promised in `docs/json.md`.

use serde::Serialize;

use crate::view::{Paint, View};

#[derive(Debug, Serialize)]
pub struct Translated {
    /// What `text` is: `toml`, `nft` or `flowspec`.
    pub format: &'static str,
    /// How many rules it has.
    pub rules: usize,
    pub text: String,
}

impl View for Translated {
    fn text(&self, _: Paint) -> String {
        self.text.clone()
    }
}

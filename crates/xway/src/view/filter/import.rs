//! Text of `filter import` and `filter export`.

use serde::Serialize;

use crate::view::{Paint, View};

/// Translated rules, which these two commands compose.
#[derive(Debug, Serialize)]
pub struct Translated {
    /// Format of `text`: `toml`, `nft` or `flowspec`.
    pub format: &'static str,
    /// Number of rules that were translated.
    pub rules: usize,
    /// The translation.
    pub text: String,
}

impl View for Translated {
    fn text(&self, _: Paint) -> String {
        self.text.clone()
    }
}

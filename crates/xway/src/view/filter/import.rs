//! Text of `filter import` and `filter export`.

use filter::import_export::{Approximation, LeftOut};
use serde::Serialize;

use crate::view::{Paint, View};

/// Translated rules, which these two commands compose.
#[derive(Debug, Default, Serialize)]
pub struct Translated {
    /// Format of `text`: `toml`, `nft` or `flowspec`.
    pub format: &'static str,
    /// Number of rules that were translated.
    pub rules: usize,
    /// Rules that were left out; only with `--partial`.
    pub left_out: Vec<LeftOut>,
    /// Parts that decide differently; only with `--approximate` or `--partial`.
    pub approximations: Vec<Approximation>,
    /// The translation.
    pub text: String,
}

impl Translated {
    /// What the reader of the translation must know; `None` if it is exact.
    pub fn summary(&self) -> Option<String> {
        let (left_out, nearest) = (self.left_out.len(), self.approximations.len());
        (left_out + nearest > 0).then(|| {
            format!(
                "rules left out: {left_out}, approximations: {nearest}; the comments at the \
                 beginning of the output list them"
            )
        })
    }
}

impl View for Translated {
    fn text(&self, _: Paint) -> String {
        self.text.clone()
    }
}

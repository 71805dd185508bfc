//! Text of `attach`, `detach`, `drop` and `forward`.

use control::Configured;
use control::attach::{Attached, Detached};

use super::{Paint, View};

impl View for Attached {
    fn text(&self, _paint: Paint) -> String {
        let Self { interface, object, program, mode, counted, .. } = self;
        let counted = if *counted { "" } else { ", verdicts not counted" };
        format!("{interface}: {program} of {object} attached in {mode} mode{counted}")
    }
}

impl View for Configured {
    fn text(&self, _paint: Paint) -> String {
        let Self { function, interfaces, mode, updated, rules } = self;
        let what = if *updated { "updated" } else { "attached" };
        let heads =
            interfaces.iter().map(|name| format!("{name}: {function} {what} in {mode} mode"));
        let rules = rules.iter().map(|rule| format!("  {rule}"));
        heads.chain(rules).collect::<Vec<_>>().join("\n")
    }
}

impl View for Detached {
    fn text(&self, _paint: Paint) -> String {
        let Self { interface, programs, also } = self;
        let mut text = match programs.as_slice() {
            [] => format!("{interface}: nothing was attached"),
            some => format!("{interface}: {} detached", some.join(" and ")),
        };
        if !also.is_empty() {
            let all = also.join(" and ");
            text += &format!("; the balancer also from {all}, where it translated as one");
        }
        text
    }
}

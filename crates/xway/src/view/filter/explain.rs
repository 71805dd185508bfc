//! Text of `filter explain`: which rule decided a packet, and why those before it did not.

use std::fmt::Write;

use control::filter::explanation::{ArrivedPacket, Explanation, LayerExplanation, Miss};

use crate::view::{Paint, View};

fn head(explanation: &Explanation, style: Paint) -> String {
    let Explanation { n, verdict, rule, reason, .. } = explanation;
    let verdict = match *verdict {
        "drop" | "aborted" => style.bad(verdict),
        _ => style.good(verdict),
    };
    let by = match rule {
        Some(rule) => format!("{rule} ({reason})"),
        None => (*reason).to_owned(),
    };
    format!("{n:>6}  {verdict}  {}\n", style.bold(&by))
}

impl View for Explanation {
    fn text(&self, style: Paint) -> String {
        let mut text = head(self, style);
        self.layers.iter().for_each(|layer| write_layer(layer, &mut text, style));
        text
    }
}

impl View for ArrivedPacket {
    fn text(&self, style: Paint) -> String {
        let mut text = format!("{}        {}\n", head(&self.explanation, style), self.summary);
        self.explanation.layers.iter().for_each(|layer| write_layer(layer, &mut text, style));
        text
    }
}

fn write_layer(layer: &LayerExplanation, text: &mut String, style: Paint) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "        {}", style.dim(&layer.packet));
    if !layer.odd.is_empty() {
        let _ = writeln!(text, "        malformed: {}", layer.odd.join(", "));
    }
    for Miss { rule, why } in layer.before.iter().take(SHOWN) {
        let _ = writeln!(text, "          not {rule}: {why}");
    }
    if let Some(more) = layer.before.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = writeln!(text, "          nor {more} more (all with --json)");
    }
    for rule in &layer.matched {
        let _ = writeln!(text, "          {rule} matched without deciding");
    }
    if let Some(rule) = &layer.rule {
        let _ = writeln!(text, "          {rule} matched");
    }
}

/// Rules that are listed before further ones are only counted.
const SHOWN: usize = 8;

//! Text of `run --explain`: the path of one packet through a program, line by line.

use control::inventory::Tree;
use report::text;
use runner::{Explanation, FieldChange, Item, MapChange, StepEffect};

use crate::view::{Paint, View};

impl View for Explanation {
    fn text(&self, paint: Paint) -> String {
        let title = format!("packet {}: {}", self.packet, self.summary);
        let mut text = format!("{} ({} bytes)\n", paint.bold(&title), self.before_bytes);
        let mut writer = Writer { paint, text: String::new(), function: None };
        self.path.iter().for_each(|item| writer.item(item, 1));
        text.push_str(&writer.text);
        if self.left_out > 0 {
            text.push_str(&format!("  … and {} steps more\n", self.left_out));
        }
        text.push('\n');
        text.push_str(&end_text(self, paint));
        text
    }
}

fn end_text(explanation: &Explanation, paint: Paint) -> String {
    let returned = match explanation.verdict {
        _ if explanation.fault.is_some() => String::new(),
        "aborted" if explanation.code != 0 => {
            format!(" (returned {}, which is not a verdict)", explanation.code)
        }
        _ => String::new(),
    };
    let mut text = format!("verdict {}{returned}\n", paint.bold(explanation.verdict));
    for words in &explanation.went {
        text.push_str(&format!("  {}\n", text::line(words)));
    }
    for line in &explanation.log {
        text.push_str(&format!("  printed: {}\n", text::line(line.trim_end())));
    }
    if explanation.before_bytes != explanation.after_bytes {
        let (before, after) = (explanation.before_bytes, explanation.after_bytes);
        text.push_str(&format!("packet: {before} bytes → {after} bytes\n"));
    } else if !explanation.fields.is_empty() {
        text.push_str("packet:\n");
    }
    for change in &explanation.fields {
        text.push_str(&format!("  {}\n", field_text(change)));
    }
    for change in &explanation.maps {
        text.push_str(&map_text(change));
    }
    text
}

fn field_text(change: &FieldChange) -> String {
    match (&change.old, &change.new) {
        (None, Some(new)) => format!("+ {} {new}", change.field),
        (Some(old), None) => format!("- {} {old}", change.field),
        (old, new) => format!(
            "{}: {} → {}",
            change.field,
            old.as_deref().unwrap_or_default(),
            new.as_deref().unwrap_or_default()
        ),
    }
}

/// The members that changed of a value that was present before, else the whole value.
fn map_text(change: &MapChange) -> String {
    let mut changes = Vec::new();
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => differences("", old, new, &mut changes),
        (old, new) => changes.push(format!("{} → {}", side(old.as_ref()), side(new.as_ref()))),
    }
    let changed = format!("map {}[{}]: {}", change.map, change.key, changes.join(", "));
    format!("{}\n", text::line(&changed))
}

fn differences(path: &str, old: &Tree, new: &Tree, changes: &mut Vec<String>) {
    match (old, new) {
        (Tree::Record(old), Tree::Record(new)) if old.len() == new.len() => {
            for ((name, old), (_, new)) in old.iter().zip(new) {
                differences(&format!("{path}.{name}"), old, new, changes);
            }
        }
        (Tree::List(old), Tree::List(new)) if old.len() == new.len() => {
            for (place, (old, new)) in old.iter().zip(new).enumerate() {
                differences(&format!("{path}[{place}]"), old, new, changes);
            }
        }
        (old, new) if old == new => {}
        (old, new) => changes.push(format!("{path} {old} → {new}").trim_start().to_owned()),
    }
}

fn side(value: Option<&Tree>) -> String {
    value.map_or_else(|| "absent".to_owned(), ToString::to_string)
}

/// Writes the path, with a heading wherever another function continues.
struct Writer {
    paint: Paint,
    text: String,
    /// Depth and name of the function that was written last.
    function: Option<(usize, String)>,
}

impl Writer {
    fn item(&mut self, item: &Item, indent: usize) {
        match item {
            Item::Program { name } => {
                self.function = None;
                self.line(0, &self.paint.bold(&format!("program {name}")));
            }
            Item::Line { depth, function, file, line, text, did, .. } => {
                let at = format!("{file}:{line}:");
                self.place(indent, (*depth, function), &format!("{at:AT$} {}", text.trim()), did);
            }
            Item::Insn { depth, function, slot, text, did } => {
                self.place(indent, (*depth, function), &format!("{slot:>5}: {text}"), did);
            }
            Item::Loop { times, body } => {
                self.line(indent, &self.paint.dim(&format!("×{times}")));
                body.iter().for_each(|item| self.item(item, indent + 1));
            }
        }
    }

    fn place(
        &mut self,
        indent: usize,
        (depth, function): (usize, &str),
        at: &str,
        did: &[StepEffect],
    ) {
        let now = Some((depth, function.to_owned()));
        let indent = indent + depth.saturating_sub(1);
        if self.function != now {
            self.line(indent, &self.paint.bold(&format!("{function}:")));
            self.function = now;
        }
        self.line(indent + 1, at);
        for effect in did {
            let words = effect_text(effect);
            let words = match effect {
                StepEffect::Fault { .. } => self.paint.bad(&words),
                StepEffect::Branch { .. } => self.paint.dim(&words),
                _ => words,
            };
            self.line(indent + 3, &words);
        }
    }

    fn line(&mut self, indent: usize, words: &str) {
        self.text.push_str(&"  ".repeat(indent));
        // Colours are kept; names and source lines do not break the line.
        self.text.push_str(&words.trim_end().replace('\n', "\\n"));
        self.text.push('\n');
    }
}

fn effect_text(effect: &StepEffect) -> String {
    match effect {
        StepEffect::Branch { test, taken, .. } => {
            format!("{test}: {}", if *taken { "taken" } else { "not taken" })
        }
        StepEffect::Call { name, arguments, result } => {
            let result = result.as_ref().map(|result| format!(" = {result}"));
            format!("{name}({}){}", arguments.join(", "), result.unwrap_or_default())
        }
        StepEffect::Enter { function, arguments } => {
            format!("enters {function}({})", arguments.join(", "))
        }
        StepEffect::Return { function, result } => format!("{function} returned {result}"),
        StepEffect::TailCall { program, map, index } => {
            format!("tail call of {program} (map {map}, index {index})")
        }
        StepEffect::Write { place, old, new } => format!("{place}: {old} → {new}"),
        StepEffect::Fault { message } => format!("fault: {message}"),
    }
}

/// Columns for file and line.
const AT: usize = 34;

#[cfg(test)]
mod tests {
    use super::*;

    fn change(old: Option<Tree>, new: Option<Tree>) -> String {
        map_text(&MapChange { map: "m".to_owned(), key: Tree::Int(3), old, new })
    }

    #[test]
    fn of_big_values_the_members_that_changed_are_told() {
        let value = |packets, parts: [i128; 2]| {
            let parts = parts.into_iter().map(Tree::Int).collect();
            let fields = [("packets", Tree::Int(packets)), ("parts", Tree::List(parts))];
            Tree::Record(fields.map(|(name, value)| (name.to_owned(), value)).into())
        };
        let (old, new) = (value(1, [5, 6]), value(2, [5, 7]));
        assert_eq!(change(Some(old), Some(new)), "map m[3]: .packets 1 → 2, .parts[1] 6 → 7\n");
        assert_eq!(change(Some(Tree::Int(1)), Some(Tree::Int(2))), "map m[3]: 1 → 2\n");
        assert_eq!(change(None, Some(Tree::Int(2))), "map m[3]: absent → 2\n");
    }
}

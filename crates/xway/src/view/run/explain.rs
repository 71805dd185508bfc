//! Text of `run --explain`: the path of one packet through a program, line by line.

use control::inventory::Tree;
use report::text;
use serde::Serialize;

use crate::view::{Paint, View};

/// The path of a packet, which the command composes of the engine's events.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// Name of the object.
    pub object: String,
    /// Name of the program.
    pub program: String,
    /// Number of the packet in the capture, from 1.
    pub packet: u64,
    /// The packet as it arrived, in a line for people.
    pub summary: String,
    /// Length of the packet as it arrived, in bytes.
    pub before_bytes: usize,
    /// Length of the packet after the program, in bytes.
    pub after_bytes: usize,
    /// Stretches of the path in order.
    pub path: Vec<Item>,
    /// Stretches that found no room: a path keeps 10,000.
    pub left_out: u64,
    /// The verdict.
    pub verdict: &'static str,
    /// Value that the program returned.
    pub code: u32,
    /// Why the program was stopped.
    pub fault: Option<String>,
    /// Each copy: where it went, or why it was lost.
    pub went: Vec<String>,
    /// Lines that the program printed about this packet.
    pub log: Vec<String>,
    /// Fields of the packet with other bytes than before.
    pub fields: Vec<FieldChange>,
    /// Values of maps that changed; of a per-CPU map the value of the one CPU that ran.
    pub maps: Vec<MapChange>,
}

/// The kind of the stretch: the beginning of a program, a source line, an instruction of no known
/// source line, or the first turn of a loop.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Item {
    Program {
        /// Name of the program: the one that was asked for, or the target of a redirect.
        name: String,
    },
    Line {
        /// Active functions, 1 in the entry function.
        depth: usize,
        /// Name of the function.
        function: String,
        /// Number of the first instruction.
        slot: usize,
        /// Source file.
        file: String,
        /// Number of the source line.
        line: u32,
        /// The source line.
        text: String,
        /// Effects of the instructions besides computing.
        did: Vec<StepEffect>,
    },
    Insn {
        /// Active functions, 1 in the entry function.
        depth: usize,
        /// Name of the function.
        function: String,
        /// Number of the instruction.
        slot: usize,
        /// The instruction in the kernel's notation.
        text: String,
        /// Effects of the instruction besides computing.
        did: Vec<StepEffect>,
    },
    Loop {
        /// Turns of the loop.
        times: u64,
        /// Stretches of the first turn, as in `path`.
        body: Vec<Item>,
    },
}

/// Kind of the effect.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum StepEffect {
    Branch {
        /// Number of the conditional jump.
        slot: usize,
        /// The comparison with its values, for people.
        test: String,
        /// The jump was taken.
        taken: bool,
    },
    Call {
        /// Name of the helper or kernel function.
        name: String,
        /// Its arguments, for people.
        arguments: Vec<String>,
        /// Its result, for people; `null` where it did not return.
        result: Option<String>,
    },
    Enter {
        /// Name of the function of the program, or of the callback.
        function: String,
        /// Its arguments, for people.
        arguments: Vec<String>,
    },
    Return {
        /// Name of the function of the program.
        function: String,
        /// Its result, for people.
        result: String,
    },
    TailCall {
        /// Name of the program that was called.
        program: String,
        /// Name of the map.
        map: String,
        /// Index in the map.
        index: u64,
    },
    Write {
        /// The value of a map or the field of the packet, for people.
        place: String,
        /// The value before, for people.
        old: String,
        /// The value after, for people.
        new: String,
    },
    Fault {
        /// What was wrong, for people.
        message: String,
    },
}

/// A field of the packet that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// Name of the field, such as `ipv4.ttl`; a layer where that was added or removed.
    pub field: String,
    /// Value before; `null` for a layer that was added.
    pub old: Option<String>,
    /// Value after; `null` for a layer that was removed.
    pub new: Option<String>,
}

/// A value of a map that changed.
#[derive(Clone, Debug, Serialize)]
pub struct MapChange {
    /// Name of the map.
    pub map: String,
    /// The key; of counters by reason, the verdict and the reason.
    pub key: Tree,
    /// Value before; `null` for an absent entry.
    pub old: Option<Tree>,
    /// Value after; `null` for an absent entry.
    pub new: Option<Tree>,
}

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
        text.push_str(&self.end_text(paint));
        text
    }
}

impl Explanation {
    fn end_text(&self, paint: Paint) -> String {
        let returned = match self.verdict {
            _ if self.fault.is_some() => String::new(),
            "aborted" if self.code != 0 => {
                format!(" (returned {}, which is not a verdict)", self.code)
            }
            _ => String::new(),
        };
        let mut text = format!("verdict {}{returned}\n", paint.bold(self.verdict));
        for words in &self.went {
            text.push_str(&format!("  {}\n", text::line(words)));
        }
        for line in &self.log {
            text.push_str(&format!("  printed: {}\n", text::line(line.trim_end())));
        }
        if self.before_bytes != self.after_bytes {
            let (before, after) = (self.before_bytes, self.after_bytes);
            text.push_str(&format!("packet: {before} bytes → {after} bytes\n"));
        } else if !self.fields.is_empty() {
            text.push_str("packet:\n");
        }
        for change in &self.fields {
            text.push_str(&format!("  {}\n", change.text()));
        }
        for change in &self.maps {
            text.push_str(&change.text());
        }
        text
    }
}

impl FieldChange {
    fn text(&self) -> String {
        match (&self.old, &self.new) {
            (None, Some(new)) => format!("+ {} {new}", self.field),
            (Some(old), None) => format!("- {} {old}", self.field),
            (old, new) => format!(
                "{}: {} → {}",
                self.field,
                old.as_deref().unwrap_or_default(),
                new.as_deref().unwrap_or_default()
            ),
        }
    }
}

impl MapChange {
    /// The members that changed of a value that was present before, else the whole value.
    fn text(&self) -> String {
        let mut changes = Vec::new();
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => differences("", old, new, &mut changes),
            (old, new) => changes.push(format!("{} → {}", side(old.as_ref()), side(new.as_ref()))),
        }
        let changed = format!("map {}[{}]: {}", self.map, self.key, changes.join(", "));
        format!("{}\n", text::line(&changed))
    }
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
            let words = effect.text();
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
        // Colours are kept; names and source lines stay on this line.
        self.text.push_str(&words.trim_end().replace('\n', "\\n"));
        self.text.push('\n');
    }
}

impl StepEffect {
    fn text(&self) -> String {
        match self {
            Self::Branch { test, taken, .. } => {
                format!("{test}: {}", if *taken { "taken" } else { "not taken" })
            }
            Self::Call { name, arguments, result } => {
                let result = result.as_ref().map(|result| format!(" = {result}"));
                format!("{name}({}){}", arguments.join(", "), result.unwrap_or_default())
            }
            Self::Enter { function, arguments } => {
                format!("enters {function}({})", arguments.join(", "))
            }
            Self::Return { function, result } => format!("{function} returned {result}"),
            Self::TailCall { program, map, index } => {
                format!("tail call of {program} (map {map}, index {index})")
            }
            Self::Write { place, old, new } => format!("{place}: {old} → {new}"),
            Self::Fault { message } => format!("fault: {message}"),
        }
    }
}

/// Columns for file and line.
const AT: usize = 34;

#[cfg(test)]
mod tests {
    use super::*;

    fn change(old: Option<Tree>, new: Option<Tree>) -> String {
        MapChange { map: "m".to_owned(), key: Tree::Int(3), old, new }.text()
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

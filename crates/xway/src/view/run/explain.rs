//! One packet's way through a program, line by line.
//!
//! Field names are promised in `docs/json.md`.

use report::text;
use serde::Serialize;

use crate::view::tree::Tree;
use crate::view::{Paint, View};

#[derive(Debug, Serialize)]
pub struct Explanation {
    pub object: String,
    pub program: String,
    /// Its number in the capture, from 1.
    pub packet: u64,
    /// The packet in one line, as it came.
    pub summary: String,
    pub before_bytes: usize,
    pub after_bytes: usize,
    pub path: Vec<Item>,
    /// Items of the path that found no room.
    pub left_out: u64,
    pub verdict: &'static str,
    /// What the program returned.
    pub code: u32,
    pub fault: Option<String>,
    /// Where copies went and why others were lost.
    pub went: Vec<String>,
    /// What the program printed.
    pub log: Vec<String>,
    /// Fields of the packet that are not as they were.
    pub fields: Vec<FieldChange>,
    /// Values of maps that are not as they were.
    pub maps: Vec<MapChange>,
}

/// A stretch of the path, with what happened there.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Item {
    /// A program begins: the one that was asked for, or one behind a redirect.
    Program { name: String },
    /// Instructions of one source line.
    Line {
        depth: usize,
        function: String,
        /// The first instruction.
        slot: usize,
        file: String,
        line: u32,
        text: String,
        did: Vec<Deed>,
    },
    /// An instruction of no known line.
    Insn { depth: usize, function: String, slot: usize, text: String, did: Vec<Deed> },
    /// What happened several times in a row; the first time is shown.
    Loop { times: u64, body: Vec<Item> },
}

/// Something that an instruction did beside computing.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub enum Deed {
    /// A conditional jump, with the values that were compared.
    Branch {
        slot: usize,
        test: String,
        taken: bool,
    },
    /// A helper or kernel function.
    Call {
        name: String,
        arguments: Vec<String>,
        result: Option<String>,
    },
    /// A function of the program, or a callback, begins.
    Enter {
        function: String,
        arguments: Vec<String>,
    },
    Return {
        function: String,
        result: String,
    },
    TailCall {
        program: String,
        map: String,
        index: u64,
    },
    /// A value of a map or a field of the packet was written.
    Write {
        place: String,
        old: String,
        new: String,
    },
    Fault {
        message: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// As `ipv4.ttl`; a whole layer where it came or went.
    pub field: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct MapChange {
    pub map: String,
    pub key: Tree,
    pub old: Option<Tree>,
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
            "aborted" if self.code != 0 => format!(" (returned {}, which is none)", self.code),
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
    /// Of a value that was there before, the members that changed.
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

/// Writes the path, with a heading wherever another function goes on.
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

    fn place(&mut self, indent: usize, (depth, function): (usize, &str), at: &str, did: &[Deed]) {
        let now = Some((depth, function.to_owned()));
        let indent = indent + depth.saturating_sub(1);
        if self.function != now {
            self.line(indent, &self.paint.bold(&format!("{function}:")));
            self.function = now;
        }
        self.line(indent + 1, at);
        for deed in did {
            let words = deed.text();
            let words = match deed {
                Deed::Fault { .. } => self.paint.bad(&words),
                Deed::Branch { .. } => self.paint.dim(&words),
                _ => words,
            };
            self.line(indent + 3, &words);
        }
    }

    fn line(&mut self, indent: usize, words: &str) {
        self.text.push_str(&"  ".repeat(indent));
        // Its colours are kept; the names and source lines in it stay on this line.
        self.text.push_str(&words.trim_end().replace('\n', "\\n"));
        self.text.push('\n');
    }
}

impl Deed {
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

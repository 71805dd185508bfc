//! The rules that concern one file at a time.
//!
//! Rule: each rule is a function from a file to findings; numbers that a rule compares with are
//! constants here and nowhere else.

use super::text::Text;
use super::{Finding, Source};

/// Applies all rules to one file.
pub fn check(source: &Source, findings: &mut Vec<Finding>) {
    let mut found = |rule, line, measure, message: String| {
        findings.push(Finding { rule, path: source.path.clone(), line, measure, message });
    };
    marks(source, &mut found);
    match source.ending() {
        "rs" => {
            let text = Text::rust(&source.text);
            width(source, 4, &mut found);
            head(source, "//!", &mut found);
            lengths(&text, &text.functions(), &mut found);
            names(source, &text, &mut found);
            rooms(source, &text, &mut found);
            calls(source, &text, &mut found);
        }
        "c" | "h" => {
            let text = Text::c(&source.text);
            width(source, 8, &mut found);
            head(source, "/", &mut found);
            lengths(&text, &text.c_functions(), &mut found);
        }
        _ => (),
    }
}

/// Receives rule, line, measure and message of each finding.
type Found<'a> = &'a mut dyn FnMut(&'static str, usize, usize, String);

fn head(source: &Source, start: &str, found: Found<'_>) {
    if !source.text.starts_with(start) {
        found(
            "head",
            1,
            1,
            format!("does not begin with `{start}`: describe the contents of the file"),
        );
    }
}

fn width(source: &Source, tab: usize, found: Found<'_>) {
    for (number, line) in source.text.lines().enumerate() {
        let columns = line.chars().fold(0, |column, c| match c {
            '\t' => (column / tab + 1) * tab,
            _ => column + 1,
        });
        if columns > COLUMNS {
            found("width", number + 1, columns, format!("{columns} columns, at most {COLUMNS}"));
        }
    }
}

fn lengths(text: &Text, functions: &[super::text::Function<'_>], found: Found<'_>) {
    let lines = text.code_lines();
    if lines > FILE_LINES {
        found("file-length", 1, lines, format!("{lines} lines of code, at most {FILE_LINES}"));
    }
    for function in functions.iter().filter(|function| function.lines > FUNCTION_LINES) {
        let message =
            format!("`{}` has {} lines, at most {FUNCTION_LINES}", function.name, function.lines);
        found("function-length", function.line, function.lines, message);
    }
}

fn names(source: &Source, text: &Text, found: Found<'_>) {
    let mut vague = |line, name: &str| {
        found("name", line, 1, format!("`{name}` is vague: name the concrete object"));
    };
    for keyword in ["struct", "enum", "trait", "type"] {
        for at in text.words(keyword) {
            let name = text.name_after(at, keyword);
            if is_vague_type(name) {
                vague(text.line(at), name);
            }
        }
    }
    for at in text.words("fn") {
        let name = text.name_after(at, "fn");
        if name.starts_with("get_") {
            vague(text.line(at), name);
        }
    }
    let parts = source.path.trim_end_matches(".rs").split('/');
    for part in parts.filter(|part| VAGUE_MODULES.contains(part)) {
        vague(1, part);
    }
}

/// Some word of the name could stand in any. `Helper` alone is BPF's own word for its calls, as
/// is a module `helpers`.
fn is_vague_type(name: &str) -> bool {
    let mut words: Vec<String> = Vec::new();
    for c in name.chars() {
        match words.last_mut() {
            Some(word) if c.is_lowercase() => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    let vague = words.iter().any(|word| VAGUE_WORDS.contains(&word.as_str()));
    vague || words.len() > 1 && words.last().is_some_and(|word| word.starts_with("Helper"))
}

/// `unsafe` and the C library are limited to few places, and all other crates exclude them: by
/// `forbid`, or by `deny` where such a place is inside the crate.
fn rooms(source: &Source, text: &Text, found: Found<'_>) {
    if source.path.starts_with(PEERS) {
        return;
    }
    for (word, rooms) in ROOMS {
        if rooms.iter().any(|room| source.path.starts_with(room)) {
            continue;
        }
        for at in text.words(word) {
            found("room", text.line(at), 1, format!("`{word}` outside {}", rooms.join(", ")));
        }
    }
    let folder = source.path.trim_end_matches("lib.rs").trim_end_matches("main.rs");
    let (_, unsafe_rooms) = ROOMS[0];
    let is_in_room = unsafe_rooms.iter().any(|room| folder.starts_with(room));
    let level = match unsafe_rooms.iter().any(|room| room.starts_with(folder)) {
        true => "#![deny(unsafe_code)]",
        false => "#![forbid(unsafe_code)]",
    };
    if source.is_root() && !is_in_room && !text.code.contains(level) {
        found("room", 1, 1, format!("no `{level}`"));
    }
}

/// Calls that panic where an error must be returned.
fn calls(source: &Source, text: &Text, found: Found<'_>) {
    if source.is_test {
        return;
    }
    for (call, rule, message) in PANICKING_CALLS {
        for (at, _) in text.code.match_indices(call) {
            if !text.is_test(at) {
                found(rule, text.line(at), 1, (*message).to_owned());
            }
        }
    }
}

/// What must not be in any file, comments and strings included.
fn marks(source: &Source, found: Found<'_>) {
    for (number, line) in source.text.lines().enumerate() {
        for mark in MARKS.iter().filter(|mark| line.contains(**mark)) {
            found("mark", number + 1, 1, format!("`{mark}`: do it, or write an issue"));
        }
        for path in PATHS.iter().filter(|path| holds_path(line, path)) {
            found("machine-path", number + 1, 1, format!("`{path}` is a path of one machine"));
        }
    }
}

/// `path` starts a path in this line, and is not in the middle of a longer one.
fn holds_path(line: &str, path: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || "._-}~".contains(c);
    line.match_indices(path).any(|(at, _)| !line[..at].ends_with(inner))
}

const COLUMNS: usize = 100;
const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 70;
const VAGUE_WORDS: &[&str] = &["Manager", "Util", "Utils", "Common"];
const VAGUE_MODULES: &[&str] = &["manager", "util", "utils", "common", "misc"];
/// Words, and the only places that may contain them.
const ROOMS: &[(&str, &[&str])] = &[("unsafe", UNSAFE_ROOMS), ("libc", &["crates/sys/"])];
/// Where memory that others write, or foreign callers, must be touched.
const UNSAFE_ROOMS: &[&str] = &[
    "crates/sys/",
    "crates/vm/src/memory/",
    "crates/xsk/src/ring/",
    "crates/xsk/src/umem/",
    "crates/xsk-c/src/",
];
/// Other libraries to measure against: no part of the workspace, and used as they want to be.
/// Call, rule and message. The kernel may refuse a thread, which only a builder reports.
const PANICKING_CALLS: &[(&str, &str, &str)] = &[
    (".unwrap()", "unwrap", "`unwrap` outside tests"),
    ("thread::spawn(|", "thread", SPAWN),
    ("thread::spawn(move", "thread", SPAWN),
    ("scope.spawn(", "thread", SPAWN),
];
const SPAWN: &str =
    "panics when the kernel refuses a thread; use `sys::thread::spawn` or a builder";
const PEERS: &str = "bench/peers/";
// In two halves, so that this file passes its own rule.
const MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("to", "do!(")];
const PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/")];

#[cfg(test)]
mod tests {
    use super::*;

    fn rules_broken(path: &str, text: &str) -> Vec<&'static str> {
        let source = Source::new(path.to_owned(), text.to_owned());
        let mut findings = Vec::new();
        check(&source, &mut findings);
        findings.iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn rust_files() {
        let long_line = format!("//! x\n// {}\n", "x".repeat(98));
        let long_function = format!("//! x\nfn a() {{\n{}}}\n", "x;\n".repeat(69));
        let long_file = format!("//! x\n{}", "static A: u8 = 1;\n".repeat(501));
        for (name, path, text, rules) in [
            ("right", "crates/a/src/b.rs", "//! x\nfn a() {}\n", &[][..]),
            ("no head", "crates/a/src/b.rs", "// x\nfn a() {}\n", &["head"]),
            ("wide", "crates/a/src/b.rs", &long_line, &["width"]),
            ("long function", "crates/a/src/b.rs", &long_function, &["function-length"]),
            ("long file", "crates/a/src/b.rs", &long_file, &["file-length"]),
            ("getter", "crates/a/src/b.rs", "//! x\nfn get_a() {}\n", &["name"]),
            ("vague type", "crates/a/src/b.rs", "//! x\nstruct MapManager;\n", &["name"]),
            ("vague file", "crates/a/src/util.rs", "//! x\n", &["name"]),
            ("vague folder", "crates/a/src/common/b.rs", "//! x\n", &["name"]),
            ("vague help", "crates/a/src/b.rs", "//! x\nstruct MapHelper;\n", &["name"]),
            ("a BPF helper", "crates/a/src/helper.rs", "//! x\nenum Helper {}\n", &[]),
            ("not vague", "crates/a/src/b.rs", "//! x\nstruct Commons;\nfn target_a() {}\n", &[]),
            ("unsafe", "crates/a/src/b.rs", "//! x\nunsafe fn a() {}\n", &["room"]),
            ("unsafe in its room", "crates/sys/src/b.rs", "//! x\nunsafe fn a() {}\n", &[]),
            ("unsafe in words", "crates/a/src/b.rs", "//! unsafe\nfn a() { \"unsafe\"; }\n", &[]),
            ("C library", "crates/a/src/b.rs", "//! x\nuse libc::c_int;\n", &["room"]),
            ("root", "crates/a/src/lib.rs", "//! x\n#![forbid(unsafe_code)]\n", &[]),
            ("unsafe in the engine", "crates/vm/src/a.rs", "//! x\nunsafe fn a() {}\n", &["room"]),
            ("its room", "crates/vm/src/memory/a.rs", "//! x\nunsafe fn a() {}\n", &[]),
            ("a room inside", "crates/vm/src/lib.rs", "//! x\n#![deny(unsafe_code)]\n", &[]),
            (
                "a peer",
                "bench/peers/a/src/lib.rs",
                "//! x\nuse libc::c_int;\nunsafe fn a() {}\n",
                &[],
            ),
            ("root without forbid", "crates/a/src/lib.rs", "//! x\n", &["room"]),
            ("unwrap", "crates/a/src/b.rs", "//! x\nfn a() { b.unwrap() }\n", &["unwrap"]),
            (
                "thread",
                "crates/a/src/b.rs",
                "//! x\nfn a() { thread::spawn(|| ()) }\n",
                &["thread"],
            ),
            (
                "thread of a scope",
                "crates/a/src/b.rs",
                "//! x\nfn a() { scope.spawn(b) }\n",
                &["thread"],
            ),
            ("unwrap in a test", "tests/tests/b.rs", "//! x\nfn a() { b.unwrap() }\n", &[]),
            (
                "unwrap in a test module",
                "crates/a/src/b.rs",
                "//! x\n#[cfg(test)]\nmod tests {\nfn a() { b.unwrap() }\n}\n",
                &[],
            ),
        ] {
            assert_eq!(rules_broken(path, text), rules, "{name}");
        }
    }

    #[test]
    fn c_files() {
        let wide = format!("/* x */\n\t{}\n", "x".repeat(93));
        let long = format!("/* x */\nint a(void)\n{{\n{}}}\n", "\tx;\n".repeat(68));
        for (name, text, rules) in [
            ("right", "/* x */\nint a(void)\n{\n}\n", &[][..]),
            ("no head", "#include <a.h>\n", &["head"]),
            ("tabs count", &wide, &["width"]),
            ("long", &long, &["function-length"]),
        ] {
            assert_eq!(rules_broken("bpf/a/a.bpf.c", text), rules, "{name}");
        }
    }

    #[test]
    fn any_file() {
        let home = concat!("see /ho", "me/me/x");
        let inner = concat!("crates/xsk/wo", "rk/x");
        let later = concat!("# TO", "DO: more");
        for (text, rules) in [(home, &["machine-path"][..]), (inner, &[]), (later, &["mark"])] {
            assert_eq!(rules_broken("docs/a.md", text), rules, "{text}");
        }
    }
}

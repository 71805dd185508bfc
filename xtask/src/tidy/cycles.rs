//! Modules that use each other in a circle.
//!
//! Rule: the modules in one folder of a crate have an order, so that each can be read and changed
//! knowing only those before it. An edge is a use of one module, or of anything below it, by
//! another module of the same folder, or by anything below that. A module and the ones inside it
//! may use each other: together they are one module in several files.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Modules, Use};
use super::{Finding, Source};

/// Modules of one folder, each of which uses all others, directly or not.
#[derive(Debug)]
pub struct Cycle {
    /// The module above them; empty for the crate's root.
    parent: String,
    members: BTreeSet<String>,
    /// The uses along a shortest path from a module back to itself.
    uses: Vec<Use>,
}

/// Reports each cycle in each crate of the workspace.
pub fn check(sources: &[Source], findings: &mut Vec<Finding>) {
    for folder in crates(sources) {
        let modules = Modules::read(&folder, sources);
        findings.extend(cycles(&modules.uses()).into_iter().map(|cycle| cycle.finding(&folder)));
    }
}

/// The folders of sources of the workspace's crates.
fn crates(sources: &[Source]) -> BTreeSet<String> {
    let roots = sources.iter().filter(|source| source.is_root());
    let folders = roots.filter_map(|source| source.path.rsplit_once('/'));
    let ours = folders.filter(|(folder, _)| OURS.iter().any(|prefix| folder.starts_with(prefix)));
    ours.map(|(folder, _)| folder.to_owned()).collect()
}

impl Cycle {
    fn finding(&self, folder: &str) -> Finding {
        let names: Vec<&str> = self.members.iter().map(String::as_str).collect();
        let uses = self.uses.iter().map(|used| {
            let file = used.file.strip_prefix(folder).unwrap_or(&used.file);
            format!("{} by {}:{}", used.to, file.trim_start_matches('/'), used.line)
        });
        let uses: Vec<String> = uses.collect();
        let path = format!("{folder}/{}", self.parent.replace("::", "/"));
        Finding {
            rule: "cycle",
            path: path.trim_end_matches('/').to_owned(),
            line: 1,
            measure: self.members.len(),
            message: format!("{} form a cycle: {}", names.join(", "), uses.join("; ")),
        }
    }
}

/// All cycles, folder by folder.
fn cycles(uses: &[Use]) -> Vec<Cycle> {
    let mut folders: BTreeMap<String, Graph> = BTreeMap::new();
    for used in uses {
        if let Some((parent, from, to)) = siblings(&used.from, &used.to) {
            let edges = folders.entry(parent).or_default().entry(from).or_default();
            edges.entry(to).or_insert_with(|| used.clone());
        }
    }
    folders.iter().flat_map(|(parent, graph)| in_folder(parent, graph)).collect()
}

/// Modules with those that they use, and where.
type Graph = BTreeMap<String, BTreeMap<String, Use>>;

fn in_folder(parent: &str, graph: &Graph) -> Vec<Cycle> {
    let mut known = BTreeSet::new();
    let mut cycles = Vec::new();
    for module in graph.keys() {
        let Some(uses) = shortest_cycle(graph, module) else { continue };
        if known.contains(module) {
            continue;
        }
        let after = reached(graph, module);
        let mutual = |other: &&String| reached(graph, other).contains(module);
        let members: BTreeSet<String> = after.iter().filter(mutual).cloned().collect();
        known.extend(members.iter().cloned());
        cycles.push(Cycle { parent: parent.to_owned(), members, uses });
    }
    cycles
}

/// All modules that can be reached from one; itself only through a cycle.
fn reached(graph: &Graph, start: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    reached
}

/// The uses of a shortest cycle through `start`, found breadth first.
fn shortest_cycle(graph: &Graph, start: &str) -> Option<Vec<Use>> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<(&str, Vec<Use>)> = vec![(start, Vec::new())];
    while !open.is_empty() {
        let mut further = Vec::new();
        for (module, uses) in open {
            for (next, used) in graph.get(module).into_iter().flatten() {
                let uses: Vec<Use> = uses.iter().chain([used]).cloned().collect();
                if next == start {
                    return Some(uses);
                }
                if seen.insert(next) {
                    further.push((next.as_str(), uses));
                }
            }
        }
        open = further;
    }
    None
}

/// The folder in which two modules part, with the two modules of it that they are in; none if
/// one is inside the other.
fn siblings(from: &str, to: &str) -> Option<(String, String, String)> {
    let (from, to) = (names(from), names(to));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let (a, b) = (from.get(common)?, to.get(common)?);
    Some((from[..common].join("::"), (*a).to_owned(), (*b).to_owned()))
}

fn names(module: &str) -> Vec<&str> {
    module.split("::").filter(|name| !name.is_empty()).collect()
}

/// Folders whose crates are checked.
const OURS: &[&str] = &["crates/", "xtask/", "tests/"];

#[cfg(test)]
mod tests {
    use super::*;

    /// The members of each cycle among the files `(path below src, code)`.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(path, text): &(&str, &str)| {
            Source::new(format!("crates/c/src/{path}"), (*text).to_owned())
        };
        let sources: Vec<Source> = files.iter().map(source).collect();
        let mut findings = Vec::new();
        check(&sources, &mut findings);
        let line = |f: &Finding| format!("{} {} {}", f.path, f.measure, f.message);
        findings.iter().map(line).collect()
    }

    const ROOT: (&str, &str) = ("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::B;");

    #[test]
    fn of_two_and_of_three() {
        let two = [ROOT, ("a.rs", "use crate::b::B;"), ("b.rs", "\nfn f() { crate::a::g() }")];
        let message = "crates/c/src 2 a, b form a cycle: b by a.rs:1; a by b.rs:2";
        assert_eq!(found(&two), [message]);
        let three = [
            ROOT,
            ("a.rs", "use crate::b;"),
            ("b.rs", "use crate::c::{C, d};"),
            ("c/mod.rs", "mod e;"),
            ("c/e.rs", "use crate::a::A;"),
        ];
        let message =
            "crates/c/src 3 a, b, c form a cycle: b by a.rs:1; c by b.rs:1; a by c/e.rs:1";
        assert_eq!(found(&three), [message]);
    }

    #[test]
    fn through_super_and_exports() {
        for b in ["use super::a;", "use super::{a::A, c};", "pub use super::a::*;"] {
            let b = format!("{b}\npub struct B;");
            let files = [ROOT, ("a.rs", "use crate::B;\npub struct A;"), ("b.rs", &b)];
            assert_eq!(found(&files).len(), 1, "{b}");
        }
        let inner = [
            ROOT,
            ("a/mod.rs", "mod x;\nmod y;"),
            ("a/x.rs", "use super::y;"),
            ("a/y.rs", "use super::x::X;"),
        ];
        let message = "crates/c/src/a 2 x, y form a cycle: a::y by a/x.rs:1; a::x by a/y.rs:1";
        assert_eq!(found(&inner), [message]);
    }

    #[test]
    fn uses_without_a_cycle() {
        for (name, a, b) in [
            ("one way", "use crate::b::B;", "pub struct B;"),
            ("tests", "use crate::b::B;", "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}"),
            ("comments", "use crate::b::B;", "// use crate::a::A;\n"),
            ("itself", "use crate::a::A;", "use self::B;\nuse super::b::B as C;"),
            ("other crates", "use crate::b::B;", "use a::A;\nuse ::a::B;"),
        ] {
            let found = found(&[ROOT, ("a.rs", a), ("b.rs", b), ("c.rs", "use crate::Root;")]);
            assert!(found.is_empty(), "{name}: {found:?}");
        }
        let split = [ROOT, ("a/mod.rs", "mod x;\nuse x::X;"), ("a/x.rs", "use super::A;")];
        assert!(found(&split).is_empty(), "a module and one inside it");
        let test_file = [
            ROOT,
            ("a/mod.rs", "use crate::b;"),
            ("b.rs", ""),
            ("b/tests/mod.rs", "use crate::a;"),
        ];
        assert!(found(&test_file).is_empty(), "a file of tests");
    }
}

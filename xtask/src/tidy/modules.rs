//! The modules of one crate, and which of them use which.
//!
//! Rule: an item belongs to the module that defines it, so a name that another module exports
//! again is followed to its definition. Code for tests is not read.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;
use super::paths;
use super::text::Text;

/// The modules of a crate by path (`a::b`; the root's is empty).
pub struct Modules(BTreeMap<String, Module>);

/// One place where a module uses another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    pub from: String,
    pub to: String,
    pub file: String,
    pub line: usize,
}

#[derive(Default)]
struct Module {
    /// Files with the positions of the paths in them: lines, and names.
    used: Vec<(String, usize, Vec<String>)>,
    /// Names that `use` binds, with their paths.
    bound: BTreeMap<String, Vec<String>>,
    /// Paths of which everything is imported.
    globs: Vec<Vec<String>>,
    defined: BTreeSet<String>,
}

impl Modules {
    /// Reads the production code of the crate whose sources are below `folder`. The code that
    /// tests share is a crate of its own, all of which is read.
    pub fn read(folder: &str, sources: &[Source]) -> Self {
        let mut modules = BTreeMap::new();
        let is_read = |source: &&Source| !source.is_test || folder.starts_with("tests/");
        for source in sources.iter().filter(is_read) {
            let inner = source.path.strip_prefix(folder).and_then(|path| path.strip_prefix('/'));
            if let Some(path) = inner.and_then(module_path) {
                read(modules.entry(path).or_default(), source);
            }
        }
        Self(modules)
    }

    /// Every place where code of one module names something in another.
    pub fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for (from, module) in &self.0 {
            for (file, line, path) in &module.used {
                if let Some(to) = self.resolve(from, path, 0).filter(|to| to != from) {
                    let (from, file) = (from.clone(), file.clone());
                    uses.push(Use { from, to, file, line: *line });
                }
            }
        }
        uses
    }

    /// The module that holds what `path` names inside of module `from`; none if it is outside.
    fn resolve(&self, from: &str, path: &[String], depth: usize) -> Option<String> {
        let (first, rest) = path.split_first().filter(|_| depth < DEPTH)?;
        match first.as_str() {
            "crate" => self.walk(String::new(), rest, depth),
            "self" => self.walk(from.to_owned(), rest, depth),
            "super" => {
                let supers = path.iter().take_while(|name| *name == "super").count();
                let module = (0..supers).fold(from, |module, _| parent(module));
                self.walk(module.to_owned(), &path[supers..], depth)
            }
            _ if self.has(from, first) => self.walk(from.to_owned(), path, depth),
            _ => None,
        }
    }

    /// Whether a name leads anywhere inside this crate from `module`.
    fn has(&self, module: &str, name: &str) -> bool {
        let bound = self.0.get(module).and_then(|module| module.bound.get(name));
        // `use spec::X` binds nothing that begins with itself.
        self.0.contains_key(&child(module, name)) || bound.is_some_and(|path| path[0] != name)
    }

    fn walk(&self, start: String, path: &[String], depth: usize) -> Option<String> {
        let Some((name, rest)) = path.split_first() else { return Some(start) };
        let inner = child(&start, name);
        if self.0.contains_key(&inner) {
            return self.walk(inner, rest, depth);
        }
        let module = self.0.get(&start)?;
        if let Some(bound) = module.bound.get(name) {
            let whole: Vec<String> = bound.iter().chain(rest).cloned().collect();
            return self.resolve(&start, &whole, depth + 1);
        }
        if !module.defined.contains(name) {
            for glob in &module.globs {
                let target = self.resolve(&start, glob, depth + 1);
                let defines = |to: &String| self.0.get(to).is_some_and(|m| m.has_item(name));
                if let Some(target) = target.filter(defines) {
                    return self.walk(target, path, depth + 1);
                }
            }
        }
        Some(start)
    }
}

impl Module {
    fn has_item(&self, name: &str) -> bool {
        self.defined.contains(name) || self.bound.contains_key(name)
    }
}

fn read(module: &mut Module, source: &Source) {
    let text = Text::rust(&source.text);
    for import in paths::imports(&text).into_iter().filter(|import| !text.is_test(import.at)) {
        module.used.push((source.path.clone(), text.line(import.at), import.path.clone()));
        match import.name {
            Some(name) => _ = module.bound.insert(name, import.path),
            None => module.globs.push(import.path),
        }
    }
    for (at, path) in paths::inline(&text).into_iter().filter(|(at, _)| !text.is_test(*at)) {
        module.used.push((source.path.clone(), text.line(at), path));
    }
    for keyword in ["struct", "enum", "union", "trait", "type", "const", "static", "fn"] {
        let items = text.words(keyword).into_iter();
        module.defined.extend(items.map(|at| text.name_after(at, keyword).to_owned()));
    }
}

/// The module of a file below a crate's `src`.
fn module_path(file: &str) -> Option<String> {
    let path = file.strip_suffix(".rs")?;
    let path = match path.strip_suffix("mod") {
        Some(folder) if folder.ends_with('/') => folder.trim_end_matches('/'),
        _ if path == "lib" || path == "main" => "",
        _ => path,
    };
    (!path.starts_with("bin/")).then(|| path.replace('/', "::"))
}

fn child(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

pub fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

/// How many exports of exports are followed.
const DEPTH: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_followed() {
        let sources: Vec<Source> = [
            ("c/src/lib.rs", "mod a;\npub mod b;\npub use b::{Inner, x};\nstruct Root;"),
            ("c/src/a.rs", "use crate::Inner;\nfn f() { crate::x::g(); }\nuse crate::Root;"),
            ("c/src/b/mod.rs", "pub mod x;\npub use x::*;\nuse std::fmt;"),
            ("c/src/b/x.rs", "pub struct Inner;\nuse crate::a::f;\nuse super::super::a;"),
            ("c/src/b/y.rs", "use super::fmt;\n#[cfg(test)]\nmod tests { use crate::a; }"),
        ]
        .map(|(path, text)| Source::new(path.to_owned(), text.to_owned()))
        .into();
        let uses = Modules::read("c/src", &sources).uses();
        let found: Vec<String> =
            uses.iter().map(|u| format!("{} {} {}", u.from, u.to, u.line)).collect();
        let expected = [
            " b::x 3", " b::x 3", "a b::x 1", "a  3", "a b::x 2", "b b::x 2", "b::x a 2",
            "b::x a 3",
        ];
        assert_eq!(found, expected);
    }
}

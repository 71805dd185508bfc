//! Paths in Rust code: what `use` binds, and paths that begin at the crate or a module of it.
//!
//! Rule: a path is a list of names as the source has them; what they name is decided elsewhere
//! (`modules`).

use std::ops::Range;

use super::text::Text;

/// One name that a `use` binds.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    pub at: usize,
    pub path: Vec<String>,
    /// The bound name; absent if everything in `path` is imported.
    pub name: Option<String>,
}

/// All imports of a file, those inside functions included.
pub fn imports(text: &Text) -> Vec<Import> {
    let mut imports = Vec::new();
    for statement in statements(text) {
        let at = statement.start;
        let tree = &text.code[at + "use".len()..statement.end];
        let tree = tree.split_whitespace().collect::<Vec<_>>().join(" ");
        leaves(&tree, &[], &mut |path, name| imports.push(Import { at, path, name }));
    }
    imports
}

/// From `use` to the semicolon. In a return type, `use<'a>` lists lifetimes.
fn statements(text: &Text) -> Vec<Range<usize>> {
    let imports = text.words("use").into_iter();
    let imports = imports.filter(|at| !text.code[at + "use".len()..].trim_start().starts_with('<'));
    imports.filter_map(|at| Some(at..at + text.code[at..].find(';')?)).collect()
}

/// Paths outside of `use` that begin with `crate`, `self` or `super`, with their positions.
pub fn inline(text: &Text) -> Vec<(usize, Vec<String>)> {
    let imports = statements(text);
    let is_start = |at: &usize| {
        !text.code[..*at].ends_with("::") && !imports.iter().any(|import| import.contains(at))
    };
    let mut paths = Vec::new();
    for start in ["crate", "self", "super"] {
        for at in text.words(start).into_iter().filter(is_start) {
            let path = names(&text.code[at..]);
            if path.len() > 1 {
                paths.push((at, path));
            }
        }
    }
    paths
}

/// Visits each leaf of a tree of imports with its whole path and the name that it binds.
fn leaves(tree: &str, before: &[String], leaf: &mut dyn FnMut(Vec<String>, Option<String>)) {
    let tree = tree.trim().trim_start_matches("::");
    let mut path = before.to_vec();
    if let Some(open) = tree.find('{') {
        path.extend(names(&tree[..open]));
        let inner = tree[open + 1..].trim_end().trim_end_matches('}');
        branches(inner).into_iter().for_each(|branch| leaves(branch, &path, leaf));
        return;
    }
    let (tree, alias) = tree.split_once(" as ").map_or((tree, None), |(t, a)| (t, Some(a.trim())));
    if tree.is_empty() {
        return;
    }
    path.extend(names(tree));
    if tree.ends_with('*') {
        return leaf(path, None);
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let name = alias.map(str::to_owned).or_else(|| path.last().cloned());
    leaf(path, name);
}

/// The parts between commas, braces kept whole.
fn branches(inner: &str) -> Vec<&str> {
    let mut depth = 0;
    let split = inner.split(move |c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => (),
        }
        c == ',' && depth == 0
    });
    split.collect()
}

/// The names at the start of `code` that `::` joins.
fn names(code: &str) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = Vec::new();
    let mut rest = code.trim_start();
    loop {
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        if end == 0 {
            return names;
        }
        names.push(rest[..end].to_owned());
        match rest[end..].strip_prefix("::") {
            Some(after) => rest = after,
            None => return names,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_trees() {
        for (source, expected) in [
            ("use a::B;", vec!["a::B B"]),
            (
                "pub(crate) use super::{a, b::{self, C as D}};",
                vec!["super::a a", "super::b b", "super::b::C D"],
            ),
            ("use crate::{\n    a::*,\n    b::C,\n};", vec!["crate::a *", "crate::b::C C"]),
            ("fn f() -> impl A + use<'_> { }", vec![]),
            ("// use a::B;", vec![]),
        ] {
            let imports = imports(&Text::rust(source));
            let found: Vec<String> = imports
                .iter()
                .map(|i| format!("{} {}", i.path.join("::"), i.name.as_deref().unwrap_or("*")))
                .collect();
            assert_eq!(found, expected, "{source}");
        }
    }

    #[test]
    fn paths_in_code() {
        let source = "pub(crate) fn a(x: &self::B) { crate::c::d(super::super::e); self.f() }";
        let paths = inline(&Text::rust(source));
        let found: Vec<String> = paths.iter().map(|(_, path)| path.join("::")).collect();
        assert_eq!(found, ["crate::c::d", "self::B", "super::super::e"]);
    }
}

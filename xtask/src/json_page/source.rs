//! `Sources`: the types of all crates that serialize, found by path or by use in a file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use syn::{Attribute, Item, ItemEnum, ItemStruct, UseTree};

/// All files that define types with `Serialize`.
pub struct Sources {
    files: Vec<Source>,
}

/// One file.
pub struct Source {
    crate_name: String,
    path: PathBuf,
    /// Folders below the crate's `src` and the file's own name. Where the checkout lies must not
    /// matter: it may be a folder that is called as a module is.
    modules: Vec<String>,
    items: Vec<Item>,
    imports: Imports,
}

/// Paths of imported names.
type Imports = BTreeMap<String, Vec<String>>;

/// A type and the file that defines it.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    pub source: &'a Source,
    pub definition: Definition<'a>,
}

/// What distinguishes one type from all others: its file and its name.
pub type Key = (PathBuf, String);

impl Found<'_> {
    pub fn key(&self) -> Key {
        (self.source.path.clone(), self.definition.name())
    }
}

#[derive(Clone, Copy)]
pub enum Definition<'a> {
    Struct(&'a ItemStruct),
    Enum(&'a ItemEnum),
}

impl Definition<'_> {
    pub fn name(&self) -> String {
        match self {
            Self::Struct(item) => item.ident.to_string(),
            Self::Enum(item) => item.ident.to_string(),
        }
    }

    pub fn attributes(&self) -> &[Attribute] {
        match self {
            Self::Struct(item) => &item.attrs,
            Self::Enum(item) => &item.attrs,
        }
    }
}

impl Sources {
    /// Reads all crates in a folder.
    pub fn read(crates: &Path) -> Result<Self> {
        let mut files = Vec::new();
        for path in entries(crates)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            read_folder(&path.join("src"), &name, &[], &mut files)?;
        }
        Ok(Self { files })
    }

    /// The type at a path such as `control::status::Status`.
    pub fn find(&self, path: &str) -> Result<Found<'_>> {
        let segments: Vec<_> = path.split("::").map(str::to_owned).collect();
        self.at(&segments).with_context(|| format!("no type {path} with Serialize"))
    }

    /// The type that a file calls by these segments; `None` for one of another origin.
    pub fn named(&self, from: &Source, segments: &[String]) -> Option<Found<'_>> {
        let [first, rest @ ..] = segments else { return None };
        if rest.is_empty() && from.definition(first).is_some() {
            let source = self.files.iter().find(|file| file.path == from.path)?;
            return Some(Found { source, definition: source.definition(first)? });
        }
        let mut full = from.imports.get(first).cloned().unwrap_or_else(|| vec![first.clone()]);
        full.extend(rest.iter().cloned());
        if ["crate", "super", "self"].contains(&full[0].as_str()) || !self.has_crate(&full[0]) {
            full.retain(|segment| !["crate", "super", "self"].contains(&segment.as_str()));
            full.insert(0, from.crate_name.clone());
        }
        self.at(&full)
    }

    fn has_crate(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.crate_name == name)
    }

    /// The type with the last segment as its name, in the crate of the first, preferably in a file
    /// with the others in its path.
    fn at(&self, segments: &[String]) -> Option<Found<'_>> {
        let [crate_name, middle @ .., name] = segments else { return None };
        let mut best: Option<(usize, Found<'_>)> = None;
        let mut is_ambiguous = false;
        for source in self.files.iter().filter(|file| file.crate_name == *crate_name) {
            let Some(definition) = source.definition(name) else { continue };
            let hits = middle.iter().filter(|part| source.is_below(part)).count();
            match &best {
                Some((most, _)) if hits < *most => {}
                Some((most, _)) if hits == *most => is_ambiguous = true,
                _ => {
                    best = Some((hits, Found { source, definition }));
                    is_ambiguous = false;
                }
            }
        }
        assert!(!is_ambiguous, "{} names two types", segments.join("::"));
        best.map(|(_, found)| found)
    }
}

impl Source {
    /// Whether the file or one of its folders has the name of a module.
    fn is_below(&self, module: &str) -> bool {
        self.modules.iter().any(|part| part == module)
    }

    fn definition(&self, name: &str) -> Option<Definition<'_>> {
        self.items.iter().find_map(|item| match item {
            Item::Struct(item) if item.ident == name => Some(Definition::Struct(item)),
            Item::Enum(item) if item.ident == name => Some(Definition::Enum(item)),
            _ => None,
        })
    }
}

fn read_folder(
    folder: &Path,
    crate_name: &str,
    modules: &[String],
    files: &mut Vec<Source>,
) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for path in entries(folder)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let modules = [modules, &[name]].concat();
        if path.is_dir() {
            read_folder(&path, crate_name, &modules, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            if text.contains("Serialize") {
                let (items, imports) =
                    read_items(&text).with_context(|| path.display().to_string())?;
                let crate_name = crate_name.to_owned();
                files.push(Source { crate_name, path, modules, items, imports });
            }
        }
    }
    Ok(())
}

/// The entries of a folder, sorted: the page must not depend on the order in which a file system
/// lists them.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>, std::io::Error>>()?;
    paths.sort();
    Ok(paths)
}

/// What a file defines and imports.
fn read_items(text: &str) -> Result<(Vec<Item>, Imports)> {
    let file = syn::parse_file(text)?;
    let mut imports = Imports::new();
    for item in &file.items {
        if let Item::Use(item) = item {
            import(&item.tree, &mut Vec::new(), &mut imports);
        }
    }
    Ok((file.items, imports))
}

fn import(tree: &UseTree, path: &mut Vec<String>, imports: &mut Imports) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            import(&part.tree, path, imports);
            path.pop();
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            let full = if name == "self" { path.clone() } else { [&path[..], &[name]].concat() };
            imports.insert(full.last().cloned().unwrap_or_default(), full);
        }
        UseTree::Rename(name) => {
            let full = [&path[..], &[name.ident.to_string()]].concat();
            imports.insert(name.rename.to_string(), full);
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| import(tree, path, imports)),
        UseTree::Glob(_) => {}
    }
}

#[test]
fn folders_above_the_crates_do_not_matter() {
    let top = std::env::temp_dir().join(format!("xway-json-page-{}/check", std::process::id()));
    let src = top.join("crates/one/src");
    fs::create_dir_all(&src).unwrap();
    for name in ["check.rs", "other.rs"] {
        fs::write(src.join(name), "#[derive(Serialize)] pub struct Outcome {}").unwrap();
    }
    let sources = Sources::read(&top.join("crates")).unwrap();
    let found = sources.find("one::check::Outcome").unwrap().key().0;
    fs::remove_dir_all(top.parent().unwrap()).unwrap();
    assert_eq!(found, src.join("check.rs"));
}

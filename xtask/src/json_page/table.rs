//! `Table`: the keys of a type, with their JSON types and meanings.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use syn::{Fields, GenericArgument, PathArguments, Type};

use super::Anchors;
use super::attributes::{Serde, doc};
use super::source::{Definition, Found, Key, Source, Sources};

pub struct Table<'a> {
    sources: &'a Sources,
    anchors: &'a Anchors,
    rows: Vec<Row>,
    /// Types whose members are listed already, and below which key.
    listed: BTreeMap<Key, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    key: String,
    kind: String,
    meaning: String,
}

/// The JSON type of a field.
struct Shape<'a> {
    text: String,
    /// What follows the key in the rows of the members: `[]` for a list.
    suffix: String,
    /// The type of this project that has members or words to list.
    inner: Option<Found<'a>>,
}

impl<'a> Table<'a> {
    pub fn new(sources: &'a Sources, anchors: &'a Anchors) -> Self {
        Self { sources, anchors, rows: Vec::new(), listed: BTreeMap::new() }
    }

    pub fn text(&self) -> String {
        let mut text = "| key | type | meaning |\n|---|---|---|\n".to_owned();
        for Row { key, kind, meaning } in &self.rows {
            text.push_str(&format!("| `{key}` | {kind} | {meaning} |\n"));
        }
        text
    }

    /// Adds the keys of a type.
    pub fn add(&mut self, found: &Found<'a>) -> Result<()> {
        self.members(found, "", "")
    }

    /// The members of a type, with what precedes their keys, and a note on when they are there.
    fn members(&mut self, found: &Found<'a>, prefix: &str, note: &str) -> Result<()> {
        let serde = Serde::of(found.definition.attributes())?;
        if let Some(into) = serde.into {
            let into = self.sources.named(found.source, &[into]).context("type of `into`")?;
            return self.members(&into, prefix, note);
        }
        match found.definition {
            Definition::Struct(item) => self.fields(&item.fields, found.source, prefix, note),
            Definition::Enum(_) => self.variants(found, prefix, note),
        }
        .with_context(|| found.definition.name())
    }

    fn fields(
        &mut self,
        fields: &Fields,
        source: &'a Source,
        prefix: &str,
        note: &str,
    ) -> Result<()> {
        for field in fields {
            let serde = Serde::of(&field.attrs)?;
            if serde.is_skipped {
                continue;
            }
            let shape = self.shape(&field.ty, source, &serde)?;
            if serde.is_flattened {
                let inner = shape.inner.context("a flattened field of another crate")?;
                if let Some((heading, anchor)) = self.anchors.get(&inner.key()) {
                    let meaning = format!("The keys of [{heading}](#{anchor}).");
                    let key = format!("{prefix}…");
                    self.rows.push(Row { key, kind: String::new(), meaning });
                    continue;
                }
                self.members(&inner, prefix, note)?;
                continue;
            }
            let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            let name = serde.rename.clone().unwrap_or(name);
            let meaning = doc(&field.attrs);
            if meaning.is_empty() {
                bail!("field `{name}` has no doc comment");
            }
            let absent = if serde.is_optional { " May be absent." } else { "" };
            let meaning = format!("{note}{meaning}{absent}");
            self.row(format!("{prefix}{name}"), shape, meaning)?;
        }
        Ok(())
    }

    /// The row of a key, and of its members unless they are listed elsewhere.
    fn row(&mut self, key: String, shape: Shape<'a>, mut meaning: String) -> Result<()> {
        let Shape { text, suffix, inner } = shape;
        let mut name = "object".to_owned();
        let mut nested = None;
        if let Some(inner) = inner.map(|inner| self.printed(inner)).transpose()? {
            let place = format!("{key}{suffix}");
            if let Some((heading, anchor)) = self.anchors.get(&inner.key()) {
                name = format!("[{heading}](#{anchor})");
            } else if let Some(words) = words(&inner)? {
                name = "text".to_owned();
                meaning = format!("{meaning} {words}");
            } else if let Some(only) = transparent(&inner)? {
                name = self.shape(&only, inner.source, &Serde::default())?.text;
            } else if let Some(earlier) = self.listed.get(&inner.key()) {
                meaning = format!("{meaning} Its keys are those of `{earlier}`.");
            } else {
                self.listed.insert(inner.key(), place.clone());
                nested = Some((inner, place));
            }
        }
        self.rows.push(Row { key, kind: text.replace(NAME, &name), meaning });
        match nested {
            Some((inner, place)) => self.members(&inner, &format!("{place}."), ""),
            None => Ok(()),
        }
    }

    /// The type that is printed for a type: another one where it is converted, unless it has a
    /// table of its own.
    fn printed(&self, found: Found<'a>) -> Result<Found<'a>> {
        let serde = Serde::of(found.definition.attributes())?;
        match serde.into.filter(|_| !self.anchors.contains_key(&found.key())) {
            Some(into) => self.sources.named(found.source, &[into]).context("type of `into`"),
            None => Ok(found),
        }
    }

    fn variants(&mut self, found: &Found<'a>, prefix: &str, note: &str) -> Result<()> {
        let Definition::Enum(item) = found.definition else { return Ok(()) };
        let serde = Serde::of(&item.attrs)?;
        let mut names = Vec::new();
        for variant in &item.variants {
            names.push(format!(
                "`{}`",
                serde.variant(&variant.ident.to_string(), &Serde::of(&variant.attrs)?)
            ));
        }
        if let Some(tag) = &serde.tag {
            let meaning = format!("{} One of {}.", doc(&item.attrs), names.join(", "));
            let key = format!("{prefix}{tag}");
            self.rows.push(Row { key, kind: "text".to_owned(), meaning });
        }
        for (variant, name) in item.variants.iter().zip(&names) {
            match (&variant.fields, &serde.tag) {
                (Fields::Named(_), Some(_)) => {
                    let note = format!("{note}{name}: ");
                    self.fields(&variant.fields, found.source, prefix, &note)?;
                }
                (Fields::Named(_), None) if serde.is_untagged => {
                    self.fields(&variant.fields, found.source, prefix, note)?;
                }
                (Fields::Named(_), None) => {
                    let key = format!("{prefix}{}", name.trim_matches('`'));
                    let (kind, meaning) = ("object".to_owned(), doc(&variant.attrs));
                    self.rows.push(Row { key: key.clone(), kind, meaning });
                    self.fields(&variant.fields, found.source, &format!("{key}."), note)?;
                }
                (Fields::Unnamed(fields), None) => {
                    let ty = &fields.unnamed.first().context("an empty variant")?.ty;
                    let shape = self.shape(ty, found.source, &Serde::default())?;
                    let key = format!("{prefix}{}", name.trim_matches('`'));
                    self.row(key, shape, doc(&variant.attrs))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The JSON type of a Rust type.
    fn shape(&self, ty: &Type, source: &'a Source, serde: &Serde) -> Result<Shape<'a>> {
        let plain = |text: &str| Shape { text: text.into(), suffix: String::new(), inner: None };
        let path = match ty {
            Type::Reference(reference) => return self.shape(&reference.elem, source, serde),
            Type::Slice(slice) => return self.list(&slice.elem, source, serde),
            Type::Array(array) => return self.list(&array.elem, source, serde),
            Type::Tuple(_) => return Ok(plain("list")),
            Type::Path(path) => &path.path,
            _ => bail!("a type that the page cannot describe"),
        };
        let last = path.segments.last().context("an empty path")?;
        let arguments: Vec<_> = match &last.arguments {
            PathArguments::AngleBracketed(all) => all.args.iter().filter_map(argument).collect(),
            _ => Vec::new(),
        };
        let name = last.ident.to_string();
        match (name.as_str(), arguments.as_slice()) {
            ("Box" | "Cow", [.., inner]) => self.shape(inner, source, serde),
            ("Option", [inner]) => {
                let mut shape = self.shape(inner, source, serde)?;
                shape.text.push_str(" or `null`");
                Ok(shape)
            }
            _ if serde.serialize_with.as_deref() == Some("seconds") => Ok(plain("number")),
            _ if serde.serialize_with.is_some() => Ok(plain("text")),
            ("Vec" | "BTreeSet", [inner]) => self.list(inner, source, serde),
            ("BTreeMap" | "HashMap", [_, value]) => {
                let inner = self.shape(value, source, serde)?;
                let text = format!("object of {} by name", inner.text);
                Ok(Shape { text, suffix: format!(".NAME{}", inner.suffix), ..inner })
            }
            ("bool", _) => Ok(plain("boolean")),
            ("f64" | "f32" | "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64", _) => {
                Ok(plain("number"))
            }
            (name, _) if TEXTS.contains(&name) => Ok(plain("text")),
            _ => {
                let segments: Vec<_> =
                    path.segments.iter().map(|one| one.ident.to_string()).collect();
                let inner = self.sources.named(source, &segments);
                let inner =
                    inner.with_context(|| format!("type {} is unknown", segments.join("::")))?;
                Ok(Shape { text: NAME.into(), suffix: String::new(), inner: Some(inner) })
            }
        }
    }

    fn list(&self, item: &Type, source: &'a Source, serde: &Serde) -> Result<Shape<'a>> {
        let inner = self.shape(item, source, serde)?;
        let text = format!("list of {}", inner.text);
        Ok(Shape { text, suffix: format!("[]{}", inner.suffix), ..inner })
    }
}

fn argument(argument: &GenericArgument) -> Option<&Type> {
    match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

/// The words of an enum without data, with their meanings.
fn words(found: &Found<'_>) -> Result<Option<String>> {
    let Definition::Enum(item) = found.definition else { return Ok(None) };
    if item.variants.iter().any(|variant| !variant.fields.is_empty()) {
        return Ok(None);
    }
    let serde = Serde::of(&item.attrs)?;
    let mut words = Vec::new();
    for variant in &item.variants {
        let name = serde.variant(&variant.ident.to_string(), &Serde::of(&variant.attrs)?);
        let meaning = doc(&variant.attrs);
        if meaning.is_empty() {
            bail!("variant `{name}` of {} has no doc comment", item.ident);
        }
        words.push(format!("`{name}`: {}", lower(meaning.trim_end_matches('.'))));
    }
    Ok(Some(format!("{}.", words.join("; "))))
}

/// The one type that a transparent struct consists of.
fn transparent(found: &Found<'_>) -> Result<Option<Type>> {
    let Definition::Struct(item) = found.definition else { return Ok(None) };
    if !Serde::of(&item.attrs)?.is_transparent {
        return Ok(None);
    }
    for field in &item.fields {
        if !Serde::of(&field.attrs)?.is_skipped {
            return Ok(Some(field.ty.clone()));
        }
    }
    Ok(None)
}

/// With a small first letter, unless the first word is an abbreviation.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

/// Stands for the name of a type until it is known whether that has a table.
const NAME: &str = "{}";
/// Types that serialize as text.
const TEXTS: &[&str] =
    &["String", "str", "PathBuf", "Path", "IpAddr", "Ipv4Addr", "Ipv6Addr", "SocketAddr", "Mac"];

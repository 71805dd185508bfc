//! Global variables of an object: listing them and setting them before it is loaded.
//!
//! A global is a variable of a data section (`.rodata`, `.data`, `.bss` and similar ones). Setting
//! one changes the section's contents, and with `const volatile` the verifier sees the value as
//! a constant. Rule: a value that does not fit its type is rejected, never truncated.
//! Not here: reading the text of a value (`text`).

mod text;

pub(crate) use text::typed;

use std::collections::HashSet;

use crate::btf::Kind;
use crate::error::{Error, ValueError};
use crate::model::{Global, Spec};

/// Number of similar names that an error lists.
const MAX_NEAR: usize = 8;
/// Shortest name that makes another one similar by being a part of it.
const MIN_PART: usize = 3;

impl Spec {
    /// Lists all variables, ordered by section and offset.
    pub fn globals(&self) -> Vec<Global> {
        let sections = self.maps.iter().filter(|map| map.contents.is_some());
        let mut globals: Vec<_> = sections.flat_map(|map| self.typed(&map.name)).collect();
        let place = |global: &Global| (global.section.clone(), global.offset);
        let known: HashSet<_> = globals.iter().map(place).collect();
        let untyped = self.variables.iter().filter(|global| !known.contains(&place(global)));
        globals.extend(untyped.cloned());
        globals
    }

    fn typed(&self, section: &str) -> Vec<Global> {
        let Some(btf) = self.btf.as_ref().filter(|_| section != ".kconfig") else {
            return Vec::new();
        };
        let vars = btf.datasec(section).unwrap_or_default();
        let vars = vars.into_iter().filter(|(var, _)| var.kind() == Kind::Var);
        vars.map(|(var, place)| Global {
            name: var.name().to_owned(),
            section: section.to_owned(),
            type_text: btf.type_text(var.target()),
            type_id: var.target(),
            offset: place.offset,
            size: place.size,
        })
        .collect()
    }

    /// Sets a global to bytes of exactly its size.
    ///
    /// # Errors
    /// [`Error::UnknownGlobal`] or [`Error::GlobalValue`]; the object is then unchanged.
    pub fn set_global(&mut self, name: &str, value: &[u8]) -> Result<(), Error> {
        let global = self.global(name)?;
        if value.len() != global.size as usize {
            let cause = ValueError::WrongLength { given: value.len(), wanted: global.size };
            return Err(self.invalid(&global, cause));
        }
        let start = global.offset as usize;
        let map = self.maps.iter_mut().find(|map| map.name == global.section);
        let contents = map.and_then(|map| map.contents.as_mut());
        let place = contents.and_then(|bytes| bytes.get_mut(start..start + value.len()));
        match place {
            Some(place) => place.copy_from_slice(value),
            None => return Err(self.invalid(&global, ValueError::OutsideSection)),
        }
        Ok(())
    }

    /// The bytes of a global.
    ///
    /// # Errors
    /// [`Error::UnknownGlobal`] or [`Error::GlobalValue`].
    pub fn global_value(&self, name: &str) -> Result<&[u8], Error> {
        let global = self.global(name)?;
        let (start, size) = (global.offset as usize, global.size as usize);
        let map = self.maps.iter().find(|map| map.name == global.section);
        let contents = map.and_then(|map| map.contents.as_ref());
        let place = contents.and_then(|bytes| bytes.get(start..start + size));
        place.ok_or_else(|| self.invalid(&global, ValueError::OutsideSection))
    }

    /// Sets a global from text, read by its type: numbers (`10`, `0x1f`, `-1`), `true`, names of
    /// an enum, addresses (`10.1.0.2`, `fd00::2`, `02:00:00:00:00:01`), `{1, 2}` lists, text for
    /// character arrays. Types `__be16` and `__be32` are stored in network order.
    ///
    /// # Errors
    /// [`Error::UnknownGlobal`] or [`Error::GlobalValue`]; the object is then unchanged.
    pub fn set_global_text(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let global = self.global(name)?;
        let size = global.size as usize;
        let bytes = match &self.btf {
            Some(btf) if global.type_id != 0 => text::typed(btf, global.type_id, value),
            _ => text::untyped(size, value),
        };
        let bytes = bytes.map_err(|cause| self.invalid(&global, cause))?;
        self.set_global(name, &bytes)
    }

    fn global(&self, name: &str) -> Result<Global, Error> {
        let globals = self.globals();
        let found = globals.iter().find(|global| global.name == name).cloned();
        found.ok_or_else(|| Error::UnknownGlobal {
            file: self.name.clone(),
            name: name.to_owned(),
            near: near(name, globals.iter().map(|global| global.name.as_str())),
        })
    }

    fn invalid(&self, global: &Global, cause: ValueError) -> Error {
        Error::GlobalValue {
            file: self.name.clone(),
            name: global.name.clone(),
            type_text: global.type_text.clone(),
            cause: Box::new(cause),
        }
    }
}

/// The names most similar to the wanted one, best first.
pub(crate) fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut ranked: Vec<_> = names.map(|name| (distance(wanted, name), name)).collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().take(MAX_NEAR).map(|(_, name)| name.to_owned()).collect()
}

/// Number of edits (insert, delete, replace) between two names; 0 if one contains the other, unless
/// that is too short to mean it.
fn distance(a: &str, b: &str) -> usize {
    if a.len().min(b.len()) >= MIN_PART && (b.contains(a) || a.contains(b)) {
        return 0;
    }
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

//! What fills the maps before the first packet: rules of the built-in functions, files of entries.
//!
//! Works on `spec::Map`, so that kernel and engine get the same. A file of entries has lines
//! `KEY VALUE`, each written as `xway map update` takes them; `#` starts a comment.

use std::path::Path;

use control::inventory::parse_bytes;
use control::object::Opened;
use control::text;
use functions::{drop, route};
use kernel::PerCpu;
use spec::{Expect, Map, MapDef, Spec};

use crate::error::{Context as _, Error, Result};
use crate::options::Options;

#[derive(Debug, Default)]
pub struct Configuration {
    function: Function,
    entries: Vec<Entries>,
}

#[derive(Debug, Default)]
enum Function {
    #[default]
    None,
    Drop(drop::Config),
    Forward(route::Config),
}

/// Contents of one map in a file.
#[derive(Debug)]
struct Entries {
    map: String,
    /// Values are repeated for each processor.
    per_cpu: bool,
    lines: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Configuration {
    /// Reads rules and contents of maps, and sets the globals that the rules stand for.
    pub fn parse(options: &Options, opened: &mut Opened) -> Result<Self> {
        let function = function(options, opened)?;
        let entries = options.maps.iter().map(|(name, file)| entries(&opened.spec, name, file));
        Ok(Self { function, entries: entries.collect::<Result<_>>()? })
    }

    /// Writes everything through the maps that `find` opens. `egress` are the interfaces that
    /// `forward` may send to.
    pub fn apply<'a, M>(
        &self,
        cpus: usize,
        egress: &[u32],
        find: impl Fn(&str) -> Result<&'a M>,
    ) -> Result<()>
    where
        M: Map + 'a,
        M::Error: std::error::Error + Send + Sync + 'static,
    {
        match &self.function {
            Function::None => {}
            Function::Drop(config) => {
                let maps = drop::Maps::find(&find)?;
                drop::update(config, &maps).map_err(Error::contents)?;
            }
            Function::Forward(config) => {
                let port = |ifindex: &u32| route::Port::untagged(*ifindex, None);
                let ports: Vec<_> = egress.iter().map(port).collect();
                let maps = route::Maps::find(&find)?;
                route::update(config, &ports, &maps).map_err(Error::contents)?;
            }
        }
        for entries in &self.entries {
            let map = find(&entries.map)?;
            for (key, value) in &entries.lines {
                let value = match entries.per_cpu {
                    true => PerCpu::repeat(value, cpus).into_bytes(),
                    false => value.clone(),
                };
                map.update(key, &value, Expect::Any).map_err(Error::contents)?;
            }
        }
        Ok(())
    }
}

fn function(options: &Options, opened: &mut Opened) -> Result<Function> {
    let is = |name: &str| opened.builtin && opened.name == name;
    if !options.rules.is_empty() && !is("drop") {
        return Err(Error::NotBuiltIn { option: "rule", program: "drop" });
    }
    if !options.translations.is_empty() && !is("forward") {
        return Err(Error::NotBuiltIn { option: "nat", program: "forward" });
    }
    if is("drop") {
        let rules: Result<_> = options.rules.iter().map(|text| Ok(text.parse()?)).collect();
        let config = drop::Config { rules: rules?, ..drop::Config::default() };
        config.apply(&mut opened.spec)?;
        return Ok(Function::Drop(config));
    }
    if is("forward") {
        let nat = if options.nat_only { route::Nat::Required } else { route::Nat::Optional };
        let translations: Result<_> =
            options.translations.iter().map(|text| Ok(text.parse()?)).collect();
        let translations = translations?;
        let config = route::Config { nat, translations, ..route::Config::default() };
        config.apply(&mut opened.spec)?;
        opened.spec.set_global(route::ANY_MAC, &1_u32.to_le_bytes())?;
        return Ok(Function::Forward(config));
    }
    Ok(Function::None)
}

fn entries(spec: &Spec, name: &str, file: &Path) -> Result<Entries> {
    let def = spec.map(name).ok_or_else(|| Error::UnknownMap {
        name: name.to_owned(),
        known: spec.maps.iter().map(|map| map.name.clone()).collect(),
    })?;
    let text = text::read(file)?;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            lines.push(
                entry(def, line).with_context(|| format!("{}:{}", file.display(), number + 1))?,
            );
        }
    }
    Ok(Entries { map: name.to_owned(), per_cpu: def.kind.is_per_cpu(), lines })
}

fn entry(def: &MapDef, line: &str) -> Result<(Vec<u8>, Vec<u8>)> {
    let bytes = |text: &str, size: u32| parse_bytes(text, size as usize);
    if def.key_size == 0 {
        return Ok((Vec::new(), bytes(line, def.value_size)?));
    }
    let (key, value) = line
        .split_once(char::is_whitespace)
        .ok_or_else(|| Error::NoValue { line: line.to_owned() })?;
    Ok((bytes(key, def.key_size)?, bytes(value.trim(), def.value_size)?))
}

//! The filter with the rules that somebody under attack would write: limits for each source and
//! for all of them.
//!
//! Rule: these rules are those of the demo and of the tests, too.

use std::path::Path;

use anyhow::Result;
use functions::filter::{Environment, File, PROGRAM, compile};
use kernel::{LoadOptions, Object};

/// Rules for a service over TCP that is flooded with UDP.
pub const LIMIT_RULES: &str = r#"default = "pass"
rules = [
  "service: pass tcp dport 7",
  "source: limit 5pps burst 10 per source udp",
  "all-udp: limit 5kpps burst 100 udp",
]
"#;

/// Rules as text.
pub fn parsed(rules: &str) -> Result<File> {
    let no_library = |_: &str| Err("these rules have no expressions".to_owned());
    Ok(File::parse("rules", rules, Path::new(""), no_library)?)
}

/// The program of rules, ready to run.
pub fn object(file: &File) -> Result<Object> {
    let compiled = compile(&file.ruleset, &Environment::default())?;
    let programs = Some(vec![PROGRAM.to_owned()]);
    let options = LoadOptions { programs, ..LoadOptions::default() };
    let object = Object::load(&compiled.spec, &options)?;
    compiled.acts.fill(|name| object.map(name))?;
    Ok(object)
}

//! The filter with the rules that an operator under attack would write: one that drops the flood,
//! limits per source and in total, a SYN proxy.
//!
//! Rule: the limits are those of the demo and of the tests, too. Packets that a limit passes go up
//! the stack, to a port without a listener: they ended there, not at the hook.

use std::path::Path;

use anyhow::{Context, Result};
use filter::{Environment, File, PROGRAM, compile};
use functions::stats::{self, Stats};
use kernel::{Link, LoadOptions, Mode, Object};
use spec::Verdict;

use super::{ActiveHook, Hook};
use crate::field::{Field, PORT};

/// The filter with one rule that drops the flood.
pub const DROP: Hook = Hook::new(
    "filter-drop",
    "the filter in the driver, with one rule, which drops the flood by protocol and port",
    |field| set(field, &format!("rules = ['flood: drop udp dport {PORT}']")),
);

/// The filter with limits per source and in total.
pub const LIMITS: Hook = Hook::new(
    "filter-limits",
    "the filter in the driver, with limits for UDP: 5 packets a second of each source, and 5,000 \
     of all",
    |field| set(field, LIMIT_RULES),
);

/// The filter with a SYN proxy.
pub const PROXY: Hook = Hook::new(
    "filter-proxy",
    "the filter in the driver, with a SYN proxy for more than 20,000 connection requests a second",
    |field| set(field, PROXY_RULES),
);

struct Attached {
    object: Object,
    labels: Vec<String>,
    _link: Link,
}

fn set(field: &Field, rules: &str) -> Result<Box<dyn ActiveHook>> {
    let object = object(&parsed(rules)?)?;
    let program = object.program(PROGRAM)?;
    let labels = program.btf()?.as_ref().and_then(stats::labels).context("no reasons are named")?;
    let link = field.receiver.attach(program, Mode::Native)?;
    Ok(Box::new(Attached { object, labels, _link: link }))
}

impl ActiveHook for Attached {
    fn ended(&self) -> Result<u64> {
        let map = self.object.map(stats::MAP)?;
        let counted = Stats::read(map, &self.labels)?;
        // Sent back is what the proxy answered.
        Ok([Verdict::Drop, Verdict::Tx].map(|it| counted.verdict(it).packets).iter().sum())
    }
}

/// Rules for a service over TCP that is flooded with UDP.
pub const LIMIT_RULES: &str = r#"default = "pass"
rules = [
  "service: pass tcp dport 7",
  "udp: limit 5pps burst 10 per source total 5kpps burst 100 udp",
]
"#;

/// Rules for one that is flooded with connection requests.
pub const PROXY_RULES: &str = r#"default = "pass"
rules = ["proxy: synproxy tcp dport 8 above 20kpps"]
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
    compiled.actions.fill(|name| object.map(name))?;
    Ok(object)
}

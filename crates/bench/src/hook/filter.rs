//! The filter with the rules that somebody under attack would write: limits for each source and
//! for all of them, a SYN proxy.
//!
//! Rule: these rules are those of the demo and of the tests, too. Counted is what the program
//! dropped or answered itself.

use std::path::Path;

use anyhow::Result;
use functions::filter::act::{COUNTS, Sizes, count};
use functions::filter::{Environment, File, Listeners, PROGRAM, compile};
use kernel::{Link, LoadOptions, Mode, Object};
use lab::stage::ATTACKER_MAC;

use super::{Hook, Set};
use crate::field::Field;

pub const LIMITS: Hook = Hook::new(
    "filter",
    "the filter in the driver: UDP is limited for each source and its prefixes, and in all",
    |field| set(field, LIMIT_RULES),
);

/// Needs listeners that look for cookies: `net.ipv4.tcp_syncookies` is 2.
pub const PROXY: Hook = Hook::new(
    "synproxy",
    "the filter in the driver answers connection requests with cookies",
    |field| set(field, PROXY_RULES),
);

/// Rules for a service over TCP that is flooded with UDP.
pub const LIMIT_RULES: &str = r#"default = "pass"
rules = [
  "service: pass tcp dport 7",
  "source: limit 5pps burst 10 per source udp",
  "all-udp: limit 5kpps burst 100 udp",
]
"#;

/// Rules for one that is flooded with connection requests.
pub const PROXY_RULES: &str = r#"default = "pass"
rules = ["proxy: synproxy tcp dport 7 above 1000pps"]
"#;

/// A filter that runs; answers to the attacker, who does not want them, end where he is.
struct Attached {
    object: Object,
    rules: u32,
    _links: [Link; 2],
}

fn set(field: &Field, rules: &str) -> Result<Box<dyn Set>> {
    let file = parsed(rules)?;
    let object = object(&file)?;
    let unwanted = self::object(&parsed(&format!("rules = ['drop to-mac {ATTACKER_MAC}']"))?)?;
    let links = [
        field.receiver.attach(object.program(PROGRAM)?, Mode::Native)?,
        field.sender.attach(unwanted.program(PROGRAM)?, Mode::Native)?,
    ];
    Ok(Box::new(Attached { object, rules: file.ruleset.rules.len() as u32, _links: links }))
}

/// Rules as text.
pub fn parsed(rules: &str) -> Result<File> {
    let no_library = |_: &str| Err("these rules have no expressions".to_owned());
    Ok(File::parse("rules", rules, Path::new(""), no_library)?)
}

/// The program of rules, ready to run on a host with the usual settings and cookies.
pub fn object(file: &File) -> Result<Object> {
    let sizes = Sizes { listeners: Some(LISTENERS), ..Sizes::default() };
    let compiled = compile(&file.ruleset, &Environment { sizes, ..Environment::default() })?;
    let programs = Some(vec![PROGRAM.to_owned()]);
    let options = LoadOptions { programs, ..LoadOptions::default() };
    let object = Object::load(&compiled.spec, &options)?;
    compiled.acts.fill(|name| object.map(name))?;
    Ok(object)
}

impl Set for Attached {
    fn ended(&self) -> Result<u64> {
        let counts = self.object.map(COUNTS)?;
        let taken = (0..self.rules).map(|rule| Ok(count(counts, rule)?.taken));
        taken.sum()
    }
}

const LISTENERS: Listeners = Listeners {
    syncookies: 2,
    timestamps: 1,
    receive_most: 6_291_456,
    buffer_most: 212_992,
    mtu: 1500,
};

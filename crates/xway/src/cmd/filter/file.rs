//! Files of rules on their way into the kernel and back.
//!
//! Rule: what is kept with a program needs no other file: sets that stood in files of their own
//! stand in it. So rules can be changed when those files are gone, and mean what they meant.

use std::path::Path;

use anyhow::{Context as _, Result};
use functions::filter::act::Sizes;
use functions::filter::plan::Budget;
use functions::filter::{Compiled, Environment, File, Ruleset, Source, compile};
use sys::net::Netlink;
use sys::thread::monotonic_ns;

use super::{listeners, rules};
use crate::cmd::attach::Target;

/// The text to be kept.
pub fn to_keep(file: &File) -> String {
    let mut whole = file.clone();
    for (name, set) in file.scope.sets.iter() {
        if matches!(set.source, Source::File(_)) {
            whole.scope.sets.insert_list(name, (*set.addresses).clone());
        }
    }
    whole.to_toml()
}

/// Reads kept text.
pub fn kept(text: &str) -> Result<File> {
    let file = File::parse("the rules in force", text, Path::new(""), rules::expression);
    file.context("the rules in force cannot be read: another version of xway put them there")
}

/// What makes a rule of one ruleset the same as a rule of another: name and text.
pub fn identities(rules: &Ruleset) -> Vec<String> {
    rules.rules.iter().map(|rule| format!("{}: {}", rule.name, rule.body())).collect()
}

/// Rules as a program for an interface of this host; `bans`: somebody may be banned by hand.
pub fn compiled(rules: &Ruleset, bans: bool, target: &Target) -> Result<Compiled> {
    let mut environment = environment(bans)?;
    environment.sizes.listeners = Some(listeners::here(target.mtu)?);
    Ok(compile(rules, &environment)?)
}

/// This host as compiled rules see it, from whatever interface.
pub fn environment(bans: bool) -> Result<Environment> {
    let links = Netlink::open()?.links()?.into_iter();
    Ok(Environment {
        interfaces: links.map(|link| (link.name, link.ifindex.0)).collect(),
        sizes: Sizes { manual_bans: bans, now_ns: monotonic_ns(), ..Sizes::default() },
        budget: Budget::default(),
    })
}

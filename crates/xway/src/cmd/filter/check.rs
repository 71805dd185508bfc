//! `filter check`: a file of rules as it is understood.
//!
//! Rule: the rules are read after rights were given up, and the loaded program cannot be attached
//! or run.

use std::path::Path;

use anyhow::Result;
use control::filter::check::{RulesCheck, RulesReport};
use control::filter::source::read;
use control::lockout;
use sys::net::Netlink;

use crate::args::FilterCheckArgs;
use crate::cmd::{Context, Exit, confine};

pub fn run(args: &FilterCheckArgs, context: &Context) -> Result<Exit> {
    let mut checked = match &args.file {
        Some(path) => check(path, args.memory)?,
        None => RulesReport::default_policies(),
    };
    checked.all_policies = args.policies;
    context.show(&checked)?;
    let is_refused =
        checked.program.is_some_and(|program| program.too_much.is_some() || program.is_refused());
    Ok(if is_refused { Exit::No } else { Exit::Done })
}

/// The host is inspected before this process is confined.
fn check(path: &Path, limit: Option<u64>) -> Result<RulesReport> {
    let links = Netlink::open().and_then(|mut netlink| netlink.links()).unwrap_or_default();
    let interfaces = links.into_iter().map(|link| (link.name, link.ifindex.0)).collect();
    let session = lockout::session();
    confined(path)?;
    let file = read(path)?;
    let warnings = lockout::warnings(&file.ruleset, session);
    Ok(RulesCheck { path, limit, interfaces: &interfaces }.check(&file, warnings)?)
}

/// Confines the process to reading the rules and loading programs.
fn confined(path: &Path) -> Result<()> {
    let mut named = confine::begin_loading()?;
    named.rules(path);
    named.end()
}

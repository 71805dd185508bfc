//! `completions`: scripts for shells, which ask the binary itself for what can follow.
//!
//! Rule: an argument is completed by the name of its value, so that a new option with a known one
//! needs nothing here. What cannot be read is not offered; nothing is reported, because the user
//! is in the middle of a line.

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::{Arg, Command, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use control::Control;
use control::filter::active::ActiveFilter;
use sys::net::Netlink;

use super::Exit;
use crate::args::{Cli, STATE_DIR};
use crate::view;

pub fn completions(shell: clap_complete::Shell) -> Result<Exit> {
    let shells = Shells::builtins();
    let completer = shells.completer(&shell.to_string()).context("not a known shell")?;
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, "xway", "xway", "xway", &mut script)
        .context("cannot write the script")?;
    view::print(&String::from_utf8_lossy(&script)).context("cannot write to standard output")?;
    Ok(Exit::Done)
}

/// Answers a shell that asks for completions, and ends the process; returns if none asks.
pub fn complete() {
    CompleteEnv::with_factory(|| with_candidates(Cli::command())).var(VARIABLE).complete();
}

/// Adds candidates to the arguments of a command and of all commands below it.
fn with_candidates(command: Command) -> Command {
    let command = command.mut_args(|arg| match candidates(&arg) {
        Some(list) => arg.add(ArgValueCandidates::new(move || {
            list().into_iter().map(CompletionCandidate::new).collect()
        })),
        None => arg,
    });
    command.mut_subcommands(with_candidates)
}

/// The function that lists values of an argument.
fn candidates(arg: &Arg) -> Option<fn() -> Vec<String>> {
    let name = match arg.get_value_names() {
        Some([name, ..]) => name.to_string(),
        _ => arg.get_id().as_str().to_uppercase(),
    };
    match &*name {
        "IFACE" | "CAPTURE|IFACE" | "IFACE|MAC" => Some(interfaces),
        "LAB" => Some(labs),
        "RULE" => Some(rules),
        _ => None,
    }
}

fn interfaces() -> Vec<String> {
    let links = Netlink::open().and_then(|mut netlink| netlink.links());
    links.unwrap_or_default().into_iter().map(|link| link.name).collect()
}

fn labs() -> Vec<String> {
    let labs = lab::labs().map(|labs| labs.labs).unwrap_or_default();
    labs.into_iter().map(|lab| lab.id).collect()
}

/// Names of the rules that run on the interfaces of the line so far.
fn rules() -> Vec<String> {
    let root = std::env::var_os("XWAY_STATE").unwrap_or_else(|| STATE_DIR.into());
    let control = Control::new(Path::new(&root));
    let known = interfaces();
    let named = std::env::args().filter(|word| known.contains(word));
    let filters = named.filter_map(|interface| ActiveFilter::open(&control, &interface).ok());
    let rules = filters.filter_map(|filter| filter.rules().ok());
    rules.flat_map(|ruleset| ruleset.rules).map(|rule| rule.name).collect()
}

/// Variable by which a script asks.
const VARIABLE: &str = "XWAY_COMPLETE";

#[cfg(test)]
mod tests {
    use super::*;

    /// Each value of a kind that can be listed is completed, whatever its option is called.
    #[test]
    fn arguments_are_completed_by_the_name_of_their_value() {
        fn count(command: &Command, of: fn() -> Vec<String>) -> usize {
            let own = command
                .get_arguments()
                .filter(|arg| candidates(arg).is_some_and(|list| std::ptr::fn_addr_eq(list, of)));
            own.count() + command.get_subcommands().map(|inner| count(inner, of)).sum::<usize>()
        }
        let mut cli = Cli::command();
        cli.build();
        assert!(count(&cli, interfaces) > 40, "{}", count(&cli, interfaces));
        assert!(count(&cli, labs) >= 3 && count(&cli, rules) >= 2);
    }
}

//! `docs/commands.md`: every command and option, generated from the arguments themselves.
//!
//! `XWAY_WRITE_DOCS=1 cargo test -p xway commands_page` writes the page; without the variable the
//! test compares it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::Cli;

/// The whole page: an entry for each command that has no commands of its own.
fn page() -> String {
    let mut cli = Cli::command().disable_help_subcommand(true);
    cli.build();
    let mut text = HEAD.to_owned();
    let common: Vec<_> = cli.get_arguments().filter(|arg| is_shown(arg)).collect();
    arguments(&mut text, &common);
    for command in cli.get_subcommands() {
        entry(&mut text, command, "xway", &common);
    }
    text
}

fn entry(text: &mut String, command: &Command, parent: &str, common: &[&Arg]) {
    if command.is_hide_set() {
        return;
    }
    let name = format!("{parent} {}", command.get_name());
    if command.has_subcommands() {
        command.get_subcommands().for_each(|inner| entry(text, inner, &name, common));
        return;
    }
    let _infallible = write!(text, "\n## `{name}`\n");
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        let _infallible = write!(text, "\n{about}\n");
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let _infallible = write!(text, "\n```\n{usage}\n```\n");
    let is_own =
        |arg: &&Arg| is_shown(arg) && common.iter().all(|one| one.get_id() != arg.get_id());
    arguments(text, &command.get_arguments().filter(is_own).collect::<Vec<_>>());
}

fn is_shown(arg: &Arg) -> bool {
    let is_help = matches!(arg.get_action(), ArgAction::Help | ArgAction::Version);
    !arg.is_hide_set() && !is_help && arg.get_id() != "help"
}

fn arguments(text: &mut String, arguments: &[&Arg]) {
    if arguments.is_empty() {
        return;
    }
    text.push_str("\n| argument | meaning |\n|---|---|\n");
    for arg in arguments {
        let help = arg.get_long_help().or_else(|| arg.get_help());
        let help = help.map(|help| help.to_string()).unwrap_or_default();
        let words: Vec<_> = help.split_whitespace().collect();
        let meaning = format!("{}{}", words.join(" "), notes(arg)).replace('|', "\\|");
        let shown = arg.to_string().replace('|', "\\|");
        let short = arg.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
        let _infallible = writeln!(text, "| {short}`{shown}` | {meaning} |");
    }
}

/// Possible values and the default.
fn notes(arg: &Arg) -> String {
    let mut notes = Vec::new();
    let takes_value = arg.get_action().takes_values();
    let values = arg.get_possible_values();
    if takes_value && !values.is_empty() {
        let names: Vec<_> = values.iter().map(|value| format!("`{}`", value.get_name())).collect();
        notes.push(names.join(", "));
    }
    let defaults = arg.get_default_values();
    if takes_value && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        let words: Vec<_> = defaults.iter().map(|word| word.to_string_lossy()).collect();
        notes.push(format!("default `{}`", words.join(" ")));
    }
    if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) }
}

const HEAD: &str = "# Commands

Generated from the command line's own help; `xway help COMMAND` prints the same.

A file named `-` is standard input or output; where a capture goes to standard output, results go to
standard error. All commands take the same units: times such as `250ms`, `10s`, `5m`, `1h` (a number
alone is seconds), rates such as `10kpps` and `2.5gbps`, counts such as `10k`, memory such as
`16MiB`.

These options are understood by every command:
";

#[test]
fn commands_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let page = page();
    if std::env::var_os("XWAY_WRITE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/commands.md differs from the command line: run \
         `XWAY_WRITE_DOCS=1 cargo test -p xway commands_page`"
    );
}

//! `man`: manual pages, generated from the arguments themselves.

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};
use control::folder::Folder;

use super::Exit;
use crate::args::{Cli, examples};

/// One page for `xway` and one for each of its commands.
pub fn run(dir: &Path) -> Result<Exit> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    pages(&Folder::make(dir)?, &command, "")?;
    Ok(Exit::Done)
}

/// `path` is the command without `xway`, such as `filter load`.
fn pages(folder: &Folder, command: &Command, path: &str) -> Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        pages(folder, inner, format!("{path} {}", inner.get_name()).trim_start())?;
    }
    let page = Man::new(command.clone()).manual("Expressway").source(version());
    let text = text(&page, command, path).context("cannot write a manual page")?;
    folder.put(&page.get_filename(), &String::from_utf8_lossy(&text))?;
    Ok(())
}

fn version() -> String {
    format!("xway {}", env!("CARGO_PKG_VERSION"))
}

fn text(page: &Man, command: &Command, path: &str) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    sections(path).to_writer(&mut text)?;
    Ok(text)
}

/// Sections that all pages have.
fn sections(path: &str) -> Roff {
    let mut roff = Roff::new();
    let examples = examples::of(path);
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
        for (meaning, line) in examples {
            roff.control("TP", []);
            roff.text([roman(format!("{meaning}:"))]);
            roff.text([bold(format!("xway {line}"))]);
        }
    }
    definitions(&mut roff, "EXIT STATUS", EXIT_STATUS);
    definitions(&mut roff, "ENVIRONMENT", ENVIRONMENT);
    definitions(&mut roff, "FILES", FILES);
    roff.control("SH", ["SEE ALSO"]);
    let own = format!("xway-{}", path.replace(' ', "-"));
    let others = SEE_ALSO.iter().filter(|(name, _)| *name != own);
    let others = others.flat_map(|(name, section)| [bold(*name), roman(format!("({section}), "))]);
    let mut others: Vec<_> = others.collect();
    if let Some(last) = others.pop() {
        let clap_mangen::roff::Inline::Roman(text) = last else { return roff };
        others.push(roman(text.trim_end_matches(", ")));
    }
    roff.text(others);
    roff
}

fn definitions(roff: &mut Roff, title: &str, definitions: &[(&str, &str)]) {
    roff.control("SH", [title]);
    for (term, meaning) in definitions {
        roff.control("TP", []);
        roff.text([italic(*term)]);
        roff.text([roman(*meaning)]);
    }
}

const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "Done."),
    ("1", "The command worked, and its result is negative, such as a program that is rejected."),
    ("2", "An error; standard error names its cause and the remedy."),
];
const ENVIRONMENT: &[(&str, &str)] = &[
    ("XWAY_STATE", "The state directory, if --state is not given."),
    ("NO_COLOR", "If set, output has no colors."),
];
const FILES: &[(&str, &str)] = &[
    ("/etc/xway/*.toml", "Declared configuration, see xway-config(5)."),
    ("/run/xway", "State directory: locks, and the bpffs that keeps attached programs."),
];
const SEE_ALSO: &[(&str, u8)] = &[
    ("xway", 1),
    ("xway-apply", 1),
    ("xway-filter", 1),
    ("xway-doctor", 1),
    ("xway-config", 5),
    ("xway-rules", 5),
    ("xway-streams", 5),
];

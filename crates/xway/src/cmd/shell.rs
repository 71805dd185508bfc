//! `completions` and `man`: generated from the arguments themselves.

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::CommandFactory;

use super::Exit;
use super::folder::Folder;
use crate::args::Cli;
use crate::view;

pub fn completions(shell: clap_complete::Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "xway", &mut script);
    view::print(&String::from_utf8_lossy(&script)).context("cannot write to standard output")?;
    Ok(Exit::Done)
}

/// One page for `xway` and one for each of its commands.
pub fn man(dir: &Path) -> Result<Exit> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    pages(&Folder::make(dir)?, &command)?;
    Ok(Exit::Done)
}

fn pages(folder: &Folder, command: &clap::Command) -> Result<()> {
    let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    shown.into_iter().try_for_each(|inner| pages(folder, inner))?;
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text).context("cannot write a manual page")?;
    folder.put(&page.get_filename(), &String::from_utf8_lossy(&text))?;
    Ok(())
}

//! `completions` and `man`: generated from the arguments themselves.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::CommandFactory;

use super::Exit;
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
    fs::create_dir_all(dir).with_context(|| format!("cannot make the folder {}", dir.display()))?;
    clap_mangen::generate_to(Cli::command(), dir)
        .with_context(|| format!("cannot write manual pages into {}", dir.display()))?;
    Ok(Exit::Done)
}

//! `filter`: one action a variant, each with its own struct of arguments.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum FilterAction {
    /// Read a file of rules, show how they are understood and what is wrong with them
    Check(FilterCheckArgs),
}

/// `xway filter check`.
#[derive(Debug, Args)]
pub struct FilterCheckArgs {
    /// File of rules, in TOML
    pub file: PathBuf,
}

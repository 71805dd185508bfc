//! `filter`: one action a variant, each with its own struct of arguments.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum FilterAction {
    /// Read a file of rules, show how they are understood and what is perhaps not meant
    Check(FilterCheckArgs),
}

/// `xway filter check`.
#[derive(Debug, Args)]
pub struct FilterCheckArgs {
    /// File of rules, in TOML
    #[arg(required_unless_present = "policies")]
    pub file: Option<PathBuf>,

    /// Show what becomes of every kind of odd packet, not only what differs from the usual; without
    /// a file, the usual policies
    #[arg(long)]
    pub policies: bool,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use clap::Parser;

    use crate::args::Cli;

    #[test]
    fn a_file_or_policies() {
        let taken = |words: &str| {
            Cli::try_parse_from("xway filter check".split(' ').chain(words.split_whitespace()))
        };
        assert!(taken("rules.toml").is_ok() && taken("--policies").is_ok());
        let error = taken("").unwrap_err().to_string();
        assert!(error.contains("FILE"), "{error}");
    }
}

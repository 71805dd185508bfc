//! `apply`, `save`, `confirm`: declared configuration.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::attach::Caution;
use super::value::duration;

#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// Directory of declarations, one file *.toml for each interface
    #[arg(default_value = "/etc/xway", value_name = "DIR")]
    pub dir: PathBuf,

    /// Show what would change, without changing it; exit code 1 if something would
    #[arg(long)]
    pub plan: bool,

    /// Check the files, with the rules and objects that they name; needs no privileges
    #[arg(long, conflicts_with_all = ["plan", "stop"])]
    pub check: bool,

    /// Detach the programs of declarations with on-stop = "detach"
    #[arg(long, conflicts_with = "plan")]
    pub stop: bool,

    /// Change this interface alone (may be repeated)
    #[arg(long = "dev", alias = "interface", value_name = "IFACE")]
    pub interfaces: Vec<String>,

    /// Wait at most this long for declared interfaces to appear, such as 30s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub wait: Option<Duration>,

    #[command(flatten)]
    pub caution: Caution,
}

#[derive(Debug, Args)]
pub struct SaveArgs {
    /// Directory to write declarations to, which is created if it is missing
    #[arg(default_value = "/etc/xway", value_name = "DIR")]
    pub dir: PathBuf,

    /// Save this interface alone (may be repeated)
    #[arg(long = "dev", alias = "interface", value_name = "IFACE")]
    pub interfaces: Vec<String>,

    /// Replace files with other contents
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Args)]
pub struct ConfirmArgs {
    /// Network interfaces; all with an unconfirmed change without them
    #[arg(value_name = "IFACE")]
    pub ifaces: Vec<String>,

    /// Restore the previous state now, instead of confirming
    #[arg(long)]
    pub revert: bool,

    /// List unconfirmed changes without ending them
    #[arg(long, conflicts_with_all = ["ifaces", "revert"])]
    pub list: bool,
}

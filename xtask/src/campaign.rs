//! `cargo xtask faults`, `route-lab` and `route-truth`: builds the command line and a campaign,
//! then runs it.
//!
//! Rule: the campaigns themselves are in the package `xway-tests` (`tests/src/faults`, `route_lab`,
//! `route_truth`); options and the exit code are passed on as they are. They attach programs in
//! namespaces of their own, as root.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::root;

/// Builds and runs the campaign with this name.
pub fn run(name: &str, words: &[&str]) -> Result<ExitCode> {
    build(&["--package", "xway"])?;
    build(&["--package", "xway-tests", "--bin", name])?;
    let program = target().join("debug").join(name);
    let status = Command::new(&program).args(words).status();
    let status = status.with_context(|| format!("cannot run {}", program.display()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(KILLED)))
}

/// Messages go to standard error, so that standard output holds the report alone.
fn build(words: &[&str]) -> Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet"]).args(words).current_dir(root::path());
    if !command.status().context("cannot run cargo")?.success() {
        bail!("cargo build {} failed", words.join(" "));
    }
    Ok(())
}

fn target() -> PathBuf {
    let given = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root::path().join(given.unwrap_or_else(|| "target".into()))
}

/// Exit code when the campaign was ended by a signal.
const KILLED: u8 = 2;

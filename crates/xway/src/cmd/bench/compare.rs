//! `bench compare`: two runs that were kept, beside each other.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use control::text;
use report::Run;
use report::comparison::Verdict;
use report::run::VERSION;

use super::run_writer::RAW;
use crate::args::BenchCompareArgs;
use crate::cmd::{Context, Exit, confine};

/// Compares two runs. The result is negative if a value became slower by more than its rounds
/// differ.
pub fn run(args: &BenchCompareArgs, context: &Context) -> Result<Exit> {
    let paths = [&args.before, &args.after].map(|path| file_of(path));
    let mut named = confine::begin()?;
    paths.iter().for_each(|path| named.input(path));
    named.end()?;
    let (before, after) = (read(&paths[0])?, read(&paths[1])?);
    let comparison = before.compare(&after);
    ensure!(
        !comparison.scenarios.is_empty(),
        "the runs have no scenario in common: {}",
        comparison.unpaired().join("; ")
    );
    let mut rows = comparison.scenarios.iter().flat_map(|compared| &compared.rows);
    let is_slower = rows.any(|change| change.verdict == Verdict::Slower);
    context.show(&comparison)?;
    Ok(if is_slower { Exit::No } else { Exit::Done })
}

/// The file of a run, which may be named by its folder.
fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(RAW) } else { path.to_owned() }
}

fn read(path: &Path) -> Result<Run> {
    let text = text::read(path).context("is it a run that was kept?")?;
    let run: Run = serde_json::from_str(&text)
        .with_context(|| format!("{} is not a run of `xway bench`", path.display()))?;
    ensure!(
        run.version <= VERSION,
        "{} is of version {}, and this xway knows up to {VERSION}: use a newer one",
        path.display(),
        run.version
    );
    Ok(run)
}

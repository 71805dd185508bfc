//! Where the files of a run go.
//!
//! Rule: a folder of its own is named by the day and by facts of the machine, never by the host's
//! name, because runs are published.

use std::path::Path;

use anyhow::{Result, bail};
use control::folder::Folder;
use report::Host;

/// The folder of a run, if it is kept.
#[derive(Debug)]
pub struct RunDir {
    folder: Option<Folder>,
    /// Its parent, where it was made for this run alone.
    runs: Option<Folder>,
}

impl RunDir {
    /// The requested directory, or a new one where runs are kept.
    pub fn choose(out: Option<&Path>, host: &Host) -> Result<Self> {
        if let Some(out) = out {
            return Ok(Self { folder: Some(Folder::make(out)?), runs: None });
        }
        let runs = Path::new(RUNS);
        let runs = if runs.is_dir() { Some(Folder::open(runs)?) } else { None };
        let folder = runs.as_ref().map(|runs| fresh(runs, &name(host))).transpose()?;
        Ok(Self { folder, runs })
    }

    pub fn folder(&self) -> Option<&Folder> {
        self.folder.as_ref()
    }
}

impl Drop for RunDir {
    /// Removes the directory if it is empty, as after a run without measurements.
    fn drop(&mut self) {
        let name = self.folder.as_ref().and_then(|folder| folder.path().file_name());
        if let Some((runs, name)) = self.runs.as_ref().zip(name) {
            runs.remove_empty(name);
        }
    }
}

/// Makes `name` in `runs`, or `name-2` and so on where that is taken.
fn fresh(runs: &Folder, name: &str) -> Result<Folder> {
    for number in 1..=RUNS_A_DAY {
        let name = match number {
            1 => name.to_owned(),
            number => format!("{name}-{number}"),
        };
        if let Some(folder) = runs.create(&name)? {
            return Ok(folder);
        }
    }
    bail!("{} has {RUNS_A_DAY} runs of this day: use --out DIR", runs.path().display())
}

/// `2026-11-22-epyc-2c-linux-6.18`.
fn name(host: &Host) -> String {
    let date = host.date.as_deref().and_then(|date| date.split('T').next());
    let cpu = host.cpu.as_deref().map(model).filter(|model| !model.is_empty());
    let parts = [
        date.map(str::to_owned),
        cpu.or_else(|| host.arch.as_deref().map(plain)),
        host.cores.map(|cores| format!("{cores}c")),
        host.kernel.as_deref().and_then(version).map(|version| format!("linux-{version}")),
    ];
    let name = parts.into_iter().flatten().collect::<Vec<_>>().join("-");
    if name.is_empty() { "run".to_owned() } else { name }
}

/// The distinctive part of a processor's name: `epyc-7763` for `AMD EPYC 7763 64-Core Processor`.
fn model(cpu: &str) -> String {
    let cpu = cpu.to_lowercase().replace("(r)", "").replace("(tm)", "");
    let cpu = cpu.split('@').next().unwrap_or_default();
    let cpu = cpu.split(" with ").next().unwrap_or_default();
    let tells = |word: &&str| !EVERYWHERE.contains(word) && !word.ends_with("-core");
    let words: Vec<String> = cpu.split_whitespace().filter(tells).map(plain).collect();
    words.into_iter().filter(|word| !word.is_empty()).take(WORDS).collect::<Vec<_>>().join("-")
}

/// Letters, digits and single dashes.
fn plain(word: &str) -> String {
    let parts = word.split(|letter: char| !letter.is_ascii_alphanumeric());
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// The first two numbers of a release.
fn version(release: &str) -> Option<String> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let (major, minor) = (numbers.next()?, numbers.next()?);
    (!major.is_empty() && !minor.is_empty()).then(|| format!("{major}.{minor}"))
}

/// In the working directory, which is then that of the project.
const RUNS: &str = "bench/runs";
const RUNS_A_DAY: usize = 99;
/// Largest number of words of a processor's name.
const WORDS: usize = 3;
/// Words that many processors' names contain.
const EVERYWHERE: [&str; 7] = ["intel", "amd", "cpu", "processor", "core", "gen", "virtual"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_by_facts() {
        let host = Host {
            kernel: Some("6.18.44-custom".into()),
            arch: Some("x86_64".into()),
            cpu: Some("AMD EPYC".into()),
            cores: Some(2),
            date: Some("2026-11-22T12:00:00Z".into()),
            ..Host::default()
        };
        assert_eq!(name(&host), "2026-11-22-epyc-2c-linux-6.18");
        let unknown = Host { cpu: None, kernel: Some("current".into()), ..host };
        assert_eq!(name(&unknown), "2026-11-22-x86-64-2c");
        assert_eq!(name(&Host::default()), "run");
    }

    #[test]
    fn processors_are_told_apart() {
        let table = [
            ("AMD EPYC 7763 64-Core Processor", "epyc-7763"),
            ("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "xeon-platinum-8375c"),
            ("AMD Ryzen 7 5800U with Radeon Graphics", "ryzen-7-5800u"),
            ("Intel(R) Core(TM) i7-1370P", "i7-1370p"),
            ("../../etc/passwd", "etc-passwd"),
            ("CPU", ""),
        ];
        for (cpu, want) in table {
            assert_eq!(model(cpu), want, "{cpu}");
        }
    }
}

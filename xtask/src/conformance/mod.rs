//! `cargo xtask conformance DIR [--engine interp|kernel]`: runs every `*.data` below a folder.
//! `--tables` and `--beyond` run the cases that [`tables`] makes in memory.
//!
//! Rule: one line for each case that failed, with the expected and the actual result, then
//! `N passed, M failed`. A file that cannot be parsed as a case counts as failed. Cases written by
//! hand are in `tests/conformance`; the public suite bpf_conformance has the same format.

mod case;
mod engine;
mod interp;
mod kernel;
pub mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use crate::root;

use case::Expected;
use engine::Engine;
use interp::Interp;
use kernel::Kernel;
use tables::Folder;

/// Fails if a case failed.
pub fn run(words: &[&str]) -> Result<ExitCode> {
    let (mut engine, mut cases, mut named_any) = (DEFAULT, Vec::new(), false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--engine" => engine = words.next().context(USAGE)?,
            "--tables" => cases.extend(tables::cases(Folder::Everywhere)),
            "--beyond" => cases.extend(tables::cases(Folder::Beyond)),
            option if option.starts_with('-') => bail!(USAGE),
            folder => cases.extend(read(Path::new(folder))?),
        }
        named_any |= *word != "--engine";
    }
    ensure!(named_any, USAGE);
    let mut engine = named(engine)?;
    let failed = failures(&cases, engine.as_mut());
    failed.iter().for_each(|line| println!("{line}"));
    println!("{} passed, {} failed", cases.len() - failed.len(), failed.len());
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The name and text of each case below a folder; an error if there is none.
fn read(folder: &Path) -> Result<Vec<(String, String)>> {
    let files = root::files(folder, ENDING)?;
    ensure!(!files.is_empty(), "{}: no *{ENDING} below it", folder.display());
    let named = |path: &PathBuf| {
        let name = path.strip_prefix(folder).unwrap_or(path).display().to_string();
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Ok((name, text))
    };
    files.iter().map(named).collect()
}

/// One line for each case that failed.
fn failures(cases: &[(String, String)], engine: &mut dyn Engine) -> Vec<String> {
    let line = |(name, text): &(String, String)| {
        check(text, engine).err().map(|reason| format!("{name}: {reason}"))
    };
    cases.iter().filter_map(line).collect()
}

/// The engine that the command line names.
fn named(name: &str) -> Result<Box<dyn Engine>> {
    match name {
        "interp" => Ok(Box::new(Interp)),
        "kernel" => Ok(Box::new(Kernel)),
        _ => bail!("unknown engine `{name}`: expected interp or kernel"),
    }
}

/// Runs one case; the error is its line in the report.
fn check(text: &str, engine: &mut dyn Engine) -> Result<(), String> {
    let case = case::parse(text).map_err(|error| format!("cannot be read: {error:#}"))?;
    let one_line = |reason: String| reason.lines().collect::<Vec<_>>().join(" / ");
    match (engine.run(&case), case.expected) {
        (Ok(found), Expected::Result(expected)) if found == expected => Ok(()),
        (Err(reason), Expected::Error(words)) if reason.contains(&words) => Ok(()),
        (Ok(found), Expected::Result(expected)) => {
            Err(format!("expected {expected:#x}, got {found:#x}"))
        }
        (Ok(found), Expected::Error(words)) => {
            Err(format!("expected the error `{words}`, got {found:#x}"))
        }
        (Err(reason), Expected::Result(expected)) => {
            Err(format!("expected {expected:#x}, got the error {}", one_line(reason)))
        }
        (Err(reason), Expected::Error(words)) => {
            Err(format!("expected the error `{words}`, got the error {}", one_line(reason)))
        }
    }
}

const USAGE: &str =
    "usage: cargo xtask conformance [DIR]... [--tables] [--beyond] [--engine interp|kernel]";
const ENDING: &str = ".data";
const DEFAULT: &str = "interp";

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a given result for every case.
    struct Scripted(Result<u64, String>);

    impl Engine for Scripted {
        fn run(&mut self, _: &case::Case) -> Result<u64, String> {
            self.0.clone()
        }
    }

    #[test]
    fn a_line_says_what_was_expected_and_what_came() {
        let result = "-- asm\nexit\n-- result\n0x11\n";
        let error = "-- asm\nexit\n-- error\nbad access\n";
        for (text, answer, line) in [
            (result, Ok(0x11), ""),
            (result, Ok(0x12), "expected 0x11, got 0x12"),
            (result, Err("a\nb".to_owned()), "expected 0x11, got the error a / b"),
            (error, Err("slot 3: bad access at 0".to_owned()), ""),
            (error, Err("late".to_owned()), "expected the error `bad access`, got the error late"),
            (error, Ok(1), "expected the error `bad access`, got 0x1"),
            ("-- asm\n", Ok(1), "cannot be read: no instructions"),
        ] {
            let found = check(text, &mut Scripted(answer));
            assert_eq!(found.err().unwrap_or_default(), line);
        }
    }

    /// Runs `cargo xtask conformance tests/conformance --tables --beyond`.
    #[test]
    fn our_engine_passes_all_cases() {
        let by_hand = read(&root::path().join("tests/conformance")).unwrap();
        assert!(by_hand.len() > 60, "{}", by_hand.len());
        let made = [Folder::Everywhere, Folder::Beyond].map(tables::cases).concat();
        let mut engine = named(DEFAULT).unwrap();
        let failed = failures(&[by_hand, made].concat(), engine.as_mut());
        assert_eq!(failed, Vec::<String>::new());
    }
}

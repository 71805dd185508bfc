//! `cargo xtask conformance DIR [--engine interp|kernel]`: runs every `*.data` below a folder.
//!
//! Rule: one line for each case that failed, with what was expected and what came, then
//! `N passed, M failed`. A file that cannot be read as a case failed. Our own cases are in
//! `tests/conformance`; the public suite bpf_conformance is in the same format.

mod case;
mod engine;
mod interp;
mod kernel;
pub mod tables;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use crate::root;

use case::Expected;
use engine::Engine;
use interp::Interp;
use kernel::Kernel;

/// Fails if a case failed.
pub fn run(words: &[&str]) -> Result<ExitCode> {
    let (folder, engine) = match words {
        [folder] => (folder, DEFAULT),
        [folder, "--engine", engine] | ["--engine", engine, folder] => (folder, *engine),
        _ => bail!("usage: cargo xtask conformance DIR [--engine interp|kernel]"),
    };
    let mut engine = named(engine)?;
    let folder = Path::new(folder);
    let files = root::files(folder, ENDING)?;
    ensure!(!files.is_empty(), "{}: no *{ENDING} below it", folder.display());
    let mut failed = 0;
    for path in &files {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        if let Err(reason) = check(&text, engine.as_mut()) {
            println!("{}: {reason}", path.strip_prefix(folder).unwrap_or(path).display());
            failed += 1;
        }
    }
    println!("{} passed, {failed} failed", files.len() - failed);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The engine that the command line names.
fn named(name: &str) -> Result<Box<dyn Engine>> {
    match name {
        "interp" => Ok(Box::new(Interp)),
        "kernel" => Ok(Box::new(Kernel)),
        _ => bail!("`{name}` is no engine: interp or kernel"),
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

const ENDING: &str = ".data";
const DEFAULT: &str = "interp";

#[cfg(test)]
mod tests {
    use super::*;

    /// Says what it is told to.
    struct Parrot(Result<u64, String>);

    impl Engine for Parrot {
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
            let found = check(text, &mut Parrot(answer));
            assert_eq!(found.err().unwrap_or_default(), line);
        }
    }

    /// The same as `cargo xtask conformance tests/conformance`.
    #[test]
    fn our_engine_passes_all_committed_cases() {
        let files = root::files(&root::path().join("tests/conformance"), ENDING).unwrap();
        assert!(files.len() > 200, "{}", files.len());
        let mut engine = named(DEFAULT).unwrap();
        let wrong = files.iter().filter_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let reason = check(&text, engine.as_mut()).err()?;
            Some(format!("{}: {reason}", path.display()))
        });
        assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new());
    }
}

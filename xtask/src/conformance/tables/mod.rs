//! `cargo xtask conformance-tables`: systematic cases, written below `tests/conformance`.
//!
//! Rule: what a case expects comes from the definitions in this folder, over integers that
//! cannot overflow, and never from an engine; the kernel has confirmed all but those in `beyond`.
//! Cases are in the public suite's own notation, so that any engine can run them. Not here: cases
//! that are better written by hand; they are next to the generated ones.

mod arithmetic;
mod atomics;
mod jumps;
mod layout;
mod memory;
mod unary;
mod values;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::root;

/// Texts by path below the folder of cases.
pub type Files = BTreeMap<String, String>;

/// Writes all generated cases.
pub fn write() -> Result<()> {
    let files = files();
    let folder = root::path().join(FOLDER);
    for (path, text) in &files {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(&folder);
        fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    println!("{} cases in {FOLDER}", files.len());
    Ok(())
}

/// Fails with the names of those that are not what they would be now.
pub fn check() -> Result<()> {
    let folder = root::path().join(FOLDER);
    let files = files();
    let stale = |(path, text): &(&String, &String)| {
        fs::read_to_string(folder.join(path.as_str())).ok().as_ref() != Some(text)
    };
    let stale: Vec<&str> = files.iter().filter(stale).map(|(path, _)| path.as_str()).collect();
    ensure!(
        stale.is_empty(),
        "{FOLDER} is stale; run `cargo xtask conformance-tables`:\n  {}",
        stale.join("\n  ")
    );
    println!("{} generated cases in {FOLDER} are up to date", files.len());
    Ok(())
}

fn files() -> Files {
    let mut files = Files::new();
    arithmetic::cases(&mut files);
    unary::cases(&mut files);
    jumps::cases(&mut files);
    memory::cases(&mut files);
    atomics::cases(&mut files);
    files
}

const FOLDER: &str = "tests/conformance";

#[cfg(test)]
mod tests {
    use super::super::case;
    use super::*;

    /// The kernel's test runs take no longer packet without fragments.
    const LONGEST: usize = 3520;

    #[test]
    fn each_generated_text_is_a_case_that_the_kernel_can_take() {
        let files = files();
        assert!(files.len() > 150, "{}", files.len());
        for (path, text) in files {
            let case = case::parse(&text).unwrap_or_else(|error| panic!("{path}: {error:#}"));
            assert!(case.memory.len() <= LONGEST, "{path}: {} bytes", case.memory.len());
            assert_eq!(case.expected, case::Expected::Result(0), "{path}");
        }
    }
}

//! Systematic cases, made in memory: every operation in every form with its edge operands.
//!
//! Rule: the expected values come from the definitions in this folder, over integers that cannot
//! overflow, and never from an engine; the kernel has confirmed all but those of
//! [`Folder::Beyond`]. The texts are in the public suite's own notation. Not here: cases that are
//! better written by hand, in `tests/conformance`.

mod arithmetic;
mod atomics;
mod jumps;
mod layout;
mod memory;
mod unary;
mod values;

use std::collections::BTreeMap;

/// Texts of cases by their path: the folder decides where they hold.
pub type Files = BTreeMap<String, String>;

/// Where the result of a case holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folder {
    /// On every engine, Linux included.
    Everywhere,
    /// Where no verifier refuses an operation whose result the instruction set defines.
    Beyond,
}

impl Folder {
    /// First component of the paths of its cases.
    fn prefix(self) -> &'static str {
        match self {
            Self::Everywhere => "everywhere/",
            Self::Beyond => "beyond/",
        }
    }
}

/// Name and text of each case of a folder, in the order of the names.
pub fn cases(folder: Folder) -> Vec<(String, String)> {
    let is_in = |(name, _): &(String, String)| name.starts_with(folder.prefix());
    files().into_iter().filter(is_in).collect()
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

#[cfg(test)]
mod tests {
    use super::super::case;
    use super::*;

    /// The kernel's test runs take no longer packet without fragments.
    const LONGEST: usize = 3520;
    /// Cases that run on every engine.
    const WITHIN: usize = 487;
    /// Cases that Linux refuses to load.
    const BEYOND: usize = 28;

    #[test]
    fn each_generated_text_is_a_case_that_the_kernel_can_take() {
        let files = files();
        let folders = [Folder::Everywhere, Folder::Beyond].map(|folder| cases(folder).len());
        assert_eq!(folders, [WITHIN, BEYOND]);
        assert_eq!(files.len(), WITHIN + BEYOND);
        for (path, text) in files {
            let case = case::parse(&text).unwrap_or_else(|error| panic!("{path}: {error:#}"));
            assert!(case.memory.len() <= LONGEST, "{path}: {} bytes", case.memory.len());
            assert_eq!(case.expected, case::Expected::Result(0), "{path}");
        }
    }
}

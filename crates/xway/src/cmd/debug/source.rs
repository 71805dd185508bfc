//! Source files of the programs, where the user has them.

use std::path::{Component, Path, PathBuf};

use control::text;
use runner::debug::{Debugger, SourcePlace};

use crate::view::debug::Listing;

/// A directory with source files; without one, lines with code are known from the object.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    dir: Option<PathBuf>,
}

impl Sources {
    pub fn new(dir: Option<PathBuf>) -> Self {
        Self { dir }
    }

    /// Where a file is that the compiler recorded under this path; `None` if it is not there.
    pub fn path(&self, file: &str) -> Option<PathBuf> {
        let file = Path::new(file);
        let is_inside = file.components().all(|part| matches!(part, Component::Normal(_)));
        let whole = is_inside.then(|| self.dir.as_ref().map(|dir| dir.join(file))).flatten();
        let alone = || Some(self.dir.as_ref()?.join(file.file_name()?));
        whole.filter(|path| path.is_file()).or_else(|| alone().filter(|path| path.is_file()))
    }

    /// All lines of a file; lines without code are missing if the file is not there.
    pub fn lines(&self, debugger: &Debugger<'_>, file: &str) -> Vec<SourcePlace> {
        match self.path(file).and_then(|path| text::read(&path).ok()) {
            Some(text) => {
                let lines = (1..).zip(text.lines());
                lines.map(|(line, text)| place(file, line, text)).collect()
            }
            None => {
                let lines = debugger.source_lines().into_iter();
                lines.filter(|line| line.file == file).collect()
            }
        }
    }

    /// The lines around one.
    pub fn around(&self, debugger: &Debugger<'_>, file: &str, line: u32) -> Listing {
        let range = line.saturating_sub(AROUND)..=line.saturating_add(AROUND);
        let lines = self.lines(debugger, file).into_iter();
        Listing {
            file: file.to_owned(),
            line,
            lines: lines.filter(|one| range.contains(&one.line)).collect(),
        }
    }
}

fn place(file: &str, line: u32, text: &str) -> SourcePlace {
    SourcePlace { file: file.to_owned(), line, text: text.to_owned() }
}

/// Lines that are listed before and after one.
const AROUND: u32 = 5;

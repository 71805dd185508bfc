//! Files that a command writes where its caller asked for them, or standard output.
//!
//! Rule: files are written through [`control::folder`], which follows no planted link and replaces
//! a file as a whole. Not here: directories.

use std::path::Path;

use anyhow::Result;
use control::folder::NewFile;

use crate::view::output;

/// Begins a file. If it is standard output, results go to standard error.
pub fn begin(path: &Path) -> Result<NewFile> {
    if path == Path::new("-") || path == Path::new("/dev/stdout") {
        output::take_stdout();
    }
    Ok(NewFile::at(path)?)
}

/// Writes a whole file.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let mut file = begin(path)?;
    file.write(text.as_bytes())?;
    file.keep()?;
    Ok(())
}

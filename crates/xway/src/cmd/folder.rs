//! Files that a command writes where its caller asked for them, or standard output.
//!
//! Rule: files are written through [`control::folder`], which follows no planted link and replaces
//! a file as a whole, and writes to named pipes and devices. Not here: directories.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use control::capture::{CaptureWriter, Rotation};
use control::folder::NewFile;

use crate::view::output;

/// Begins a file. If it is standard output, results go to standard error.
pub fn begin(path: &Path) -> Result<NewFile> {
    reserve(path);
    Ok(NewFile::at(path)?)
}

/// Begins a capture file of packets that these interfaces received, as [`begin`] does. The
/// reader of a named pipe is waited for until `deadline`.
pub fn begin_capture(
    path: &Path,
    interfaces: &[String],
    application: &'static str,
    rotation: Rotation,
    deadline: Option<Instant>,
) -> Result<CaptureWriter> {
    reserve(path);
    Ok(CaptureWriter::create(path, interfaces, application, rotation, deadline)?)
}

/// Keeps results away from standard output if it is the file.
fn reserve(path: &Path) {
    if path == Path::new("-") || path == Path::new("/dev/stdout") {
        output::take_stdout();
    }
}

/// Writes a whole file.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let mut file = begin(path)?;
    file.write(text.as_bytes())?;
    file.keep()?;
    Ok(())
}

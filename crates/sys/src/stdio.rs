//! Standard input and output where a file is expected: their name is `-`.
//!
//! Rule: the descriptor is duplicated, never opened anew: a process that gave up its rights may not
//! be permitted to open the file, or the pipe of another user, that the descriptor refers to.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// Whether a path means standard input or output.
pub fn is_stdio(path: &Path) -> bool {
    path == Path::new("-")
}

/// Opens a file for reading; `-` is standard input.
///
/// # Errors
/// The file cannot be opened, or standard input is closed.
pub fn open_input(path: &Path) -> io::Result<File> {
    if is_stdio(path) { duplicate(&io::stdin()) } else { File::open(path) }
}

/// Standard output as a file.
///
/// # Errors
/// Standard output is closed.
pub fn stdout() -> io::Result<File> {
    duplicate(&io::stdout())
}

fn duplicate(stream: &impl AsFd) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}

//! Reading rule files, with libpcap for tcpdump expressions.

use std::path::Path;
use std::sync::OnceLock;

use filter::File;
use filter::language::classic::{Classic, Program};
use sys::pcap::Library;
use sys::stdio::is_stdio;

use crate::error::Result;
use crate::text;

/// Reads a rule file and the files of its sets; `-` is standard input.
pub fn read(path: &Path) -> Result<File> {
    if is_stdio(path) {
        let text = text::read(path)?;
        return Ok(File::parse("stdin", &text, Path::new(""), expression)?);
    }
    Ok(File::read(path, expression)?)
}

/// Opens libpcap, for a process that gives up the right to open files. Its absence is reported when
/// an expression is compiled.
pub fn prepare_expressions() {
    let _absent = library();
}

fn library() -> Result<&'static Library, String> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| Library::open().map_err(|error| error.to_string()));
    library.as_ref().map_err(Clone::clone)
}

/// Compiles a tcpdump expression; libpcap is opened for the first one.
pub fn expression(text: &str) -> Result<Program, String> {
    let library = library()?;
    let program = library.compile(text).map_err(|error| error.to_string())?;
    let program: Vec<_> = program
        .into_iter()
        .map(|one| Classic {
            code: one.code,
            jump_true: one.jump_true,
            jump_false: one.jump_false,
            k: one.k,
        })
        .collect();
    Program::new(&program).map_err(|error| error.to_string())
}

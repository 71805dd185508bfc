//! `asm`: assembly source to an object file.
//!
//! Rule: the source is read after privileges were dropped, and nothing is loaded.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use control::assembly::AssemblyReport;
use control::object;

use super::{Context, Exit, confine, folder};
use crate::args::AsmArgs;

pub fn run(args: &AsmArgs, context: &Context) -> Result<Exit> {
    let output = output(args)?;
    let mut named = confine::begin()?;
    named.input(&args.source);
    named.output(&output);
    named.end()?;
    let opened = object::assemble(&args.source)?;
    let mut file = folder::begin(&output)?;
    file.write(&opened.bytes())?;
    file.keep()?;
    context.show(&AssemblyReport::new(&output.display().to_string(), &opened))?;
    Ok(Exit::Done)
}

fn output(args: &AsmArgs) -> Result<PathBuf> {
    let source = PathBuf::from(&args.source);
    let named = args.output.clone();
    let beside = || (args.source != "-").then(|| source.with_extension("o"));
    named.or_else(beside).context("source on standard input needs --output FILE")
}

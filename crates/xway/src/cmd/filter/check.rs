//! `filter check`: a file of rules as it is understood.

use anyhow::{Context as _, Result};

use crate::args::FilterCheckArgs;
use crate::cmd::{Context, Exit};
use crate::view::filter::check::Checked;

pub fn run(args: &FilterCheckArgs, context: &Context) -> Result<Exit> {
    let file = args.file.display().to_string();
    std::fs::read_to_string(&args.file).with_context(|| format!("cannot read {file}"))?;
    context.show(&Checked { file })?;
    Ok(Exit::Done)
}

//! `doctor`: what this kernel and this user allow.

use anyhow::Result;

use super::{Context, Exit};

pub fn run(context: &Context) -> Result<Exit> {
    let report = control::doctor::examine(&context.control);
    context.show(&report)?;
    Ok(if report.ready { Exit::Done } else { Exit::No })
}

//! `doctor`: what this kernel, this user and the interfaces permit.

use anyhow::Result;

use super::{Context, Exit};
use crate::args::DoctorArgs;

pub fn run(args: &DoctorArgs, context: &Context) -> Result<Exit> {
    let report = control::doctor::examine(&context.control, &args.ifaces)?;
    context.show(&report)?;
    Ok(if report.ready { Exit::Done } else { Exit::No })
}

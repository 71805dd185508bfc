//! `route stop`: ends a router on all of its interfaces.

use anyhow::Result;
use control::route::stop;

use crate::args::RouteStopArgs;
use crate::cmd::{Context, Exit};

pub fn run(args: &RouteStopArgs, context: &Context) -> Result<Exit> {
    context.show(&stop(&context.control, &args.ifaces)?)?;
    Ok(Exit::Done)
}

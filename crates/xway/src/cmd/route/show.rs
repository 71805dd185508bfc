//! `route show`: what routers receive, send and remember.

use anyhow::Result;
use control::route;

use crate::cmd::{Context, Exit};

pub fn run(context: &Context) -> Result<Exit> {
    context.show(&route::show(&context.control)?)?;
    Ok(Exit::Done)
}

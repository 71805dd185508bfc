//! `xsk list`: every queue of this namespace's interfaces that has sockets.

use anyhow::Result;

use crate::cmd::{Context, Exit};

pub fn run(context: &Context) -> Result<Exit> {
    context.show(&xsk::diagnose::sockets()?)?;
    Ok(Exit::Done)
}

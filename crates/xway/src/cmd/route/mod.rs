//! `route`: routing by the kernel's tables.

pub mod start;
mod stop;

use anyhow::Result;

use super::{Context, Exit};
use crate::args::RouteAction;

pub fn run(action: &RouteAction, context: &Context) -> Result<Exit> {
    match action {
        RouteAction::Start(args) => start::run(args, context),
        RouteAction::Stop(args) => stop::run(args, context),
    }
}

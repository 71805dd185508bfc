//! `route`: routing by the kernel's tables.

mod show;
pub mod start;
mod stop;
mod top;
mod why;

use anyhow::Result;

use super::{Context, Exit};
use crate::args::RouteAction;

pub fn run(action: &RouteAction, context: &Context) -> Result<Exit> {
    match action {
        RouteAction::Start(args) => start::run(args, context),
        RouteAction::Stop(args) => stop::run(args, context),
        RouteAction::Show => show::run(context),
        RouteAction::Top(args) => top::run(args, context),
        RouteAction::Why(args) => why::run(args, context),
    }
}

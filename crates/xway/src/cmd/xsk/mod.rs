//! `xsk`: AF_XDP sockets measured, their holders listed, interfaces asked.

mod bench;
mod info;
mod list;

use anyhow::Result;

use super::{Context, Exit};
use crate::args::XskAction;

pub fn run(action: &XskAction, context: &Context) -> Result<Exit> {
    match action {
        XskAction::Bench(args) => bench::run(args, context),
        XskAction::List => list::run(context),
        XskAction::Info { dev } => info::run(dev, context),
    }
}

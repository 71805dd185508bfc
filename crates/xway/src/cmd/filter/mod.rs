//! `filter`: one file for each action.

mod bans;
mod capture;
mod check;
mod detect;
mod explain;
mod import;
mod load;
mod nft;
mod sample;
mod show;
mod top;
mod trial;

use anyhow::Result;

use super::{Context, Exit};
use crate::args::FilterAction;

pub fn run(action: &FilterAction, context: &Context) -> Result<Exit> {
    match action {
        FilterAction::Check(args) => check::run(args, context),
        FilterAction::Explain(args) => explain::run(args, context),
        FilterAction::Import(args) => import::import(args, context),
        FilterAction::NftHelper => nft::serve(),
        FilterAction::Export(args) => import::export(args, context),
        FilterAction::Load(args) => load::load(args, context),
        FilterAction::Add(args) => load::add(args, context),
        FilterAction::Remove(args) => load::remove(args, context),
        FilterAction::Flush(args) => load::flush(args, context),
        FilterAction::Unload(args) => load::unload(args, context),
        FilterAction::Show(args) => show::run(args, context),
        FilterAction::Top(args) => top::run(args, context),
        FilterAction::Try(args) => trial::run(args, context),
        FilterAction::Sample(args) => sample::run(args, context),
        FilterAction::Detect(args) => detect::run(args, context),
        FilterAction::Ban(args) => bans::ban(args, context),
        FilterAction::Unban(args) => bans::unban(args, context),
        FilterAction::Bans(args) => bans::list(args, context),
    }
}

//! `filter`: rules read, checked and shown, one file an action.

mod check;
mod rules;

use anyhow::Result;

use super::{Context, Exit};
use crate::args::FilterAction;

pub fn run(action: &FilterAction, context: &Context) -> Result<Exit> {
    match action {
        FilterAction::Check(args) => check::run(args, context),
    }
}

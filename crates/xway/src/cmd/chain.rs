//! `chain`: several programs on one interface.

use anyhow::Result;
use control::balance;
use control::chain::{self, MemberChange, MemberOptions};
use control::object;

use super::{Context, Exit};
use crate::args::{ChainAction, ChainAddArgs, ChainArgs};

pub fn run(args: &ChainArgs, context: &Context) -> Result<Exit> {
    let (control, iface) = (&context.control, args.iface.as_str());
    let report = match &args.action {
        ChainAction::Add(add) => {
            let mut opened = object::open(&add.object)?;
            opened.set_kind(add.program.as_deref(), add.kind.as_deref())?;
            opened.complete(&add.open.map_sizes, &add.open.kconfig)?;
            chain::add(control, iface, opened, &options(add))?
        }
        ChainAction::Remove { name, wait } => balance::remove(control, iface, name, wait.confirm)?,
        ChainAction::Move { name, priority, continue_on, wait } => {
            let (priority, continue_on, confirm) = (*priority, *continue_on, wait.confirm);
            let change = MemberChange { priority, continue_on, confirm };
            chain::change(control, iface, name, change)?
        }
        ChainAction::Adopt { objects } => {
            let mut opened = Vec::new();
            for name in objects {
                opened.push(object::open(name)?);
            }
            chain::adopt(control, iface, &opened)?
        }
        ChainAction::Show => chain::show(control, iface)?,
    };
    context.show(&report)?;
    Ok(Exit::Done)
}

fn options(args: &ChainAddArgs) -> MemberOptions {
    MemberOptions {
        name: args.name.clone(),
        program: args.program.clone(),
        priority: args.priority,
        continue_on: args.continue_on,
        set: args.set.clone(),
        mode: args.mode.map(Into::into),
        confirm: args.caution.wait.confirm,
        lockout: args.caution.lockout(),
    }
}

//! `chain`: several programs on one interface.

use anyhow::Result;
use control::chain::{self, MemberChange, MemberOptions};
use control::lockout::Lockout;
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
        ChainAction::Remove { name } => chain::remove(control, iface, name)?,
        ChainAction::Move { name, priority, continue_on } => {
            let change = MemberChange { priority: *priority, continue_on: *continue_on };
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
        lockout: if args.force { Lockout::Allow } else { Lockout::Refuse },
    }
}

//! `confirm`: ends the time of changes that were made with `--confirm`.

use anyhow::Result;
use control::confirmation::{self, Ending};

use super::{Context, Exit};
use crate::args::ConfirmArgs;
use crate::view::confirm::Changes;

pub fn run(args: &ConfirmArgs, context: &Context) -> Result<Exit> {
    let ending = if args.revert { Ending::Revert } else { Ending::Confirm };
    let (changes, ending) = match args.list {
        true => (confirmation::list(&context.control)?, None),
        false => (confirmation::end(&context.control, &args.ifaces, ending)?, Some(ending)),
    };
    let is_negative = changes.is_empty() && !args.list;
    context.show(&Changes { changes, ending })?;
    Ok(if is_negative { Exit::No } else { Exit::Done })
}

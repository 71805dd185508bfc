//! `state init`: prepares a state directory for a user who has capabilities, but is not root, or
//! for a group that may read it.

use anyhow::{Result, bail};
use sys::cap::Cap;
use sys::identity;
use sys::mount::Owners;

use super::{Context, Exit, rights};
use crate::args::{StateAction, StateInitArgs};

pub fn run(action: &StateAction, context: &Context) -> Result<Exit> {
    let StateAction::Init(args) = action;
    init(args, context).map_err(|error| rights::explained(error, &[Cap::SysAdmin]))
}

fn init(args: &StateInitArgs, context: &Context) -> Result<Exit> {
    let user = args.owner.as_deref().map(|name| number("user", name, identity::user));
    let readers = args.group.as_deref().map(|name| number("group", name, identity::group));
    let owners = Owners { user: user.transpose()?, readers: readers.transpose()? };
    context.show(&control::state::prepare(&context.control, owners)?)?;
    Ok(Exit::Done)
}

/// A number, or that of a name in the local database.
fn number(kind: &str, text: &str, find: fn(&str) -> Option<u32>) -> Result<u32> {
    match text.parse().ok().or_else(|| find(text)) {
        Some(number) => Ok(number),
        None => bail!("unknown {kind} `{text}`: specify the {kind}'s number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_a_name_or_a_number() {
        assert_eq!(number("user", "1000", |_| None).unwrap(), 1000);
        assert_eq!(number("user", "xdp", |_| Some(990)).unwrap(), 990);
        let error = number("group", "no such group", identity::group).unwrap_err().to_string();
        assert!(error.contains("unknown group `no such group`"), "{error}");
    }
}

//! `state init`: prepares a state directory for a user who has capabilities, but is not root.

use std::fs;

use anyhow::{Context as _, Result, bail};
use sys::cap::Cap;

use super::{Context, Exit, rights};
use crate::args::{StateAction, StateInitArgs};

pub fn run(action: &StateAction, context: &Context) -> Result<Exit> {
    let StateAction::Init(args) = action;
    init(args, context).map_err(|error| rights::explained(error, &[Cap::SysAdmin]))
}

fn init(args: &StateInitArgs, context: &Context) -> Result<Exit> {
    let owner = user(&args.owner)?;
    context.show(&control::state::prepare(&context.control, owner)?)?;
    Ok(Exit::Done)
}

/// Finds a user by number, or by name in `/etc/passwd`.
fn user(text: &str) -> Result<u32> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let passwd = fs::read_to_string(PASSWD).with_context(|| format!("cannot read {PASSWD}"))?;
    match number_of(text, &passwd) {
        Some(number) => Ok(number),
        None => bail!("unknown user `{text}` in {PASSWD}: specify the user's number"),
    }
}

fn number_of(name: &str, passwd: &str) -> Option<u32> {
    let mut lines = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.find_map(|fields| match fields[..] {
        [user, _, number, ..] if user == name => number.parse().ok(),
        _ => None,
    })
}

const PASSWD: &str = "/etc/passwd";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_a_name_or_a_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\n\nxdp:x:990:990::/:/bin/false\n";
        assert_eq!(number_of("xdp", passwd), Some(990));
        assert_eq!(number_of("none", passwd), None);
        assert_eq!(user("1000").unwrap(), 1000);
        assert!(user("no such user").unwrap_err().to_string().contains("unknown user"));
    }
}

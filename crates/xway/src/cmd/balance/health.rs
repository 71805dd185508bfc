//! `balance health`: checks of backends, without the daemon.

use std::os::fd::AsFd as _;

use anyhow::Result;
use control::balance::health::Checker;
use sys::poll::{self, Watch};
use sys::signal::Stop;

use crate::args::BalanceHealthArgs;
use crate::cmd::{Context, Exit};
use crate::view::say;

pub fn run(args: &BalanceHealthArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut checker = Checker::open(&context.control, Some(&args.iface))?;
    checker.require(&args.iface)?;
    say(&format!("checking the backends of {}; Ctrl-C ends it", args.iface));
    let mut events = Vec::new();
    while stop.pending().is_none() {
        checker.step(|event| events.push(event.clone()))?;
        for event in events.drain(..) {
            if !context.show_next(&event)? {
                return Ok(Exit::Done);
            }
        }
        let mut watches = [Watch::readable(stop.as_fd()), Watch::readable(checker.fd())];
        poll::wait(&mut watches, Some(checker.due()))?;
    }
    Ok(Exit::Done)
}

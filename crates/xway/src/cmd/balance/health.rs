//! `balance health`: checks of backends, without the daemon.

use std::os::fd::AsFd as _;
use std::time::Instant;

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
    let end = args.time.map(|time| Instant::now() + time);
    let is_over = || end.is_some_and(|end| end <= Instant::now());
    while stop.pending().is_none() && !is_over() {
        checker.step(|event| events.push(event.clone()))?;
        for event in events.drain(..) {
            if !context.show_next(&event)? {
                return Ok(Exit::Done);
            }
        }
        let mut watches = [Watch::readable(stop.as_fd()), Watch::readable(checker.fd())];
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        poll::wait(&mut watches, left.into_iter().chain([checker.due()]).min())?;
    }
    Ok(Exit::Done)
}

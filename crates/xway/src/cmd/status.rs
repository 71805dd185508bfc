//! `status`: each interface of this namespace, its programs and their packets by verdict.

use std::io::{self, IsTerminal};

use anyhow::Result;
use control::status::StatusMonitor;
use sys::signal::Stop;

use super::{Context, Exit};
use crate::args::StatusArgs;
use crate::view::live::Screen;

pub fn run(args: &StatusArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut monitor = StatusMonitor::new(&context.control, args.iface.as_deref())?;
    let redraws = args.watch && !context.json && io::stdout().is_terminal();
    let mut screen = redraws.then(Screen::full);
    while stop.wait(args.interval)?.is_none() {
        let status = monitor.read()?;
        let go_on = match &mut screen {
            Some(screen) => {
                screen.show(&status);
                true
            }
            None if args.watch => context.show_next(&status)?,
            None => return context.show(&status).map(|()| Exit::Done),
        };
        if !go_on {
            break;
        }
    }
    Ok(Exit::Done)
}

//! `daemon`: applies declarations when interfaces appear, and exports metrics.
//!
//! Rule: one line of the log for each event, on standard error. Where that is the journal, a line
//! begins with its priority (`sd-daemon(3)`).

use anyhow::Result;
use control::apply::InterfacePlan;
use control::daemon::{Daemon, DaemonOptions, Event};
use sys::signal::Stop;

use super::{Context, Exit};
use crate::args::DaemonArgs;
use crate::view::{fail, say};

pub fn run(args: &DaemonArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let options = DaemonOptions {
        dir: (!args.no_apply).then(|| args.dir.clone()),
        listen: (!args.no_metrics).then_some(args.listen),
    };
    let is_journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let mut daemon = Daemon::start(&context.control, &options)?;
    daemon.run(&stop, |event| {
        let (priority, text) = line(event);
        let write = if priority == ERROR { fail } else { say };
        write(&if is_journal { format!("<{priority}>{text}") } else { format!("xway: {text}") });
    })?;
    Ok(Exit::Done)
}

/// Priority of an event as syslog numbers it, and its text.
fn line(event: &Event<'_>) -> (u8, String) {
    match event {
        Event::Listening(address) => (INFO, format!("metrics at http://{address}/metrics")),
        Event::Reloading => (INFO, "reading the declarations again".to_owned()),
        Event::Failed(reason) => (ERROR, format!("declarations were not applied: {reason}")),
        Event::Invalid(error) => (ERROR, error.error.clone()),
        Event::Interface(InterfacePlan { name, error: Some(error), .. }) => {
            (ERROR, format!("{name}: not changed: {error}"))
        }
        Event::Interface(InterfacePlan { name, changes, .. }) => {
            let texts: Vec<_> = changes.iter().map(|change| change.text.as_str()).collect();
            (NOTICE, format!("{name}: {}", texts.join(", ")))
        }
    }
}

const ERROR: u8 = 3;
const NOTICE: u8 = 5;
const INFO: u8 = 6;

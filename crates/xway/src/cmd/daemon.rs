//! `daemon`: applies declarations when interfaces appear, and exports metrics.
//!
//! Rule: one line of the log for each event, on standard error. Where that is the journal, a line
//! begins with its priority (`sd-daemon(3)`).

use anyhow::Result;
use control::apply::InterfacePlan;
use control::balance::announce;
use control::balance::health::HealthEventKind;
use control::daemon::{Daemon, DaemonOptions, Event};
use control::filter::auto_detection::AutoEvent;
use report::number::human;
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
        Event::Unfollowed(reason) => (
            ERROR,
            format!("routes are not followed, so that routers ask the kernel more often: {reason}"),
        ),
        Event::Unsynchronized { interface, reason } => {
            (WARNING, format!("{interface}: the balancer does not synchronize: {reason}"))
        }
        Event::Unchecked(reason) => {
            (ERROR, format!("backends are not checked, and remain as they are: {reason}"))
        }
        Event::Health(event) => {
            use HealthEventKind::{Announced, FailClosed, Up};
            let is_good = matches!(event.event, Up | FailClosed | Announced);
            (if is_good { NOTICE } else { WARNING }, event.to_string())
        }
        Event::Announced(route) => (NOTICE, format!("announced: {}", announce::text(route))),
        Event::Withdrawn(route) => (WARNING, format!("withdrawn: {}", announce::text(route))),
        Event::NotAnnounced(reason) => {
            (ERROR, format!("services are not announced as they should be: {reason}"))
        }
        Event::Undeclared(dir) => {
            (NOTICE, format!("nothing is declared: there is no directory {}", dir.display()))
        }
        Event::Failed(reason) => (ERROR, format!("declarations were not applied: {reason}")),
        Event::Invalid(error) => (ERROR, error.error.clone()),
        Event::Interface(InterfacePlan { name, error: Some(error), .. }) => {
            (ERROR, format!("{name}: not changed: {error}"))
        }
        Event::Interface(InterfacePlan { name, changes, .. }) => {
            let texts: Vec<_> = changes.iter().map(|change| change.text.as_str()).collect();
            (NOTICE, format!("{name}: {}", texts.join(", ")))
        }
        Event::Detection { interface, event } => {
            let (priority, text) = detection(event);
            (priority, format!("{interface}: {text}"))
        }
    }
}

fn detection(event: &AutoEvent) -> (u8, String) {
    match event {
        AutoEvent::Observing { pps, time } => {
            let (pps, time) = (rate(*pps), time.as_secs_f64());
            (INFO, format!("{pps} pass: observing them for {time} s"))
        }
        AutoEvent::NoFlood => (INFO, "no flood was found".to_owned()),
        AutoEvent::Refused { rule, collateral } => {
            let percent = 100.0 * collateral;
            let why = format!("up to {percent:.1} % of the dropped packets would be of clients");
            (WARNING, format!("flood without a rule: {why} ({rule})"))
        }
        AutoEvent::Loaded { name, rule, pps } => {
            (WARNING, format!("flood of {}: loaded {name}: {rule}", rate(*pps)))
        }
        AutoEvent::Extended { name, pps } => {
            (NOTICE, format!("{name} is extended: it drops {}", rate(*pps)))
        }
        AutoEvent::Removed { names, packets } => {
            (NOTICE, format!("{} expired after {packets} packets", names.join(", ")))
        }
        AutoEvent::Failed(reason) => (ERROR, format!("detection failed: {reason}")),
    }
}

fn rate(pps: f64) -> String {
    human(pps, "pps")
}

const ERROR: u8 = 3;
const WARNING: u8 = 4;
const NOTICE: u8 = 5;
const INFO: u8 = 6;

//! `debug --dap`: the Debug Adapter Protocol on standard input and output.
//!
//! Rule: requests are answered in order, except for one that pauses a motion. All motions end: a
//! capture is finite, and so is the budget of a program.

mod address;
mod inbox;
mod launch;
mod points;
mod protocol;
mod server;
mod variables;

use std::io::{BufRead, Write};

use anyhow::Result;
use serde_json::{Value, json};

pub use self::inbox::Inbox;
use self::launch::{Launch, launch};
use self::protocol::{Received, receive};
pub use self::protocol::{Request, Sender};
pub use self::server::Server;
use crate::args::DebugArgs;

/// Answers requests until one launches something. `None` if the client leaves before.
///
/// # Errors
/// The input has no messages, or output was closed.
pub fn wait(
    input: &mut impl BufRead,
    sender: &mut Sender<impl Write>,
    given: &DebugArgs,
) -> Result<Option<(Request, Launch)>> {
    while let Some(request) = next_request(|| receive(input), sender)? {
        let result = match request.command.as_str() {
            "initialize" => Ok(capabilities()),
            "launch" => match launch(&request.arguments, given) {
                Ok(launch) => return Ok(Some((request, launch))),
                Err(error) => Err(error),
            },
            "disconnect" | "terminate" => {
                sender.respond(&request, Ok(Value::Null))?;
                return Ok(None);
            }
            other => Err(anyhow::anyhow!("`{other}` must follow `launch`")),
        };
        sender.respond(&request, result)?;
    }
    Ok(None)
}

/// The next request; messages that are none are reported. `None` if the client left.
fn next_request(
    mut next: impl FnMut() -> Result<Received>,
    sender: &mut Sender<impl Write>,
) -> Result<Option<Request>> {
    loop {
        match next()? {
            Received::Request(request) => return Ok(Some(request)),
            Received::Malformed(why) => malformed(sender, &why)?,
            Received::End => return Ok(None),
        }
    }
}

/// Reports a message that is not a request.
fn malformed(sender: &mut Sender<impl Write>, why: &str) -> Result<()> {
    let output = format!("a message was ignored: {why}\n");
    sender.event("output", &json!({"category": "stderr", "output": output}))
}

fn capabilities() -> Value {
    let filter = |(filter, label): (&str, String)| {
        json!({
            "filter": filter, "label": label, "supportsCondition": true,
        })
    };
    let verdicts = spec::Verdict::ALL.map(|verdict| (verdict.name(), format!("verdict {verdict}")));
    let filters = verdicts.into_iter().chain([("fault", "fault".to_owned())]).map(filter);
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsLogPoints": true,
        "supportsInstructionBreakpoints": true,
        "supportsDataBreakpoints": true,
        "supportsExceptionFilterOptions": true,
        "supportsEvaluateForHovers": true,
        "supportsStepBack": true,
        "supportsSteppingGranularity": true,
        "supportsDisassembleRequest": true,
        "supportsLoadedSourcesRequest": true,
        "supportsTerminateRequest": true,
        "exceptionBreakpointFilters": filters.collect::<Vec<_>>(),
    })
}

//! The launch request: options of the command line as keys.

use anyhow::{Context as _, Result, bail};
use clap::Parser as _;
use serde_json::{Map, Value};

use crate::args::{Cli, Command, DebugArgs};

/// What the client launches.
#[derive(Debug)]
pub struct Launch {
    pub args: Box<DebugArgs>,
    /// Stop before the first instruction, and not at the first breakpoint.
    pub stop_on_entry: bool,
}

/// Reads the arguments of a launch request. Without an object in them, those of the command line
/// are used.
///
/// # Errors
/// An option is unknown or its value invalid.
pub fn launch(arguments: &Value, given: &DebugArgs) -> Result<Launch> {
    let none = Map::new();
    let keys = arguments.as_object().unwrap_or(&none);
    let stop_on_entry = keys.get("stopOnEntry").and_then(Value::as_bool).unwrap_or(true);
    let args = match keys.contains_key("object") || given.object.is_none() {
        true => parse(keys)?,
        false => Box::new(given.clone()),
    };
    Ok(Launch { args, stop_on_entry })
}

fn parse(keys: &Map<String, Value>) -> Result<Box<DebugArgs>> {
    let object = keys.get("object").and_then(Value::as_str);
    let object = object.context("`object` must name an object file")?;
    let mut words = vec!["xway".to_owned(), "debug".to_owned()];
    for (key, value) in keys.iter().filter(|(key, _)| !is_editors(key)) {
        match value {
            Value::Array(values) => {
                for value in values {
                    words.push(option(key, value)?);
                }
            }
            Value::Bool(true) => words.push(format!("--{key}")),
            Value::Bool(false) | Value::Null => {}
            value => words.push(option(key, value)?),
        }
    }
    words.extend(["--".to_owned(), object.to_owned()]);
    let cli = Cli::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        anyhow::anyhow!("{}", first.strip_prefix("error: ").unwrap_or(first).to_owned())
    })?;
    match cli.command {
        Command::Debug(args) if args.input.is_some() && !args.dap => Ok(args),
        _ => bail!("`in` must name a capture"),
    }
}

fn option(key: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(format!("--{key}={text}")),
        Value::Number(number) => Ok(format!("--{key}={number}")),
        _ => bail!("`{key}` must be text, a number, true, false, or a list"),
    }
}

/// Whether a key is for the editor, or was read otherwise.
fn is_editors(key: &str) -> bool {
    key.starts_with("__") || EDITORS.contains(&key)
}

/// Keys that editors add to each launch request.
const EDITORS: [&str; 14] = [
    "object",
    "stopOnEntry",
    "type",
    "name",
    "request",
    "noDebug",
    "console",
    "cwd",
    "debugServer",
    "internalConsoleOptions",
    "preLaunchTask",
    "postDebugTask",
    "presentation",
    "serverReadyAction",
];

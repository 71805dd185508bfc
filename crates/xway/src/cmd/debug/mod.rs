//! `debug`: a session of the debugger, with a person, a script, or an editor.
//!
//! Not here: the debugger itself, which is `runner::debug`.

mod command;
mod console;
mod dap;
mod screen;
mod session;
mod source;

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;

use anyhow::{Error, Result};
use runner::debug::Debugger;
use runner::{Callbacks, Interrupt, Notice, Options};
use serde_json::Value;
use vm::World;

use self::console::Console;
use self::dap::{Inbox, Request, Sender, Server};
use self::screen::Front;
use self::session::Session;
use self::source::Sources;
use super::run::interrupt;
use super::{Context, Exit, confine, scenario};
use crate::args::DebugArgs;
use crate::view::debug::Output;
use crate::view::say;

pub fn run(args: &DebugArgs, context: &Context) -> Result<Exit> {
    if args.dap {
        return serve(args);
    }
    let lines = lines(args)?;
    if wants_screen(args, context) {
        return on_screen(args, lines);
    }
    let console = Console::open(!lines.is_empty())?;
    let host = scenario::wants_host(&args.scenario).then(scenario::host_world).transpose()?;
    let mut callbacks = Callbacks::default().with_observer(notify);
    if console.is_terminal() {
        // Without a terminal, signals end the process while it waits for a command.
        callbacks = callbacks.with_interrupt(interrupt::by_signals()?);
    }
    confine(args)?;
    let options = options(args, host)?;
    let mut session = begin(args, &options, callbacks)?;
    let stop = session.debugger.here()?;
    if context.show_next(&Output::Stop(stop))?
        && console::script(lines.into_iter(), &mut session, context)?
    {
        console.run(&mut session, context)?;
    }
    Ok(Exit::Done)
}

/// Whether the full-screen front end is used. The size of a terminal is that of standard output.
fn wants_screen(args: &DebugArgs, context: &Context) -> bool {
    let is_terminal =
        io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal();
    is_terminal && !args.console && !context.json && env::var_os("TERM").is_some_and(can_draw)
}

fn can_draw(terminal: OsString) -> bool {
    !terminal.is_empty() && terminal != "dumb"
}

/// A session with a person, on the whole terminal.
fn on_screen(args: &DebugArgs, lines: Vec<(String, String)>) -> Result<Exit> {
    let host = scenario::wants_host(&args.scenario).then(scenario::host_world).transpose()?;
    let front = Front::open()?;
    confine(args)?;
    let options = options(args, host)?;
    let mut session = begin(args, &options, front.callbacks())?;
    front.run(lines, &mut session)?;
    Ok(Exit::Done)
}

/// A session with an editor, by the Debug Adapter Protocol.
fn serve(args: &DebugArgs) -> Result<Exit> {
    let mut sender = Sender::new(io::stdout());
    let launched = dap::wait(&mut io::stdin().lock(), &mut sender, args)?;
    let Some((request, launch)) = launched else { return Ok(Exit::Done) };
    let args = &launch.args;
    let host = scenario::wants_host(&args.scenario).then(scenario::host_world).transpose()?;
    confine(args)?;
    let options = options(args, host);
    let options = match options {
        Ok(options) => options,
        Err(error) => return refuse(&request, error, &mut sender),
    };
    let inbox = Inbox::open()?;
    let requests = Arc::clone(&inbox);
    let interrupt = Interrupt::new(move || requests.requests());
    match begin(args, &options, Callbacks::default().with_interrupt(interrupt)) {
        Ok(session) => {
            sender.respond(&request, Ok(Value::Null))?;
            Server::new(session, launch.stop_on_entry).serve(&inbox, &mut sender)?;
            Ok(Exit::Done)
        }
        Err(error) => refuse(&request, error, &mut sender),
    }
}

/// Reports why a launch failed, and ends the session: the process is confined to other files now.
fn refuse(request: &Request, error: Error, sender: &mut Sender<impl Write>) -> Result<Exit> {
    sender.respond(request, Err(error))?;
    sender.event("terminated", &Value::Null)?;
    Ok(Exit::Code(2))
}

fn options(args: &DebugArgs, host: Option<World>) -> Result<Options> {
    Ok(Options {
        object: args.object.clone().unwrap_or_default(),
        input: args.input.clone().unwrap_or_default(),
        ..scenario::options(&args.scenario, host)?
    })
}

/// Opens the files, and goes to the packet of the arguments.
fn begin<'a>(args: &DebugArgs, options: &'a Options, callbacks: Callbacks) -> Result<Session<'a>> {
    let mut debugger = Debugger::open(options, callbacks)?;
    if let Some(packet) = args.packet {
        debugger.go_to_packet(packet)?;
    }
    Ok(Session::new(debugger, Sources::new(args.source.clone())))
}

/// Commands of the script and of the arguments, each with where it comes from.
fn lines(args: &DebugArgs) -> Result<Vec<(String, String)>> {
    let script =
        args.script.as_ref().map(|path| Ok::<_, anyhow::Error>((path, control::text::read(path)?)));
    let script = script.transpose()?;
    let scripted = script.iter().flat_map(|(path, text)| {
        let lines = (1..).zip(text.lines());
        lines.map(|(number, line)| (format!("{}:{number}", path.display()), line.to_owned()))
    });
    let commands = args.commands.iter().map(|line| ("--command".to_owned(), line.clone()));
    Ok(scripted.chain(commands).collect())
}

fn notify(notice: &Notice) {
    say(&format!("xway: {notice}"));
}

/// Confines the process to the named files.
fn confine(args: &DebugArgs) -> Result<()> {
    let mut named = confine::begin()?;
    args.object.iter().for_each(|object| named.input(object));
    args.input.iter().for_each(|input| named.input(input));
    args.source.iter().for_each(|dir| named.input(dir));
    scenario::permit(&mut named, &args.scenario, scenario::wants_host(&args.scenario));
    named.end()
}

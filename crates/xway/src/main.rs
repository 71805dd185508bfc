//! `xway`: the command line. It alone chooses a runtime, prints and exits.
//!
//! Arguments become plain values (`args`), a command passes them to a library (`cmd`), and its
//! result becomes text or JSON (`view`).
#![forbid(unsafe_code)]

mod args;
mod cmd;
mod view;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::cmd::{Context, Exit};

fn main() -> ExitCode {
    cmd::shell::complete();
    let cli = Cli::try_parse().unwrap_or_else(|error| misused(&error));
    let context = Context::new(&cli);
    let is_verbose = cli.verbose;
    match run(cli.command, &context) {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::No) => ExitCode::from(1),
        Ok(Exit::Code(code)) => ExitCode::from(code),
        Err(error) => {
            if is_verbose && let Some(log) = verifier_log(&error) {
                view::fail(log);
            }
            view::fail(&format!("xway: {}", full(&error)));
            ExitCode::from(2)
        }
    }
}

/// Prints help, the version, or what is wrong with the arguments. Arguments may be names of files
/// that a shell filled in, so they are external text like any other.
#[expect(clippy::exit, reason = "as `Cli::parse` ends, without running destructors of nothing")]
fn misused(error: &clap::Error) -> ! {
    let plain = error.render().to_string();
    if report::text::lines(&plain) == plain {
        error.exit();
    }
    view::fail(plain.trim_end());
    std::process::exit(error.exit_code())
}

fn run(command: Command, context: &Context) -> anyhow::Result<Exit> {
    match command {
        Command::Attach(args) => cmd::attach::attach(&args, context),
        Command::Capture(args) => cmd::capture::run(&args, context),
        Command::Extcap(args) => cmd::extcap::run(&args, context),
        Command::Chain(args) => cmd::chain::run(&args, context),
        Command::Detach(args) => cmd::attach::detach(&args, context),
        Command::Apply(args) => cmd::apply::apply(&args, context),
        Command::Save(args) => cmd::apply::save(&args, context),
        Command::Daemon(args) => cmd::daemon::run(&args, context),
        Command::Confirm(args) => cmd::confirm::run(&args, context),
        Command::Status(args) => cmd::status::run(&args, context),
        Command::Top(args) => cmd::top::run(&args, context),
        Command::WhyDrop(args) => cmd::why_drop::run(&args, context),
        Command::Drop(args) => cmd::drop::run(&args, context),
        Command::Route(action) => cmd::route::run(&action, context),
        Command::Balance(action) => cmd::balance::run(&action, context),
        Command::Forward(args) => cmd::route::start::run(&args, context),
        Command::Filter(action) => cmd::filter::run(&action, context),
        Command::Check(args) => cmd::check::run(&args, context),
        Command::Disasm(args) => cmd::disasm::run(&args, context),
        Command::Asm(args) => cmd::asm::run(&args, context),
        Command::Run(args) => cmd::run::run(&args, context),
        Command::Debug(args) => cmd::debug::run(&args, context),
        Command::Gen(args) => cmd::generate::run(&args, context),
        Command::Sink(args) => cmd::sink::run(&args, context),
        Command::Scan(action) => cmd::scan::run(&action, context),
        Command::Xsk(action) => cmd::xsk::run(&action, context),
        Command::Bench(action) => cmd::bench::run(&action, context),
        Command::Prog(action) => cmd::prog::run(&action, context),
        Command::Map(action) => cmd::map::run(&action, context),
        Command::State(action) => cmd::state::run(&action, context),
        Command::Lab(args) => cmd::lab::run(&args.action, context),
        Command::Doctor(args) => cmd::doctor::run(&args, context),
        Command::Demo(args) => cmd::demo::run(&args, context),
        Command::Completions { shell } => cmd::shell::completions(shell),
        Command::Man { dir } => cmd::man::run(&dir),
    }
}

/// The error and its causes in one line, without causes that the text already contains.
fn full(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            let separator = if text.is_empty() { "" } else { ": " };
            text.push_str(&format!("{separator}{cause}"));
        }
    }
    text
}

/// The complete log of the verifier that rejected a program.
fn verifier_log(error: &anyhow::Error) -> Option<&str> {
    error.chain().find_map(|cause| {
        let by_control = cause.downcast_ref::<control::Error>().and_then(control::Error::kernel);
        match by_control.or_else(|| cause.downcast_ref())? {
            kernel::Error::Verifier { log, .. } => Some(&*log.text),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_printed_once() {
        let cause = sys::Error::new("bpf(MAP_CREATE)", "x", 7);
        let words = cause.to_string();
        let denied = kernel::Error::Denied { source: cause, missing: Vec::new() };
        let text = full(&anyhow::Error::new(denied).context("outer"));
        assert_eq!(text.matches(&words).count(), 1, "{text}");
        assert!(text.starts_with("outer: bpf(MAP_CREATE)"), "{text}");
    }
}

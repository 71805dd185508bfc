//! Runs a command on a host of a lab: an existing lab, or one created for the command.
//!
//! Rule: a lab created for the command is removed however the command ends. Ctrl-C on a terminal
//! reaches the command too, which handles it; after a second one, or a signal to `xway` alone, the
//! command is killed. Started by sudo, the command has the rights of the user who called it,
//! set-user-ID programs and file capabilities included: `ping` and `sudo` work as usual.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use lab::{Lab, LinkOptions, Topology};
use sys::identity::Identity;
use sys::signal::Stop;

use crate::cmd::Exit;
use crate::view;

pub fn command(
    place: &str,
    host: &str,
    command: &[String],
    user: Option<&Identity>,
) -> Result<Exit> {
    let Some((program, arguments)) = command.split_first() else { bail!("there is no command") };
    let stop = Stop::new()?;
    let lab = find(place)?;
    let host = lab.host(host)?.clone();
    if let Some(signal) = stop.pending() {
        finish(lab, place)?;
        return Ok(Exit::Code(killed_by(signal)));
    }
    let mut command = host.command_with_sys(program)?;
    if let Some(user) = user {
        user.run_as(&mut command);
    }
    stop.release(command.args(arguments));
    let outcome = host.start(command).map_err(Into::into).and_then(|child| wait(child, &stop));
    finish(lab, place)?;
    Ok(Exit::Code(code(outcome?)))
}

pub fn shell(place: &str, host: &str, user: Option<&Identity>) -> Result<Exit> {
    let own = || std::env::var_os("SHELL");
    let shell = user.and_then(Identity::shell).map(OsStr::to_owned).or_else(own);
    let shell = shell.and_then(|shell| shell.into_string().ok());
    let shell = shell.unwrap_or_else(|| "/bin/sh".to_owned());
    let note = format!("shell on host {host} of lab {place}: leave with `exit`");
    if io::stdin().is_terminal() {
        view::say(&note);
    }
    command(place, host, &[shell], user)
}

/// Finds a lab by name, or creates one of a topology. Names of labs and topologies are different.
fn find(place: &str) -> Result<Lab> {
    match place.parse::<Topology>() {
        Ok(topology) => Ok(topology.build(&LinkOptions::default())?),
        Err(_) => Ok(Lab::open(place)?),
    }
}

/// Removes what was made for the command.
fn finish(lab: Lab, place: &str) -> Result<()> {
    if place.parse::<Topology>().is_ok() {
        lab.remove()?;
    }
    Ok(())
}

fn wait(mut child: Child, stop: &Stop) -> Result<ExitStatus> {
    let mut patience = Patience::default();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if let Some(signal) = stop.wait(LOOK)? {
            patience.signal(signal, io::stdin().is_terminal());
        }
        if patience.is_over(Instant::now()) {
            // It fails if the command has ended already.
            let _ = child.kill();
        }
    }
}

/// How long the command may continue after signals.
#[derive(Clone, Copy, Debug, Default)]
struct Patience {
    asked: bool,
    until: Option<Instant>,
}

impl Patience {
    fn signal(&mut self, signal: i32, terminal: bool) {
        let heard_too = signal == SIGINT && terminal && !self.asked;
        self.asked = true;
        if !heard_too && self.until.is_none() {
            self.until = Some(Instant::now() + GRACE);
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now >= until)
    }
}

/// The exit code as shells report it: 128 plus the signal for a command that was killed.
fn code(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
        (None, signal) => killed_by(signal.unwrap_or_default()),
    }
}

fn killed_by(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

const SIGINT: i32 = 2;
/// How often to look after the command.
const LOOK: Duration = Duration::from_millis(10);
/// Time that a command which received the same signal has to end.
const GRACE: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(code(ExitStatus::from_raw(0)), 0);
        assert_eq!(code(ExitStatus::from_raw(9)), 137);
    }

    #[test]
    fn the_first_interrupt_on_a_terminal_is_the_commands() {
        let late = Instant::now() + 2 * GRACE;
        let table: &[(&[i32], bool, bool)] = &[
            (&[], true, false),
            (&[SIGINT], true, false),
            (&[SIGINT, SIGINT], true, true),
            (&[SIGINT], false, true),
            (&[15], true, true),
        ];
        for (signals, terminal, over) in table {
            let mut patience = Patience::default();
            signals.iter().for_each(|signal| patience.signal(*signal, *terminal));
            assert_eq!(patience.is_over(late), *over, "{signals:?} on a terminal: {terminal}");
        }
    }
}

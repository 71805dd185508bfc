//! The full-screen front end: keys in, commands of the console executed, panes drawn.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use runner::debug::Position;
use runner::{Callbacks, Interrupt, Notice};

use super::command::{Command, parse};
use super::console::full;
use super::session::Session;
use crate::view::debug::{Listing, Output};
use crate::view::debugger::screen::Next;
use crate::view::debugger::{DebuggerScreen, Effect, Panes, Report};
use crate::view::{Form, Paint, rendered};

/// The terminal, and messages that came while it was taken over.
#[derive(Debug)]
pub struct Front {
    screen: DebuggerScreen,
    panes: Panes,
    /// The position and the frame of the stack that are shown.
    shown: Option<(Position, usize)>,
    notices: Arc<Mutex<Vec<String>>>,
}

impl Front {
    /// Takes over the terminal. Make it before any thread, and before the process is confined.
    pub fn open() -> Result<Self> {
        let screen = DebuggerScreen::open().context("the terminal cannot be used")?;
        let notices = Arc::default();
        Ok(Self { screen, panes: Panes::default(), shown: None, notices })
    }

    /// Callbacks for the debugger: keys end its motions, and its messages wait to be shown.
    pub fn callbacks(&self) -> Callbacks {
        let (keyboard, notices) = (self.screen.keyboard(), Arc::clone(&self.notices));
        let keep = move |notice: &Notice| {
            notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice.to_string());
        };
        let interrupt = Interrupt::new(move || keyboard.requests());
        Callbacks::default().with_observer(keep).with_interrupt(interrupt)
    }

    /// Executes the commands of the script and of the arguments, each with where it comes from, and
    /// then those of the keys until the user quits.
    ///
    /// # Errors
    /// A command of the script failed, or the terminal cannot be read.
    pub fn run(mut self, lines: Vec<(String, String)>, session: &mut Session<'_>) -> Result<()> {
        let notices =
            std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner));
        self.panes.print(&notices.join("\n"));
        for (place, line) in lines {
            let proceeds = self.execute(&line, session);
            if !proceeds.with_context(|| format!("{place}: {}", line.trim()))? {
                return Ok(());
            }
        }
        self.refresh(session);
        loop {
            self.screen.draw(&self.panes);
            let key = match self.screen.next().context("cannot read the terminal")? {
                Next::Key(key) => key,
                Next::Resize => continue,
                Next::End => return Ok(()),
            };
            let area = self.screen.area();
            match self.panes.key(key, area) {
                Effect::Draw => {}
                Effect::Quit => return Ok(()),
                Effect::Command(line) => {
                    self.panes.say(&format!("{line} … (Ctrl-C ends it)"), false);
                    self.screen.draw(&self.panes);
                    match self.execute(&line, session) {
                        Ok(true) => {}
                        Ok(false) => return Ok(()),
                        Err(error) => self.panes.say(&full(&error), true),
                    }
                    self.refresh(session);
                }
            }
        }
    }

    /// Executes a command, and shows its result. Returns whether the session continues.
    fn execute(&mut self, line: &str, session: &mut Session<'_>) -> Result<bool> {
        let Some(command) = parse(line)? else { return Ok(true) };
        let is_deletion = matches!(command, Command::Delete { .. });
        let Some(output) = session.execute(command)? else { return Ok(false) };
        let text = rendered(&output, Form::Text, Paint { colour: false })?;
        match output {
            Output::Stop(stop) if !stop.log.is_empty() => self.panes.print(&text),
            Output::Stop(stop) => {
                let first = text.lines().next().unwrap_or_default();
                let note = stop.note.map(|note| format!(" ({note})")).unwrap_or_default();
                self.panes.say(&format!("{first}{note}"), false);
            }
            Output::Breakpoints(points) if is_deletion => {
                self.panes.say(&format!("{} breakpoints and watchpoints", points.len()), false);
            }
            _ => self.panes.print(&text),
        }
        Ok(true)
    }

    /// Shows the position of the session, if it is another one.
    fn refresh(&mut self, session: &Session<'_>) {
        let here = (session.debugger.position(), session.debugger.frame());
        if self.shown == Some(here) {
            self.panes.show_points(session.debugger.stop_points());
            return;
        }
        match report(session) {
            Ok(report) => {
                self.shown = Some(here);
                self.panes.show(report);
            }
            Err(error) => {
                self.shown = None;
                self.panes.forget();
                self.panes.say(&full(&error), true);
            }
        }
    }
}

fn report(session: &Session<'_>) -> Result<Report> {
    let debugger = &session.debugger;
    let overview = debugger.overview()?;
    let place = overview.state.frames.get(overview.state.frame);
    let line = place.and_then(|place| place.source.as_ref());
    let source = line.map(|line| Listing {
        file: line.file.clone(),
        line: line.line,
        lines: session.sources.lines(debugger, &line.file),
    });
    Ok(Report {
        object: debugger.object().to_owned(),
        packets: debugger.packets(),
        source,
        code: debugger.code_at(place.map(|place| place.program.as_str()), place)?,
        points: debugger.stop_points(),
        overview,
    })
}

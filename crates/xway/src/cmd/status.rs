//! `status`: each interface of this namespace, its programs and their packets by verdict.

use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use kernel::list::{self, Attached, Owners};
use kernel::{Mode, Program};
use sys::net::Ifindex;
use sys::netns::NetNs;
use sys::signal::Stop;

use super::{Context, Exit, rights};
use crate::args::StatusArgs;
use crate::counters::{Counters, Counts};
use crate::state::State;
use crate::view::live::Screen;
use crate::view::status::{Interface, Rates, Running, Status};

pub fn run(args: &StatusArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut looks = Looks::new(args, context)?;
    let redraws = args.watch && !context.json && io::stdout().is_terminal();
    let mut screen = redraws.then(Screen::full);
    while stop.wait(args.interval)?.is_none() {
        let status = looks.look()?;
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

/// Looking again and again: rates need the counts of the time before.
#[derive(Debug)]
struct Looks<'a> {
    only: Option<&'a str>,
    root: &'a Path,
    /// `None` as long as nothing runs: whose it is needs no answer, nor rights to find out.
    state: Option<State>,
    netns: NetNs,
    last: Reading,
}

/// The counts of every program that counts, by where it runs.
#[derive(Debug, Default)]
struct Reading {
    at: Option<Instant>,
    counts: HashMap<(Ifindex, Mode, u32), Counts>,
}

impl<'a> Looks<'a> {
    fn new(args: &'a StatusArgs, context: &'a Context) -> Result<Self> {
        let mut looks = Self {
            only: args.iface.as_deref(),
            root: &context.state,
            state: None,
            netns: NetNs::current()?,
            last: Reading::default(),
        };
        looks.heal()?;
        looks.look()?;
        Ok(looks)
    }

    /// What trials left whose makers were killed is not to be seen.
    fn heal(&self) -> Result<()> {
        // A state that cannot be read is reported when something runs.
        let Ok(state) = State::look(self.root) else { return Ok(()) };
        let netns = self.netns.id()?;
        for one in list::interfaces().unwrap_or_default() {
            let running = one.programs.iter().map(|attached| attached.program.id);
            state.heal(&state.slot(netns, one.link.ifindex), running);
        }
        Ok(())
    }

    fn look(&mut self) -> Result<Status> {
        let found = list::interfaces().map_err(anyhow::Error::new);
        let mut found = found.map_err(|error| rights::explained(error, rights::LISTING))?;
        if let Some(only) = self.only {
            found.retain(|one| one.link.name == only);
            if found.is_empty() {
                bail!("there is no interface `{only}` in this network namespace");
            }
        }
        if self.state.is_none() && found.iter().any(|one| !one.programs.is_empty()) {
            self.state = Some(State::look(self.root)?);
        }
        let owners = Owners::now();
        let mut reading = Reading { at: Some(Instant::now()), ..Reading::default() };
        for one in &found {
            for program in &one.programs {
                if let Some(counts) = counts(program)? {
                    let key = (one.link.ifindex, program.mode, program.program.id);
                    reading.counts.insert(key, counts);
                }
            }
        }
        let last = std::mem::replace(&mut self.last, reading);
        let elapsed = last.at.map_or(Duration::ZERO, |at| at.elapsed());
        let interfaces = found.iter().map(|one| self.interface(one, &last, elapsed, &owners));
        Ok(Status {
            interval_s: elapsed.as_secs_f64(),
            interfaces: interfaces.collect::<Result<_>>()?,
        })
    }

    fn interface(
        &self,
        one: &list::Interface,
        last: &Reading,
        elapsed: Duration,
        owners: &Owners,
    ) -> Result<Interface> {
        let netns = self.netns.id()?;
        let slot = self.state.as_ref().map(|state| state.slot(netns, one.link.ifindex));
        let programs = one.programs.iter().map(|attached| {
            let info = &attached.program;
            let key = (one.link.ifindex, attached.mode, info.id);
            let rates = self.last.counts.get(&key).map(|now| {
                Rates::between(last.counts.get(&key).unwrap_or(now), now, elapsed.as_secs_f64())
            });
            let ours = slot.as_ref().map_or(Ok(None), |slot| slot.generation_of(info.id))?;
            let ours = ours.map(|one| one.name().to_owned());
            Ok(Running {
                id: info.id,
                name: info.name.clone(),
                tag: kernel::tag_text(&info.tag),
                mode: attached.mode.name(),
                owner: owner(ours, attached, owners),
                link_id: attached.link_id,
                rates,
            })
        });
        let link = &one.link;
        Ok(Interface {
            name: link.name.clone(),
            ifindex: link.ifindex.0,
            up: link.up,
            mtu: link.mtu,
            programs: programs.collect::<Result<_>>()?,
        })
    }
}

/// `None` for a program that does not count, or went away meanwhile.
fn counts(attached: &Attached) -> Result<Option<Counts>> {
    let program = match Program::from_id(attached.program.id) {
        Err(error) if error.errno() == Some(ENOENT) => return Ok(None),
        other => other?,
    };
    Counters::of(&program)?.map(|counters| counters.read()).transpose()
}

const ENOENT: i32 = 2;

/// Who would be asked about a program: xway's pin, else the processes that hold it.
fn owner(ours: Option<String>, attached: &Attached, owners: &Owners) -> String {
    if let Some(name) = ours {
        return format!("xway {name}");
    }
    let of_link = attached.link_id.map(|id| owners.of_link(id)).unwrap_or_default();
    let mut names: Vec<_> = of_link
        .iter()
        .chain(owners.of_program(attached.program.id))
        .filter(|owner| owner.pid != std::process::id())
        .map(ToString::to_string)
        .collect();
    names.sort();
    names.dedup();
    match (names.is_empty(), attached.link_id) {
        (false, _) => names.join(", "),
        (true, Some(_)) => "a pin".to_owned(),
        (true, None) => "netlink".to_owned(),
    }
}

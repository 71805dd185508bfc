//! `prog list|show|dump|hits|graph`: programs in the kernel, of any owner.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use control::hits::HitCounter;
use control::inventory;
use control::inventory::listing::{Form, listing};
use kernel::{Program, list};
use sys::errno::ENOENT;
use sys::signal::Stop;

use super::pick::{self, Candidate};
use super::{Context, Exit, rights, wait_is_over};
use crate::args::{Dump, ProgAction, Ref};
use crate::view::graph::Dot;
use crate::view::say;

pub fn run(action: &ProgAction, context: &Context) -> Result<Exit> {
    let outcome = match action {
        ProgAction::Hits { iface, time } => return hits(iface, *time, context),
        ProgAction::List => show_all(context),
        ProgAction::Show { program } => show(program, context),
        ProgAction::Dump(args) => dump(args, context),
        ProgAction::Graph { program, dot } => graph(program.as_ref(), *dot, context),
    };
    outcome.map_err(|error| rights::explained(error, rights::LISTING))?;
    Ok(Exit::Done)
}

fn show_all(context: &Context) -> Result<()> {
    context.show(&inventory::programs()?)
}

fn show(word: &Ref, context: &Context) -> Result<()> {
    context.show(&inventory::program(&open(word)?)?)
}

fn dump(args: &Dump, context: &Context) -> Result<()> {
    let form = if args.jited { Form::Jited } else { Form::Translated };
    context.show(&listing(&open(&args.program)?, form)?)
}

fn hits(interface: &str, time: Option<Duration>, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let counter = HitCounter::start(&context.control, interface)?;
    say(&format!("xway: counting the instructions that run on {interface}"));
    let begin = Instant::now();
    while !wait_is_over(&stop, begin, time)? && counter.runs()? {}
    context.show(&counter.finish()?)?;
    Ok(Exit::Done)
}

fn graph(program: Option<&Ref>, dot: bool, context: &Context) -> Result<()> {
    let only = program.map(open).transpose()?.map(|program| program.id());
    let graph = inventory::graph(only)?;
    if dot { context.show(&Dot(graph)) } else { context.show(&graph) }
}

/// Opens what was named.
pub fn open(word: &Ref) -> Result<Program> {
    match word {
        Ref::Id(id) => by_id(*id),
        Ref::Pin(path) => Ok(Program::from_pin(path)?),
        Ref::Name(name) => {
            let all: Vec<_> = list::programs()?
                .into_iter()
                .map(|info| Candidate {
                    id: info.id,
                    about: format!(
                        "{} {}",
                        inventory::program_kind(info.kind),
                        kernel::tag_text(&info.tag)
                    ),
                    name: info.name,
                })
                .collect();
            by_id(pick::by_name("program", name, &all)?)
        }
    }
}

fn by_id(id: u32) -> Result<Program> {
    match Program::from_id(id) {
        Err(error) if error.errno() == Some(ENOENT) => {
            bail!("no program has the id {id}: see `xway prog list`")
        }
        other => Ok(other?),
    }
}

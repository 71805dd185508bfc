//! `gen`: sends described frames at a given rate, and reports the outcome.
//!
//! Order of events: arguments become streams (`load`) or a recording (`replay`), get missing
//! addresses (`address`, `hop`), are refused if they endanger the user's session (`guard`), and are
//! sent with progress output (`run`).

pub(in crate::cmd) mod address;
mod capture;
mod confine;
pub(in crate::cmd) mod guard;
pub(in crate::cmd) mod hop;
mod load;
mod ndr;
mod replay;
mod run;
mod settings;
mod tcp;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, bail};
use sys::signal::Stop;
use traffic::generator::{self, Action};

use self::address::Surroundings;
use self::run::Run;
use super::{Context, Exit};
use crate::args::generate::{Action as Asked, GenArgs, InjectArgs, Injected, PcapArgs, SendArgs};
use crate::view::generate::Sent;

pub fn run(args: &GenArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    confine::begin_dry_run(args)?;
    let Some(action) = &args.action else {
        let Some(path) = &args.streams else {
            bail!("specify what to send: see `xway gen --help`")
        };
        return send(load::read(path)?, &args.run, Action::Transmit, (&stop, context));
    };
    match action {
        Asked::Load(load) => {
            send(load::file(load, true)?, load::run(load), Action::Transmit, (&stop, context))
        }
        Asked::Pcap(args) => send_again(args, Action::Transmit, (&stop, context)),
        Asked::Inject(args) => inject(args, (&stop, context)),
        Asked::Tcp(args) => tcp::run(args, &stop, context),
        Asked::Ndr(load) => ndr::run(load, &stop, context),
    }
}

/// What holds for the whole of a command.
type Place<'a> = (&'a Stop, &'a Context);

/// How frames are sent, and what is reported about them.
struct Sender {
    action: Action,
    /// Ids and names of the streams, in their order.
    names: Vec<(u16, String)>,
    /// Packets of a capture to which an Ethernet header was added, by link type.
    framed: Option<BTreeMap<String, u64>>,
}

/// Streams, out of an interface or into it.
fn send(
    mut file: traffic::stream::File,
    args: &SendArgs,
    action: Action,
    place: Place<'_>,
) -> Result<Exit> {
    let mut surroundings = match &args.dev {
        Some(dev) => Surroundings::of(dev, action != Action::Transmit, place.0)?,
        None => Surroundings::imagined(place.0),
    };
    surroundings.complete(&mut file)?;
    let templates = file.templates(surroundings.mtu())?;
    let names = templates.iter().map(|one| (one.id, one.name.clone())).collect();
    let load = generator::Load::Streams(templates);
    carry_out(args, load, Sender { action, names, framed: None }, place)
}

/// A capture, out of an interface or into it.
fn send_again(args: &PcapArgs, action: Action, place: Place<'_>) -> Result<Exit> {
    let (recording, framed) = replay::read(args)?;
    let load = generator::Load::Recording(recording);
    // Its times are in the recording.
    let run = SendArgs { rate: None, ..args.run.clone() };
    let names = vec![(0, "recording".to_owned())];
    carry_out(&run, load, Sender { action, names, framed: Some(framed) }, place)
}

fn inject(args: &InjectArgs, place: Place<'_>) -> Result<Exit> {
    let action = match &args.object {
        None => Action::Inject,
        Some(path) => {
            let object = fs::read(path).with_context(|| format!("cannot read {path}"))?;
            Action::Program { object, name: args.program.clone() }
        }
    };
    match &args.what {
        // The receiver of injected frames is not a sink, so they carry no stamps.
        Injected::Load(load) => send(load::file(load, false)?, load::run(load), action, place),
        Injected::Pcap(args) => send_again(args, action, place),
    }
}

fn carry_out(
    args: &SendArgs,
    load: generator::Load,
    Sender { action, names, framed }: Sender,
    (stop, context): Place<'_>,
) -> Result<Exit> {
    let config = settings::config(args, load, action)?;
    let first = |path| capture::write(path, &config, args.first);
    let capture = args.write.as_deref().map(first).transpose()?;
    if args.dry_run {
        context.show_next(&Sent { capture, framed, ..Sent::default() })?;
        return Ok(Exit::Done);
    }
    Run { args, config, names, capture, framed }.carry_out(stop, context)
}

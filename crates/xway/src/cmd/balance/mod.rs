//! `balance`: the layer-4 load balancer.

mod health;

use anyhow::Result;
use control::backend::{self, TunnelOptions};
use control::balance::sync::{SyncOptions, Syncer};
use control::balance::{self, BalanceMonitor, BalanceOptions, Checked, Edit};
use functions::backend::Config;
use functions::balancer::{Network, Query, State};
use packet::Prefix;
use runner::fixtures;
use sys::signal::Stop;

use super::live::{self, Pace};
use super::{Context, Exit, confine};
use crate::args::{
    BalanceAction, BalanceBackendArgs, BalanceCheckArgs, BalanceFixturesArgs, BalanceLoadArgs,
    BalancePlanArgs, BalanceSyncArgs, BalanceTopArgs, BalanceWhyArgs,
};
use crate::view::say;

pub fn run(action: &BalanceAction, context: &Context) -> Result<Exit> {
    let control = &context.control;
    match action {
        BalanceAction::Load(args) => return load(args, context),
        BalanceAction::Check(args) => return check(args, context),
        BalanceAction::Plan(args) => return plan(args, context),
        BalanceAction::Top(args) => return top(args, context),
        BalanceAction::Why(args) => return why(args, context),
        BalanceAction::Sync(args) => return sync(args, context),
        BalanceAction::Health(args) => return health::run(args, context),
        BalanceAction::Fixtures(args) => return compare_fixtures(args, context),
        BalanceAction::Show => context.show(&balance::show(control)?)?,
        BalanceAction::Drain(args) => {
            let (service, state) = (args.service.clone(), Some(State::Drain));
            let edit = Edit { service, backend: args.backend, state, weight: None };
            context.show(&balance::edit(control, &args.iface, &edit)?)?;
        }
        BalanceAction::Set(args) => {
            let (service, backend) = (args.service.clone(), args.backend);
            let state = match (args.up, args.down) {
                (true, _) => Some(State::Up),
                (_, true) => Some(State::Down),
                _ => None,
            };
            let edit = Edit { service, backend, state, weight: args.weight };
            context.show(&balance::edit(control, &args.iface, &edit)?)?;
        }
        BalanceAction::Backend(args) => return backend(args, context),
        BalanceAction::Settle(args) => context.show(&balance::settle(control, &args.iface)?)?,
    }
    Ok(Exit::Done)
}

fn load(args: &BalanceLoadArgs, context: &Context) -> Result<Exit> {
    let options = BalanceOptions {
        config: balance::read(&args.file)?,
        out: args.out.clone(),
        placement: args.placement.clone().into(),
        wait_sync: args.wait_sync,
    };
    context.show(&balance::load(&context.control, &args.iface, &options)?)?;
    Ok(Exit::Done)
}

fn top(args: &BalanceTopArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let mut monitor = BalanceMonitor::new(&context.control)?;
    let pace = Pace { interval: args.interval, count: args.count, once: args.once };
    live::show(&pace, &stop, context, || Ok(monitor.read()?))
}

fn why(args: &BalanceWhyArgs, context: &Context) -> Result<Exit> {
    let quic_id = args.quic_id.as_ref().map_or(&[][..], |id| &id.0);
    let query = Query { flow: &args.flow, quic_id };
    let found = balance::why(&context.control, args.iface.as_deref(), query)?;
    for one in &found {
        context.show_next(one)?;
    }
    if found.is_empty() {
        say(&format!("xway: no balancer has a service for {}", args.flow));
        return Ok(Exit::No);
    }
    Ok(Exit::Done)
}

fn check(args: &BalanceCheckArgs, context: &Context) -> Result<Exit> {
    let mut named = confine::begin()?;
    named.input(&args.file);
    named.end()?;
    let config = balance::read(&args.file)?;
    context.show(&Checked::of(&config))?;
    Ok(Exit::Done)
}

fn plan(args: &BalancePlanArgs, context: &Context) -> Result<Exit> {
    let mut named = confine::begin()?;
    [&args.old, &args.new].into_iter().for_each(|file| named.input(file));
    named.end()?;
    let (old, new) = (balance::read(&args.old)?, balance::read(&args.new)?);
    context.show(&balance::plan(&old, &new)?)?;
    Ok(Exit::Done)
}

fn sync(args: &BalanceSyncArgs, context: &Context) -> Result<Exit> {
    let stop = Stop::new()?;
    let (control, interface) = (&context.control, &args.iface);
    let options = match (args.listen, &args.key_file) {
        (Some(listen), Some(key_file)) => {
            SyncOptions { listen, peers: args.peer.clone(), key_file: key_file.clone() }
        }
        _ => balance::sync::options(control, interface)?,
    };
    let mut syncer = Syncer::start(control, interface, &options)?;
    context.show(&syncer.run(&stop, args.time)?)?;
    Ok(Exit::Done)
}

fn backend(args: &BalanceBackendArgs, context: &Context) -> Result<Exit> {
    let (control, interface) = (&context.control, &args.iface);
    let tunnels = if args.stop {
        backend::stop(control, interface)?
    } else if args.from.is_empty() {
        backend::show(control, interface)?
    } else {
        let networks = |all: &[Prefix]| all.iter().copied().map(Network).collect();
        let config = Config {
            from: networks(&args.from),
            service: networks(&args.service),
            address: networks(&args.address),
            gue_port: args.gue_port,
            geneve_port: args.geneve_port,
            mtu: args.mtu.unwrap_or_default(),
        };
        let (keep_mss, placement) = (args.keep_mss, args.placement.clone().into());
        backend::start(control, interface, &TunnelOptions { config, keep_mss, placement })?
    };
    context.show(&tunnels)?;
    Ok(Exit::Done)
}

/// # Errors
/// The fixtures cannot be read. Differences without a reason are a negative result.
fn compare_fixtures(args: &BalanceFixturesArgs, context: &Context) -> Result<Exit> {
    let mut named = confine::begin()?;
    named.input(&args.dir);
    named.end()?;
    let report = fixtures::compare(&fixtures::read(&args.dir)?)?;
    context.show(&report)?;
    Ok(if report.unexplained == 0 { Exit::Done } else { Exit::No })
}

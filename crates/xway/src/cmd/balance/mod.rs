//! `balance`: the layer-4 load balancer.

use anyhow::Result;
use control::balance::{self, BalanceMonitor, BalanceOptions, Checked, Edit};
use functions::balancer::State;
use runner::fixtures;
use sys::signal::Stop;

use super::live::{self, Pace};
use super::{Context, Exit, confine};
use crate::args::{
    BalanceAction, BalanceCheckArgs, BalanceFixturesArgs, BalanceLoadArgs, BalancePlanArgs,
    BalanceTopArgs, BalanceWhyArgs,
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
        BalanceAction::Settle(args) => context.show(&balance::settle(control, &args.iface)?)?,
    }
    Ok(Exit::Done)
}

fn load(args: &BalanceLoadArgs, context: &Context) -> Result<Exit> {
    let options = BalanceOptions {
        config: balance::read(&args.file)?,
        out: args.out.clone(),
        placement: args.placement.clone().into(),
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
    let found = balance::why(&context.control, args.iface.as_deref(), &args.flow)?;
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

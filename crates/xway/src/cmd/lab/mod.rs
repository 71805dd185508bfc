//! `lab up|list|down|run|shell|gc`: namespaces and veth pairs to experiment in.

mod run;

use anyhow::{Context as _, Result};
use lab::{Error, LinkOptions, Topology};
use sys::identity::Identity;

use super::{Context, Exit, rights};
use crate::args::{LabAction, Shape};

pub fn run(action: &LabAction, context: &Context) -> Result<Exit> {
    act(action, context).map_err(|error| rights::explained(error, rights::LAB))
}

fn act(action: &LabAction, context: &Context) -> Result<Exit> {
    match action {
        LabAction::Up { shape, queues, mtu } => {
            let (queues, mtu) = (*queues, *mtu);
            let options = LinkOptions { queues, mtu, ..LinkOptions::default() };
            context.show(&lab::up(topology(*shape), &options)?)?;
        }
        LabAction::List => context.show(&lab::labs()?)?,
        LabAction::Down { lab } => {
            let removed = match lab::down(lab) {
                Err(error @ (Error::NoLab(_) | Error::NotKept(_))) => return Err(error.into()),
                removed => removed.context(
                    "parts of the lab are missing; `xway lab gc --all` removes this one and every \
                     other lab that no program uses",
                )?,
            };
            context.show(&removed)?;
        }
        LabAction::Run { lab, host, root, command } => {
            return run::command(lab, host, command, caller(*root).as_ref());
        }
        LabAction::Shell { lab, host, root } => {
            return run::shell(lab, host, caller(*root).as_ref());
        }
        LabAction::Gc { all } => context.show(&lab::gc(*all)?)?,
    }
    Ok(Exit::Done)
}

/// The user that a command runs as, if not the one that `xway` runs as.
fn caller(keeps_root: bool) -> Option<Identity> {
    if keeps_root { None } else { Identity::of_sudo() }
}

fn topology(shape: Shape) -> Topology {
    match shape {
        Shape::TwoHosts => Topology::TwoHosts,
        Shape::Router => Topology::Router,
        Shape::ThreeHosts => Topology::ThreeHosts,
        Shape::Service => Topology::Service,
    }
}

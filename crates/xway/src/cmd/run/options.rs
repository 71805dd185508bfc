//! The options of a run from its arguments.

use anyhow::Result;
use runner::{Options, Runtime};
use vm::World;

use crate::args::{RunArgs, RuntimeArg};
use crate::cmd::scenario;

/// Reads the scenario. `host` is the world of this machine, if that is wanted.
pub fn options(args: &RunArgs, host: Option<World>) -> Result<Options> {
    let options = scenario::options(&args.scenario, host)?;
    Ok(Options {
        object: args.object.clone().unwrap_or_default(),
        input: args.input.clone(),
        out: args.out.clone(),
        runtime: match args.runtime {
            RuntimeArg::Vm => Runtime::Vm,
            RuntimeArg::Kernel => Runtime::Kernel,
        },
        host_configuration: options.host_configuration || args.diff,
        repeat: args.repeat,
        ignored_maps: args.ignore_map.clone(),
        cover: args.cover.is_some(),
        ..options
    })
}

/// Whether the world is that of this machine. The kernel always uses it, so a comparison with the
/// kernel does too.
pub fn wants_host(args: &RunArgs) -> bool {
    scenario::wants_host(&args.scenario) || args.scenario.world.is_none() && args.diff
}

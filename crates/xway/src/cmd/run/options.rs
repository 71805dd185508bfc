//! The options of a run from its arguments.

use std::path::Path;

use anyhow::{Context as _, Result};
use control::text;
use runner::{Options, Runtime};
use vm::World;

use crate::args::{RunArgs, RuntimeArg};

/// Reads the scenario. `host` is the world of this machine, if that is
/// wanted.
pub fn options(args: &RunArgs, host: Option<World>) -> Result<Options> {
    let host_configuration = is_host(args.world.as_deref()) || args.diff;
    let maps = args.maps.iter().map(|(map, file)| (map.clone(), file.into()));
    Ok(Options {
        object: args.object.clone().unwrap_or_default(),
        input: args.input.clone(),
        link: args.link.into(),
        out: args.out.clone(),
        program: args.program.clone(),
        kind: args.kind.clone(),
        runtime: match args.runtime {
            RuntimeArg::Vm => Runtime::Vm,
            RuntimeArg::Kernel => Runtime::Kernel,
        },
        world: match (&args.world, host) {
            (_, Some(host)) => Some(host),
            (Some(path), None) => Some(world(path)?),
            (None, None) => None,
        },
        host_configuration,
        maps: maps.collect(),
        globals: args.set.clone(),
        map_sizes: args.open.map_sizes.clone(),
        kconfig: args.open.kconfig.clone(),
        rules: args.rule.clone(),
        translations: args.nat.clone(),
        nat_only: args.nat_only,
        ifindex: args.ifindex,
        queue: args.queue,
        cpus: args.cpus,
        repeat: args.repeat,
        limit: args.limit,
        ignored_maps: args.ignore_map.clone(),
        cover: args.cover.is_some(),
    })
}

/// Whether the world is that of this machine. The kernel always uses it, so a comparison with the
/// kernel does too.
pub fn wants_host(args: &RunArgs) -> bool {
    match &args.world {
        Some(path) => is_host(Some(path)),
        None => args.diff,
    }
}

fn is_host(world: Option<&Path>) -> bool {
    world.is_some_and(|path| path.as_os_str() == "host")
}

fn world(path: &Path) -> Result<World> {
    World::from_toml(&text::read(path)?).with_context(|| path.display().to_string())
}

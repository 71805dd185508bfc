//! What a program meets in the engine, from arguments that `run` and `debug` share.

use std::path::Path;

use anyhow::{Context as _, Result};
use control::text;
use runner::Options;
use vm::World;

use super::confine::Named;
use crate::args::ScenarioArgs;
use crate::view::{say, wrapped};

/// Reads the scenario file. `host` is the world of this machine, if that is wanted.
pub fn options(args: &ScenarioArgs, host: Option<World>) -> Result<Options> {
    let maps = args.maps.iter().map(|(map, file)| (map.clone(), file.into()));
    Ok(Options {
        link: args.link.into(),
        program: args.program.clone(),
        kind: args.kind.clone(),
        world: match (&args.world, host) {
            (_, Some(host)) => Some(host),
            (Some(path), None) => Some(world(path)?),
            (None, None) => None,
        },
        host_configuration: wants_host(args),
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
        limit: args.limit,
        ..Options::default()
    })
}

/// Whether the world of this machine is requested.
pub fn wants_host(args: &ScenarioArgs) -> bool {
    args.world.as_deref().is_some_and(|path| path.as_os_str() == "host")
}

/// The world of this machine.
pub fn host_world() -> Result<World> {
    let snapshot = control::host::snapshot()?;
    for words in &snapshot.omitted {
        say(&wrapped(&format!("the world omits {words}"), TEXT_WIDTH));
    }
    Ok(snapshot.world)
}

/// Permits the files of the arguments; with the world of this machine also what describes its
/// kernel, for which objects may ask.
pub fn permit(named: &mut Named, args: &ScenarioArgs, is_host: bool) {
    args.world.iter().for_each(|world| named.input(world));
    args.maps.iter().for_each(|(_, file)| named.input(file));
    if is_host {
        HOST_FILES.iter().for_each(|file| named.input(file));
        let release = sys::proc::kernel_release().unwrap_or_default();
        named.input(format!("/boot/config-{release}"));
    }
}

fn world(path: &Path) -> Result<World> {
    World::from_toml(&text::read(path)?).with_context(|| path.display().to_string())
}

/// Files that describe the host's kernel.
const HOST_FILES: [&str; 2] = ["/proc/config.gz", "/proc/sys/kernel/osrelease"];
/// Columns of running text.
const TEXT_WIDTH: usize = 90;

//! `Setup`: a run whose inputs were read and checked, before a runtime is chosen.

use std::sync::Arc;

use control::object;
use spec::{MapDef, Plan, Program, Spec};
use vm::World;

use crate::callbacks::Callbacks;
use crate::configure::Configuration;
use crate::error::{Error, Result};
use crate::options::Options;

#[derive(Debug)]
pub struct Setup<'a> {
    pub options: &'a Options,
    pub callbacks: Callbacks,
    /// Short name of the object.
    pub name: String,
    /// The object file; empty for a built-in program.
    pub file: Arc<[u8]>,
    pub spec: Spec,
    pub program: Program,
    pub world: World,
    pub configuration: Configuration,
    /// Objects that the program needs.
    plan: Plan,
}

impl<'a> Setup<'a> {
    /// `time_ns` is when the capture begins.
    pub fn prepare(
        options: &'a Options,
        callbacks: Callbacks,
        time_ns: Option<u64>,
    ) -> Result<Self> {
        let mut opened = object::open(&options.object)?;
        opened.set(&options.globals)?;
        opened.complete(&options.map_sizes, &options.kconfig)?;
        if options.host_configuration {
            kernel::fill_configuration(&mut opened.spec)?;
        }
        opened.set_kind(options.program.as_deref(), options.kind.as_deref())?;
        let configuration = Configuration::parse(options, &mut opened)?;
        let program = opened.choose(options.program.as_deref())?.clone();
        if !program.kind.is_xdp() && !program.kind.is_unknown() {
            return Err(Error::NotXdp { program: program.name, section: program.section });
        }
        let world = options.world.clone().unwrap_or_else(|| world(time_ns));
        let file = opened.bytes();
        let (name, spec) = (opened.name, opened.spec);
        let plan = Plan::new(&spec, Some(std::slice::from_ref(&program.name)))?;
        Ok(Self { options, callbacks, name, file, spec, program, world, configuration, plan })
    }

    /// Whether a map is to be listed or compared: one that the program uses.
    pub fn shows(&self, def: &MapDef) -> bool {
        let is_used = || {
            let number = self.spec.map_index(&def.name);
            number.is_some_and(|number| self.plan.needs_map(number))
        };
        !def.frozen && !self.options.ignored_maps.contains(&def.name) && is_used()
    }

    /// Interfaces that packets may leave by.
    pub fn egress(&self) -> Vec<u32> {
        self.world.interfaces.iter().map(|interface| interface.index).collect()
    }
}

/// An empty world at a time.
fn world(time_ns: Option<u64>) -> World {
    let mut world = World::default();
    let offset_ns = time_ns.and_then(|time_ns| time_ns.checked_sub(world.clock.start_ns));
    world.clock.wall_offset_ns = offset_ns.unwrap_or(world.clock.wall_offset_ns);
    world
}

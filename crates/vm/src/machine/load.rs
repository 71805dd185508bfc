//! From a `Spec` to a machine: maps created and filled, programs decoded against them.

use std::sync::{Arc, RwLock};

use spec::{Initial, MapDef, Spec};

use super::{Options, Shared};
use crate::code::{Link, Program};
use crate::errno::Errno;
use crate::error::{Error, Result};
use crate::helpers::Services;
use crate::limits;
use crate::maps::{Directory, Map, flag};
use crate::world::net::Net;

pub(super) fn load(spec: &Spec, options: &Options) -> Result<Shared> {
    let net = Net::new(&options.world).map_err(|error| Error::World(error.to_string()))?;
    let spec = prepared(spec)?;
    let cpus = options.cpus.clamp(1, limits::CPUS as u32);
    let directory = Arc::new(Directory::new(&options.world, spec.btf.clone()));
    for def in &spec.maps {
        create_one(&directory, def, cpus)?;
    }
    let maps = directory.maps().clone();
    let programs: Result<Vec<_>> = spec
        .programs
        .iter()
        .enumerate()
        .map(|(number, program)| {
            let link = Link { maps: &maps, program: number };
            Program::decode(program, spec.btf.as_ref(), &link).map(Arc::new)
        })
        .collect();
    let programs = programs?;
    directory.set_programs(spec.programs.iter().map(|program| program.kind).collect());
    fill(&spec, &maps)?;
    Ok(Shared {
        object: spec.name.clone(),
        cpus,
        world: options.world.clone(),
        net,
        directory,
        services: Services::new(spec.btf.as_ref()),
        programs: RwLock::new(programs),
    })
}

/// Field relocations are answered by the object's own types: there is no other kernel here.
fn prepared(spec: &Spec) -> Result<Spec> {
    let mut spec = spec.clone();
    if spec.needs_target()
        && let Some(own) = spec.btf.clone()
    {
        let name = spec.name.clone();
        spec.relocate(&own).map_err(|source| Error::Object { object: name, source })?;
    }
    Ok(spec)
}

/// Makes a map and enters it into the directory.
pub(super) fn create_one(directory: &Arc<Directory>, def: &MapDef, cpus: u32) -> Result<Arc<Map>> {
    let error = |why: &str| {
        let (map, why) = (def.name.clone(), why.to_owned());
        move |errno| Error::Map { map, why, errno }
    };
    let home = Arc::downgrade(directory);
    let map = directory
        .add(|number| Map::create(def, number, cpus, &home))
        .map_err(error("cannot be created"))?;
    if let Some(contents) = &def.contents {
        let mut value = contents.clone();
        value.resize(def.value_size as usize, 0);
        map.write(&0_u32.to_ne_bytes(), &value, flag::ANY).map_err(error("cannot be filled"))?;
    }
    if def.frozen {
        map.freeze();
    }
    Ok(map)
}

/// Puts maps into maps of maps and programs into program arrays.
fn fill(spec: &Spec, maps: &[Arc<Map>]) -> Result<()> {
    for (def, map) in spec.maps.iter().zip(maps) {
        for initial in &def.initial {
            let (index, id) = match *initial {
                Initial::Map { index, map } => (index, map + 1),
                Initial::Program { index, program } => (index, program + 1),
            };
            let id = u32::try_from(id).map_err(|_| Errno::E2BIG);
            let written =
                id.and_then(|id| map.write(&index.to_ne_bytes(), &id.to_ne_bytes(), flag::ANY));
            written.map_err(|errno| Error::Map {
                map: def.name.clone(),
                why: format!("cannot set element {index}"),
                errno,
            })?;
        }
    }
    Ok(())
}

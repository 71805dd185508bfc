//! From a `Spec` to a machine: maps created and filled, programs decoded against them.

use std::sync::{Arc, RwLock};

use spec::{Initial, MapDef, Plan, Spec, Target};

use super::{Options, Shared, kconfig};
use crate::code::{Link, Program};
use crate::errno::Errno;
use crate::error::{Error, Result};
use crate::helpers::Services;
use crate::limits;
use crate::maps::{Directory, Map, flag, refusal};
use crate::world::net::Net;

pub(super) fn load(spec: &Spec, options: &Options) -> Result<Shared> {
    let net = Net::new(&options.world).map_err(|error| Error::World(error.to_string()))?;
    let cpus = options.cpus.clamp(1, limits::CPUS as u32);
    let spec = prepared(spec, options, cpus)?;
    let directory = Arc::new(Directory::new(&options.world, spec.btf.clone()));
    let plan = plan(&spec, options)?;
    for (number, def) in spec.maps.iter().enumerate() {
        if plan.needs_map(number) {
            create_one(&directory, def, cpus)?;
        } else {
            create_unused(&directory, def, cpus)?;
        }
    }
    let maps = directory.maps().clone();
    let programs = programs(&spec, &plan, &maps)?;
    let kind = |program: &Arc<Program>| program.why_skipped().is_none().then(|| program.kind());
    directory.set_programs(programs.iter().map(kind).collect());
    admit(&spec, &maps, &programs)?;
    fill(&spec, &maps, &programs)?;
    Ok(Shared {
        object: spec.name.clone(),
        cpus,
        world: options.world.clone(),
        net,
        budget: options.budget,
        directory,
        services: Services::new(spec.btf.as_ref()),
        programs: RwLock::new(programs),
    })
}

/// The object with what only the loader knows filled in. Without a kernel's types given, the
/// object's own answer field relocations: its programs then read what they were compiled for.
fn prepared(spec: &Spec, options: &Options, cpus: u32) -> Result<Spec> {
    let mut spec = spec.clone();
    spec.maps.iter_mut().for_each(|def| size(def, cpus));
    kconfig::fill(&mut spec, options)?;
    if spec.needs_target()
        && let Some(target) = options.target.clone().or_else(|| spec.btf.clone())
    {
        let name = spec.name.clone();
        spec.relocate(&target)
            .map_err(|source| Error::Object { object: name, source: Box::new(source) })?;
    }
    Ok(spec)
}

/// Gives a map, and the template of its inner maps, the number of entries that a loader gives it.
fn size(def: &mut MapDef, cpus: u32) {
    def.max_entries = def.entries_on(cpus, limits::PAGE);
    if let Some(inner) = &mut def.inner {
        size(inner, cpus);
    }
}

fn plan(spec: &Spec, options: &Options) -> Result<Plan> {
    Plan::new(spec, options.programs.as_deref()).map_err(|unknown| Error::Unknown {
        object: spec.name.clone(),
        what: "program",
        name: unknown.name,
        known: unknown.known,
    })
}

/// All programs, those that are not loaded as stand-ins: numbers stay the object's.
fn programs(spec: &Spec, plan: &Plan, maps: &[Arc<Map>]) -> Result<Vec<Arc<Program>>> {
    let numbered = spec.programs.iter().enumerate();
    let programs = numbered.map(|(number, source)| {
        let program = match why_not(source, plan.needs_program(number)) {
            Some(why) => Program::skipped(source, number, why),
            None => {
                let link = Link { maps, program: number };
                Program::decode(source, spec.btf.as_ref(), &link)?
            }
        };
        Ok(Arc::new(program))
    });
    programs.collect()
}

/// Why a program is not loaded: only packet programs run here, and bare ones of no kind.
fn why_not(program: &spec::Program, is_planned: bool) -> Option<String> {
    let kind = program.kind;
    if !kind.is_xdp() && !kind.is_unknown() {
        let name = kind.name().unwrap_or("unknown");
        return Some(format!("programs of type {name} do not run here, only xdp"));
    }
    match (is_planned, program.autoload) {
        (true, _) => None,
        (false, true) => Some("others were asked for by name".to_owned()),
        (false, false) => Some("it is loaded only when asked for by name".to_owned()),
    }
}

/// Makes a map and enters it into the directory.
pub(super) fn create_one(directory: &Arc<Directory>, def: &MapDef, cpus: u32) -> Result<Arc<Map>> {
    let error = |why: &str| {
        let (map, why) = (def.name.clone(), why.to_owned());
        move |errno| Error::Map { map, why, errno }
    };
    if let Some(why) = refusal(def.kind) {
        return Err(error(why)(Errno::ENOTSUPP));
    }
    let home = Arc::downgrade(directory);
    let map = directory
        .add(|number| Map::create(def, number, cpus, &home))
        .map_err(error(def.refusal().unwrap_or("cannot be created")))?;
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

/// A map that no loaded program uses: left out if it cannot be created, as the kernel loader does.
fn create_unused(directory: &Arc<Directory>, def: &MapDef, cpus: u32) -> Result<()> {
    let why = match create_one(directory, def, cpus) {
        Ok(_) => return Ok(()),
        Err(error) => format!("no loaded program uses it, and {error}"),
    };
    let home = Arc::downgrade(directory);
    let added = directory.add(|number| Ok(Map::absent(def, number, cpus, (&home, why))));
    added.map(drop).map_err(|errno| Error::Map {
        map: def.name.clone(),
        why: "cannot be created".to_owned(),
        errno,
    })
}

/// Binds each map that holds programs to the programs that use it, as loading them does.
fn admit(spec: &Spec, maps: &[Arc<Map>], programs: &[Arc<Program>]) -> Result<()> {
    let both = spec.programs.iter().zip(programs);
    for (program, _) in both.filter(|(_, loaded)| loaded.why_skipped().is_none()) {
        for fixup in &program.fixups {
            let Target::Map { map } = fixup.target else { continue };
            if !maps.get(map).is_none_or(|map| map.admit(program.kind)) {
                return Err(Error::Map {
                    map: spec.maps[map].name.clone(),
                    why: format!("holds programs of another kind than `{}`", program.name),
                    errno: Errno::EINVAL,
                });
            }
        }
    }
    Ok(())
}

/// Puts maps into maps of maps and programs into program arrays. The place of a program that is
/// not loaded stays empty.
fn fill(spec: &Spec, maps: &[Arc<Map>], programs: &[Arc<Program>]) -> Result<()> {
    let created = spec.maps.iter().zip(maps).filter(|(_, map)| map.why_absent().is_none());
    for (def, map) in created {
        for initial in &def.initial {
            let (index, id) = match *initial {
                Initial::Map { index, map } => (index, map + 1),
                Initial::Program { program, .. } if programs[program].why_skipped().is_some() => {
                    continue;
                }
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

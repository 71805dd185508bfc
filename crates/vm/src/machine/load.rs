//! Loading: creates and fills the maps of a `Spec` and decodes its programs against them.

use std::sync::{Arc, RwLock};

use spec::{Initial, MapDef, Plan, Spec, Target};

use super::{Options, kconfig};
use crate::code::{Link, Program};
use crate::errno::Errno;
use crate::error::{Error, MapProblem, Result};
use crate::fault::SkipReason;
use crate::helpers::FUNCTIONS;
use crate::limits;
use crate::maps::{Directory, Map, flag, refusal};
use crate::processor::{Executable, Shared};
use crate::services::Services;
use crate::world::net::Net;

/// Loads an object.
pub(super) fn load(spec: &Spec, options: &Options) -> Result<Shared> {
    let net = Net::new(&options.world).map_err(Error::World)?;
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
    let kind = |one: &Arc<Executable>| is_loaded(one).then(|| one.program.kind());
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
        functions: &FUNCTIONS,
        programs: RwLock::new(programs),
    })
}

/// The object with sizes, configuration values and relocations filled in. Field relocations use
/// the given types of a kernel, by default the object's own: its programs then read the layouts
/// that they were compiled for.
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

/// Sets the number of entries of a map, and of its inner maps, as a loader does.
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

/// All programs, with placeholders for those that are not loaded, so that numbers are those of the
/// object.
fn programs(spec: &Spec, plan: &Plan, maps: &[Arc<Map>]) -> Result<Vec<Arc<Executable>>> {
    let numbered = spec.programs.iter().enumerate();
    let programs = numbered.map(|(number, source)| {
        let (program, calls) = match skip_reason(source, plan.needs_program(number)) {
            Some(reason) => (Program::skipped(source, number, reason), Vec::new()),
            None => {
                let link = Link { maps, functions: &FUNCTIONS, program: number };
                Program::decode(source, spec.btf.as_ref(), &link)?
            }
        };
        Ok(Arc::new(Executable::new(program, calls)))
    });
    programs.collect()
}

/// Whether a program is not a placeholder.
fn is_loaded(executable: &Executable) -> bool {
    executable.program.skip_reason().is_none()
}

/// Why a program is not loaded. Only XDP programs and programs without a type are supported.
fn skip_reason(program: &spec::Program, is_planned: bool) -> Option<SkipReason> {
    let kind = program.kind;
    if !kind.is_xdp() && !kind.is_unknown() {
        return Some(SkipReason::ProgramType { kind: kind.name().unwrap_or("unknown") });
    }
    match (is_planned, program.autoload) {
        (true, _) => None,
        (false, true) => Some(SkipReason::NotRequested),
        (false, false) => Some(SkipReason::NoAutoload),
    }
}

/// Creates a map and adds it to the directory.
pub(super) fn create_one(directory: &Arc<Directory>, def: &MapDef, cpus: u32) -> Result<Arc<Map>> {
    let error = |cause| move |errno| map_error(def, cause, errno);
    if let Some(why) = refusal(def.kind) {
        return Err(error(MapProblem::UnsupportedType { kind: def.kind, why })(Errno::ENOTSUPP));
    }
    let owner = Arc::downgrade(directory);
    let problem = def.refusal().map_or(MapProblem::Creation, MapProblem::Definition);
    let map =
        directory.add(|number| Map::create(def, number, cpus, &owner)).map_err(error(problem))?;
    if let Some(contents) = &def.contents {
        let mut value = contents.clone();
        value.resize(def.value_size as usize, 0);
        map.write(&0_u32.to_ne_bytes(), &value, flag::ANY).map_err(error(MapProblem::Contents))?;
    }
    if def.frozen {
        map.freeze();
    }
    Ok(map)
}

fn map_error(def: &MapDef, cause: MapProblem, errno: Errno) -> Error {
    Error::Map { map: def.name.clone(), cause, errno }
}

/// Creates a map that no loaded program uses. If that fails, the map is left out, as the kernel's
/// loader does.
fn create_unused(directory: &Arc<Directory>, def: &MapDef, cpus: u32) -> Result<()> {
    let why = match create_one(directory, def, cpus) {
        Ok(_) => return Ok(()),
        Err(error) => error.to_string(),
    };
    let owner = Arc::downgrade(directory);
    let added = directory.add(|number| Ok(Map::absent(def, number, cpus, (&owner, why))));
    added.map(drop).map_err(|errno| map_error(def, MapProblem::Creation, errno))
}

/// Binds each map that holds programs to the type of the programs that use it, as in the kernel.
fn admit(spec: &Spec, maps: &[Arc<Map>], programs: &[Arc<Executable>]) -> Result<()> {
    let both = spec.programs.iter().zip(programs);
    for (program, _) in both.filter(|(_, loaded)| is_loaded(loaded)) {
        for fixup in &program.fixups {
            let Target::Map { map } = fixup.target else { continue };
            if !maps.get(map).is_none_or(|map| map.admit(program.kind)) {
                let cause = MapProblem::ProgramKind { program: program.name.clone() };
                return Err(map_error(&spec.maps[map], cause, Errno::EINVAL));
            }
        }
    }
    Ok(())
}

/// Inserts maps into maps of maps and programs into program arrays. The element of a program that
/// is not loaded remains empty.
fn fill(spec: &Spec, maps: &[Arc<Map>], programs: &[Arc<Executable>]) -> Result<()> {
    let created = spec.maps.iter().zip(maps).filter(|(_, map)| map.why_absent().is_none());
    for (def, map) in created {
        for initial in &def.initial {
            let (index, id) = match *initial {
                Initial::Map { index, map } => (index, map + 1),
                Initial::Program { program, .. } if !is_loaded(&programs[program]) => {
                    continue;
                }
                Initial::Program { index, program } => (index, program + 1),
            };
            let id = u32::try_from(id).map_err(|_| Errno::E2BIG);
            let written =
                id.and_then(|id| map.write(&index.to_ne_bytes(), &id.to_ne_bytes(), flag::ANY));
            written.map_err(|errno| map_error(def, MapProblem::Element { index }, errno))?;
        }
    }
    Ok(())
}

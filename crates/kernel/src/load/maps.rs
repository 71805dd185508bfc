//! Maps of an object: shared by the caller, opened from a pin, or created and filled.

use std::os::fd::AsFd;

use spec::{Expect, Initial, Map as _, MapDef, MapKind, Plan, Spec};
use sys::bpf::MapCreate;
use sys::bpf::uapi::map_flag;
use sys::errno::{E2BIG, EINVAL, ENOENT, ENOMEM, ENOTSUPP, EOPNOTSUPP};

use super::memory::{entries, memory};
use super::{LoadOptions, LoadedBtf, map_device};
use crate::error::{Error, Result};
use crate::map::Map;
use crate::name;

/// A map, and whether it existed before.
#[derive(Debug)]
pub(super) struct Made {
    /// The map.
    pub map: Map,
    /// Whether the map existed before this load.
    pub shared: bool,
}

/// One entry for each map of the object; `None` for one that could not be created and is not used.
pub(super) fn make(
    spec: &Spec,
    options: &LoadOptions,
    plan: &Plan,
    btf: Option<&LoadedBtf>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Option<Made>>> {
    let maker = Maker { spec, options, btf };
    let mut made = Vec::with_capacity(spec.maps.len());
    for (number, def) in spec.maps.iter().enumerate() {
        match maker.one(def) {
            Ok(map) => made.push(Some(map)),
            Err(error) if !plan.needs_map(number) && is_unsupported(&error) => {
                warnings.push(format!("left out map `{}`, which is not used: {error}", def.name));
                made.push(None);
            }
            Err(error) => return Err(error),
        }
    }
    fill_maps_of_maps(spec, &made)?;
    Ok(made)
}

/// Pins what is declared "by name" and is new.
pub(super) fn pin(spec: &Spec, options: &LoadOptions, made: &[Option<Made>]) -> Result<()> {
    let Some(root) = &options.pin_root else { return Ok(()) };
    for (def, made) in spec.maps.iter().zip(made) {
        if let Some(made) = made.as_ref().filter(|made| def.pin_by_name && !made.shared) {
            made.map.pin(&root.join(&def.name))?;
        }
    }
    Ok(())
}

struct Maker<'a> {
    spec: &'a Spec,
    options: &'a LoadOptions,
    btf: Option<&'a LoadedBtf>,
}

impl Maker<'_> {
    fn one(&self, def: &MapDef) -> Result<Made> {
        if let Some(map) = self.given(def)? {
            return Ok(Made { map, shared: true });
        }
        let map = self.create(def).map_err(|error| short_of_memory(def, error))?;
        if let Some(contents) = &def.contents {
            let filled = map.update(&0u32.to_ne_bytes(), contents, Expect::Any);
            filled.map_err(|error| short_of_memory(def, error))?;
        }
        if def.frozen {
            map.freeze()?;
        }
        Ok(Made { map, shared: false })
    }

    fn given(&self, def: &MapDef) -> Result<Option<Map>> {
        let given = self.options.reuse.iter().find(|(name, _)| *name == def.name);
        let map = match (given, &self.options.pin_root) {
            (Some((_, map)), _) => map.duplicate()?,
            (None, Some(root)) if def.pin_by_name => match Map::from_pin(&root.join(&def.name)) {
                Ok(map) => map,
                Err(error) if error.errno() == Some(ENOENT) => return Ok(None),
                Err(error) => return Err(error),
            },
            _ => return Ok(None),
        };
        compatible(def, &map)?;
        Ok(Some(map.renamed(&def.name)))
    }

    fn create(&self, def: &MapDef) -> Result<Map> {
        let inner = def.inner.as_deref().map(|inner| self.create(inner)).transpose()?;
        let kernel_name = name::of_map(&self.spec.name, &def.name);
        let mut create = MapCreate {
            name: &kernel_name,
            kind: def.kind.0,
            key_size: def.key_size,
            value_size: def.value_size,
            max_entries: entries(def)?,
            flags: def.flags,
            extra: def.extra,
            inner: inner.as_ref().map(AsFd::as_fd),
            numa_node: def.numa_node,
            ifindex: map_device(self.options),
            ..Default::default()
        };
        let typed = def.value_type != 0 && takes_types(def.kind) && create.ifindex == 0;
        if let Some(btf) = self.btf.filter(|_| typed) {
            create.btf = Some(btf.as_fd());
            create.key_type = def.key_type;
            create.value_type = def.value_type;
        }
        let made = match Map::create(&create) {
            // The kernel does not take these types for this kind of map; values work without.
            Err(error) if create.btf.is_some() && is_about_types(&error) => {
                let bare = MapCreate { btf: None, key_type: 0, value_type: 0, ..create };
                Map::create(&bare)
            }
            other => other,
        };
        made.map(|map| map.renamed(&def.name)).map_err(|error| refused(def, error))
    }
}

/// Explains why the kernel rejected a definition.
fn refused(def: &MapDef, error: Error) -> Error {
    match (error, def.refusal()) {
        (Error::System(source), Some(why)) => {
            Error::Definition { map: def.name.clone(), why, source }
        }
        (error, _) => error,
    }
}

/// The kernel does not have this kind of map, or not with these attributes. A shortage, or a map
/// that cannot be filled, is an error: maps that no instruction names may be read by others.
fn is_unsupported(error: &Error) -> bool {
    let source = match error {
        Error::System(source) | Error::Definition { source, .. } => source,
        _ => return false,
    };
    source.call == "bpf(MAP_CREATE)"
        && [EINVAL, E2BIG, EOPNOTSUPP, ENOTSUPP].contains(&source.errno)
}

/// Reports the size of a map for which the kernel has no memory.
fn short_of_memory(def: &MapDef, error: Error) -> Error {
    match (error, memory(def)) {
        (Error::System(source), Ok(bytes)) if source.is(ENOMEM) => {
            Error::Memory { map: def.name.clone(), bytes, source }
        }
        (error, _) => error,
    }
}

fn is_about_types(error: &Error) -> bool {
    error.errno().is_some_and(|errno| [EINVAL, ENOTSUPP, E2BIG].contains(&errno))
}

/// Kinds whose values the kernel does not describe by types.
fn takes_types(kind: MapKind) -> bool {
    use sys::bpf::uapi::map_type as t;
    const WITHOUT: &[u32] = &[
        t::PROG_ARRAY,
        t::PERF_EVENT_ARRAY,
        t::CGROUP_ARRAY,
        t::STACK_TRACE,
        t::ARRAY_OF_MAPS,
        t::HASH_OF_MAPS,
        t::DEVMAP,
        t::DEVMAP_HASH,
        t::CPUMAP,
        t::XSKMAP,
        t::SOCKMAP,
        t::SOCKHASH,
        t::QUEUE,
        t::STACK,
        t::RINGBUF,
        t::USER_RINGBUF,
        t::BLOOM_FILTER,
        t::ARENA,
    ];
    !WITHOUT.contains(&kind.0)
}

fn compatible(def: &MapDef, map: &Map) -> Result<()> {
    let info = map.info();
    // The kernel itself marks device maps as read-only for programs.
    let own = match def.kind {
        MapKind::DEVMAP | MapKind::DEVMAP_HASH => map_flag::RDONLY_PROG,
        _ => 0,
    };
    let table = [
        ("type", info.kind, def.kind.0),
        ("key size", info.key_size, def.key_size),
        ("value size", info.value_size, def.value_size),
        ("number of entries", info.max_entries, entries(def)?),
        ("flags", info.flags & !own, def.flags & !own),
    ];
    match table.into_iter().find(|(_, found, wanted)| found != wanted) {
        None => Ok(()),
        Some((what, found, wanted)) => Err(Error::Incompatible {
            map: def.name.clone(),
            what,
            found: found.into(),
            wanted: wanted.into(),
        }),
    }
}

fn fill_maps_of_maps(spec: &Spec, made: &[Option<Made>]) -> Result<()> {
    for (def, outer) in spec.maps.iter().zip(made) {
        let Some(outer) = outer.as_ref().filter(|outer| !outer.shared) else { continue };
        for initial in &def.initial {
            let Initial::Map { index, map } = initial else { continue };
            if let Some(inner) = made.get(*map).and_then(Option::as_ref) {
                outer.map.put_map(&index.to_ne_bytes(), &inner.map)?;
            }
        }
    }
    Ok(())
}

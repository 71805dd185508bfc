//! Maps with the programs that use them and their holders, and their entries as trees.

use kernel::list::{self, Owners, Pins};
use kernel::{MapInfo, PerCpu, ProgInfo, Result};
use serde::Serialize;
use spec::{Map as _, MapKind};
use sys::bpf::uapi::map_type;

use super::{Process, Tree, Types, descriptor, paths, program_kind, some};

/// All maps.
#[derive(Debug, Serialize)]
pub struct Maps {
    /// Maps in the order of their ids.
    pub maps: Vec<Map>,
}

/// One map and its types.
#[derive(Debug, Serialize)]
pub struct MapReport {
    /// The map.
    pub map: Map,
    /// Type of the keys in C; `null` for a map without.
    pub key_type: Option<String>,
    /// Type of the values in C; `null` for a map without.
    pub value_type: Option<String>,
}

/// The attributes that identify a map.
#[derive(Clone, Debug, Serialize)]
pub struct MapRef {
    /// Id of the map; in `run`, the place of the map in the object, from 1.
    pub id: u32,
    /// Type: the kernel's word after `BPF_MAP_TYPE_`, in lower case.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name, at most 15 characters: the kernel keeps no more.
    pub name: String,
}

/// A map in the kernel, its users and holders.
#[derive(Debug, Serialize)]
pub struct Map {
    #[serde(flatten)]
    pub reference: MapRef,
    /// Size of a key, in bytes.
    pub key_bytes: u32,
    /// Size of a value of one CPU, in bytes.
    pub value_bytes: u32,
    /// Most entries that it can hold.
    pub max_entries: u32,
    /// `BPF_F_*` as a number.
    pub flags: u32,
    /// Only programs can write to it.
    pub frozen: bool,
    /// Memory that is charged for it, in bytes.
    pub memlock_bytes: Option<u64>,
    /// Id of its BTF.
    pub btf_id: Option<u32>,
    /// Programs that use it.
    pub programs: Vec<ProgramName>,
    /// Processes with a descriptor of the map.
    pub holders: Vec<Process>,
    /// Paths at which it is pinned, as far as this process sees bpf file systems.
    pub pins: Vec<String>,
    /// Type of the programs that a program array takes, once it is determined.
    pub owner_type: Option<String>,
    /// Whether these programs are compiled to machine code.
    pub owner_jited: Option<bool>,
}

/// A program that uses a map.
#[derive(Debug, Serialize)]
pub struct ProgramName {
    /// Id of the program.
    pub id: u32,
    /// Name of the program.
    pub name: String,
}

/// The contents of a map.
#[derive(Debug, Serialize)]
pub struct Entries {
    /// The map.
    pub map: MapRef,
    /// Entries, sorted by key.
    pub entries: Vec<Entry>,
}

/// One entry.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// The key.
    pub key: Tree,
    #[serde(flatten)]
    pub content: Content,
}

/// The value of an entry, or the values of each possible CPU.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Content {
    One {
        /// The value, where it is not per CPU.
        value: Tree,
    },
    PerCpu {
        /// One value for each possible CPU.
        cpus: Vec<Tree>,
        /// Their sum; `null` unless the value consists of integers only.
        sum: Option<Tree>,
    },
}

/// The result of a lookup.
#[derive(Debug, Serialize)]
pub struct Found {
    /// The map.
    pub map: MapRef,
    /// The key is present; else there is no value, and the exit code is 1.
    pub found: bool,
    /// The key.
    pub key: Tree,
    #[serde(flatten)]
    pub content: Option<Content>,
}

/// All maps in the kernel.
///
/// # Errors
/// Listing needs `CAP_SYS_ADMIN`.
pub fn maps() -> Result<Maps> {
    let users = Users::now()?;
    Ok(Maps { maps: list::maps()?.iter().map(|info| users.describe(info)).collect() })
}

/// One map.
///
/// # Errors
/// Listing needs `CAP_SYS_ADMIN`.
pub fn map(map: &kernel::Map) -> Result<MapReport> {
    let types = Types::of(map);
    Ok(MapReport {
        map: Users::now()?.describe(map.info()),
        key_type: types.key_text(),
        value_type: types.value_text(),
    })
}

/// The entries of a map, sorted by key, so that the same contents read the same.
///
/// # Errors
/// The map cannot be read to its end.
pub fn entries(map: &kernel::Map) -> Result<Entries> {
    let types = Types::of(map);
    let entry = |(key, value): (Vec<u8>, _)| Entry {
        key: types.key(&key),
        content: content_of(map, &types, value),
    };
    let mut entries: Vec<_> = map.entries()?.into_iter().map(entry).collect();
    entries.sort_by(|a, b| order(&a.key, &b.key));
    Ok(Entries { map: map_ref(map.info()), entries })
}

/// Looks up a key.
///
/// # Errors
/// The kernel refuses the lookup.
pub fn found(map: &kernel::Map, key: &[u8]) -> Result<Found> {
    let types = Types::of(map);
    let found = map.lookup(key)?;
    Ok(Found {
        map: map_ref(map.info()),
        found: found.is_some(),
        key: types.key(key),
        content: found.map(|value| content_of(map, &types, value)),
    })
}

/// The attributes that identify a map.
pub fn map_ref(info: &MapInfo) -> MapRef {
    MapRef { id: info.id, kind: map_kind(info.kind), name: info.name.clone() }
}

/// The kernel's word for a map type.
pub fn map_kind(code: u32) -> String {
    map_type::name(code).map_or_else(|| format!("type {code}"), str::to_owned)
}

fn content_of(map: &kernel::Map, types: &Types, value: Vec<u8>) -> Content {
    content(map.kind(), map.info().value_size, types, value)
}

/// A value as it is shown; `value_size` is that of one processor.
pub fn content(kind: MapKind, value_size: u32, types: &Types, value: Vec<u8>) -> Content {
    if !kind.is_per_cpu() {
        return Content::One { value: types.value(&value) };
    }
    let values = PerCpu::new(value, value_size as usize);
    let cpus: Vec<_> = values.values().map(|value| types.value(value)).collect();
    let sum = Tree::sum(&cpus);
    Content::PerCpu { cpus, sum }
}

/// Orders keys: numbers by size, all else by its text.
pub fn order(a: &Tree, b: &Tree) -> std::cmp::Ordering {
    match (a, b) {
        (Tree::Int(a), Tree::Int(b)) => a.cmp(b),
        _ => a.to_string().cmp(&b.to_string()),
    }
}

/// What uses maps, read once for all of them.
#[derive(Debug)]
struct Users {
    programs: Vec<ProgInfo>,
    owners: Owners,
    pins: Pins,
}

impl Users {
    fn now() -> Result<Self> {
        Ok(Self { owners: Owners::now(), pins: Pins::now(), programs: list::programs()? })
    }

    fn describe(&self, info: &MapInfo) -> Map {
        let open = kernel::Map::from_id(info.id).map(|map| descriptor(&map)).unwrap_or_default();
        let users = self.programs.iter().filter(|program| program.map_ids.contains(&info.id));
        let holders = self.owners.of_map(info.id).iter();
        Map {
            reference: map_ref(info),
            key_bytes: info.key_size,
            value_bytes: info.value_size,
            max_entries: info.max_entries,
            flags: info.flags,
            frozen: open.frozen,
            memlock_bytes: open.memlock_bytes,
            btf_id: some(info.btf_id),
            programs: users
                .map(|program| ProgramName { id: program.id, name: program.name.clone() })
                .collect(),
            holders: holders
                .filter(|one| one.pid != std::process::id())
                .map(Process::from)
                .collect(),
            pins: paths(self.pins.of_map(info.id)),
            owner_type: open.owner_type.map(program_kind),
            owner_jited: open.owner_jited,
        }
    }
}

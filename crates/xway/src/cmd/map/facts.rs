//! One map with all that surrounds it: which programs use it, who holds it.

use anyhow::Result;
use kernel::list::{self, Owners};
use kernel::{Map, MapInfo, ProgInfo};
use sys::bpf::uapi::map_type;

use crate::cmd::descriptor;
use crate::view::map::{self as view, MapRef, ProgramName};
use crate::view::prog::Holder;

/// Who uses what at one moment.
#[derive(Debug)]
pub struct Users {
    programs: Vec<ProgInfo>,
    owners: Owners,
}

impl Users {
    pub fn now() -> Result<Self> {
        Ok(Self { owners: Owners::now(), programs: list::programs()? })
    }

    pub fn describe(&self, info: &MapInfo) -> view::Map {
        let open = Map::from_id(info.id).map(|map| descriptor::facts(&map)).unwrap_or_default();
        let users = self.programs.iter().filter(|program| program.map_ids.contains(&info.id));
        let holders = self.owners.of_map(info.id).iter();
        view::Map {
            reference: reference(info),
            key_bytes: info.key_size,
            value_bytes: info.value_size,
            max_entries: info.max_entries,
            flags: info.flags,
            frozen: open.frozen,
            memlock_bytes: open.memlock_bytes,
            btf_id: (info.btf_id != 0).then_some(info.btf_id),
            programs: users
                .map(|program| ProgramName { id: program.id, name: program.name.clone() })
                .collect(),
            holders: holders
                .filter(|one| one.pid != std::process::id())
                .map(|one| Holder { pid: one.pid, command: one.command.clone() })
                .collect(),
        }
    }
}

pub fn reference(info: &MapInfo) -> MapRef {
    MapRef { id: info.id, kind: kind(info.kind), name: info.name.clone() }
}

/// The kernel's word for a map type.
pub fn kind(code: u32) -> String {
    map_type::name(code).map_or_else(|| format!("type {code}"), str::to_owned)
}

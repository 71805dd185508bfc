//! One program with all that surrounds it: its maps, where it is attached, who holds it.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use kernel::list::{self, Interface, Owners};
use kernel::{LinkInfo, LinkTarget, ProgInfo, Program};
use sys::bpf::uapi::{link_type, prog_type};

use crate::cmd::descriptor;
use crate::view::prog::{self as view, Holder, MapRef, Place, ProgramRef, Runs};

/// The machine at one moment, asked once for all programs.
#[derive(Debug)]
pub struct Surroundings {
    owners: Owners,
    interfaces: Vec<Interface>,
    links: Vec<LinkInfo>,
    maps: HashMap<u32, String>,
    /// Wall clock at boot, from 1970.
    boot: Duration,
}

impl Surroundings {
    pub fn now() -> Result<Self> {
        let since_boot = Duration::from_nanos(sys::thread::boottime_ns());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            owners: Owners::now(),
            interfaces: list::interfaces()?,
            links: list::links()?,
            maps: list::maps()?.into_iter().map(|map| (map.id, map.name)).collect(),
            boot: now.saturating_sub(since_boot),
        })
    }

    pub fn describe(&self, info: &ProgInfo) -> view::Program {
        let loaded = self.boot + Duration::from_nanos(info.load_time_ns);
        let memlock = Program::from_id(info.id).map(|program| descriptor::facts(&program));
        view::Program {
            reference: reference(info),
            loaded_at: report::date::utc(loaded.as_secs()),
            uid: info.uid,
            gpl_compatible: info.gpl_compatible,
            xlated_bytes: info.xlated_len,
            jited_bytes: info.jited_len,
            memlock_bytes: memlock.ok().and_then(|facts| facts.memlock_bytes),
            verified_insns: some(info.verified_insns),
            btf_id: some(info.btf_id),
            bound_to: some(info.ifindex),
            maps: info.map_ids.iter().map(|id| self.map(*id)).collect(),
            runs: (info.run_count != 0).then_some(Runs {
                count: info.run_count,
                time_ns: info.run_time_ns,
                missed: info.recursion_misses,
            }),
            attached: self.places(info.id),
            holders: self.holders(info.id),
        }
    }

    fn map(&self, id: u32) -> MapRef {
        MapRef { id, name: self.maps.get(&id).cloned().unwrap_or_default() }
    }

    /// Interfaces of this namespace, then links that lead elsewhere.
    fn places(&self, id: u32) -> Vec<Place> {
        let here = self.interfaces.iter().flat_map(|interface| {
            let mine = interface.programs.iter().filter(|attached| attached.program.id == id);
            mine.map(|attached| Place {
                kind: "xdp".to_owned(),
                interface: Some(interface.link.name.clone()),
                ifindex: Some(interface.link.ifindex.0),
                mode: Some(attached.mode.name().to_owned()),
                link_id: attached.link_id,
            })
        });
        let mut places: Vec<_> = here.collect();
        for link in self.links.iter().filter(|link| link.prog_id == id) {
            if !places.iter().any(|place| place.link_id == Some(link.id)) {
                places.push(elsewhere(link));
            }
        }
        places
    }

    fn holders(&self, id: u32) -> Vec<Holder> {
        let links = self.links.iter().filter(|link| link.prog_id == id);
        let through = links.flat_map(|link| self.owners.of_link(link.id));
        let all = self.owners.of_program(id).iter().chain(through);
        let mut holders: Vec<_> =
            all.map(|one| Holder { pid: one.pid, command: one.command.clone() }).collect();
        holders.sort_by_key(|holder| holder.pid);
        holders.dedup_by_key(|holder| holder.pid);
        holders
    }
}

pub fn reference(info: &ProgInfo) -> ProgramRef {
    ProgramRef {
        id: info.id,
        kind: kind(info.kind),
        name: info.name.clone(),
        tag: kernel::tag_text(&info.tag),
    }
}

/// The kernel's word for a program type.
pub fn kind(code: u32) -> String {
    prog_type::name(code).map_or_else(|| format!("type {code}"), str::to_owned)
}

fn elsewhere(link: &LinkInfo) -> Place {
    let ifindex = match link.target {
        LinkTarget::Xdp { ifindex } | LinkTarget::Tcx { ifindex, .. } => some(ifindex),
        LinkTarget::Other => None,
    };
    let kind = link_type::name(link.kind).unwrap_or("other").to_owned();
    Place { kind, interface: None, ifindex, mode: None, link_id: Some(link.id) }
}

/// The kernel writes 0 for "none".
fn some(number: u32) -> Option<u32> {
    (number != 0).then_some(number)
}

//! Programs with their maps, attachments and holders.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kernel::list::{self, Interface, Owners, Pins};
use kernel::{LinkInfo, LinkTarget, ProgInfo, Result};
use serde::Serialize;
use sys::bpf::uapi::{link_type, prog_type};

use super::{Process, descriptor, paths, some};

/// All programs.
#[derive(Debug, Serialize)]
pub struct Programs {
    /// Programs in the order of their ids.
    pub programs: Vec<Program>,
}

/// One program.
#[derive(Debug, Serialize)]
pub struct ProgramReport {
    /// The program.
    pub program: Program,
}

/// The attributes that identify a program.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramRef {
    /// Id of the program.
    pub id: u32,
    /// Type: the kernel's word after `BPF_PROG_TYPE_`, in lower case; `type 99` when it is newer
    /// than `xway`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name, at most 15 characters: the kernel keeps no more.
    pub name: String,
    /// Hash of the instructions, in hexadecimal digits.
    pub tag: String,
}

/// A program in the kernel, its maps, attachments and holders.
#[derive(Debug, Serialize)]
pub struct Program {
    #[serde(flatten)]
    pub reference: ProgramRef,
    /// Time of loading, RFC 3339, UTC.
    pub loaded_at: String,
    /// Number of the user who loaded it.
    pub uid: u32,
    /// The license is compatible with the GPL.
    pub gpl_compatible: bool,
    /// Size of the translated instructions, in bytes.
    pub xlated_bytes: u32,
    /// Size of the machine code, in bytes; 0 without a JIT.
    pub jited_bytes: u32,
    /// Memory that is charged for it, in bytes.
    pub memlock_bytes: Option<u64>,
    /// Instructions that the verifier walked; `null` before Linux 5.16.
    pub verified_insns: Option<u32>,
    /// Id of its BTF.
    pub btf_id: Option<u32>,
    /// Index of the one interface that it may run on.
    pub bound_to: Option<u32>,
    /// Maps that it uses.
    pub maps: Vec<MapName>,
    /// Counted runs; `null` while the kernel does not count runs.
    pub runs: Option<Runs>,
    /// XDP on interfaces of this network namespace, and every link.
    pub attached: Vec<Attachment>,
    /// Processes with a descriptor of the program or of a link that runs it.
    pub holders: Vec<Process>,
    /// Paths at which it is pinned, as far as this process sees bpf file systems.
    pub pins: Vec<String>,
}

/// A map that a program uses.
#[derive(Debug, Serialize)]
pub struct MapName {
    /// Id of the map.
    pub id: u32,
    /// Name of the map.
    pub name: String,
}

/// Runs of a program that the kernel counted.
#[derive(Debug, Serialize)]
pub struct Runs {
    /// Runs.
    pub count: u64,
    /// Time of all runs, in nanoseconds.
    pub time_ns: u64,
    /// Runs that were refused because the program was running already.
    pub missed: u64,
}

/// Where a program is attached.
#[derive(Debug, Serialize)]
pub struct Attachment {
    /// `xdp`, `tcx`, …: the kernel's word after `BPF_LINK_TYPE_`.
    pub kind: String,
    /// Name of the interface; `null` for a link that leads to another namespace.
    pub interface: Option<String>,
    /// Index of the interface.
    pub ifindex: Option<u32>,
    /// `native`, `generic` or `offload`; `null` for a link that leads to another namespace.
    pub mode: Option<String>,
    /// Id of the link; `null` for an attachment made by netlink.
    pub link_id: Option<u32>,
    /// Id of the program that has the function to which the link is attached, such as libxdp's
    /// dispatcher; `null` for an attachment to an interface.
    pub program_id: Option<u32>,
    /// Name of that function.
    pub function: Option<String>,
    /// Paths at which the link is pinned.
    pub link_pins: Vec<String>,
}

/// All programs in the kernel.
///
/// # Errors
/// Listing needs `CAP_SYS_ADMIN`.
pub fn programs() -> Result<Programs> {
    let surroundings = Surroundings::now()?;
    let programs = list::programs()?.iter().map(|info| surroundings.describe(info)).collect();
    Ok(Programs { programs })
}

/// One program.
///
/// # Errors
/// Listing needs `CAP_SYS_ADMIN`.
pub fn program(program: &kernel::Program) -> Result<ProgramReport> {
    let surroundings = Surroundings::now()?;
    Ok(ProgramReport { program: surroundings.describe(&program.info()?) })
}

/// What refers to programs, read once for all of them.
#[derive(Debug)]
struct Surroundings {
    owners: Owners,
    pins: Pins,
    interfaces: Vec<Interface>,
    links: Vec<LinkInfo>,
    maps: HashMap<u32, String>,
    /// Time of boot, from 1970.
    boot: Duration,
}

impl Surroundings {
    fn now() -> Result<Self> {
        let since_boot = Duration::from_nanos(sys::thread::boottime_ns());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            owners: Owners::now(),
            pins: Pins::now(),
            interfaces: list::interfaces()?,
            links: list::links()?,
            maps: list::maps()?.into_iter().map(|map| (map.id, map.name)).collect(),
            boot: now.saturating_sub(since_boot),
        })
    }

    fn describe(&self, info: &ProgInfo) -> Program {
        let loaded = self.boot + Duration::from_nanos(info.load_time_ns);
        let memlock = kernel::Program::from_id(info.id).map(|program| descriptor(&program));
        Program {
            reference: program_ref(info),
            loaded_at: report::date::utc(loaded.as_secs()),
            uid: info.uid,
            gpl_compatible: info.gpl_compatible,
            xlated_bytes: info.xlated_len,
            jited_bytes: info.jited_len,
            memlock_bytes: memlock.ok().and_then(|info| info.memlock_bytes),
            verified_insns: some(info.verified_insns),
            btf_id: some(info.btf_id),
            bound_to: some(info.ifindex),
            maps: info.map_ids.iter().map(|id| self.map(*id)).collect(),
            runs: (info.run_count != 0).then_some(Runs {
                count: info.run_count,
                time_ns: info.run_time_ns,
                missed: info.recursion_misses,
            }),
            attached: self.attachments(info.kind, info.id),
            holders: self.holders(info.id),
            pins: paths(self.pins.of_program(info.id)),
        }
    }

    fn map(&self, id: u32) -> MapName {
        MapName { id, name: self.maps.get(&id).cloned().unwrap_or_default() }
    }

    /// Interfaces of this namespace, then links that lead elsewhere.
    fn attachments(&self, kind: u32, id: u32) -> Vec<Attachment> {
        let here = self.interfaces.iter().flat_map(|interface| {
            let mine = interface.programs.iter().filter(|attached| attached.program.id == id);
            mine.map(|attached| Attachment {
                kind: "xdp".to_owned(),
                interface: Some(interface.link.name.clone()),
                ifindex: Some(interface.link.ifindex.0),
                mode: Some(attached.mode.name().to_owned()),
                link_id: attached.link_id,
                program_id: None,
                function: None,
                link_pins: self.link_pins(attached.link_id),
            })
        });
        let mut attachments: Vec<_> = here.collect();
        for link in self.links.iter().filter(|link| link.prog_id == id) {
            if !attachments.iter().any(|attachment| attachment.link_id == Some(link.id)) {
                attachments.push(self.elsewhere(kind, link));
            }
        }
        attachments
    }

    /// The attachment of a program of this type by a link that is not to an interface of this
    /// namespace.
    fn elsewhere(&self, program_kind: u32, link: &LinkInfo) -> Attachment {
        let ifindex = match link.target {
            LinkTarget::Xdp { ifindex } | LinkTarget::Tcx { ifindex, .. } => some(ifindex),
            LinkTarget::Function { .. } | LinkTarget::Other => None,
        };
        // A program of another type is attached to a function of the kernel.
        let (program_id, function) = match link.target {
            LinkTarget::Function { object, btf_type } if program_kind == prog_type::EXT => {
                (some(object), function_name(object, btf_type))
            }
            _ => (None, None),
        };
        let kind = link_type::name(link.kind).unwrap_or("other").to_owned();
        let link_pins = self.link_pins(Some(link.id));
        let (interface, mode, link_id) = (None, None, Some(link.id));
        Attachment { kind, interface, ifindex, mode, link_id, program_id, function, link_pins }
    }

    fn link_pins(&self, link: Option<u32>) -> Vec<String> {
        link.map(|id| paths(self.pins.of_link(id))).unwrap_or_default()
    }

    fn holders(&self, id: u32) -> Vec<Process> {
        let links = self.links.iter().filter(|link| link.prog_id == id);
        let through = links.flat_map(|link| self.owners.of_link(link.id));
        let all = self.owners.of_program(id).iter().chain(through);
        let others = all.filter(|one| one.pid != std::process::id());
        let mut holders: Vec<_> = others.map(Process::from).collect();
        holders.sort_by_key(|holder| holder.pid);
        holders.dedup_by_key(|holder| holder.pid);
        holders
    }
}

/// Name of a function of a program; `None` where its BTF may not be read.
fn function_name(program: u32, btf_type: u32) -> Option<String> {
    let info = kernel::Program::from_id(program).ok()?.info().ok()?;
    let btf = super::types::load(info.btf_id)?;
    Some(btf.ty(btf_type)?.name().to_owned())
}

/// The attributes that identify a program.
pub fn program_ref(info: &ProgInfo) -> ProgramRef {
    ProgramRef {
        id: info.id,
        kind: program_kind(info.kind),
        name: info.name.clone(),
        tag: kernel::tag_text(&info.tag),
    }
}

/// The kernel's word for a program type.
pub fn program_kind(code: u32) -> String {
    prog_type::name(code).map_or_else(|| format!("type {code}"), str::to_owned)
}

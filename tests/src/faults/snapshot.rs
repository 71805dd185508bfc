//! The state that a command could leave on a host, as lines of text that can be compared.
//!
//! Rule: numbers that every new object changes (program numbers, generations) are replaced; all
//! else must be equal before and after.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kernel::Program;
use lab::{Host, Result};
use std::os::fd::AsFd;
use sys::bpf::{self, Kind};

use super::created::Object;

/// Links, addresses, routes, offloads and settings of a host.
pub fn host(host: &Host) -> Result<Vec<String>> {
    let mut lines = network(host)?;
    lines.extend(host.run(sysctls)?);
    let name = host.name();
    Ok(lines.into_iter().map(|line| format!("{name}: {line}")).collect())
}

/// Mode and name of each XDP program on an interface.
pub fn programs(host: &Host, interface: &str) -> Result<Vec<String>> {
    let link = host.netlink()?.link(interface)?;
    let name = |id| Program::from_id(id).and_then(|program| program.info()).map(|info| info.name);
    let shown = |(mode, id): (sys::net::XdpMode, u32)| {
        format!("{} {}", mode.name(), name(id).unwrap_or_default())
    };
    Ok(link.xdp.programs().map(shown).collect())
}

fn network(host: &Host) -> Result<Vec<String>> {
    let mut netlink = host.netlink()?;
    let ethtool = host.ethtool()?;
    let mut lines = Vec::new();
    for link in netlink.links()? {
        let (name, kind, mtu, master) = (&link.name, &link.kind, link.mtu, link.master);
        let state = (link.up, link.mac, link.rx_queues, link.tx_queues);
        lines.push(format!("link {name} {kind} mtu {mtu} master {master:?} {state:?}"));
        let xdp = programs(host, name)?;
        lines.extend(xdp.iter().map(|program| format!("xdp {name} {program}")));
        let on = ethtool.features(name)?.into_iter().map(|one| format!("{one:?}"));
        lines.push(format!("offloads {name} {}", on.collect::<Vec<_>>().join(" ")));
    }
    lines.extend(netlink.addresses()?.iter().map(|address| format!("{address:?}")));
    lines.extend(netlink.routes()?.iter().map(|route| format!("{route:?}")));
    Ok(lines)
}

/// Every setting of the calling thread's network namespace that can be read.
fn sysctls() -> Vec<String> {
    let mut lines = Vec::new();
    for folder in ["core", "ipv4", "ipv6", "netfilter"] {
        settings(&Path::new("/proc/sys/net").join(folder), &mut lines);
    }
    lines
}

fn settings(folder: &Path, lines: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            settings(&path, lines);
        } else if let Ok(value) = fs::read_to_string(&path) {
            lines.push(format!("{} = {}", path.display(), value.trim_end()));
        }
    }
}

/// Objects that are pinned below a folder of a bpffs, and those that they hold.
pub fn reachable(pins: &[impl AsRef<Path>]) -> BTreeSet<Object> {
    let mut found = BTreeSet::new();
    for pin in pins {
        let Ok(fd) = bpf::open_pin(&pin.as_ref().to_string_lossy()) else { continue };
        let add = |found: &mut BTreeSet<Object>, kind: Kind, id: u32| {
            found.insert(Object { kind: kind.name(), id });
        };
        match bpf::obj_kind(fd.as_fd()) {
            Ok(Some(Kind::Link)) => {
                let Ok(info) = bpf::link_info(fd.as_fd()) else { continue };
                add(&mut found, Kind::Link, info.id);
                hold_program(&mut found, info.prog_id);
            }
            Ok(Some(Kind::Prog)) => {
                let Ok(info) = bpf::prog_info(fd.as_fd()) else { continue };
                hold_program(&mut found, info.id);
            }
            Ok(Some(Kind::Map)) => {
                let Ok(info) = bpf::map_info(fd.as_fd()) else { continue };
                add(&mut found, Kind::Map, info.id);
                add(&mut found, Kind::Btf, info.btf_id);
            }
            _ => {}
        }
    }
    found
}

fn hold_program(found: &mut BTreeSet<Object>, id: u32) {
    let mut add = |kind: Kind, id: u32| found.insert(Object { kind: kind.name(), id });
    add(Kind::Prog, id);
    let Ok(fd) = bpf::fd_by_id(Kind::Prog, id) else { return };
    let Ok(info) = bpf::prog_info(fd.as_fd()) else { return };
    add(Kind::Btf, info.btf_id);
    for map in info.map_ids {
        add(Kind::Map, map);
        let info = bpf::fd_by_id(Kind::Map, map).and_then(|fd| bpf::map_info(fd.as_fd()));
        if let Ok(info) = info {
            add(Kind::Btf, info.btf_id);
        }
    }
}

/// A path with every number replaced by `#`.
pub fn without_numbers(path: &Path) -> String {
    let text = path.to_string_lossy();
    let mut out = String::with_capacity(text.len());
    let mut in_number = false;
    for c in text.chars() {
        let digit = c.is_ascii_digit();
        if !(digit && in_number) {
            out.push(if digit { '#' } else { c });
        }
        in_number = digit;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_replaced() {
        let path = Path::new("net-4026532281/if-2/drop-13/maps/rules4");
        assert_eq!(without_numbers(path), "net-#/if-#/drop-#/maps/rules#");
    }
}

//! `xdp-filter` of xdp-tools: the object that it would load for addresses, loaded here.
//!
//! Rule: the program is unchanged; only the map is enlarged if it is too small for the addresses.
//! Not here: its program, which needs a dispatcher that some kernels refuse.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, Result};
use kernel::{LoadOptions, Map, Object};
use spec::{Expect, Map as _, Spec};

use super::line::{self, End};
use super::{CELLS, Cell, SET, other};

/// xdp-filter with one address for each rule of a cell.
pub struct Peer {
    /// The rules that it is loaded with.
    pub cell: Cell,
    /// Drops frames of the end.
    pub object: Rc<Object>,
    /// Passes frames of the end.
    pub transient: Rc<Object>,
}

/// A peer for each cell.
pub fn objects(end: End) -> Result<Vec<Peer>> {
    let bytes = std::fs::read(find()?).with_context(|| format!("{FILE} cannot be read"))?;
    let spec = Spec::parse(PROGRAM, &bytes)?;
    let peer = |cell| {
        let count = match cell {
            Cell::Rules(count) => count,
            Cell::Set => SET,
        };
        let object = |end| Ok::<_, anyhow::Error>(Rc::new(object(&spec, count, end)?));
        Ok(Peer { cell, object: object(end)?, transient: object(other(end))? })
    };
    CELLS.into_iter().map(peer).collect()
}

fn find() -> Result<PathBuf> {
    let machine = format!("/usr/lib/{}-linux-gnu/bpf", std::env::consts::ARCH);
    let folders =
        ["/usr/lib/bpf", "/usr/lib64/bpf", "/usr/local/lib/bpf", &machine].map(PathBuf::from);
    let named = std::env::var_os("LIBXDP_OBJECT_PATH").map(PathBuf::from);
    let files = named.into_iter().chain(folders).map(|folder| folder.join(FILE));
    let found = files.into_iter().find(|file| file.is_file());
    found.with_context(|| format!("no {FILE}: install xdp-tools"))
}

fn object(spec: &Spec, count: u32, end: End) -> Result<Object> {
    let mut spec = spec.clone();
    for map in &mut spec.maps {
        // Others would find it.
        map.pin_by_name = false;
        if map.name == ADDRESSES {
            map.max_entries = map.max_entries.max(count);
        }
    }
    let object = Object::load(&spec, &LoadOptions::default())?;
    fill(object.map(ADDRESSES)?, &line::addresses(count, end))?;
    Ok(object)
}

fn fill(map: &Map, addresses: &[Ipv4Addr]) -> Result<()> {
    let value = SOURCE.to_ne_bytes().repeat(map.value_size() / size_of::<u64>());
    let elements = addresses.iter().map(|ip| (ip.octets().to_vec(), value.clone()));
    Ok(map.update_all(&elements.collect::<Vec<_>>(), Expect::Any)?)
}

/// Name of its program that drops listed addresses, as source or destination.
pub const PROGRAM: &str = "xdpfilt_alw_ip";
const FILE: &str = "xdpfilt_alw_ip.o";
const ADDRESSES: &str = "filter_ipv4";
/// Flag of an address that is matched as a source.
const SOURCE: u64 = 1;

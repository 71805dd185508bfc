//! katran's program, unchanged: its object, and its maps with one service.
//!
//! Rule: its build installs no object, so the user names one.

use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context, Result};
use kernel::{Map, MapCreate, Object};
use spec::{Expect, Map as _, MapKind, Spec};

use super::case::{BACKENDS, Case, PORT, backend};
use super::site::Site;

/// Environment variable with the path of katran's object.
pub const KATRAN: &str = "KATRAN_OBJECT";

/// The object, with maps of a size for one service.
pub fn read() -> Result<Spec> {
    let path = std::env::var_os(KATRAN)
        .with_context(|| format!("not here: {KATRAN} does not name balancer.bpf.o"))?;
    let bytes = std::fs::read(&path).with_context(|| Path::new(&path).display().to_string())?;
    let mut spec = Spec::parse("katran", &bytes)?;
    for map in &mut spec.maps {
        match &*map.name {
            RINGS => map.max_entries = RING * (SERVICE + 1),
            "server_id_map" => map.max_entries = 1,
            _ => {}
        }
    }
    Ok(spec)
}

/// Adds the service of a case, its backends, the next hop and a map of flows.
pub fn fill(object: &Object, site: &Site, case: Case) -> Result<()> {
    let mut mac = [0; 8];
    mac[..6].copy_from_slice(&site.macs[0].0);
    object.map("ctl_array")?.update(&0_u32.to_ne_bytes(), &mac, Expect::Any)?;
    for protocol in [TCP, UDP] {
        let key = [&address(case.service())[..], &PORT.to_be_bytes(), &[protocol, 0]].concat();
        let value = [0, SERVICE].map(u32::to_ne_bytes).concat();
        object.map("vip_map")?.update(&key, &value, Expect::Any)?;
    }
    // Number 0 is none.
    for number in 1..=BACKENDS {
        let to = backend(case.is_ipv6(), number);
        let value = [&address(to)[..], &[u8::from(to.is_ipv6()), 0, 0, 0]].concat();
        object.map("reals")?.update(&u32::from(number).to_ne_bytes(), &value, Expect::Any)?;
    }
    let place = |at: u32| {
        let number = 1 + at % u32::from(BACKENDS);
        ((SERVICE * RING + at).to_ne_bytes().to_vec(), number.to_ne_bytes().to_vec())
    };
    let ring: Vec<_> = (0..RING).map(place).collect();
    object.map(RINGS)?.update_all(&ring, Expect::Any)?;
    let flows = Map::create(&MapCreate {
        name: "flows",
        kind: MapKind::LRU_HASH.0,
        key_size: 40,
        value_size: 16,
        max_entries: FLOWS,
        ..MapCreate::default()
    })?;
    object.map("lru_mapping")?.put_map(&u32::try_from(site.cpu)?.to_ne_bytes(), &flows)?;
    Ok(())
}

/// As in its maps: four words, of which an IPv4 address is the first.
fn address(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V6(address) => address.octets(),
        IpAddr::V4(address) => {
            let mut words = [0; 16];
            words[..4].copy_from_slice(&address.octets());
            words
        }
    }
}

/// Name of the program.
pub const PROGRAM: &str = "balancer_ingress";
/// Flows that are remembered.
pub const FLOWS: u32 = 1_000_000;
const RINGS: &str = "ch_rings";
/// `RING_SIZE`.
const RING: u32 = 65_537;
/// Number of the service.
const SERVICE: u32 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

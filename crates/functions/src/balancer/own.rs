//! The interfaces of a balancer as its program knows them: MAC addresses of frames that are sent to
//! it, and the VLAN devices by which it reaches backends.

use std::collections::BTreeMap;

use spec::{Expect, Map};

use super::abi::Own;
use crate::route::Port;
use crate::table::{self, Table};

/// An interface that packets come in by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ingress {
    pub ifindex: u32,
    /// Its own address first, then those of devices that share its frames. With none, or with more
    /// than seven, frames to all addresses are balanced.
    pub macs: Vec<[u8; 6]>,
}

/// Writes the addresses of interfaces; entries that remain as they are keep what the program
/// learned.
///
/// # Errors
/// The map's own.
pub fn set_own<M: Map>(map: &M, interfaces: &[Ingress]) -> Result<(), M::Error> {
    let mut places: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut open = Vec::new();
    for one in interfaces {
        let place = one.ifindex % PLACES;
        let macs = places.entry(place).or_default();
        for mac in one.macs.iter().map(number) {
            if !macs.contains(&mac) {
                macs.push(mac);
            }
        }
        if one.macs.is_empty() || macs.len() > MACS {
            open.push(place);
        }
    }
    for (place, mut macs) in places {
        if open.contains(&place) {
            macs.clear();
        }
        macs.resize(MACS, 0);
        let key = place.to_le_bytes();
        let known = map.lookup(&key)?.and_then(|value| value.first_chunk().map(Own::from_bytes));
        if known.is_none_or(|known| known.macs[..] != macs[..]) {
            let entry = Own { macs: std::array::from_fn(|n| macs[n]), ..Own::default() };
            map.update(&key, &entry.to_bytes(), Expect::Any)?;
        }
    }
    Ok(())
}

/// Brings the map of VLAN devices to these ports; those without tags are left out.
///
/// # Errors
/// The map's own, such as a full map.
pub fn set_vlans<M: Map>(map: &M, ports: &[Port]) -> Result<(), M::Error> {
    let tagged = ports.iter().filter(|port| port.tags.iter().next().is_some());
    let wanted: Table = tagged
        .map(|port| (port.ifindex.to_le_bytes().to_vec(), port.entry().to_bytes().to_vec()))
        .collect();
    table::apply(map, &wanted).map(|_| ())
}

fn number(mac: &[u8; 6]) -> u64 {
    mac.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// `BALANCER_OWN_PLACES`.
const PLACES: u32 = 64;
/// `BALANCER_OWN_MACS`.
const MACS: usize = 7;

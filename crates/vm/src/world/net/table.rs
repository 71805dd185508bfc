//! One routing table: longest prefix first, then by type of service and metric.

use std::collections::HashMap;
use std::net::IpAddr;

use super::bits;
use crate::world::RouteKind;

/// A route in a table.
#[derive(Clone, Debug)]
pub(crate) struct RouteEntry {
    pub kind: RouteKind,
    pub network: u128,
    pub length: u8,
    pub metric: u32,
    pub tos: u8,
    pub source: Option<IpAddr>,
    /// A locked MTU.
    pub mtu: Option<u32>,
    /// Scope; it determines which source addresses are suitable.
    pub scope: u8,
    /// The paths, at least one.
    pub paths: Box<[Path]>,
    /// Routes of the local table come before others of the same prefix.
    pub local_table: bool,
}

/// A path of a route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Number of the interface; 0 for none.
    pub device: u32,
    pub gateway: Option<IpAddr>,
    pub weight: u32,
}

/// The routes of a table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Vec<RouteEntry>,
    /// Longest prefixes first; for each network, the positions of its routes.
    lengths: Vec<(u8, HashMap<u128, Vec<u32>>)>,
}

impl Table {
    pub fn add(&mut self, entry: RouteEntry) {
        let place = match self.lengths.binary_search_by(|(length, _)| entry.length.cmp(length)) {
            Ok(place) => place,
            Err(place) => {
                self.lengths.insert(place, (entry.length, HashMap::new()));
                place
            }
        };
        let list = self.lengths[place].1.entry(entry.network).or_default();
        let rank = entry.rank();
        let before = list.partition_point(|other| self.entries[*other as usize].rank() <= rank);
        list.insert(before, self.entries.len() as u32);
        self.entries.push(entry);
    }

    /// The routes of each prefix that contains the address, longest first. Each list is sorted.
    pub fn matching(&self, address: u128) -> impl Iterator<Item = Routes<'_>> {
        let found = self
            .lengths
            .iter()
            .filter_map(move |(length, networks)| networks.get(&bits::cut(address, *length)));
        found.map(|places| Routes { entries: &self.entries, places })
    }
}

/// The routes of one prefix, in the order in which they are tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routes<'a> {
    entries: &'a [RouteEntry],
    places: &'a [u32],
}

impl<'a> Routes<'a> {
    pub fn iter(self) -> impl Iterator<Item = &'a RouteEntry> {
        self.places.iter().map(move |place| &self.entries[*place as usize])
    }
}

impl RouteEntry {
    fn rank(&self) -> (bool, std::cmp::Reverse<u8>, u32) {
        (!self.local_table, std::cmp::Reverse(self.tos), self.metric)
    }
}

//! The graph of programs, maps, interfaces and links: what uses, calls, runs and holds what.
//!
//! Rule: an edge is what the kernel reports; nothing is guessed from names. Entries of device maps
//! are numbers of interfaces, which are those of this namespace. Not here: drawing it.

use std::collections::{BTreeMap, BTreeSet};

use kernel::Result;
use serde::Serialize;
use spec::MapKind;
use sys::net::Netlink;

use super::{Attachment, Map, Program, maps, programs};

/// Programs, maps, interfaces and links, and how they refer to each other.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Graph {
    /// Objects, by kind and number.
    pub nodes: Vec<GraphNode>,
    /// References, in the order of their origins.
    pub edges: Vec<GraphEdge>,
}

/// What a node is. It goes before the number in names of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// A program, by its id.
    Program,
    /// A map, by its id.
    Map,
    /// An interface, by its index.
    Interface,
    /// A link, by its id.
    Link,
}

/// An object.
#[derive(Clone, Debug, Serialize)]
pub struct GraphNode {
    #[serde(flatten)]
    pub place: NodeId,
    /// Name of the object; empty for a link, and for an interface of another namespace.
    pub name: String,
    /// Type of a program, map or link; empty for an interface.
    #[serde(rename = "type")]
    pub type_name: String,
}

/// Kind and number of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NodeId {
    /// What the object is.
    pub kind: NodeKind,
    /// Its id, or the index of the interface.
    pub id: u32,
    /// The interface is in another namespace, where its index is another interface's here.
    pub elsewhere: bool,
}

/// A reference from one object to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct GraphEdge {
    /// The object that refers.
    pub from: NodeId,
    /// The object that is referred to.
    pub to: NodeId,
    /// What the reference means.
    pub relation: Relation,
    /// Mode of a program on an interface; keys of the entries of a map, at most eight.
    pub label: String,
}

/// What a reference means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// A program runs on an interface.
    RunsOn,
    /// A program uses a map.
    Uses,
    /// A program array, device map or CPU map holds a program.
    Calls,
    /// A map of maps holds a map.
    Holds,
    /// A device map holds an interface.
    RedirectsTo,
    /// A link keeps a program attached.
    Attaches,
}

/// The graph of everything in the kernel, or of what is connected with one program.
///
/// # Errors
/// Listing needs `CAP_SYS_ADMIN`.
pub fn graph(only: Option<u32>) -> Result<Graph> {
    let mut builder = Builder::default();
    for link in Netlink::open().and_then(|mut netlink| netlink.links())? {
        builder.interfaces.insert(link.ifindex.0, link.name);
    }
    for program in programs()?.programs {
        builder.program(&program);
    }
    for map in maps()?.maps {
        builder.map(&map);
    }
    let graph = builder.finish();
    Ok(match only {
        Some(id) => graph.connected(node(NodeKind::Program, id)),
        None => graph,
    })
}

impl Graph {
    /// The object of a place.
    pub fn node(&self, place: NodeId) -> Option<&GraphNode> {
        self.nodes.iter().find(|node| node.place == place)
    }

    /// References of an object to others.
    pub fn from(&self, place: NodeId) -> impl Iterator<Item = &GraphEdge> {
        self.edges.iter().filter(move |edge| edge.from == place)
    }

    /// What can be reached from one object, in either direction, except through interfaces.
    #[must_use]
    fn connected(self, start: NodeId) -> Self {
        let (mut known, mut next) = (BTreeSet::from([start]), vec![start]);
        while let Some(place) = next.pop() {
            if place.kind == NodeKind::Interface {
                continue;
            }
            let ends = self.edges.iter().filter_map(|edge| match place {
                _ if edge.from == place => Some(edge.to),
                _ if edge.to == place => Some(edge.from),
                _ => None,
            });
            next.extend(ends.filter(|end| known.insert(*end)));
        }
        let nodes = self.nodes.into_iter().filter(|node| known.contains(&node.place));
        let is_inside = |edge: &GraphEdge| known.contains(&edge.from) && known.contains(&edge.to);
        let edges = self.edges.into_iter().filter(is_inside);
        Self { nodes: nodes.collect(), edges: edges.collect() }
    }
}

#[derive(Debug, Default)]
struct Builder {
    /// Names by index.
    interfaces: BTreeMap<u32, String>,
    nodes: BTreeMap<NodeId, (String, String)>,
    edges: BTreeSet<GraphEdge>,
}

impl Builder {
    fn program(&mut self, program: &Program) {
        let reference = &program.reference;
        let place = node(NodeKind::Program, reference.id);
        self.nodes.insert(place, (reference.name.clone(), reference.kind.clone()));
        for map in &program.maps {
            self.edge(place, node(NodeKind::Map, map.id), Relation::Uses, "");
        }
        for attachment in &program.attached {
            self.attachment(place, attachment);
        }
    }

    fn attachment(&mut self, program: NodeId, attachment: &Attachment) {
        if let Some(index) = attachment.ifindex {
            let elsewhere = attachment.interface.is_none();
            let interface = NodeId { elsewhere, ..node(NodeKind::Interface, index) };
            let name = attachment.interface.clone().unwrap_or_default();
            self.nodes.insert(interface, (name, String::new()));
            let mode = attachment.mode.as_deref().unwrap_or(&attachment.kind);
            self.edge(program, interface, Relation::RunsOn, mode);
        }
        if let Some(id) = attachment.link_id {
            let link = node(NodeKind::Link, id);
            self.nodes.insert(link, (String::new(), attachment.kind.clone()));
            self.edge(link, program, Relation::Attaches, "");
        }
    }

    fn map(&mut self, map: &Map) {
        let reference = &map.reference;
        let place = node(NodeKind::Map, reference.id);
        self.nodes.insert(place, (reference.name.clone(), reference.kind.clone()));
        // A map that was removed meanwhile holds nothing.
        let Ok(open) = kernel::Map::from_id(reference.id) else { return };
        let Some(parts) = parts(open.kind()) else { return };
        let mut targets: BTreeMap<(NodeId, Relation), Vec<String>> = BTreeMap::new();
        for (key, value) in open.entries().unwrap_or_default() {
            let words = value.as_chunks().0.iter().map(|bytes| u32::from_ne_bytes(*bytes));
            let key = key.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes).to_string());
            for (word, part) in words.zip(parts).filter(|(word, _)| *word != 0) {
                let Some((kind, relation)) = part else { continue };
                let keys = targets.entry((node(*kind, word), *relation)).or_default();
                keys.extend(key.clone());
            }
        }
        for ((to, relation), keys) in targets {
            if to.kind == NodeKind::Interface {
                let name = self.interfaces.get(&to.id).cloned().unwrap_or_default();
                self.nodes.entry(to).or_insert((name, String::new()));
            }
            let more = if keys.len() > MOST_KEYS { ",…" } else { "" };
            let label = keys[..keys.len().min(MOST_KEYS)].join(",") + more;
            self.edge(place, to, relation, &label);
        }
    }

    fn edge(&mut self, from: NodeId, to: NodeId, relation: Relation, label: &str) {
        self.edges.insert(GraphEdge { from, to, relation, label: label.to_owned() });
    }

    /// Objects that vanished between the lists have no node, and then no edges.
    fn finish(self) -> Graph {
        let Self { nodes, edges, .. } = self;
        let has = |edge: &GraphEdge| nodes.contains_key(&edge.from) && nodes.contains_key(&edge.to);
        let edges = edges.into_iter().filter(has).collect();
        let nodes = nodes.into_iter();
        let nodes = nodes.map(|(place, (name, type_name))| GraphNode { place, name, type_name });
        Graph { nodes: nodes.collect(), edges }
    }
}

fn node(kind: NodeKind, id: u32) -> NodeId {
    NodeId { kind, id, elsewhere: false }
}

/// What the numbers of a value are, for maps of kernel objects.
fn parts(kind: MapKind) -> Option<&'static [Option<(NodeKind, Relation)>]> {
    match kind {
        MapKind::PROG_ARRAY => Some(&[Some((NodeKind::Program, Relation::Calls))]),
        MapKind::CPUMAP => Some(&[None, Some((NodeKind::Program, Relation::Calls))]),
        MapKind::DEVMAP | MapKind::DEVMAP_HASH => Some(&[
            Some((NodeKind::Interface, Relation::RedirectsTo)),
            Some((NodeKind::Program, Relation::Calls)),
        ]),
        _ if kind.is_map_of_maps() => Some(&[Some((NodeKind::Map, Relation::Holds))]),
        _ => None,
    }
}

const MOST_KEYS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_connected_remains_and_interfaces_connect_nothing() {
        let [one, two, three] = [1, 2, 3].map(|id| node(NodeKind::Program, id));
        let (map, eth) = (node(NodeKind::Map, 7), node(NodeKind::Interface, 2));
        let mut builder = Builder::default();
        for place in [one, two, three, map, eth] {
            builder.nodes.insert(place, (String::new(), String::new()));
        }
        builder.edge(one, map, Relation::Uses, "");
        builder.edge(map, two, Relation::Calls, "0");
        builder.edge(one, eth, Relation::RunsOn, "native");
        builder.edge(three, eth, Relation::RunsOn, "generic");
        builder.edge(one, node(NodeKind::Map, 99), Relation::Uses, "");
        let graph = builder.finish();
        assert_eq!((graph.nodes.len(), graph.edges.len()), (5, 4), "99 is gone");
        let near = graph.connected(two);
        let places: Vec<_> = near.nodes.iter().map(|node| node.place).collect();
        assert_eq!(places, [one, two, map, eth]);
        assert_eq!(near.edges.len(), 3);
    }
}

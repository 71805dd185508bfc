//! `prog graph` as text, and in the language of Graphviz.

use control::inventory::{Graph, GraphEdge, GraphNode, NodeId, NodeKind, Relation};
use report::text;

use super::{Paint, View};

impl View for Graph {
    fn text(&self, paint: Paint) -> String {
        if self.nodes.is_empty() {
            return "no programs or maps are loaded".to_owned();
        }
        let is_root = |node: &&GraphNode| {
            let is_used = self.edges.iter().any(|edge| edge.to == node.place);
            let is_program = node.place.kind == NodeKind::Program;
            is_program || node.place.kind == NodeKind::Map && !is_used
        };
        let mut lines = Vec::new();
        for node in self.nodes.iter().filter(is_root) {
            lines.push(paint.bold(&name(node)));
            let links = self.edges.iter().filter(|edge| edge.to == node.place);
            let links = links.filter(|edge| edge.from.kind == NodeKind::Link);
            lines.extend(links.map(|edge| format!("  attached by link {}", edge.from.id)));
            for edge in self.from(node.place) {
                describe(self, edge, 1, &mut lines);
            }
        }
        lines.join("\n")
    }
}

/// Adds a reference, and those of a map to which it leads.
fn describe(graph: &Graph, edge: &GraphEdge, depth: usize, lines: &mut Vec<String>) {
    let Some(target) = graph.node(edge.to) else { return };
    let label = match edge.label.as_str() {
        "" => String::new(),
        label => format!(" [{label}]"),
    };
    let indent = "  ".repeat(depth);
    lines.push(format!("{indent}{} {}{label}", words(edge.relation), name(target)));
    if edge.to.kind == NodeKind::Map && depth < DEEPEST {
        for inner in graph.from(edge.to) {
            describe(graph, inner, depth + 1, lines);
        }
    }
}

/// The graph for `dot -Tsvg`.
#[derive(Debug, serde::Serialize)]
#[serde(transparent)]
pub struct Dot(pub Graph);

impl View for Dot {
    fn text(&self, _paint: Paint) -> String {
        let mut lines = vec!["digraph xway {".to_owned(), "  rankdir=LR;".to_owned()];
        for node in &self.0.nodes {
            let shape = match node.place.kind {
                NodeKind::Program => "box",
                NodeKind::Map => "cylinder",
                NodeKind::Interface => "ellipse",
                NodeKind::Link => "diamond",
            };
            lines.push(format!(
                "  {} [shape={shape}, label={}];",
                id(node.place),
                quoted(&name(node))
            ));
        }
        for edge in &self.0.edges {
            let label = format!("{} {}", words(edge.relation), edge.label);
            let (from, to) = (id(edge.from), id(edge.to));
            lines.push(format!("  {from} -> {to} [label={}];", quoted(label.trim_end())));
        }
        lines.push("}".to_owned());
        lines.join("\n")
    }
}

fn id(place: NodeId) -> String {
    let kind = match place.kind {
        NodeKind::Program => "program",
        NodeKind::Map => "map",
        NodeKind::Interface if place.elsewhere => "elsewhere",
        NodeKind::Interface => "interface",
        NodeKind::Link => "link",
    };
    format!("{kind}_{}", place.id)
}

/// A text in the language of Graphviz.
fn quoted(words: &str) -> String {
    format!("\"{}\"", text::line(words).replace('\\', "\\\\").replace('"', "\\\""))
}

fn name(node: &GraphNode) -> String {
    let GraphNode { place: NodeId { id, kind, elsewhere }, name, type_name } = node;
    match kind {
        NodeKind::Program => format!("program {id} {name} ({type_name})"),
        NodeKind::Map => format!("map {id} {name} ({type_name})"),
        NodeKind::Link => format!("link {id} ({type_name})"),
        NodeKind::Interface if *elsewhere => format!("interface {id} of another namespace"),
        NodeKind::Interface if name.is_empty() => format!("interface {id}"),
        NodeKind::Interface => name.clone(),
    }
}

fn words(relation: Relation) -> &'static str {
    match relation {
        Relation::RunsOn => "runs on",
        Relation::Uses => "uses",
        Relation::Calls => "calls",
        Relation::Holds => "holds",
        Relation::RedirectsTo => "redirects to",
        Relation::Attaches => "attaches",
    }
}

/// Maps of maps hold maps without further maps.
const DEEPEST: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_quotes() {
        let place = NodeId { kind: NodeKind::Program, id: 7, elsewhere: false };
        let node = GraphNode { place, name: "a\"b\\\n".to_owned(), type_name: "xdp".to_owned() };
        let text =
            Dot(Graph { nodes: vec![node], edges: Vec::new() }).text(Paint { colour: false });
        let line = text.lines().nth(2).unwrap();
        assert!(line.contains(r#"label="program 7 a\"b\\"#), "{line}");
        assert_eq!(text.lines().count(), 4, "{text}");
    }
}

//! nft at ingress of a device: tables that are created once and activated for a turn.
//!
//! Rule: a table that is off (`dormant`) has no hook, so packets do not meet it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::rc::Rc;

use anyhow::Result;

use super::line::Line;
use crate::field::{self, Field};
use crate::hook::tool::Tool;

/// A dormant table.
pub struct Table {
    nft: Tool,
    name: String,
}

/// A guard while the table is active.
pub struct ActiveTable(Rc<Table>);

/// The inside of a table: maps and sets, and the rules of its chain.
pub struct Body {
    named: String,
    rules: String,
}

impl Body {
    /// One rule after the other.
    pub fn linear(lines: &[Line]) -> Self {
        let rules: Vec<String> =
            lines.iter().map(|line| format!("{} {DROP}", line.nft())).collect();
        Self { named: String::new(), rules: rules.join("\n") }
    }

    /// A map of verdicts for each shape of rule: in one map of all, ranges would overlap.
    pub fn maps(lines: &[Line]) -> Self {
        let mut shapes: BTreeMap<_, Vec<String>> = BTreeMap::new();
        for line in lines {
            shapes.entry(line.shape()).or_default().push(format!("{} : drop", line.element()));
        }
        let (mut named, mut rules) = (String::new(), String::new());
        for (number, (shape, mut elements)) in shapes.into_iter().enumerate() {
            elements.sort_unstable();
            elements.dedup();
            let (types, key) = shape.words();
            let elements = elements.join(", ");
            named += &format!(
                "map m{number} {{\ntype {types} : verdict\nflags interval\n\
                 elements = {{ {elements} }}\n}}\n"
            );
            rules += &format!("{key} vmap @m{number}\n");
        }
        Self { named, rules }
    }

    /// Addresses of one side, `saddr` or `daddr`.
    pub fn set(addresses: &[Ipv4Addr], side: &str) -> Self {
        let all: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let all = all.join(", ");
        let named = format!("set many {{\ntype ipv4_addr\nelements = {{ {all} }}\n}}\n");
        Self { named, rules: format!("ip {side} @many {DROP}") }
    }
}

impl Table {
    /// Adds the table at the receiver of a field; `number` makes its name unique.
    pub fn new(field: &Field, number: usize, body: &Body) -> Result<Self> {
        let name = format!("{}-{number}", field::name()?);
        let device = field.receiver.device();
        let hook = format!("type filter hook ingress device \"{device}\" priority 0;");
        let Body { named, rules } = body;
        let chain = format!("chain drops {{\n{hook} policy accept;\n{rules}\n}}");
        let nft = Tool::new(field, "nft");
        nft.run(["-f", "-"], &format!("table netdev {name} {{\n{OFF}\n{named}{chain}\n}}\n"))?;
        Ok(Self { nft, name })
    }

    /// Attaches the table until the returned guard is dropped.
    pub fn on(self: &Rc<Self>) -> Result<ActiveTable> {
        self.switch("")?;
        Ok(ActiveTable(Rc::clone(self)))
    }

    fn switch(&self, flags: &str) -> Result<()> {
        self.nft.run([format!("add table netdev {} {{ {flags} }}", self.name)], "")?;
        Ok(())
    }
}

impl Drop for ActiveTable {
    fn drop(&mut self) {
        // A destructor cannot report; in a lab it goes with the namespace.
        let _ = self.0.switch(OFF);
    }
}

const OFF: &str = "flags dormant;";
const DROP: &str = "counter drop";

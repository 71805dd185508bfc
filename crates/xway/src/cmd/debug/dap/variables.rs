//! Variables of a stop, as the tree that editors open step by step.
//!
//! Rule: references are valid until the next motion.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anyhow::{Context as _, Result};
use control::inventory::{Content, Tree};
use runner::debug::{Answer, Debugger, State};
use serde_json::{Value, json};

/// What can be opened, by its reference.
#[derive(Debug, Default)]
pub struct Variables {
    /// By the number of the frame.
    states: BTreeMap<usize, State>,
    nodes: Vec<Node>,
}

#[derive(Debug)]
enum Node {
    Answers(Vec<Answer>),
    /// Headers of the packet.
    Packet,
    Header(usize),
    Maps,
    Map(String),
    /// Parts of a value, with the expression for it.
    Parts(Vec<(String, Tree)>, Option<String>),
}

impl Variables {
    /// The position has changed.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Everything at the position, in a frame of the stack.
    pub fn state(&mut self, debugger: &Debugger<'_>, frame: usize) -> Result<&State> {
        Ok(match self.states.entry(frame) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(debugger.state_in(frame)?),
        })
    }

    /// `scopes` of a frame.
    pub fn scopes(&mut self, debugger: &Debugger<'_>, frame: usize) -> Result<Value> {
        let state = self.state(debugger, frame)?;
        let (registers, locals) = (state.registers.clone(), state.locals.clone());
        let globals = state.globals.clone();
        let mut scopes = Vec::new();
        let mut add = |name: &str, hint: &str, reference: u64| {
            scopes.push(json!({
                "name": name, "presentationHint": hint, "variablesReference": reference,
                "expensive": name == "Maps",
            }));
        };
        add("Locals", "locals", self.add(Node::Answers(locals)));
        add("Registers", "registers", self.add(Node::Answers(registers)));
        add("Packet", "packet", self.add(Node::Packet));
        add("Globals", "globals", self.add(Node::Answers(globals)));
        add("Maps", "maps", self.add(Node::Maps));
        Ok(json!({"scopes": scopes}))
    }

    /// `variables`: what is inside a reference.
    pub fn open(&mut self, debugger: &Debugger<'_>, arguments: &Value) -> Result<Value> {
        let reference = arguments["variablesReference"].as_u64();
        let node = reference
            .and_then(|reference| self.nodes.get(usize::try_from(reference.checked_sub(1)?).ok()?));
        let mut variables = match node.context("this reference is not valid any more")? {
            Node::Answers(answers) => {
                let answers = answers.clone();
                answers.iter().map(|answer| self.answer(answer)).collect()
            }
            Node::Packet => self.packet(debugger)?,
            Node::Header(number) => {
                let number = *number;
                let header = &self.state(debugger, 0)?.packet.headers[number];
                let fields = header.fields.iter().map(|(name, value)| {
                    let expression = format!("{}.{name}", header.name);
                    leaf(name, value, Some(&expression))
                });
                fields.collect()
            }
            Node::Maps => {
                let maps = debugger.maps().into_iter();
                maps.map(|map| {
                    let reference = self.add(Node::Map(map.clone()));
                    json!({"name": map, "value": "…", "variablesReference": reference})
                })
                .collect()
            }
            Node::Map(name) => {
                let name = name.clone();
                self.map(debugger, &name)?
            }
            Node::Parts(parts, expression) => {
                let (parts, expression) = (parts.clone(), expression.clone());
                let part = |(name, tree): &(String, Tree)| {
                    let expression = expression.as_ref().map(|base| inside(base, name));
                    self.tree(name, tree, None, expression.as_deref())
                };
                parts.iter().map(part).collect::<Vec<_>>()
            }
        };
        let start = arguments["start"].as_u64().unwrap_or(0).min(variables.len() as u64) as usize;
        variables.drain(..start);
        let count = arguments["count"].as_u64().filter(|count| *count > 0);
        variables.truncate(count.map_or(MOST, |count| usize::try_from(count).unwrap_or(MOST)));
        Ok(json!({"variables": variables}))
    }

    /// `evaluate`: a value, which can be opened if it has parts.
    pub fn evaluated(&mut self, answer: &Answer) -> Value {
        let variable = self.answer(answer);
        json!({
            "result": variable["value"], "type": variable["type"],
            "variablesReference": variable["variablesReference"],
        })
    }

    /// The expression for a variable inside a reference, to watch it.
    pub fn expression(&self, reference: u64, name: &str) -> Option<String> {
        let node = self.nodes.get(usize::try_from(reference.checked_sub(1)?).ok()?)?;
        match node {
            Node::Answers(_) => Some(name.to_owned()),
            Node::Parts(_, base) => base.as_ref().map(|base| inside(base, name)),
            Node::Header(number) => {
                let header = self.states.get(&0)?.packet.headers.get(*number)?;
                Some(format!("{}.{name}", header.name))
            }
            Node::Packet if name == "bytes" => Some("packet".to_owned()),
            Node::Map(map) => Some(format!("map {map}[{name}]")),
            Node::Packet | Node::Maps => None,
        }
    }

    fn add(&mut self, node: Node) -> u64 {
        self.nodes.push(node);
        self.nodes.len() as u64
    }

    fn answer(&mut self, answer: &Answer) -> Value {
        let type_text = answer.type_text.as_deref();
        let mut variable = self.tree(&answer.name, &answer.value, type_text, Some(&answer.name));
        variable["value"] = answer.text.clone().into();
        variable
    }

    fn tree(
        &mut self,
        name: &str,
        tree: &Tree,
        type_text: Option<&str>,
        expression: Option<&str>,
    ) -> Value {
        let parts: Vec<(String, Tree)> = match tree {
            Tree::List(items) => {
                let items = items.iter().enumerate();
                items.map(|(number, item)| (format!("[{number}]"), item.clone())).collect()
            }
            Tree::Record(fields) => fields.clone(),
            _ => Vec::new(),
        };
        let mut variable = leaf(name, &tree.to_string(), expression);
        if !parts.is_empty() {
            let reference = self.add(Node::Parts(parts, expression.map(str::to_owned)));
            variable["variablesReference"] = reference.into();
        }
        if let Some(type_text) = type_text {
            variable["type"] = type_text.into();
        }
        variable
    }

    fn packet(&mut self, debugger: &Debugger<'_>) -> Result<Vec<Value>> {
        let packet = self.state(debugger, 0)?.packet.clone();
        let mut variables = vec![leaf("summary", &packet.summary, None)];
        for (number, header) in packet.headers.iter().enumerate() {
            let fields = header.fields.iter().map(|(name, value)| format!("{name} {value}"));
            let text = fields.collect::<Vec<_>>().join(", ");
            let mut variable = leaf(&header.name, &text, Some(&header.name));
            variable["variablesReference"] = self.add(Node::Header(number)).into();
            variables.push(variable);
        }
        variables.push(leaf("bytes", &packet.bytes, Some("packet")));
        Ok(variables)
    }

    fn map(&mut self, debugger: &Debugger<'_>, name: &str) -> Result<Vec<Value>> {
        let entries = debugger.map(name)?.entries.into_iter();
        let entries = entries.map(|entry| {
            let key = entry.key.to_string();
            let expression = format!("map {name}[{key}]");
            let expression = matches!(entry.key, Tree::Int(_)).then_some(expression.as_str());
            match &entry.content {
                Content::One { value } => self.tree(&key, value, None, expression),
                Content::PerCpu { cpus, .. } => {
                    let list = Tree::List(cpus.clone());
                    self.tree(&key, &list, None, None)
                }
            }
        });
        Ok(entries.collect())
    }
}

fn leaf(name: &str, value: &str, expression: Option<&str>) -> Value {
    let mut variable = json!({"name": name, "value": value, "variablesReference": 0});
    if let Some(expression) = expression {
        variable["evaluateName"] = expression.into();
    }
    variable
}

/// The expression for a part of another's value.
fn inside(base: &str, name: &str) -> String {
    if name.starts_with('[') { format!("{base}{name}") } else { format!("{base}.{name}") }
}

/// Variables of one response.
const MOST: usize = 10_000;

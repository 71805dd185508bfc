//! Values in words and as trees.

use std::sync::Arc;

use control::inventory::{Tree, tagged};
use serde::Serialize;
use spec::btf::{Btf, Kind};

use super::scene::Scene;
use super::value::Value;
use crate::explain::{Words, number};

/// An expression and its value, for people and scripts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The expression, or the name of what is listed.
    pub name: String,
    /// Its type in C, if it has one.
    #[serde(rename = "type")]
    pub type_text: Option<String>,
    /// The value: a number, text, a list or an object.
    pub value: Tree,
    /// The value in one line.
    pub text: String,
}

/// Formats values with the names of one object.
pub struct Printer(Words);

impl Printer {
    pub fn new(scene: &Scene<'_>) -> Self {
        Self(Words::new(&scene.object.spec, scene.maps.to_vec()))
    }

    /// A value with the name under which it is listed.
    pub fn answer(&mut self, scene: &Scene<'_>, name: &str, value: &Value) -> Answer {
        let tree = self.tree(scene, value);
        Answer {
            name: name.to_owned(),
            type_text: value.type_text(),
            text: tree.to_string(),
            value: tree,
        }
    }

    pub fn text(&mut self, scene: &Scene<'_>, value: &Value) -> String {
        self.tree(scene, value).to_string()
    }

    fn tree(&mut self, scene: &Scene<'_>, value: &Value) -> Tree {
        match value {
            Value::Number(number) => Tree::Int(*number),
            Value::Word(word) | Value::Pointer { address: word, .. } => {
                Tree::Text(match scene.step {
                    Some(step) => self.0.pointer(step, *word),
                    None => number(*word),
                })
            }
            Value::Bytes { shown: Some(shown), .. } => Tree::Text(shown.clone()),
            Value::Bytes { raw, shown: None } => Tree::Text(tagged(raw)),
            Value::Typed { raw, types, type_id, missing } if missing.is_empty() => {
                types.value(*type_id, raw).into()
            }
            Value::Typed { types, type_id, .. } => partial(value, types, *type_id, DEEPEST),
        }
    }
}

/// A value of which parts are missing.
fn partial(value: &Value, types: &Arc<Btf>, type_id: u32, depth: usize) -> Tree {
    let ty = types.resolve(type_id).filter(|_| depth > 0 && !value.is_missing());
    let Some(ty) = ty else { return optimized() };
    let part = |start: Option<u64>, len: Option<u64>, type_id: u32| {
        let start = usize::try_from(start?).ok()?;
        let end = start.checked_add(usize::try_from(len?).ok()?)?;
        value.part(start..end, type_id)
    };
    let tree = |part: Option<Value>| match &part {
        Some(Value::Typed { raw, types, type_id, missing }) if missing.is_empty() => {
            types.value(*type_id, raw).into()
        }
        Some(value @ Value::Typed { types, type_id, .. }) => {
            partial(value, types, *type_id, depth - 1)
        }
        Some(Value::Pointer { address, .. }) => Tree::Text(number(*address)),
        _ => optimized(),
    };
    if let Some(array) = ty.array() {
        let size = types.size_of(array.element);
        let element =
            |index| tree(part(size.and_then(|size| size.checked_mul(index)), size, array.element));
        return Tree::List((0..u64::from(array.count).min(ELEMENTS)).map(element).collect());
    }
    if !matches!(ty.kind(), Kind::Struct | Kind::Union) {
        return optimized();
    }
    let members = ty.members().map(|member| {
        let start = u64::from(member.bit_offset / 8);
        let shown = match member.bit_size {
            0 => tree(part(Some(start), types.size_of(member.type_id), member.type_id)),
            bits => tree(value.bit_field(member.bit_offset, bits, member.type_id)),
        };
        (member.name.to_owned(), shown)
    });
    Tree::Record(members.collect())
}

fn optimized() -> Tree {
    Tree::Text(OPTIMIZED.to_owned())
}

/// The value of a variable that the compiler keeps nowhere.
pub const OPTIMIZED: &str = "<optimized out>";
/// Types inside types.
const DEEPEST: usize = 16;
/// Elements of an array of which parts are missing.
const ELEMENTS: u64 = 4096;

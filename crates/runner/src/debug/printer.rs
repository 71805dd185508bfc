//! Values in words and as trees.

use control::inventory::{Tree, tagged};
use serde::Serialize;

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
            Value::Typed { raw, types, type_id } => types.value(*type_id, raw).into(),
        }
    }
}

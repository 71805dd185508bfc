//! What can be read at a position: registers, packet, maps, variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use spec::btf::Btf;
use spec::{Global, MapDef, Spec, Verdict};
use vm::{Map, Run, Step};

use super::position::Position;
use super::tracker::{Frame, Tracker};
use super::value::Value;
use crate::error::Unavailable;

/// The object, with its names sorted for expressions.
#[derive(Debug)]
pub struct Object {
    pub spec: Spec,
    pub types: Option<Arc<Btf>>,
    pub globals: BTreeMap<String, Global>,
    /// Values of enumerators.
    pub constants: BTreeMap<String, i128>,
}

impl Object {
    pub fn new(spec: &Spec) -> Self {
        let globals = spec.globals().into_iter().map(|global| (global.name.clone(), global));
        let types = spec.btf.clone().map(Arc::new);
        let enums = types.iter().flat_map(|types| types.types()).filter(|ty| ty.kind().is_enum());
        let constants = enums.flat_map(|ty| ty.values().collect::<Vec<_>>());
        let constants = constants.map(|one| (one.name.to_owned(), one.value));
        // Objects rarely contain the type of verdicts.
        let verdicts = Verdict::ALL.into_iter();
        let verdicts = verdicts.map(|verdict| (constant(verdict), i128::from(verdict as u32)));
        let constants = verdicts.chain(constants).collect();
        Self { spec: spec.clone(), globals: globals.collect(), constants, types }
    }

    /// Whether a function has a local variable of this name.
    pub fn is_local(&self, name: &str) -> bool {
        let _ = name;
        false
    }
}

/// `XDP_DROP`.
fn constant(verdict: Verdict) -> String {
    format!("XDP_{}", verdict.name().to_uppercase())
}

/// The state of the run at a position.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    pub position: Position,
    /// The next instruction; `None` after the last one of a packet.
    pub step: Option<&'a Step<'a>>,
    /// The result, after the last instruction of a packet.
    pub run: Option<&'a Run>,
    pub tracker: &'a Tracker,
    pub object: &'a Object,
    /// By their numbers in the object.
    pub maps: &'a [Arc<Map>],
}

impl<'a> Scene<'a> {
    /// Active functions, outermost first.
    pub fn frames(&self) -> &'a [Frame] {
        self.tracker.frames()
    }

    /// The packet's bytes.
    pub fn packet(&self) -> Vec<u8> {
        match (self.step, self.run) {
            (Some(step), _) => step.whole_packet(),
            (None, Some(run)) => run.packet.clone(),
            (None, None) => Vec::new(),
        }
    }

    /// The metadata before the packet.
    pub fn metadata(&self) -> &'a [u8] {
        match (self.step, self.run) {
            (Some(step), _) => step.metadata(),
            (None, Some(run)) => &run.metadata,
            (None, None) => &[],
        }
    }

    /// A map by its name, with its definition.
    pub fn map(&self, name: &str) -> Option<(&'a Arc<Map>, &'a MapDef)> {
        let number = self.object.spec.map_index(name)?;
        Some((self.maps.get(number)?, &self.object.spec.maps[number]))
    }

    /// The value of a key on the processor that runs the packets; `None` if the map has none.
    pub fn value(&self, map: &Map, key: &[u8]) -> Option<Vec<u8>> {
        let mut value = map.read(key).ok()?;
        value.truncate(map.attributes().value_size as usize);
        Some(value)
    }

    /// A local variable of the function that runs; `None` if it has none of this name.
    pub fn local(&self, name: &str) -> Option<Result<Value, Unavailable>> {
        let _ = name;
        None
    }

    /// Whether a name is that of a variable, which hides a header of the packet.
    pub fn is_variable(&self, name: &str) -> bool {
        self.object.globals.contains_key(name) || self.local(name).is_some()
    }
}

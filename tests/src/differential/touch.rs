//! What user space does to maps between packets, and what it is answered.

use spec::{Expect, MapDef, MapKind, Spec};

use super::maps::{KEYED, PROGRAMS, padding_cleared};
use super::rng::Rng;

/// One operation of user space.
#[derive(Clone, Debug)]
pub struct Touch {
    /// Number in the object.
    pub map: usize,
    pub key: Vec<u8>,
    pub act: Act,
}

#[derive(Clone, Debug)]
pub enum Act {
    Lookup,
    Update { value: Vec<u8>, expect: Expect },
    Delete,
}

/// The value that was found, whether something was deleted, or the error number's name.
pub type Answer = Result<Option<Vec<u8>>, String>;

impl Touch {
    /// On one of the random maps; `None` where it is of a type that is left alone.
    pub fn random(rng: &mut Rng, maps: &[MapDef], cpus: usize) -> Option<Self> {
        let map = PROGRAMS + 1 + rng.below(maps.len() - PROGRAMS - 1);
        let def = &maps[map];
        let devices = matches!(def.kind, MapKind::DEVMAP | MapKind::DEVMAP_HASH);
        let pushed = matches!(def.kind, MapKind::QUEUE | MapKind::STACK | MapKind::BLOOM_FILTER);
        if !devices && !pushed && !KEYED.contains(&def.kind) {
            return None;
        }
        let expect = rng.pick(&[Expect::Any, Expect::Any, Expect::Absent, Expect::Present]);
        let value = if devices { device(rng, def) } else { value(rng, def, cpus) };
        let act = match rng.below(4) {
            0 if !pushed => Act::Lookup,
            1 if !pushed => Act::Delete,
            _ => Act::Update { value, expect },
        };
        Some(Self { map, key: key(rng, def), act })
    }

    /// Does it, on either side.
    pub fn act<M: spec::Map>(&self, spec: &Spec, map: &M) -> Answer {
        let def = &spec.maps[self.map];
        let answer = match &self.act {
            Act::Lookup => map.lookup(&self.key),
            Act::Delete => map.delete(&self.key).map(|found| found.then(Vec::new)),
            Act::Update { value, expect } => map.update(&self.key, value, *expect).map(|()| None),
        };
        match answer {
            Ok(value) => Ok(value.map(|value| padding_cleared(def, value))),
            Err(error) => Err(errno(&error.to_string())),
        }
    }
}

/// Errors of both sides end with the number's name in parentheses.
fn errno(text: &str) -> String {
    let name = text.rsplit('(').next().unwrap_or(text);
    name.trim_end_matches(')').to_owned()
}

/// As programs make keys: small numbers, and prefixes now and then too long.
fn key(rng: &mut Rng, def: &MapDef) -> Vec<u8> {
    let mut key = vec![0; def.key_size as usize];
    let number = rng.below(8) as u8;
    if def.kind == MapKind::LPM_TRIE {
        let bits = (def.key_size as i32 - 4) * 8;
        key[0] = rng.pick(&[0, 7, 8, 9, bits, bits + 1]) as u8;
        key[4] = number;
    } else if let Some(first) = key.first_mut() {
        *first = number;
    }
    key
}

fn value(rng: &mut Rng, def: &MapDef, cpus: usize) -> Vec<u8> {
    let size = match def.kind.is_per_cpu() {
        true => def.value_size.next_multiple_of(8) as usize * cpus,
        false => def.value_size as usize,
    };
    (0..size).map(|_| rng.pick(&[0, 1, 2, 0xff])).collect()
}

/// The loopback interface, none, or one that is not there; never with a program.
fn device(rng: &mut Rng, def: &MapDef) -> Vec<u8> {
    let mut value = vec![0; def.value_size as usize];
    value[0] = rng.pick(&[1, 1, 1, 0, 99]);
    value
}

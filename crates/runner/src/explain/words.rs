//! Values of a run in words: maps by name, keys and values by type, packet bytes by field.

use control::inventory::{Tree, Types};
use std::collections::BTreeMap;
use std::sync::Arc;

use functions::stats;
use packet::dissect::{Dissection, dissect};
use spec::btf::Btf;
use spec::disasm::{self, SpecNames};
use spec::{MapDef, MapKind, Spec};
use vm::{Errno, Map, Pointee, Step};

use super::member;
use crate::maps::reason;

/// What is known of the object, and of the packet that goes through it.
pub struct Words {
    maps: Vec<Arc<Map>>,
    types: Vec<Types>,
    /// BTF types of the values.
    values: Vec<u32>,
    /// What the built-in programs count, by reason.
    reasons: Option<Vec<String>>,
    spec: Spec,
    /// Keys of values that lookups have led to, by map and element.
    keys: BTreeMap<(u32, u64), Vec<u8>>,
    /// Dissection of the current packet, made on request.
    packet: Option<Dissection>,
}

impl Words {
    pub fn new(spec: &Spec, maps: Vec<Arc<Map>>) -> Self {
        let btf = spec.btf.as_ref();
        let types = spec.maps.iter().map(|def| Types::of_def(def, btf)).collect();
        let values = spec.maps.iter().map(|def| def.value_type).collect();
        let reasons = btf.and_then(stats::labels);
        let spec = spec.clone();
        Self { maps, types, values, reasons, spec, keys: BTreeMap::new(), packet: None }
    }

    pub fn btf(&self) -> Option<&Btf> {
        self.spec.btf.as_ref()
    }

    /// An instruction, with the object's names in it.
    pub fn insn(&self, step: &Step<'_>) -> String {
        let program = step.program.source();
        disasm::insn(&program.insns, step.slot, &SpecNames { spec: &self.spec, program })
    }

    pub fn map(&self, number: u32) -> Option<&Arc<Map>> {
        self.maps.get(number as usize)
    }

    pub fn map_name(&self, number: u32) -> String {
        self.map(number)
            .map_or_else(|| format!("map {number}"), |map| map.attributes().name.clone())
    }

    pub fn key(&self, map: u32, raw: &[u8]) -> Tree {
        let counters = self.map_name(map) == stats::MAP;
        let labels = self.reasons.as_deref().filter(|_| counters);
        reason(labels, raw).unwrap_or_else(|| self.typed(map, |types| types.key(raw)))
    }

    pub fn value(&self, map: u32, raw: &[u8]) -> Tree {
        self.typed(map, |types| types.value(raw))
    }

    /// Maps that were made while the machine ran have no types.
    fn typed(&self, map: u32, read: impl Fn(&Types) -> Tree) -> Tree {
        match self.types.get(map as usize) {
            Some(types) => read(types),
            None => {
                let kind = self.map(map).map_or_else(MapKind::default, |map| map.attributes().kind);
                read(&Types::of_def(&MapDef { kind, ..MapDef::default() }, None))
            }
        }
    }

    /// A lookup of `key` led to an element.
    pub fn remember(&mut self, map: u32, element: u64, key: Vec<u8>) {
        self.keys.insert((map, element), key);
    }

    /// The key of an element, if its position or a lookup determines it.
    pub fn key_of(&self, map: u32, element: u64) -> Option<Vec<u8>> {
        let attributes = self.map(map)?.attributes();
        match attributes.kind {
            MapKind::ARRAY | MapKind::PERCPU_ARRAY => {
                let index = element % u64::from(attributes.max_entries.max(1));
                Some((index as u32).to_ne_bytes().to_vec())
            }
            _ => self.keys.get(&(map, element)).cloned(),
        }
    }

    /// A byte of a value: a variable of the object, or an entry of a map, with its members.
    pub fn value_place(&self, map: u32, element: u64, byte: u64) -> String {
        let name = self.map_name(map);
        if let Some(variable) = self.variable(&name, byte) {
            return variable;
        }
        let value = self.values.get(map as usize).copied().unwrap_or_default();
        format!("{}{}", self.entry(map, element), self.inside(value, byte))
    }

    /// A pointer into a value; one to its start means all of it.
    fn value_pointer(&self, map: u32, element: u64, byte: u64) -> String {
        if byte != 0 || self.map_name(map).starts_with('.') {
            return self.value_place(map, element, byte);
        }
        let entry = self.entry(map, element);
        if entry.len() > SHORT { format!("{}[…]", self.map_name(map)) } else { entry }
    }

    fn entry(&self, map: u32, element: u64) -> String {
        let key = match self.key_of(map, element) {
            Some(key) => self.key(map, &key).to_string(),
            None => format!("#{element}"),
        };
        format!("{}[{key}]", self.map_name(map))
    }

    fn variable(&self, section: &str, byte: u64) -> Option<String> {
        let vars = self.btf()?.datasec(section)?;
        let (var, place) = vars.iter().rev().find(|(_, place)| u64::from(place.offset) <= byte)?;
        let inside = self.inside(var.target(), byte - u64::from(place.offset));
        Some(format!("{}{inside}", var.name()))
    }

    /// A byte inside a value of a type.
    fn inside(&self, type_id: u32, byte: u64) -> String {
        match self.btf() {
            Some(btf) if type_id != 0 => member::path(btf, type_id, byte),
            _ => plus(String::new(), byte),
        }
    }

    /// A value of a register.
    pub fn any(&mut self, step: &Step<'_>, value: u64) -> String {
        match step.pointee(value) {
            Pointee::Number(number) => self::number(number),
            Pointee::Context { offset } => plus("ctx".to_owned(), offset),
            Pointee::Input { offset } => plus("input".to_owned(), offset),
            Pointee::Stack { offset, .. } => format!("stack{offset:+}"),
            Pointee::Map { map } => self.map_name(map),
            Pointee::Function { program, slot } if program == step.program.number() => {
                step.program.function_name(slot).to_owned()
            }
            Pointee::Packet { offset } => format!("packet{:+}", offset - metadata(step)),
            Pointee::StalePacket => "a stale packet pointer".to_owned(),
            Pointee::Value { map, element, byte } => self.value_pointer(map, element, byte),
            Pointee::Function { .. } | Pointee::Other if Step::is_unset(value) => {
                "unset".to_owned()
            }
            Pointee::Function { .. } | Pointee::Other => step.describe(value),
        }
    }

    /// A pointer that a function is given: with the field, if it leads into the packet.
    pub fn pointer(&mut self, step: &Step<'_>, value: u64) -> String {
        let words = self.any(step, value);
        match step.pointee(value) {
            Pointee::Packet { offset } => match self.field(step, offset, 1) {
                Some(field) => format!("{words} ({field})"),
                None => words,
            },
            _ => words,
        }
    }

    /// Names of the fields at an offset of the packet's memory, metadata included.
    pub fn field(&mut self, step: &Step<'_>, offset: i64, len: usize) -> Option<String> {
        let Ok(inside) = usize::try_from(offset - metadata(step)) else {
            return Some("metadata".to_owned());
        };
        let packet = step.packet().get(step.metadata().len()..)?;
        if inside >= packet.len() {
            return None;
        }
        let dissection = self.packet.get_or_insert_with(|| dissect(packet));
        Some(dissection.span(inside, len))
    }

    /// A call may have moved the packet's ends or written to it: its layers may be others now.
    pub fn called(&mut self, name: &str) {
        if name.starts_with("bpf_xdp_") || name.starts_with("bpf_dynptr_") {
            self.forget_packet();
        }
    }

    /// Another packet, or the same with other layers.
    pub fn forget_packet(&mut self) {
        self.packet = None;
    }
}

/// Number of metadata bytes before the packet.
fn metadata(step: &Step<'_>) -> i64 {
    step.metadata().len() as i64
}

/// Small numbers in decimal, others in hex.
pub fn number(number: u64) -> String {
    if number < 1 << 10 {
        return number.to_string();
    }
    if number as i64 >= -4096 && (number as i64) < 0 {
        return (number as i64).to_string();
    }
    format!("{number:#x}")
}

/// What a call returned: a negative number is an error's.
pub fn errno(value: u64) -> Option<String> {
    let signed = match u32::try_from(value) {
        Ok(half) => i64::from(half as i32),
        Err(_) => value as i64,
    };
    if !(-4095..0).contains(&signed) {
        return None;
    }
    let errno = Errno(-signed as i32);
    Some(errno.name().map_or_else(|| signed.to_string(), |name| format!("-{name}")))
}

fn plus(place: String, byte: u64) -> String {
    if byte == 0 { place } else { format!("{place}+{byte}") }
}

/// Longest name of an entry where only a pointer to it is meant.
const SHORT: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_errors_have_names() {
        assert_eq!([number(0), number(1023), number(0x86dd)], ["0", "1023", "0x86dd"]);
        assert_eq!(number(-2i64 as u64), "-2");
        assert_eq!(errno(-2i64 as u64).as_deref(), Some("-ENOENT"));
        assert_eq!(errno(u64::from(-22i32 as u32)).as_deref(), Some("-EINVAL"));
        assert_eq!(errno(-4000i64 as u64).as_deref(), Some("-4000"));
        assert_eq!(errno(2), None);
    }
}

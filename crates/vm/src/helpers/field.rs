//! Special fields in map values and allocated objects: which one an address is, and what becomes
//! of things that a field held when its holder ends.

use std::collections::HashMap;

use spec::btf::{Btf, Kind};

use super::bad_argument;
use crate::fault::Fault;
use crate::maps::{FieldKind, Fields, Orphan};
use crate::memory::{RegionId, offset};
use crate::worker::Worker;

/// The special fields of every type of an object that has any.
pub(super) fn of_types(types: &Btf) -> HashMap<u32, Fields> {
    let structs = types.types().filter(|ty| ty.kind() == Kind::Struct);
    let fields = structs.map(|ty| (ty.id(), Fields::of(types, ty.id(), ty.size())));
    fields.filter(|(_, fields)| !fields.is_empty()).collect()
}

impl Worker {
    /// Whether an argument points to a special field that `fits`, in a map's value or an object.
    pub(super) fn check_field(
        &self,
        function: &str,
        argument: u8,
        address: u64,
        fits: impl Fn(FieldKind) -> bool,
    ) -> Result<(), Box<Fault>> {
        match self.field_at(address) {
            Some(kind) if fits(kind) => Ok(()),
            Some(_) => Err(bad_argument(function, argument, "another kind of field")),
            None => Err(bad_argument(function, argument, "no such field of a value or an object")),
        }
    }

    fn field_at(&self, address: u64) -> Option<FieldKind> {
        let region = RegionId::of(address);
        let map = region.0.checked_sub(RegionId::VALUES.0).and_then(|n| self.maps.get(n as usize));
        let field = if let Some(map) = map {
            let (_, layout) = map.values()?;
            let inner = offset(address) & ((1 << layout.shift) - 1);
            map.facts().fields.at(u32::try_from(inner).ok()?).copied()
        } else {
            let services = &self.shared.services;
            let (start, size) = services.heap.object(address)?;
            let fields = services.fields.get(&size.type_id)?;
            fields.at(u32::try_from(address - start).ok()?).copied()
        };
        field.map(|field| field.kind)
    }

    /// Gives back a reference to an allocated object, and with the last one all that it holds.
    pub(crate) fn drop_object(&mut self, address: u64) {
        let mut left = vec![address];
        while let Some(object) = left.pop() {
            let mut held = Vec::new();
            if self.shared.services.heap.references(object) == 1 {
                self.fields_of(object, &mut held);
            }
            if self.shared.services.heap.release(object) {
                held.into_iter().for_each(|orphan| self.end(orphan, &mut left));
            }
        }
    }

    /// Ends what the fields of deleted elements held.
    pub(crate) fn end_orphans(&mut self) {
        for orphan in self.shared.directory.take_orphans() {
            let mut left = Vec::new();
            self.end(orphan, &mut left);
            left.into_iter().for_each(|object| self.drop_object(object));
        }
    }

    /// What the fields of an object hold.
    fn fields_of(&self, object: u64, held: &mut Vec<Orphan>) {
        let services = &self.shared.services;
        let Some((start, size)) = services.heap.object(object) else { return };
        let fields = services.fields.get(&size.type_id);
        for field in fields.into_iter().flat_map(Fields::iter) {
            let word = self.memory.load64(start + u64::from(field.offset)).unwrap_or(0);
            held.push(Orphan { kind: field.kind, word });
        }
    }

    /// Ends one thing; the objects that are left without a holder go to `left`.
    fn end(&self, Orphan { kind, word }: Orphan, left: &mut Vec<u64>) {
        match kind {
            FieldKind::Timer | FieldKind::Workqueue => self.shared.services.timers.remove(word),
            FieldKind::Kptr { referenced: true } | FieldKind::PercpuKptr if word != 0 => {
                left.push(word);
            }
            FieldKind::ListHead => self.end_list(word, left),
            FieldKind::RbRoot => self.end_tree(word, left),
            _ => {}
        }
    }

    /// All nodes from the first on, until the head, which is in no node's place.
    fn end_list(&self, first: u64, left: &mut Vec<u64>) {
        let heap = &self.shared.services.heap;
        let mut node = first;
        while let Some((object, _)) = heap.object(node) {
            let head = self.memory.load64(node + super::list::OWNER);
            if head.is_ok_and(|head| head == node) || left.len() == MOST {
                return;
            }
            left.push(object);
            node = self.memory.load64(node).unwrap_or(0);
        }
    }

    fn end_tree(&self, root: u64, left: &mut Vec<u64>) {
        let heap = &self.shared.services.heap;
        let mut nodes = vec![root];
        while let Some(node) = nodes.pop() {
            let Some((object, _)) = heap.object(node) else { continue };
            if left.len() == MOST {
                return;
            }
            left.push(object);
            nodes.extend(
                super::tree::SIDES.map(|side| self.memory.load64(node + side).unwrap_or(0)),
            );
        }
    }
}

/// Objects that one list or tree may hold: a bent one must not be walked forever.
const MOST: usize = 1 << 18;

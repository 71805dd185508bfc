//! Release of allocated objects, and of what special fields hold when their element is deleted.

use crate::maps::{FieldKind, Fields, Orphan};
use crate::objects::{LIST_OWNER, TREE_CHILDREN};
use crate::processor::Processor;

/// Releases a reference to an allocated object, and with the last one everything that it holds.
pub(crate) fn drop_object(processor: &mut Processor, address: u64) {
    let mut left = vec![address];
    while let Some(object) = left.pop() {
        let mut held = Vec::new();
        if processor.shared.services.heap.references(object) == 1 {
            fields_of(processor, object, &mut held);
        }
        if processor.shared.services.heap.release(object) {
            held.into_iter().for_each(|orphan| end(processor, orphan, &mut left));
        }
    }
}

/// Releases what the fields of deleted elements held.
pub(crate) fn end_orphans(processor: &mut Processor) {
    for orphan in processor.shared.directory.take_orphans() {
        let mut left = Vec::new();
        end(processor, orphan, &mut left);
        left.into_iter().for_each(|object| drop_object(processor, object));
    }
}

/// Collects what the fields of an object hold.
fn fields_of(processor: &Processor, object: u64, held: &mut Vec<Orphan>) {
    let services = &processor.shared.services;
    let Some((start, size)) = services.heap.object(object) else { return };
    let fields = services.fields.get(&size.type_id);
    for field in fields.into_iter().flat_map(Fields::iter) {
        let word = processor.memory.load64(start + u64::from(field.offset)).unwrap_or(0);
        held.push(Orphan { kind: field.kind, word });
    }
}

/// Releases the content of one field; objects that lose their holder go to `left`.
fn end(processor: &Processor, Orphan { kind, word }: Orphan, left: &mut Vec<u64>) {
    match kind {
        FieldKind::Timer | FieldKind::Workqueue => processor.shared.services.timers.remove(word),
        FieldKind::Kptr { referenced: true } | FieldKind::PercpuKptr if word != 0 => {
            left.push(word);
        }
        FieldKind::ListHead => end_list(processor, word, left),
        FieldKind::RbRoot => end_tree(processor, word, left),
        _ => {}
    }
}

/// Collects all nodes from the first to the head, which is not in a node.
fn end_list(processor: &Processor, first: u64, left: &mut Vec<u64>) {
    let heap = &processor.shared.services.heap;
    let mut node = first;
    while let Some((object, _)) = heap.object(node) {
        let head = processor.memory.load64(node + LIST_OWNER);
        if head.is_ok_and(|head| head == node) || left.len() == MOST {
            return;
        }
        left.push(object);
        node = processor.memory.load64(node).unwrap_or(0);
    }
}

fn end_tree(processor: &Processor, root: u64, left: &mut Vec<u64>) {
    let heap = &processor.shared.services.heap;
    let mut nodes = vec![root];
    while let Some(node) = nodes.pop() {
        let Some((object, _)) = heap.object(node) else { continue };
        if left.len() == MOST {
            return;
        }
        left.push(object);
        nodes.extend(TREE_CHILDREN.map(|side| processor.memory.load64(node + side).unwrap_or(0)));
    }
}

/// Maximum number of objects of one list or tree: a cyclic one must not be followed forever.
const MOST: usize = 1 << 18;

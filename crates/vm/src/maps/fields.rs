//! Special fields of a map's values: only helpers may access them; the value's type determines
//! them.
//!
//! Rule: copies into a value skip them, copies to user space contain zeros there, like the kernel's
//! `copy_map_value` and `check_and_init_map_value`. A `bpf_spin_lock` is 0 when free and 1 when
//! held; it is acquired through [`SpinLock`]. The helpers define the words of the other kinds; 0
//! always means empty.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use spec::btf::{Btf, Kind, Type};

use crate::errno::Errno;
use crate::limits;
use crate::memory::Slab;

/// Kind of a special field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldKind {
    SpinLock,
    ResSpinLock,
    Timer,
    Workqueue,
    /// A pointer to a kernel object. Without a reference it may dangle.
    Kptr {
        referenced: bool,
    },
    PercpuKptr,
    ListHead,
    RbRoot,
    ListNode,
    RbNode,
    Refcount,
}

impl FieldKind {
    /// Whether the field owns a resource that ends with the element.
    fn owns(self) -> bool {
        use FieldKind::{Kptr, ListHead, PercpuKptr, RbRoot, Timer, Workqueue};
        matches!(self, Timer | Workqueue | Kptr { .. } | PercpuKptr | ListHead | RbRoot)
    }
}

/// Position of a special field in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub kind: FieldKind,
    pub offset: u32,
    pub size: u32,
    /// Type to which a kptr points; 0 for other kinds.
    pub pointee: u32,
}

/// The special fields of a value, by offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    all: Vec<Field>,
}

impl Fields {
    /// The special fields of a type; none if it is not a struct or data section, or its size is not
    /// that of the values.
    pub fn of(btf: &Btf, type_id: u32, value_size: u32) -> Self {
        let mut all = Vec::new();
        let fits = btf.size_of(type_id) == Some(value_size.into());
        if let Some(ty) = btf.resolve(type_id)
            && fits
        {
            collect(btf, ty, 0, NESTING, &mut all);
        }
        all.retain(|field| field.offset.is_multiple_of(field.size.min(8)));
        all.sort_by_key(|field| field.offset);
        Self { all }
    }

    /// The special fields of every type that has any, by the type's id.
    pub fn by_type(types: &Btf) -> HashMap<u32, Self> {
        let structs = types.types().filter(|ty| ty.kind() == Kind::Struct);
        let fields = structs.map(|ty| (ty.id(), Self::of(types, ty.id(), ty.size())));
        fields.filter(|(_, fields)| !fields.is_empty()).collect()
    }

    /// Whether the type has no special fields.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Field> {
        self.all.iter()
    }

    pub fn has(&self, kind: FieldKind) -> bool {
        self.all.iter().any(|field| field.kind == kind)
    }

    /// The field that starts at `offset`.
    pub fn at(&self, offset: u32) -> Option<&Field> {
        self.all.iter().find(|field| field.offset == offset)
    }

    /// Offset of the value's only spin lock.
    pub fn spin_lock(&self) -> Option<usize> {
        let lock = self.all.iter().find(|field| field.kind == FieldKind::SpinLock)?;
        Some(lock.offset as usize)
    }

    /// The ranges of a value of `len` bytes outside special fields.
    pub fn plain(&self, len: usize) -> impl Iterator<Item = Range<usize>> {
        let starts = self.all.iter().map(|field| (field.offset + field.size) as usize);
        let ends = self.all.iter().map(|field| field.offset as usize);
        std::iter::once(0).chain(starts).zip(ends.chain([len])).map(|(start, end)| start..end)
    }

    /// Zeroes the special fields of a copy.
    pub fn blank(&self, value: &mut [u8]) {
        for field in &self.all {
            value[field.offset as usize..(field.offset + field.size) as usize].fill(0);
        }
    }

    /// Zeroes the special fields of a new value in place.
    pub fn init(&self, slab: &Slab, place: usize) {
        for field in &self.all {
            slab.zero(place + field.offset as usize, field.size as usize);
        }
    }

    /// Zeroes the fields that own a resource (timers, pointers, lists, trees) and reports their
    /// contents.
    pub fn free(&self, slab: &Slab, place: usize, mut left: impl FnMut(Orphan)) {
        for field in self.all.iter().filter(|field| field.kind.owns()) {
            let at = place + field.offset as usize;
            let word = slab.word(at).swap(0, AcqRel);
            slab.zero(at, field.size as usize);
            if word != 0 {
                left(Orphan { kind: field.kind, word });
            }
        }
    }
}

/// Content of a special field when its element was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orphan {
    pub kind: FieldKind,
    /// The field's first eight bytes.
    pub word: u64,
}

/// A `bpf_spin_lock` in a value, held until drop.
#[derive(Debug)]
pub struct SpinLock<'a>(&'a AtomicU32);

impl<'a> SpinLock<'a> {
    /// Acquires the lock; `EBUSY` when its holder does not release it.
    pub fn take(word: &'a AtomicU32) -> Result<Self, Errno> {
        for round in 0..limits::SPINS {
            if word.compare_exchange_weak(0, 1, Acquire, Relaxed).is_ok() {
                return Ok(Self(word));
            }
            relax(round);
        }
        Err(Errno::EBUSY)
    }
}

impl Drop for SpinLock<'_> {
    fn drop(&mut self) {
        self.0.store(0, Release);
    }
}

/// Waits briefly: on few processors the holder may need this one. After many rounds it yields less
/// often, because on a busy system the processor may be returned late.
pub(crate) fn relax(round: u32) {
    let every = if round < PATIENT { 64 } else { 4096 };
    if round % every == every - 1 {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

/// Rounds of waiting in which a holder should have finished.
const PATIENT: u32 = 1 << 12;

/// Depth to which nested structs are inspected; the same as in the kernel.
const NESTING: u32 = 4;

fn collect(btf: &Btf, ty: Type<'_>, base: u32, depth: u32, into: &mut Vec<Field>) {
    if ty.kind() == Kind::Datasec {
        for var in ty.vars() {
            let target = btf.ty(var.type_id).map_or(0, Type::target);
            visit(btf, target, var.offset, depth, into);
        }
    }
    if ty.kind() != Kind::Struct {
        return;
    }
    for member in ty.members().filter(|member| member.bit_size == 0) {
        let offset = base + member.bit_offset / 8;
        visit(btf, member.type_id, offset, depth, into);
    }
}

fn visit(btf: &Btf, type_id: u32, offset: u32, depth: u32, into: &mut Vec<Field>) {
    let Some(ty) = btf.resolve(type_id) else { return };
    match ty.kind() {
        Kind::Ptr => into.extend(kptr(btf, ty, offset)),
        Kind::Array => {
            let Some(array) = ty.array() else { return };
            let step = btf.size_of(array.element).unwrap_or(0) as u32;
            for index in 0..array.count.min(limits::FIELDS) {
                visit(btf, array.element, offset + index * step, depth, into);
                if into.len() > limits::FIELDS as usize || into.is_empty() {
                    return;
                }
            }
        }
        _ => match named(ty.name()) {
            Some((kind, size)) => into.push(Field { kind, offset, size, pointee: 0 }),
            None if depth > 0 => collect(btf, ty, offset, depth - 1, into),
            None => {}
        },
    }
}

/// Kinds and sizes by the name of the struct.
fn named(name: &str) -> Option<(FieldKind, u32)> {
    Some(match name {
        "bpf_spin_lock" => (FieldKind::SpinLock, 4),
        "bpf_res_spin_lock" => (FieldKind::ResSpinLock, 4),
        "bpf_timer" => (FieldKind::Timer, 16),
        "bpf_wq" => (FieldKind::Workqueue, 16),
        "bpf_list_head" => (FieldKind::ListHead, 16),
        "bpf_rb_root" => (FieldKind::RbRoot, 16),
        "bpf_list_node" => (FieldKind::ListNode, 24),
        "bpf_rb_node" => (FieldKind::RbNode, 32),
        "bpf_refcount" => (FieldKind::Refcount, 4),
        _ => return None,
    })
}

/// A pointer to a tagged type: `__kptr`, `__kptr_untrusted`, `__percpu_kptr`.
fn kptr(btf: &Btf, pointer: Type<'_>, offset: u32) -> Option<Field> {
    let tag = btf.ty(pointer.target()).filter(|ty| ty.kind() == Kind::TypeTag)?;
    let kind = match tag.name() {
        "kptr" | "kptr_ref" => FieldKind::Kptr { referenced: true },
        "kptr_untrusted" => FieldKind::Kptr { referenced: false },
        "percpu_kptr" => FieldKind::PercpuKptr,
        _ => return None,
    };
    let pointee = btf.resolve(tag.target()).map_or(0, Type::id);
    Some(Field { kind, offset, size: 8, pointee })
}

//! Fields: converts drawn indices to bits in the frame.
//!
//! A field that shares no byte with another is stored immediately. Fields that share bytes are kept
//! in words of the state until all of them are known, and are then combined. Values that checksums
//! need are kept, too.

use spec::asm::Reg::{R0, R1, R2, R3};
use spec::asm::{Cond, MemRef, Reg, Size};

use super::draft::{Draft, FRAME, Table};
use super::draw::Part;
use super::shape::Shape;
use crate::template::{Field, Values};

/// How the fields of one stream are written.
pub(super) struct Fields<'a> {
    shape: &'a Shape<'a>,
    /// The word that keeps each field's value, if necessary.
    waiting: Vec<Option<MemRef>>,
    clusters: Vec<Cluster>,
}

/// Fields that share bytes, and the stores that write them.
struct Cluster {
    fields: Vec<usize>,
    stores: Vec<Store>,
}

/// Bytes of one store: 1, 2, 4 or 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Store {
    at: usize,
    len: usize,
}

impl<'a> Fields<'a> {
    pub fn new(draft: &mut Draft, shape: &'a Shape<'a>) -> Self {
        let fields = &shape.template.fields;
        let clusters = clusters(fields);
        let summed = |index: &usize| shape.sums.iter().any(|sum| sum.fields.contains(index));
        let shared =
            |index: &usize| clusters.iter().any(|it| it.fields.contains(index) && !it.is_alone());
        let mut wait = |index| {
            (summed(&index) || shared(&index)).then(|| draft.scratch(shape.sums.len() + index))
        };
        let waiting = (0..fields.len()).map(&mut wait).collect();
        Self { shape, waiting, clusters }
    }

    /// The fields of this draw.
    pub fn of(&self, draw: usize) -> impl Iterator<Item = usize> + '_ {
        let fields = self.shape.template.fields.iter().enumerate();
        fields.filter(move |(_, field)| field.draw == draw).map(|(index, _)| index)
    }

    /// Writes a field; R0 has the drawn index, and is preserved. Overwrites R1 and R2.
    pub fn write(&self, draft: &mut Draft, index: usize, part: Part) {
        let field = &self.shape.template.fields[index];
        draft.a.note(format!("field \"{}\"", field.name));
        match &field.values {
            Values::Range { first, step } => range(draft, field, part, *first, *step),
            Values::List(_) => {
                let values: Vec<u8> =
                    part.numbers().flat_map(|number| field.value(number).to_ne_bytes()).collect();
                let table = draft.table(&values);
                pick(draft, table, part);
            }
        }
        if let Some(at) = self.waiting[index] {
            draft.a.store64(at, R1);
        }
        let own = self.clusters.iter().find(|it| it.fields == [index] && it.is_alone());
        if let Some(cluster) = own {
            let store = cluster.stores[0];
            place(draft, field, store);
            self.store(draft, cluster, store, R1);
        }
    }

    /// Writes the fields that share bytes. Overwrites R1 to R3.
    pub fn write_shared(&self, draft: &mut Draft) {
        for cluster in self.clusters.iter().filter(|it| !it.is_alone()) {
            for store in &cluster.stores {
                draft.a.note("fields that share bytes").mov(R3, 0);
                for index in &cluster.fields {
                    self.add(draft, *index, *store);
                }
                self.store(draft, cluster, *store, R3);
            }
        }
    }

    /// Loads the value of a field that a checksum needs into `to`.
    pub fn load(&self, draft: &mut Draft, to: Reg, index: usize) {
        if let Some(at) = self.waiting[index] {
            draft.a.load64(to, at);
        }
    }

    /// Adds the bits of a field that belong to a store to R3.
    fn add(&self, draft: &mut Draft, index: usize, store: Store) {
        let field = &self.shape.template.fields[index];
        let (from, to) = (field.bit_at, field.bit_at + field.bits as usize);
        if from >= store.bits_end() || to <= store.at * 8 {
            return;
        }
        self.load(draft, R1, index);
        place(draft, field, store);
        draft.a.or(R3, R1);
    }

    /// Stores a register, with the constant bits around it.
    fn store(&self, draft: &mut Draft, cluster: &Cluster, store: Store, value: Reg) {
        let around = self.around(cluster, store);
        if let Ok(around) = i32::try_from(around) {
            if around != 0 {
                draft.a.or(value, around);
            }
        } else {
            draft.a.load_imm64(R2, around).or(value, R2);
        }
        store_big_endian(draft, FRAME.at(store.at as i16), store.len, value);
    }

    /// The constant bits of a store, outside of fields.
    fn around(&self, cluster: &Cluster, store: Store) -> u64 {
        let bytes = &self.shape.bytes[store.at..store.at + store.len];
        let mut around = bytes.iter().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
        for index in &cluster.fields {
            let field = &self.shape.template.fields[*index];
            for bit in field.bit_at..field.bit_at + field.bits as usize {
                if (store.at * 8..store.bits_end()).contains(&bit) {
                    around &= !(1 << (store.bits_end() - 1 - bit));
                }
            }
        }
        around
    }
}

impl Cluster {
    fn is_alone(&self) -> bool {
        self.fields.len() == 1 && self.stores.len() == 1
    }
}

impl Store {
    fn bits_end(self) -> usize {
        (self.at + self.len) * 8
    }
}

/// Limits R0 to `last`, in a form that the verifier understands.
pub(super) fn bound(draft: &mut Draft, last: u64) {
    let known = draft.a.label();
    draft.a.jump_if(R0, Cond::Le, last as i32, known).mov(R0, 0).bind(known);
}

/// Stores the low bytes of a register as a number in network order.
pub(super) fn store_big_endian(draft: &mut Draft, at: MemRef, len: usize, value: Reg) {
    let a = &mut draft.a;
    match len {
        1 => a.store(Size::Byte, at, value),
        2 => a.be16(value).store(Size::Half, at, value),
        4 => a.be32(value).store(Size::Word, at, value),
        _ => a.be64(value).store(Size::Double, at, value),
    };
}

/// Computes the value of a range into R1.
fn range(draft: &mut Draft, field: &Field, part: Part, first: u64, step: u64) {
    let mask = u64::MAX >> (64 - field.bits);
    let first = first.wrapping_add(step.wrapping_mul(part.first)) & mask;
    let step = step.wrapping_mul(part.step) & mask;
    let a = &mut draft.a;
    a.mov(R1, R0);
    match i32::try_from(step) {
        Ok(1) => {}
        Ok(_) if step.is_power_of_two() => {
            a.lsh(R1, step.trailing_zeros() as i32);
        }
        Ok(step) => {
            a.mul(R1, step);
        }
        Err(_) => {
            a.load_imm64(R2, step).mul(R1, R2);
        }
    }
    match i32::try_from(first) {
        Ok(0) => {}
        Ok(first) => {
            a.add(R1, first);
        }
        Err(_) => {
            a.load_imm64(R2, first).add(R1, R2);
        }
    }
    let highest = u128::from(first) + u128::from(step) * u128::from(part.last);
    if highest > u128::from(mask) {
        cut(draft, field.bits);
    }
}

/// Loads the value of a list into R1.
fn pick(draft: &mut Draft, table: Table, part: Part) {
    bound(draft, part.last);
    draft.table_address(R2, table);
    draft.a.mov(R1, R0).lsh(R1, 3).add(R2, R1).load64(R1, R2.at(0));
}

/// Masks R1 to its low bits.
fn cut(draft: &mut Draft, bits: u32) {
    let a = &mut draft.a;
    match bits {
        1..=31 => a.and(R1, ((1u32 << bits) - 1).cast_signed()),
        32 => a.mov32(R1, R1),
        64 => a,
        _ => a.lsh(R1, 64 - bits as i32).rsh(R1, 64 - bits as i32),
    };
}

/// Shifts R1, the value of a field, to the part that belongs to a store, in its place there.
fn place(draft: &mut Draft, field: &Field, store: Store) {
    let (from, to) = (field.bit_at, field.bit_at + field.bits as usize);
    let (low, high) = (from.max(store.at * 8), to.min(store.bits_end()));
    let shift = |a: &mut spec::asm::Assembler, left: i32| match left {
        0 => {}
        1.. => {
            a.lsh(R1, left);
        }
        _ => {
            a.rsh(R1, -left);
        }
    };
    let mut above = 0;
    if low > from {
        // The upper bits go into another store.
        above = 64 - (to - low) as i32;
        shift(&mut draft.a, above);
    }
    let behind = to as i32 - high as i32;
    let room = (store.bits_end() - high) as i32;
    shift(&mut draft.a, -(above + behind));
    shift(&mut draft.a, room);
}

/// Fields grouped by the bytes that they share.
fn clusters(fields: &[Field]) -> Vec<Cluster> {
    let mut order: Vec<usize> = (0..fields.len()).collect();
    order.sort_by_key(|index| fields[*index].bit_at);
    let span = |index: usize| {
        let field = &fields[index];
        (field.bit_at / 8, (field.bit_at + field.bits as usize).div_ceil(8))
    };
    let mut groups: Vec<(Vec<usize>, usize, usize)> = Vec::new();
    for index in order {
        let (from, to) = span(index);
        match groups.last_mut() {
            Some((group, _, end)) if from < *end => {
                group.push(index);
                *end = to.max(*end);
            }
            _ => groups.push((vec![index], from, to)),
        }
    }
    let cluster = |(fields, from, to)| Cluster { fields, stores: stores(from, to) };
    groups.into_iter().map(cluster).collect()
}

/// The fewest stores that cover exactly these bytes.
fn stores(mut from: usize, to: usize) -> Vec<Store> {
    let mut stores = Vec::new();
    while from < to {
        let len = [8, 4, 2, 1].into_iter().find(|len| from + len <= to).unwrap_or(1);
        stores.push(Store { at: from, len });
        from += len;
    }
    stores
}

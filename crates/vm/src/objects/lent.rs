//! Lent memory of one processor: slots of one size, an object at the end of each.

use std::sync::Arc;

use super::{LENT, LENT_WRITABLE, slot_of};
use crate::memory::{Layout, Memory, RegionId, Slab};

/// Kind of a lent object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Socket,
    /// A connection that is not yet inserted (`struct nf_conn___init`).
    NewConnection,
    Connection,
    Task,
    XfrmState,
    /// A map's key, lent to a callback.
    Key,
    /// A dynptr, lent to a callback.
    Dynptr,
}

impl Kind {
    /// Name of the kind in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::NewConnection => "connection not inserted",
            Self::Connection => "connection",
            Self::Task => "task",
            Self::XfrmState => "transform state",
            Self::Key => "key",
            Self::Dynptr => "dynptr",
        }
    }
}

/// One lent object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lent {
    pub kind: Kind,
    pub len: usize,
    /// Number of times that the program must still release it.
    references: u32,
}

/// The lent objects of a processor, and the heap objects that its program owns.
#[derive(Debug)]
pub(crate) struct Objects {
    slots: [[Option<Lent>; SLOTS]; 2],
    owned: Vec<u64>,
    used: bool,
}

impl Objects {
    pub fn install(memory: &mut Memory) -> Self {
        for region in REGIONS {
            let slab = Slab::new((SLOTS * LENT_BYTES) as u64).expect("far below the limit");
            memory.install(region, Arc::new(slab), layout(region));
        }
        Self { slots: [[None; SLOTS]; 2], owned: Vec::with_capacity(SLOTS), used: false }
    }

    /// Copies bytes into a free slot and returns their address. `references` is 1 for an object
    /// that the program must release, 0 for others.
    pub fn lend(
        &mut self,
        memory: &mut Memory,
        (kind, references): (Kind, u32),
        bytes: &[u8],
        writable: bool,
    ) -> Option<u64> {
        let region = usize::from(writable);
        let slot = self.slots[region].iter().position(Option::is_none)?;
        let start = LENT_BYTES.checked_sub(bytes.len())?;
        let place = slot * LENT_BYTES;
        let room = &mut memory.private_mut(REGIONS[region])[place..place + LENT_BYTES];
        room[..start].fill(0);
        room[start..].copy_from_slice(bytes);
        self.slots[region][slot] = Some(Lent { kind, len: bytes.len(), references });
        self.used = true;
        Some(REGIONS[region].at(layout(REGIONS[region]).offset_of(slot as u64) + start as u64))
    }

    /// The object lent at exactly this address.
    pub fn lent(&self, address: u64) -> Option<&Lent> {
        let (region, slot) = place(address)?;
        let lent = self.slots[region].get(slot)?.as_ref()?;
        (address == address_of(region, slot, lent.len)).then_some(lent)
    }

    /// Ends the loan of an object that the program must release; `false` if it has no such object.
    pub fn release(&mut self, address: u64) -> bool {
        let owned = self.lent(address).is_some_and(|lent| lent.references > 0);
        if let (true, Some((region, slot))) = (owned, place(address)) {
            self.slots[region][slot] = None;
        }
        owned
    }

    /// Address of the first read-only object of that kind that the program need not release.
    pub fn shown(&self, kind: Kind) -> Option<u64> {
        let is_shown = |lent: &Lent| lent.kind == kind && lent.references == 0;
        let slots = &self.slots[0];
        let slot = slots.iter().position(|slot| slot.as_ref().is_some_and(is_shown))?;
        Some(address_of(0, slot, slots[slot].as_ref()?.len))
    }

    /// Ends the loan of an object that the program need not release.
    pub fn hide(&mut self, address: u64) {
        let shown = self.lent(address).is_some_and(|lent| lent.references == 0);
        if let (true, Some((region, slot))) = (shown, place(address)) {
            self.slots[region][slot] = None;
        }
    }

    /// Replaces the bytes of a lent object.
    ///
    /// # Panics
    /// When no object of that length is lent at the address.
    pub fn fill(&mut self, memory: &mut Memory, address: u64, bytes: &[u8]) {
        let len = self.lent(address).map(|lent| lent.len);
        assert_eq!(len, Some(bytes.len()), "a lent object is filled whole");
        let (region, slot) = place(address).expect("what is lent has a place");
        let end = (slot + 1) * LENT_BYTES;
        memory.private_mut(REGIONS[region])[end - bytes.len()..end].copy_from_slice(bytes);
    }

    /// Records that the program owns a heap object.
    pub fn own(&mut self, address: u64) {
        self.owned.push(address);
        self.used = true;
    }

    /// Records that the program no longer owns a heap object; `false` if it did not.
    pub fn disown(&mut self, address: u64) -> bool {
        let found = self.owned.iter().rposition(|owned| *owned == address);
        found.map(|at| self.owned.swap_remove(at)).is_some()
    }

    /// Removes one of the heap objects that the program owns.
    pub fn pop_owned(&mut self) -> Option<u64> {
        self.owned.pop()
    }

    /// Whether an object was lent or owned since the last [`Self::clear`].
    #[inline]
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// Ends all loans; returns the kind of the first object that the program should have released.
    pub fn clear(&mut self) -> Option<Kind> {
        self.used = false;
        let mut slots = self.slots.iter().flatten().flatten();
        let leaked = slots.find(|lent| lent.references > 0).map(|lent| lent.kind);
        self.slots = [[None; SLOTS]; 2];
        leaked
    }
}

fn layout(region: RegionId) -> Layout {
    let bytes = LENT_BYTES as u64;
    Layout {
        shared: false,
        writable: region == LENT_WRITABLE,
        ..Layout::elements(SLOTS as u64, bytes, bytes)
    }
}

fn place(address: u64) -> Option<(usize, usize)> {
    let region = REGIONS.iter().position(|region| *region == RegionId::of(address))?;
    let slot = slot_of(address, layout(REGIONS[region]).shift);
    Some((region, usize::try_from(slot).ok().filter(|slot| *slot < SLOTS)?))
}

fn address_of(region: usize, slot: usize, len: usize) -> u64 {
    let start = layout(REGIONS[region]).offset_of(slot as u64);
    REGIONS[region].at(start + (LENT_BYTES - len) as u64)
}

/// Read-only and writable, in this order.
const REGIONS: [RegionId; 2] = [LENT, LENT_WRITABLE];
/// Objects that may be lent at the same time, for each permission.
const SLOTS: usize = 64;
/// Bytes of the longest lent object.
pub(crate) const LENT_BYTES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> (Memory, Objects) {
        let mut memory = Memory::new();
        let objects = Objects::install(&mut memory);
        (memory, objects)
    }

    #[test]
    fn a_lent_object_has_exact_bounds_and_rights() {
        let (mut memory, mut objects) = fresh();
        let read = objects.lend(&mut memory, (Kind::Socket, 1), &[7; 24], false).unwrap();
        let write = objects.lend(&mut memory, (Kind::Connection, 1), &[1; 8], true).unwrap();
        assert_eq!(memory.load64(read + 16), Ok(0x0707_0707_0707_0707));
        assert!(memory.load8(read + 24).is_err(), "one byte past the end");
        assert!(memory.store8(read, 1).is_err(), "read-only");
        assert!(memory.store8(write + 7, 9).is_ok());
        assert!(memory.store8(write + 8, 9).is_err());
    }

    #[test]
    fn an_object_is_released_once_by_its_exact_address() {
        let (mut memory, mut objects) = fresh();
        let at = objects.lend(&mut memory, (Kind::Socket, 1), &[0; 16], false).unwrap();
        assert!(!objects.release(at + 1));
        assert!(objects.release(at));
        assert!(!objects.release(at), "twice");
        let shown = objects.lend(&mut memory, (Kind::Task, 0), &[0; 16], false).unwrap();
        assert!(!objects.release(shown), "an object lent for the run is not owned");
        assert_eq!(objects.clear(), None);
        objects.lend(&mut memory, (Kind::Socket, 1), &[0; 16], false).unwrap();
        assert_eq!(objects.clear(), Some(Kind::Socket));
    }

    #[test]
    fn slots_are_bounded() {
        let (mut memory, mut objects) = fresh();
        assert_eq!(objects.lend(&mut memory, (Kind::Key, 0), &[0; LENT_BYTES + 1], false), None);
        for _ in 0..SLOTS {
            assert!(objects.lend(&mut memory, (Kind::Key, 0), &[0; 4], false).is_some());
        }
        assert_eq!(objects.lend(&mut memory, (Kind::Key, 0), &[0; 4], false), None);
    }
}

//! Objects that a processor lends to its program.

use super::Processor;
use crate::fault::{Cause, Fault};
use crate::objects::Kind;

impl Processor {
    /// Lends bytes to the program, which must release them before its run ends. `None` when all
    /// slots are lent or the bytes exceed a slot.
    pub fn lend(&mut self, kind: Kind, bytes: &[u8], writable: bool) -> Option<u64> {
        self.objects.lend(&mut self.memory, (kind, 1), bytes, writable)
    }

    /// Lends bytes that the program need not release: they end with the run.
    pub fn show(&mut self, kind: Kind, bytes: &[u8], writable: bool) -> Option<u64> {
        self.objects.lend(&mut self.memory, (kind, 0), bytes, writable)
    }

    /// Length of the object lent at exactly this address, if it is of that kind.
    pub fn lent(&self, address: u64, kind: Kind) -> Option<usize> {
        self.objects.lent(address).filter(|lent| lent.kind == kind).map(|lent| lent.len)
    }

    /// Writes the bytes of a lent object as the kernel does, even if programs may only read it.
    ///
    /// # Panics
    /// When no object of that length is lent at the address.
    pub fn fill_lent(&mut self, address: u64, bytes: &[u8]) {
        self.objects.fill(&mut self.memory, address, bytes);
    }

    /// Takes an allocated object from the program; a fault when the program does not own it.
    pub fn disown(&mut self, address: u64) -> Result<(), Box<Fault>> {
        if self.objects.disown(address) {
            return Ok(());
        }
        let object = self.memory.describe(address);
        Err(Fault::new(Cause::NotOwned { object }))
    }
}

//! What a worker lends to its program, and takes back when the run ends.

use super::Worker;
use crate::fault::Fault;
use crate::objects::Kind;

impl Worker {
    /// Lends bytes to the program, which must give them back before its run ends. `None` when
    /// all slots are lent or the bytes are more than a slot holds.
    pub(crate) fn lend(&mut self, kind: Kind, bytes: &[u8], writable: bool) -> Option<u64> {
        self.objects.lend(&mut self.memory, (kind, 1), bytes, writable)
    }

    /// Lends bytes that need not be given back: they vanish with the run.
    pub(crate) fn show(&mut self, kind: Kind, bytes: &[u8], writable: bool) -> Option<u64> {
        self.objects.lend(&mut self.memory, (kind, 0), bytes, writable)
    }

    /// The length of what is lent at exactly that address, if it is of that kind.
    pub(crate) fn lent(&self, address: u64, kind: Kind) -> Option<usize> {
        self.objects.lent(address).filter(|lent| lent.kind == kind).map(|lent| lent.len)
    }

    /// Takes a lent object back; `false` when the program does not own it.
    pub(crate) fn give_back(&mut self, address: u64) -> bool {
        self.objects.give_back(address)
    }

    /// What of that kind is shown already.
    pub(crate) fn shown(&self, kind: Kind) -> Option<u64> {
        self.objects.shown(kind)
    }

    /// Ends what was only shown before the run does.
    pub(crate) fn hide(&mut self, address: u64) {
        self.objects.hide(address);
    }

    /// Writes lent bytes in the kernel's place, read-only or not.
    ///
    /// # Panics
    /// When nothing of that length is lent there.
    pub(crate) fn fill_lent(&mut self, address: u64, bytes: &[u8]) {
        self.objects.fill(&mut self.memory, address, bytes);
    }

    /// Remembers that the program owns a heap object and must release it.
    pub(crate) fn own(&mut self, address: u64) {
        self.objects.own(address);
    }

    /// The program gives an object away; a fault when it does not own it.
    pub(crate) fn disown(&mut self, address: u64) -> Result<(), Box<Fault>> {
        if self.objects.disown(address) {
            return Ok(());
        }
        let place = self.memory.describe(address);
        Err(Fault::refused(format!("{place} is not owned by the program")))
    }

    /// Takes back all that the finished run still owns; what it was, if anything.
    pub(crate) fn reclaim(&mut self) -> Option<String> {
        if !self.objects.is_used() {
            return None;
        }
        let leaked = self.objects.clear();
        let mut words =
            leaked.map(|kind| format!("a reference to a {} is not released", kind.name()));
        while let Some(address) = self.objects.pop_owned() {
            words.get_or_insert_with(|| "an allocated object is not dropped".to_owned());
            self.drop_object(address);
        }
        words
    }
}

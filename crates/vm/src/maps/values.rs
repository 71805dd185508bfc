//! The values of a map's elements in memory, one for each processor if the map is per CPU.
//!
//! Rule: a processor's values are contiguous, so that processors do not share cache lines; copies
//! do not affect the special fields.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::fields::SpinLock;
use super::{MapAttributes, flag};
use crate::errno::Errno;
use crate::memory::{Layout, Slab, offset};

#[derive(Debug)]
pub(crate) struct Values {
    slab: Arc<Slab>,
    layout: Layout,
    /// Number of elements of one processor.
    each: u64,
    copies: u32,
}

impl Values {
    /// Values of `each` elements in a slab of their own.
    pub fn create(attributes: &MapAttributes, each: u64) -> Result<Self, Errno> {
        let copies = attributes.copies();
        let bytes = (each * u64::from(copies)).checked_mul(attributes.stride());
        let slab = Arc::new(Slab::new(bytes.ok_or(Errno::ENOMEM)?)?);
        Self::inside(attributes, slab, each, (0, attributes.stride()))
    }

    /// Values in a slab that holds other data: the first at `start`, `stride` apart.
    pub fn inside(
        attributes: &MapAttributes,
        slab: Arc<Slab>,
        each: u64,
        (start, stride): (u64, u64),
    ) -> Result<Self, Errno> {
        let copies = attributes.copies();
        let elements = each * u64::from(copies);
        let layout = Layout::elements(elements, attributes.value_size.into(), stride);
        let layout = Layout { start, ..layout };
        if !layout.is_addressable() {
            return Err(Errno::ENOMEM);
        }
        Ok(Self { slab, layout, each, copies })
    }

    /// The address of `cpu`'s value of an element.
    #[inline]
    pub fn address(&self, attributes: &MapAttributes, element: u64, cpu: u32) -> u64 {
        attributes.address(&self.layout, self.own(element, cpu))
    }

    /// Sets `cpu`'s value.
    pub fn set(&self, attributes: &MapAttributes, element: u64, cpu: u32, value: &[u8]) {
        let place = self.place(self.own(element, cpu));
        if attributes.fields.is_empty() {
            self.slab.write(place, value);
            return;
        }
        for part in attributes.fields.plain(attributes.value_size as usize) {
            self.slab.write(place + part.start, &value[part]);
        }
    }

    /// Sets the values of all processors, each padded to a multiple of eight.
    pub fn set_all(&self, attributes: &MapAttributes, element: u64, value: &[u8]) {
        if self.copies == 1 {
            return self.set(attributes, element, 0, value);
        }
        for (cpu, value) in (0..).zip(value.chunks_exact(attributes.stride() as usize)) {
            self.set(attributes, element, cpu, value);
        }
    }

    /// Sets `cpu`'s value and those of the others to zero.
    pub fn set_first(&self, attributes: &MapAttributes, element: u64, cpu: u32, value: &[u8]) {
        for other in (0..self.copies).filter(|other| *other != cpu && self.copies > 1) {
            self.slab.zero(self.place(self.own(element, other)), attributes.stride() as usize);
        }
        self.set(attributes, element, cpu, value);
    }

    /// Sets the value under its own spin lock.
    pub fn set_locked(
        &self,
        attributes: &MapAttributes,
        element: u64,
        value: &[u8],
    ) -> Result<(), Errno> {
        let lock = attributes.fields.spin_lock().ok_or(Errno::EINVAL)?;
        let place = self.place(self.own(element, 0));
        let _held = SpinLock::take(self.slab.half(place + lock))?;
        self.set(attributes, element, 0, value);
        Ok(())
    }

    /// Initializes the special fields of a new element.
    pub fn init_fields(&self, attributes: &MapAttributes, element: u64) {
        for cpu in self.processors(attributes, None) {
            attributes.fields.init(&self.slab, self.place(self.own(element, cpu)));
        }
    }

    /// Leaves what the special fields own to the directory, in one processor's value or in all.
    pub fn free_fields(&self, attributes: &MapAttributes, element: u64, cpu: Option<u32>) {
        for cpu in self.processors(attributes, cpu) {
            let place = self.place(self.own(element, cpu));
            attributes.fields.free(&self.slab, place, |orphan| {
                if let Some(home) = attributes.home.upgrade() {
                    home.leave(orphan);
                }
            });
        }
    }

    /// User side: the value; of all processors if it is per CPU. With `BPF_F_LOCK` it is read under
    /// the value's spin lock.
    pub fn read(
        &self,
        attributes: &MapAttributes,
        element: u64,
        flags: u64,
    ) -> Result<Vec<u8>, Errno> {
        let mut value = vec![0; attributes.user_value_size()];
        let step = value.len() / self.copies as usize;
        let place = self.place(self.own(element, 0));
        let lock = attributes.fields.spin_lock().filter(|_| flags & flag::LOCK != 0);
        let word = lock.map(|lock| self.slab.half(place + lock));
        let held = word.map(SpinLock::take).transpose()?;
        for (cpu, chunk) in (0..).zip(value.chunks_exact_mut(step)) {
            self.slab.read(self.place(self.own(element, cpu)), chunk);
            attributes.fields.blank(chunk);
        }
        drop(held);
        Ok(value)
    }

    /// Adds to `used` those `elements` that are not zero on some processor. Only for values in a
    /// slab of their own.
    pub fn used(&self, elements: std::ops::Range<u64>, used: &mut BTreeSet<u64>) {
        for cpu in 0..self.copies {
            let (first, end) = (self.own(elements.start, cpu), self.own(elements.end, cpu));
            let mut from = self.place(first);
            while let Some(found) = self.slab.first_used(from..self.place(end)) {
                let element = (found as u64 - self.layout.start) / self.layout.stride;
                used.insert(elements.start + element - first);
                from = self.place(element + 1);
            }
        }
    }

    /// Number of elements whose values take about `bytes` bytes, at least one.
    pub fn elements_in(&self, bytes: u64) -> u64 {
        (bytes / (self.layout.stride * u64::from(self.copies))).max(1)
    }

    /// The element that contains an address.
    pub fn element_at(&self, address: u64) -> Option<u64> {
        let element = offset(address) >> self.layout.shift;
        (element < self.layout.elements).then_some(element % self.each)
    }

    pub fn region(&self) -> (&Arc<Slab>, Layout) {
        (&self.slab, self.layout)
    }

    /// The processors whose special fields to visit.
    fn processors(&self, attributes: &MapAttributes, cpu: Option<u32>) -> std::ops::Range<u32> {
        match cpu {
            _ if attributes.fields.is_empty() => 0..0,
            Some(cpu) if self.copies > 1 => cpu..cpu + 1,
            _ => 0..self.copies,
        }
    }

    #[inline]
    fn own(&self, element: u64, cpu: u32) -> u64 {
        if self.copies == 1 { element } else { u64::from(cpu) * self.each + element }
    }

    fn place(&self, element: u64) -> usize {
        (self.layout.start + element * self.layout.stride) as usize
    }
}

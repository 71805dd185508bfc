//! Code that maps the value of a field to its class.
//!
//! Rule: the value is in R2 (and R1), the class is returned in R0. R0 to R5 are overwritten, and R9
//! by searches of IPv6 addresses.

use spec::asm::Reg::{R0, R4};
use spec::asm::{Cond, Label, Size};

use super::data::{MAP, Place};
use super::value::{LOW, load, tree};
use super::{Code, search};
use crate::Field;
use crate::compile::plan::{Boundary, Classifier};

impl Code<'_> {
    /// Sets R0 to the class of a field. Code checks whether the packet has the field only where
    /// that makes a difference: a missing field is 0.
    pub(super) fn class(&mut self, field: Field, classifier: &Classifier, absent: u32) {
        let known = self.unsure(field);
        let done = self.asm.label();
        if known != 0 && absent != classifier.class(0) {
            let there = self.asm.label();
            self.known(R0).jump32_if(R0, Cond::Set, known.cast_signed(), there);
            self.asm.mov32(R0, absent.cast_signed()).jump(done).bind(there);
        }
        load(&mut self.asm, field);
        self.classify(field, classifier);
        self.asm.bind(done);
    }

    /// Sets R0 to the class of the value in R2 (and R1).
    pub(super) fn classify(&mut self, field: Field, classifier: &Classifier) {
        match classifier {
            Classifier::Branches(boundaries) => self.branches(field, boundaries),
            Classifier::Direct(classes) => self.direct(field, classes),
            Classifier::Ranges(ranges) => search::search(self, field, ranges),
        }
    }

    fn branches(&mut self, field: Field, boundaries: &[Boundary]) {
        let mut classes: Vec<u32> = boundaries.iter().map(|one| one.class).collect();
        classes.sort_unstable();
        classes.dedup();
        let labels: Vec<Label> = classes.iter().map(|_| self.asm.label()).collect();
        let label = |class| labels[classes.binary_search(&class).unwrap_or_default()];
        let last = boundaries.last().map_or(0, |one| one.class);
        tree(&mut self.asm, field, boundaries, &label, Some(label(last)));
        let done = self.asm.label();
        self.asm.bind(label(last)).mov32(R0, last.cast_signed());
        for class in classes.iter().copied().filter(|class| *class != last) {
            self.asm.jump(done).bind(label(class)).mov32(R0, class.cast_signed());
        }
        self.asm.bind(done);
    }

    /// Elements are as small as the highest class allows. The verifier bounds the index by the
    /// width of the load, so a field that is narrower than its place in memory needs a mask.
    fn direct(&mut self, field: Field, classes: &[u32]) {
        let greatest = classes.iter().copied().max().unwrap_or_default();
        let (size, shift) = match greatest {
            0..=0xff => (Size::Byte, 0),
            0x100..=0xffff => (Size::Half, 1),
            _ => (Size::Word, 2),
        };
        let bytes = classes.iter().flat_map(|class| class.to_le_bytes()[..1 << shift].to_vec());
        let place = self.data.table(bytes.collect(), classes.len(), 0);
        if field.place().bits() > field.bits() {
            self.asm.and32(LOW, place.mask);
        }
        self.point(place);
        if shift > 0 {
            self.asm.lsh(LOW, shift);
        }
        self.asm.add(R4, LOW).load(size, R0, R4.at(0));
    }

    /// Sets R4 to the address of a table.
    pub(super) fn point(&mut self, place: Place) {
        self.asm.load_map_value(R4, MAP, place.offset);
    }
}

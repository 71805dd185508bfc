//! The label of each byte that programs can write: stack, packet, map values.
//!
//! Rule: only bytes with a label take memory. A packet's bytes keep their labels when its ends
//! move, because their position in the buffer does not change.

use std::collections::HashMap;

use super::label::Label;
use crate::memory::{RegionId, offset};

#[derive(Debug, Default)]
pub(super) struct Shadow {
    packet: HashMap<u64, Word>,
    other: HashMap<u64, Word>,
}

/// Labels of eight bytes.
type Word = [Label; 8];

impl Shadow {
    /// Removes the labels of the previous packet.
    pub fn clear_packet(&mut self) {
        self.packet.clear();
    }

    /// The union of all labels of the packet.
    pub fn all_of_packet(&self) -> Label {
        let labels = self.packet.values().flatten();
        labels.fold(Label::NONE, |all, one| all | *one)
    }

    pub fn byte(&self, address: u64) -> Label {
        let (words, address) = self.words(address);
        words.get(&(address / 8)).map_or(Label::NONE, |word| word[address as usize % 8])
    }

    /// The union of all labels of a range.
    pub fn read(&self, address: u64, len: usize) -> Label {
        let bytes = (0..len as u64).map(|at| self.byte(address.wrapping_add(at)));
        bytes.fold(Label::NONE, |all, one| all | one)
    }

    pub fn write(&mut self, address: u64, len: usize, label: Label) {
        (0..len as u64).for_each(|at| self.set(address.wrapping_add(at), label));
    }

    /// Copies the labels of a range to another one, adding `more` to each.
    pub fn copy(&mut self, (from, to): (u64, u64), len: usize, more: Label) {
        let labels: Vec<Label> =
            (0..len as u64).map(|at| self.byte(from.wrapping_add(at))).collect();
        for (at, label) in (0..).zip(labels) {
            self.set(to.wrapping_add(at), label.as_data() | more);
        }
    }

    fn set(&mut self, address: u64, label: Label) {
        let is_packet = RegionId::of(address).is_packet();
        let (_, address) = self.words(address);
        let words = if is_packet { &mut self.packet } else { &mut self.other };
        if label.is_empty() {
            let Some(word) = words.get_mut(&(address / 8)) else { return };
            word[address as usize % 8] = label;
            if word.iter().all(|label| label.is_empty()) {
                words.remove(&(address / 8));
            }
            return;
        }
        words.entry(address / 8).or_default()[address as usize % 8] = label;
    }

    fn words(&self, address: u64) -> (&HashMap<u64, Word>, u64) {
        if RegionId::of(address).is_packet() {
            return (&self.packet, offset(address));
        }
        (&self.other, address)
    }
}

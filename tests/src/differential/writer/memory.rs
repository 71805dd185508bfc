//! Actions on memory: loads, stores and atomic steps through every kind of pointer, spills.

use spec::asm::{At, Atomic, Reg, Reg::R10, Size, Width};

use super::{DATA, DATA_LEN, Kind, SPILL, Writer, frame};
use crate::differential::state::SPILLS;

/// A place that an action chose, and what is allowed there.
#[derive(Clone, Copy)]
struct Place {
    at: At,
    /// Whether atomic steps may be done.
    shared: bool,
}

const ATOMICS: [Atomic; 10] = [
    Atomic::Add,
    Atomic::Or,
    Atomic::And,
    Atomic::Xor,
    Atomic::FetchAdd,
    Atomic::FetchOr,
    Atomic::FetchAnd,
    Atomic::FetchXor,
    Atomic::Xchg,
    Atomic::CmpXchg,
];

impl Writer<'_> {
    /// A load or store through a pointer that a register holds.
    pub(super) fn access(&mut self) -> bool {
        let pointers = self.state.all(|kind| kind.len() > 0);
        if pointers.is_empty() {
            return false;
        }
        let base = self.rng.pick(&pointers);
        self.access_through(base);
        true
    }

    pub(super) fn access_through(&mut self, base: Reg) {
        let kind = self.state.kind(base);
        let (size, len) = self.size();
        if kind.len() < len {
            return;
        }
        let (skew, aligned) = match kind {
            Kind::Packet { .. } => (None, false),
            Kind::Value { skew, .. } => (skew, skew.is_some() && self.rng.one_in(2)),
            _ => (Some(0), true),
        };
        let most = kind.len() - len;
        let first = skew.map_or(0, |skew| (len - u16::from(skew) % len) % len);
        let off = match (aligned, most.checked_sub(first)) {
            (false, _) => self.rng.below(usize::from(most) + 1) as u16,
            (true, Some(room)) => first + self.rng.below(usize::from(room / len) + 1) as u16 * len,
            (true, None) => return,
        };
        let even = skew.is_some_and(|skew| (u16::from(skew) + off).is_multiple_of(len));
        let shared = even && !kind.is_undecided();
        self.touch(Place { at: base.at(off as i16), shared }, size, len);
    }

    /// A load or store in the function's own frame.
    pub(super) fn stack_access(&mut self) -> bool {
        let (size, len) = self.size();
        let off = DATA + (self.rng.below(usize::from(DATA_LEN / len)) as u16 * len) as i16;
        self.touch(Place { at: frame(off), shared: true }, size, len);
        true
    }

    /// A pointer to a place in the frame that only the run decides.
    ///
    /// The number is added to the pointer, not the pointer to the number: after that the verifier
    /// of Linux 6.18 takes a callee's frame for the outermost one's and removes code that runs.
    pub(super) fn stack_anywhere(&mut self) -> bool {
        let Some(index) = self.scalar() else { return false };
        let Some([scratch, pointer]) = self.targets() else { return false };
        self.a.mov(scratch, index).and(scratch, 0x38);
        self.a.mov(pointer, R10).add(pointer, scratch).add(pointer, DATA);
        self.state.set(scratch, Kind::Scalar);
        self.state.set(pointer, Kind::Memory { len: 8 });
        self.access_through(pointer);
        true
    }

    fn touch(&mut self, place: Place, size: Size, len: u16) {
        match self.rng.below(if place.shared { 10 } else { 7 }) {
            0..3 => self.load(place.at, size, len),
            3..7 => self.store(place.at, size),
            _ => self.shared(place.at, size, len),
        }
    }

    fn load(&mut self, at: At, size: Size, len: u16) {
        let Some(to) = self.target() else { return };
        match (self.rng.one_in(3), len) {
            (true, 1) => self.a.load_s8(to, at),
            (true, 2) => self.a.load_s16(to, at),
            (true, 4) => self.a.load_s32(to, at),
            _ => self.a.load(size, to, at),
        };
        self.state.set(to, Kind::Scalar);
    }

    fn store(&mut self, at: At, size: Size) {
        match self.scalar().filter(|_| !self.rng.one_in(3)) {
            Some(from) => self.a.store(size, at, from),
            None => self.a.store(size, at, self.rng.immediate()),
        };
    }

    /// An atomic step; without a width for it, or with no register free, acquire or release.
    fn shared(&mut self, at: At, size: Size, len: u16) {
        let atomic = self.rng.pick(&ATOMICS);
        let Some(source) = self.changeable().filter(|reg| *reg != at.base) else { return };
        if len < 4 || self.rng.one_in(5) {
            if self.rng.one_in(2) {
                self.a.load_acquire(size, source, at);
            } else {
                self.a.store_release(size, at, source);
            }
            return;
        }
        if atomic == Atomic::CmpXchg && !self.expect(at.base) {
            return;
        }
        let width = if len == 4 { Width::W32 } else { Width::W64 };
        self.a.atomic(atomic, width, at, source);
    }

    /// Sees to it that r0 holds a number to compare with.
    fn expect(&mut self, base: Reg) -> bool {
        if base == Reg::R0 || !self.state.open().contains(&Reg::R0) {
            return false;
        }
        if self.state.kind(Reg::R0) != Kind::Scalar || self.rng.one_in(4) {
            self.a.mov(Reg::R0, self.rng.pick(&[0, 1, -1, 7]));
            self.state.set(Reg::R0, Kind::Scalar);
        }
        true
    }

    /// A second pointer into the same memory, at a constant or variable offset.
    pub(super) fn derive(&mut self) -> bool {
        let pointers = self.state.all(|kind| kind.len() >= 2);
        let Some([to]) = self.targets() else { return false };
        let from = pointers.into_iter().find(|reg| *reg != to);
        let Some(from) = from else { return false };
        let kind = self.state.kind(from);
        let by = self.rng.below(usize::from(kind.len())) as u16;
        match (kind, self.scalar().filter(|reg| *reg != to)) {
            (Kind::Value { map, len, .. }, Some(index)) if len > 8 && self.rng.one_in(2) => {
                self.a.mov(to, index).and(to, 7).add(to, from);
                self.state.set(to, Kind::Value { map, len: len - 7, skew: None });
            }
            (Kind::Memory { .. }, _) => {
                let by = by / 8 * 8;
                self.a.mov(to, from).add(to, by);
                self.state.set(to, kind.behind(by));
            }
            _ => {
                self.a.mov(to, from).add(to, by);
                self.state.set(to, kind.behind(by));
            }
        }
        true
    }

    pub(super) fn spill(&mut self) -> bool {
        let pointers = self.state.all(|kind| kind.len() > 0);
        if pointers.is_empty() || self.state.in_loop() {
            return false;
        }
        let (from, slot) = (self.rng.pick(&pointers), self.rng.below(SPILLS));
        self.a.store64(frame(SPILL + slot as i16 * 8), from);
        self.state.set_spill(slot, self.state.kind(from));
        true
    }

    pub(super) fn fill(&mut self) -> bool {
        let slot = self.rng.below(SPILLS);
        let kind = self.state.spill(slot);
        let Some([to]) = self.targets() else { return false };
        if kind == Kind::Unset {
            return false;
        }
        self.a.load64(to, frame(SPILL + slot as i16 * 8));
        self.state.set(to, kind);
        true
    }
}

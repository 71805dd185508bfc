//! Actions that call helpers on numbers and bytes alone.

use spec::asm::{Helper, Reg::*};

use super::{Kind, Writer};

impl Writer<'_> {
    pub(super) fn checksum(&mut self) -> bool {
        if !self.can_call() {
            return false;
        }
        let lens = [0, 4, 8, 16, 20, 32];
        let (from, to) = (self.rng.pick(&lens), self.rng.pick(&lens));
        for (pointer, size, len) in [(R1, R2, from), (R3, R4, to)] {
            if len == 0 {
                self.a.mov(pointer, 0);
                self.state.set(pointer, Kind::Unset);
            } else {
                self.bytes_argument(pointer, len);
            }
            self.a.mov(size, len);
            self.state.set(size, Kind::Unset);
        }
        match self.scalar().filter(|_| self.rng.one_in(2)) {
            Some(seed) => self.a.mov(R5, seed),
            None => self.a.mov(R5, self.rng.immediate()),
        };
        self.a.call(Helper::CSUM_DIFF);
        self.answered();
        true
    }

    pub(super) fn redirect(&mut self) -> bool {
        if !self.can_call() {
            return false;
        }
        self.argument(R1, (0, 3));
        self.a.mov(R2, self.rng.pick(&[0, 0, 1, 8]));
        self.state.set(R2, Kind::Unset);
        self.a.call(Helper::REDIRECT);
        self.answered();
        true
    }

    /// Facts that are the same on both sides.
    pub(super) fn small_facts(&mut self) -> bool {
        if !self.can_call() {
            return false;
        }
        self.a.call(Helper::GET_SMP_PROCESSOR_ID);
        self.answered();
        true
    }
}

//! Actions on ring buffers and dynptrs, and reads of any memory.

use spec::MapKind;
use spec::asm::{Cond, Helper, Reg::*};

use super::{BUFFER, BUFFER_LEN, DATA, DYNPTR, Kind, Writer};

impl Writer<'_> {
    /// A record for user space, or a query of a ring buffer.
    pub(super) fn ring(&mut self) -> bool {
        let rings = self.maps.of(&[MapKind::RINGBUF]);
        if rings.is_empty() || !self.can_call() {
            return false;
        }
        let ring = self.rng.pick(&rings);
        match self.rng.below(3) {
            0 => self.reserved(ring),
            1 => {
                let len = 1 + self.rng.below(64) as u16;
                self.kept_bytes_argument(R2, len);
                self.a.load_map(R1, ring).mov(R3, len).mov(R4, self.rng.pick(&[0, 1, 2, 4]));
                self.a.call(Helper::RINGBUF_OUTPUT);
                self.answered();
            }
            _ => {
                self.a.load_map(R1, ring).mov(R2, self.rng.between(0, 4));
                self.a.call(Helper::RINGBUF_QUERY);
                self.answered();
            }
        }
        true
    }

    /// A record that is written in place; nothing between may end the program.
    fn reserved(&mut self, ring: usize) {
        let len = 1 + self.rng.below(200) as i32;
        let full = self.a.label();
        self.a.load_map(R1, ring).mov(R2, len).mov(R3, 0).call(Helper::RINGBUF_RESERVE);
        self.state.called();
        self.a.jump_if(R0, Cond::Eq, 0, full);
        for _ in 0..1 + self.rng.below(4) {
            let (size, bytes) = self.size();
            let Some(room) = len.checked_sub(bytes.into()).filter(|room| *room >= 0) else {
                continue;
            };
            let at = R0.at(self.rng.between(0, room) as i16);
            match self.scalar() {
                Some(from) => self.a.store(size, at, from),
                None => self.a.store(size, at, self.rng.immediate()),
            };
        }
        let end = self.rng.pick(&[Helper::RINGBUF_SUBMIT, Helper::RINGBUF_DISCARD]);
        self.a.mov(R1, R0).mov(R2, self.rng.pick(&[0, 1, 2])).call(end).bind(full);
        self.state.called();
    }

    /// A dynptr on a map's value: made, then read, written or pointed into.
    pub(super) fn dynptr(&mut self) -> bool {
        let values = self.state.all(|kind| matches!(kind, Kind::Value { len: 1.., .. }));
        if values.is_empty() || !self.can_call() {
            return false;
        }
        let value = self.rng.pick(&values);
        let len = 1 + self.rng.below(self.state.kind(value).len().into()) as i32;
        self.a.mov(R1, value).mov(R2, len).mov(R3, 0).mov(R4, R10).add(R4, DYNPTR);
        self.a.call(Helper::DYNPTR_FROM_MEM);
        self.answered();
        for _ in 0..1 + self.rng.below(3) {
            self.use_dynptr();
        }
        true
    }

    fn use_dynptr(&mut self) {
        let len = 1 + self.rng.below(16) as i32;
        match self.rng.below(3) {
            0 => {
                self.argument(R4, (0, 31));
                self.frame_argument(R1, DATA);
                self.frame_argument(R3, DYNPTR);
                self.a.mov(R2, len).mov(R5, 0).call(Helper::DYNPTR_READ);
                self.answered();
            }
            1 => {
                self.argument(R2, (0, 31));
                self.frame_argument(R1, DYNPTR);
                self.frame_argument(R3, DATA);
                self.a.mov(R4, len).mov(R5, self.rng.pick(&[0, 0, 1]));
                self.a.call(Helper::DYNPTR_WRITE);
                self.answered();
            }
            _ => self.slice(len),
        }
    }

    /// A pointer to a part of the dynptr's bytes.
    fn slice(&mut self, len: i32) {
        let none = self.a.label();
        self.argument(R2, (0, 31));
        self.frame_argument(R1, DYNPTR);
        self.a.mov(R3, len).call(Helper::DYNPTR_DATA);
        self.state.called();
        self.a.jump_if(R0, Cond::Eq, 0, none);
        let at = R0.at(self.rng.between(0, len - 1) as i16);
        self.a.load8(R1, at).add(R1, 1).store8(at, R1).bind(none);
    }

    /// Any memory, or none.
    pub(super) fn probe_read(&mut self) -> bool {
        if !self.can_call() {
            return false;
        }
        let len = 1 + self.rng.below(BUFFER_LEN.into()) as u16;
        if self.rng.one_in(4) {
            self.a.mov(R3, self.rng.between(0, 4095));
            self.state.set(R3, Kind::Unset);
        } else {
            self.bytes_argument(R3, len);
        }
        self.frame_argument(R1, BUFFER);
        self.a.mov(R2, len).call(Helper::PROBE_READ_KERNEL);
        self.answered();
        true
    }
}

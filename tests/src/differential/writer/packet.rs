//! Actions on the packet: bytes after a check, metadata, its ends, copies of parts.

use spec::asm::{Cond, Helper, Label, Reg, Reg::*};

use super::{BUFFER, BUFFER_LEN, DATA, DATA_LEN, Kind, Writer};

/// Offsets in `struct xdp_md`.
const DATA_META: i16 = 8;
const FIELDS: [i16; 2] = [12, 16];

impl Writer<'_> {
    /// Bytes of the packet from its start or from a variable offset.
    pub(super) fn packet(&mut self) -> bool {
        let (Some(context), Some([data, end, scratch])) = (self.context, self.targets()) else {
            return false;
        };
        let index = self.scalar().filter(|reg| ![data, end, scratch].contains(reg));
        self.forget([data, end, scratch]);
        self.a.packet(data, end, context);
        if let Some(index) = index.filter(|_| self.rng.one_in(3)) {
            let mask = self.rng.pick(&[7, 15, 63]);
            self.a.mov(scratch, index).and(scratch, mask).add(data, scratch);
        }
        let len = self.rng.pick(&[1, 8, 14, 20, 34, 54, 64, 128]);
        self.bounded(data, (end, scratch), len);
        true
    }

    pub(super) fn metadata(&mut self) -> bool {
        let (Some(context), Some([meta, data, scratch])) = (self.context, self.targets()) else {
            return false;
        };
        self.forget([meta, data, scratch]);
        self.a.load32(meta, context.at(DATA_META)).load32(data, context.at(0));
        let len = self.rng.pick(&[1, 4, 8, 32]);
        self.bounded(meta, (data, scratch), len);
        true
    }

    /// Checks that `len` bytes are there: without them the function ends, or skips what follows.
    fn bounded(&mut self, start: Reg, (end, scratch): (Reg, Reg), len: u16) {
        let ends = !self.bound && self.rng.one_in(5);
        let skip = if ends { self.way_out() } else { self.a.label() };
        self.a.mov(scratch, start).add(scratch, len);
        self.compare_pointers(scratch, end, skip);
        let before = self.state.clone();
        self.state.set(start, Kind::Packet { len });
        for _ in 0..1 + self.rng.below(3) {
            self.access_through(start);
            if self.state.kind(start).len() == 0 {
                break;
            }
        }
        if !ends {
            if self.depth < 3 {
                self.block(3);
            }
            self.a.bind(skip);
            self.state.meet(&before);
        }
    }

    /// Jumps when there are too few bytes, in one of the forms that compilers use.
    fn compare_pointers(&mut self, wanted: Reg, end: Reg, short: Label) {
        match self.rng.below(4) {
            0 => self.a.jump_if(wanted, Cond::Gt, end, short),
            1 => self.a.jump_if(end, Cond::Lt, wanted, short),
            2 => {
                let enough = self.a.label();
                self.a.jump_if(wanted, Cond::Le, end, enough).jump(short).bind(enough)
            }
            _ => {
                let enough = self.a.label();
                self.a.jump_if(end, Cond::Ge, wanted, enough).jump_far(short).bind(enough)
            }
        };
    }

    /// How long the packet is, by its two ends or by asking.
    pub(super) fn length(&mut self) -> bool {
        let Some(context) = self.context else { return false };
        if self.rng.one_in(2) && self.can_call() {
            self.a.mov(R1, context).call(Helper::XDP_GET_BUFF_LEN);
            self.answered();
            return true;
        }
        let Some([data, end]) = self.targets() else { return false };
        self.forget([data, end]);
        self.a.packet(data, end, context).sub(end, data);
        self.state.set(end, Kind::Scalar);
        true
    }

    /// A number of the context.
    pub(super) fn field(&mut self) -> bool {
        let (Some(context), Some(to)) = (self.context, self.target()) else { return false };
        self.a.load32(to, context.at(self.rng.pick(&FIELDS)));
        self.state.set(to, Kind::Scalar);
        true
    }

    /// Moves an end of the packet.
    pub(super) fn adjust(&mut self) -> bool {
        let Some(context) = self.context.filter(|_| self.may_move()) else { return false };
        let (helper, bounds) = match self.rng.below(6) {
            0 => (Helper::XDP_ADJUST_HEAD, (-300, 300)),
            1 => (Helper::XDP_ADJUST_HEAD, (-16, 15)),
            2 => (Helper::XDP_ADJUST_META, (-40, 8)),
            3 => (Helper::XDP_ADJUST_META, (-32, -1)),
            4 => (Helper::XDP_ADJUST_TAIL, (-64, 63)),
            _ => (Helper::XDP_ADJUST_TAIL, (-1500, 4000)),
        };
        self.argument(R2, bounds);
        if helper == Helper::XDP_ADJUST_META && !self.rng.one_in(4) {
            self.a.and(R2, -4);
        }
        self.a.mov(R1, context).call(helper);
        self.answered();
        self.packet_moved();
        true
    }

    /// Copies a part of the packet out or in.
    pub(super) fn copy_bytes(&mut self) -> bool {
        let Some(context) = self.context.filter(|_| self.can_call()) else { return false };
        let out = self.rng.one_in(2);
        if !out && !self.may_move() {
            return false;
        }
        let most = self.rng.pick(&[63, 63, 1500]);
        self.argument(R2, (0, most));
        let (part, most) = self.rng.pick(&[(DATA, DATA_LEN), (BUFFER, BUFFER_LEN)]);
        self.frame_argument(R3, part);
        let size = 1 + self.rng.below(usize::from(most)) as i32;
        self.a.mov(R4, size).mov(R1, context);
        if out {
            self.a.call(Helper::XDP_LOAD_BYTES);
            self.answered();
        } else {
            self.a.call(Helper::XDP_STORE_BYTES);
            self.answered();
            self.packet_moved();
        }
        true
    }

    /// Whether pointers into the packet may become void here.
    fn may_move(&self) -> bool {
        self.can_call() && !self.state.in_loop()
    }

    pub(super) fn packet_moved(&mut self) {
        self.state.forget(|kind| matches!(kind, Kind::Packet { .. }));
    }

    pub(super) fn forget<const N: usize>(&mut self, registers: [Reg; N]) {
        for reg in registers {
            self.state.set(reg, Kind::Unset);
        }
    }
}

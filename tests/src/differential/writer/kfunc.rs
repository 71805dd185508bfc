//! Actions that call kernel functions: iterators, dynptrs on the packet, strings.
//!
//! Only some cases have them: the kernel's side looks each up in the kernel's types, which takes
//! longer than all the rest.

use spec::asm::{Cond, Helper, Reg::*};

use super::{DATA, DYNPTR, ITERATOR, Kind, Writer, frame};
use crate::differential::maps::{STRING, STRINGS, TEXT};

/// Functions on two strings, and on one with a number.
const PAIRS: [&str; 5] =
    ["bpf_strcmp", "bpf_strcasecmp", "bpf_strspn", "bpf_strcspn", "bpf_strstr"];
const SINGLES: [&str; 4] = ["bpf_strchr", "bpf_strchrnul", "bpf_strrchr", "bpf_strnlen"];

impl Writer<'_> {
    pub(super) fn kfunc(&mut self) -> bool {
        if !self.kfuncs || !self.can_call() {
            return false;
        }
        match self.rng.below(4) {
            0 => self.iterate(),
            1 => self.packet_dynptr(),
            2 => self.pull(),
            _ => self.strings(),
        }
    }

    /// A loop over numbers; nothing in it may end the program, or the iterator would be lost.
    fn iterate(&mut self) -> bool {
        if self.state.in_loop() || self.depth > 2 || self.bound {
            return false;
        }
        self.argument(R2, (-4, 11));
        self.argument(R3, (-2, 13));
        self.frame_argument(R1, ITERATOR);
        self.a.call_kfunc("bpf_iter_num_new");
        self.answered();
        self.elements_moved(None);
        let outer = self.state.enter_loop();
        self.bound = true;
        let [head, end] = [self.a.here(), self.a.label()];
        self.frame_argument(R1, ITERATOR);
        self.a.call_kfunc("bpf_iter_num_next");
        self.state.called();
        self.a.jump_if(R0, Cond::Eq, 0, end);
        let before = self.state.clone();
        self.a.load32(R0, R0.at(0)).load64(R1, frame(DATA)).add(R1, R0).store64(frame(DATA), R1);
        self.state.set(R0, Kind::Scalar);
        self.block(2);
        self.a.jump(head).bind(end);
        self.state = before;
        self.frame_argument(R1, ITERATOR);
        self.a.call_kfunc("bpf_iter_num_destroy");
        self.state.called();
        self.bound = false;
        self.state.leave_loop(outer);
        true
    }

    /// A dynptr on the packet: read, written, or asked.
    fn packet_dynptr(&mut self) -> bool {
        let Some(context) = self.context.filter(|_| !self.state.in_loop()) else { return false };
        self.frame_argument(R3, DYNPTR);
        self.a.mov(R1, context).mov(R2, 0).call_kfunc("bpf_dynptr_from_xdp");
        self.answered();
        for _ in 0..1 + self.rng.below(3) {
            let len = 1 + self.rng.below(16) as i32;
            match self.rng.below(4) {
                0 => {
                    self.argument(R4, (0, 255));
                    self.frame_argument(R1, DATA);
                    self.frame_argument(R3, DYNPTR);
                    self.a.mov(R2, len).mov(R5, 0).call(Helper::DYNPTR_READ);
                }
                1 => {
                    self.argument(R2, (0, 255));
                    self.frame_argument(R1, DYNPTR);
                    self.frame_argument(R3, DATA);
                    self.a.mov(R4, len).mov(R5, 0).call(Helper::DYNPTR_WRITE);
                }
                2 => {
                    self.frame_argument(R1, DYNPTR);
                    self.a.call_kfunc("bpf_dynptr_size");
                }
                _ => {
                    self.argument(R2, (0, 15));
                    self.argument(R3, (0, 63));
                    self.frame_argument(R1, DYNPTR);
                    self.a.call_kfunc("bpf_dynptr_adjust");
                }
            }
            self.answered();
        }
        self.packet_moved();
        true
    }

    fn pull(&mut self) -> bool {
        let Some(context) = self.context.filter(|_| !self.state.in_loop()) else { return false };
        self.argument(R2, (0, 4095));
        self.a.mov(R1, context).call_kfunc("bpf_xdp_pull_data");
        self.answered();
        self.packet_moved();
        true
    }

    fn strings(&mut self) -> bool {
        let at = |number: usize| (number * STRING) as u32;
        let [one, other] = [(); 2].map(|()| self.rng.below(STRINGS.len()));
        for reg in [R1, R2] {
            self.state.set(reg, Kind::Unset);
        }
        self.a.load_map_value(R1, TEXT, at(one));
        if self.rng.one_in(2) {
            self.a.load_map_value(R2, TEXT, at(other)).call_kfunc(self.rng.pick(&PAIRS));
        } else {
            self.a.mov(R2, self.rng.pick(&[0, 5, 37, 48, 100, 120]));
            self.a.call_kfunc(self.rng.pick(&SINGLES));
        }
        self.answered();
        true
    }
}

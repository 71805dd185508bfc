//! Actions that call helpers on text.

use spec::asm::{Helper, Reg::*};

use super::{BUFFER, DATA, Kind, Writer, frame};
use crate::differential::maps::{STRING, STRINGS, TEXT, WORDS};

impl Writer<'_> {
    fn string(&mut self) -> (usize, u32) {
        let number = self.rng.below(STRINGS.len());
        (number, (number * STRING) as u32)
    }

    /// Text to a number, or compared with other text.
    pub(super) fn number(&mut self) -> bool {
        if !self.can_call() {
            return false;
        }
        let (_, at) = self.string();
        let len = 1 + self.rng.below(STRING) as i32;
        for reg in [R1, R2, R3, R4] {
            self.state.set(reg, Kind::Unset);
        }
        if self.rng.one_in(3) {
            let (_, other) = self.string();
            self.a.load_map_value(R1, TEXT, at).mov(R2, len).load_map_value(R3, TEXT, other);
            self.a.call(Helper::STRNCMP);
        } else {
            let base = self.rng.pick(&[0, 8, 10, 16, 7]);
            self.a.load_map_value(R1, TEXT, at).mov(R2, len).mov(R3, base);
            self.frame_argument(R4, DATA + 8);
            self.a.call(self.rng.pick(&[Helper::STRTOL, Helper::STRTOUL]));
        }
        self.answered();
        true
    }

    pub(super) fn print(&mut self) -> bool {
        if !self.can_call() {
            return false;
        }
        let (number, at) = self.string();
        let words = WORDS[number];
        // Fresh bytes, since a short text leaves the rest of the buffer as it is.
        self.a.store64(frame(BUFFER), 0);
        self.frame_argument(R1, BUFFER);
        let len = 1 + self.rng.below(32) as i32;
        self.state.set(R2, Kind::Unset);
        self.a.mov(R2, len).load_map_value(R3, TEXT, at);
        self.state.set(R3, Kind::Unset);
        self.frame_argument(R4, DATA);
        self.a.mov(R5, words as i32 * 8).call(Helper::SNPRINTF);
        self.answered();
        true
    }
}

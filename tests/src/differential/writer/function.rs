//! The frames around actions: a program's entry, functions, callbacks.

use spec::asm::{Atomic, Cond, Label, Reg, Reg::*, Width};

use super::{BUFFER, DATA, DATA_LEN, KEY, Kind, Writer, frame};
use crate::differential::maps::{OUT, OUT_WORDS};
use crate::differential::rng::Rng;
use crate::differential::state::State;

/// What calls a function, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Main,
    /// r1 the context, r2 the caller's numbers, r3 a number.
    Function,
    /// A callback of `bpf_loop`: r1 is the turn, r2 the caller's numbers.
    Callback,
    /// A callback of `bpf_for_each_map_elem` over that map: r2 the key, r3 the value, r4 the
    /// caller's numbers.
    Each {
        map: usize,
    },
}

/// A function that is called somewhere.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    pub label: Label,
    pub role: Role,
    pub seed: u64,
}

impl Writer<'_> {
    pub(super) fn main(&mut self) {
        self.state.set(R1, Kind::Unset);
        self.keep_context();
        self.start_frame();
        self.first_bytes();
        self.block(22);
        self.write_out();
        self.result();
        self.a.bind(self.bail).verdict(spec::Verdict::Pass);
    }

    pub(super) fn function(&mut self, function: Function) {
        self.role = function.role;
        self.rng = Rng::new(function.seed);
        self.state = State::new();
        self.context = None;
        self.a.function(function.label, format!("f{}", self.a.slot()));
        self.bail = self.a.label();
        self.gives_up = false;
        self.bound = false;
        match function.role {
            Role::Each { map } => return self.each(map),
            Role::Function => {
                self.keep_context();
                self.state.set(R2, Kind::Memory { len: DATA_LEN });
                self.state.set(R3, Kind::Scalar);
            }
            Role::Callback | Role::Main => {
                self.state.set(R1, Kind::Scalar);
                self.state.set(R2, Kind::Memory { len: DATA_LEN });
            }
        }
        self.start_frame();
        self.block(7);
        self.returned();
    }

    /// The answer of a function or callback: a number, or whether the loop ends.
    fn returned(&mut self) {
        let scalar = self.scalar().filter(|_| !self.rng.one_in(4));
        match scalar {
            Some(from) => self.a.mov(R0, from),
            None => self.a.mov(R0, 0),
        };
        if self.role == Role::Callback {
            self.a.and(R0, if self.rng.one_in(2) { 0 } else { 1 });
        }
        self.a.exit();
        // The verifier refuses what nothing leads to.
        if self.gives_up {
            self.a.bind(self.bail).mov(R0, 1).exit();
        }
    }

    /// Elements come in no promised order, so their keys and values are only added up.
    fn each(&mut self, map: usize) {
        let def = &self.maps.defs[map];
        let (key, value) = (def.key_size, def.value_size);
        self.a.mov(R6, R4);
        for (pointer, len, place) in [(R2, key, 0), (R3, value, 8)] {
            for at in 0..(len.min(8) as i16) {
                self.a.load8(R5, pointer.at(at)).lsh(R5, i32::from(at) * 8);
                self.a.load64(R1, R6.at(place)).add(R1, R5).store64(R6.at(place), R1);
            }
        }
        if value >= 4 && self.rng.one_in(2) {
            self.a.load32(R5, R3.at(0)).add(R5, 3).store32(R3.at(0), R5);
        }
        self.a.mov(R0, 0).exit();
    }

    /// Moves the context out of reach of calls.
    fn keep_context(&mut self) {
        let keeper = self.rng.pick(&[R6, R7, R8, R9]);
        self.a.mov(keeper, R1);
        self.state.hold(keeper);
        self.context = Some(keeper);
    }

    /// Writes all of the frame.
    fn start_frame(&mut self) {
        for off in (BUFFER..0).step_by(8) {
            let number = self.rng.immediate();
            match self.scalar().filter(|_| self.rng.one_in(3)) {
                Some(from) => self.a.store64(frame(off), from),
                None => self.a.store64(frame(off), number),
            };
        }
        // Keys are small numbers, or nothing would ever be found.
        self.a.store64(frame(KEY), 0).store64(frame(KEY + 8), 0);
    }

    /// Numbers that the verifier does not know.
    fn first_bytes(&mut self) {
        let Some(context) = self.context else { return };
        let [data, end, scratch] = self.targets().expect("nothing is held but the context");
        let bail = self.way_out();
        self.a.packet(data, end, context).need(data, end, 14, scratch, bail);
        let free: Vec<Reg> = self.state.open().into_iter().filter(|reg| *reg != data).collect();
        for reg in free {
            match self.rng.below(4) {
                0 => self.a.load32(reg, data.at(self.rng.between(0, 10) as i16)),
                1 => self.a.load64(reg, data.at(self.rng.between(0, 6) as i16)),
                2 => self.a.load_imm64(reg, self.rng.number()),
                _ => self.a.mov(reg, self.rng.immediate()),
            };
            self.state.set(reg, Kind::Scalar);
        }
        self.state.set(data, Kind::Packet { len: 14 });
    }

    /// Adds all numbers to what the map holds.
    fn write_out(&mut self) {
        let open = self.state.open();
        let base = open.iter().copied().find(|reg| self.state.kind(*reg) != Kind::Scalar);
        let base = base.unwrap_or(open[0]);
        self.state.set(base, Kind::Unset);
        self.a.load_map_value(base, OUT, 0);
        for reg in self.state.all(|kind| kind == Kind::Scalar) {
            let place = base.at(i16::from(reg.number()) * 8);
            self.a.atomic(Atomic::Add, Width::W64, place, reg);
        }
        let Some(scratch) = self.state.open().into_iter().find(|reg| *reg != base) else { return };
        self.state.set(scratch, Kind::Scalar);
        for word in 0..(OUT_WORDS - 12).min(DATA_LEN as i16 / 8) {
            self.a.load64(scratch, frame(DATA + word * 8));
            self.a.atomic(Atomic::Add, Width::W64, base.at(96 + word * 8), scratch);
        }
    }

    /// Any number, mostly a verdict.
    fn result(&mut self) {
        match (self.scalar(), self.rng.below(3)) {
            (Some(from), 0) => self.a.mov(R0, from),
            (Some(from), 1) => self.a.mov(R0, from).and(R0, 3),
            _ => self.a.mov(R0, self.rng.between(0, 5)),
        };
        self.a.exit();
    }

    /// Ends early when two numbers compare so; seldom, or little would be run.
    pub(super) fn give_up(&mut self, left: Reg, cond: Cond, right: i32) {
        let bail = self.way_out();
        self.a.jump_if(left, cond, right, bail);
    }

    /// Where the function gives up.
    pub(super) fn way_out(&mut self) -> Label {
        self.gives_up = true;
        self.bail
    }
}

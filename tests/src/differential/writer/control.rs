//! Actions that change what runs next: branches, loops, calls, callbacks, tail calls.

use spec::asm::{Cond, Helper, Reg, Reg::*};

use super::function::{Function, Role};
use super::{DATA, Kind, Writer};
use crate::differential::maps::{KEYED, PROGRAM_SLOTS, PROGRAMS};

const CONDITIONS: [Cond; 11] = [
    Cond::Eq,
    Cond::Ne,
    Cond::Gt,
    Cond::Ge,
    Cond::Lt,
    Cond::Le,
    Cond::Set,
    Cond::Sgt,
    Cond::Sge,
    Cond::Slt,
    Cond::Sle,
];

/// Functions of one program.
const FUNCTIONS: usize = 4;

impl Writer<'_> {
    /// Two ways, or one that is skipped.
    pub(super) fn branch(&mut self) -> bool {
        let Some(left) = self.scalar().filter(|_| self.depth < 4) else { return false };
        let other = self.a.label();
        let cond = self.rng.pick(&CONDITIONS);
        if !self.bound && self.rng.one_in(24) {
            let edge = self.rng.immediate();
            self.give_up(left, Cond::Eq, edge);
        }
        let narrow = self.rng.one_in(2);
        match self.scalar().filter(|_| self.rng.one_in(2)) {
            Some(right) if narrow => self.a.jump32_if(left, cond, right, other),
            Some(right) => self.a.jump_if(left, cond, right, other),
            None if narrow => self.a.jump32_if(left, cond, self.rng.immediate(), other),
            None => self.a.jump_if(left, cond, self.rng.immediate(), other),
        };
        let before = self.state.clone();
        self.block(3);
        if self.rng.one_in(2) {
            let end = self.a.label();
            self.a.jump(end).bind(other);
            let after = std::mem::replace(&mut self.state, before);
            self.block(3);
            self.a.bind(end);
            self.state.meet(&after);
        } else {
            self.a.bind(other);
            self.state.meet(&before);
        }
        true
    }

    /// A loop that runs a few times.
    pub(super) fn turn(&mut self) -> bool {
        let free = self.state.open_for_pointers();
        let free: Vec<Reg> = free.into_iter().filter(|reg| reg.number() > 5).collect();
        if free.is_empty() || self.depth > 2 || self.state.in_loop() && self.rng.one_in(2) {
            return false;
        }
        let counter = self.rng.pick(&free);
        self.a.mov(counter, 0);
        self.state.set(counter, Kind::Scalar);
        // A value that the body may replace cannot come around.
        self.elements_moved(None);
        self.state.hold(counter);
        let outer = self.state.enter_loop();
        let [head, end] = [self.a.here(), self.a.label()];
        let stopped = self.rng.one_in(4);
        if stopped {
            self.a.may_goto(end);
        }
        let before = self.state.clone();
        self.block(4);
        let turns = 1 + self.rng.below(6) as i32;
        self.a.add(counter, 1).jump_if(counter, Cond::Lt, turns, head).bind(end);
        if stopped {
            self.state.meet(&before);
        }
        self.state.leave_loop(outer);
        self.state.release(counter);
        true
    }

    /// Calls a function of the program, which is written later.
    pub(super) fn call(&mut self) -> bool {
        let Some(context) = self.context.filter(|_| self.role == Role::Main) else { return false };
        if !self.can_call() || self.state.in_loop() {
            return false;
        }
        let Some(function) = self.function_for(Role::Function) else { return false };
        let scalar = self.scalar();
        match scalar {
            Some(from) => self.a.mov(R3, from),
            None => self.a.mov(R3, 5),
        };
        self.frame_argument(R2, DATA);
        self.a.mov(R1, context).call_local(function.label);
        self.answered();
        self.packet_moved();
        self.elements_moved(None);
        true
    }

    pub(super) fn repeat(&mut self) -> bool {
        if !self.can_call() || self.state.in_loop() || !self.may_call_back() {
            return false;
        }
        let Some(function) = self.function_for(Role::Callback) else { return false };
        self.argument(R1, (0, 15));
        let flags = if self.rng.one_in(16) { 1 } else { 0 };
        self.frame_argument(R3, DATA);
        self.a.load_function(R2, function.label).mov(R4, flags).call(Helper::LOOP);
        self.answered();
        self.elements_moved(None);
        true
    }

    pub(super) fn for_each(&mut self) -> bool {
        let walked = &KEYED[..6];
        let all = self.maps.of(walked);
        if all.is_empty() || !self.can_call() || self.state.in_loop() || !self.may_call_back() {
            return false;
        }
        let map = self.rng.pick(&all);
        let Some(function) = self.function_for(Role::Each { map }) else { return false };
        self.frame_argument(R3, DATA);
        self.a.load_map(R1, map).load_function(R2, function.label).mov(R4, 0);
        self.a.call(Helper::FOR_EACH_MAP_ELEM);
        self.answered();
        true
    }

    fn may_call_back(&self) -> bool {
        matches!(self.role, Role::Main | Role::Function)
    }

    /// A new function, or one that waits to be written.
    fn function_for(&mut self, role: Role) -> Option<Function> {
        let known = self.waiting.iter().copied().find(|function| function.role == role);
        if let Some(known) = known.filter(|_| self.rng.one_in(2)) {
            return Some(known);
        }
        if self.functions == FUNCTIONS {
            return known;
        }
        self.functions += 1;
        let function = Function { label: self.a.label(), role, seed: self.rng.word() };
        self.waiting.push(function);
        Some(function)
    }

    /// Goes over to another program, or on when there is none.
    pub(super) fn tail_call(&mut self) -> bool {
        let Some(context) = self.context.filter(|_| self.can_call()) else { return false };
        if self.bound || !matches!(self.role, Role::Main | Role::Function) {
            return false;
        }
        let most = PROGRAM_SLOTS as i32;
        self.argument(R3, (0, most));
        self.a.load_map(R2, PROGRAMS).mov(R1, context).call(Helper::TAIL_CALL);
        self.state.called();
        true
    }
}

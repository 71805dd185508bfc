//! Writes random programs that the kernel's verifier has no reason to refuse.
//!
//! A program is a list of actions; each appends a few instructions and keeps the account of what
//! registers hold ([`State`]). Every function has the same frame:
//!
//! ```text
//! fp-64  numbers that actions work on      fp-112  a buffer that helpers fill
//! fp-80  a map's key                       fp-136  three spilled pointers
//!                                          fp-152  a dynptr
//!                                          fp-160  an iterator
//! ```
//!
//! Rule: all of a frame but its last three parts is written before anything reads it, and what a
//! program computes is added to the map `out`, so that a difference in any register shows.

mod arithmetic;
mod control;
mod function;
mod helper;
mod kfunc;
mod map;
mod memory;
mod packet;
mod record;
mod text;

use std::collections::BTreeSet;

use spec::ProgramKind;
use spec::asm::{Assembler, At, Label, Reg, Size};

use super::maps::Maps;
use super::rng::Rng;
use super::state::{Kind, State};

use function::{Function, Role};

/// One program under construction.
pub struct Writer<'a> {
    rng: Rng,
    /// Actions to leave out, by the seeds that they would have had.
    skipped: &'a BTreeSet<u64>,
    /// Seeds of the actions that were written.
    actions: Vec<u64>,
    maps: &'a Maps,
    a: Assembler,
    state: State,
    role: Role,
    /// Where the context is kept, in functions that have it.
    context: Option<Reg>,
    /// Where a function gives up: its end, with any number in r0.
    bail: Label,
    /// Whether it does so anywhere.
    gives_up: bool,
    /// Whether something must be released before the function may end.
    bound: bool,
    /// Whether kernel functions are called.
    kfuncs: bool,
    /// Functions that are called and not yet written.
    waiting: Vec<Function>,
    /// All functions so far.
    functions: usize,
    /// Blocks around the one that is being written.
    depth: usize,
}

/// Where the parts of a frame begin.
const DATA: i16 = -64;
const KEY: i16 = -80;
const BUFFER: i16 = -112;
const SPILL: i16 = -136;
const DYNPTR: i16 = -152;
const ITERATOR: i16 = -160;
/// Actions of one program.
const ACTIONS: usize = 80;
/// Bytes of numbers in a frame.
const DATA_LEN: u16 = 64;
const BUFFER_LEN: u16 = 32;

/// How likely an action is, and how to take it.
type Weighted<W> = (usize, fn(&mut W) -> bool);

impl<'a> Writer<'a> {
    /// Actions with their weights; each returns whether it found what it needs.
    const ACTIONS: [Weighted<Self>; 37] = [
        (14, Self::arithmetic),
        (4, Self::constant),
        (5, Self::unary),
        (10, Self::access),
        (6, Self::stack_access),
        (2, Self::stack_anywhere),
        (3, Self::derive),
        (2, Self::spill),
        (2, Self::fill),
        (6, Self::packet),
        (2, Self::metadata),
        (1, Self::length),
        (2, Self::field),
        (7, Self::lookup),
        (2, Self::direct_value),
        (5, Self::update),
        (3, Self::delete),
        (4, Self::queue),
        (3, Self::adjust),
        (3, Self::copy_bytes),
        (3, Self::checksum),
        (2, Self::redirect),
        (2, Self::redirect_map),
        (2, Self::number),
        (2, Self::print),
        (1, Self::small_facts),
        (4, Self::ring),
        (3, Self::dynptr),
        (2, Self::probe_read),
        (3, Self::nested_lookup),
        (12, Self::kfunc),
        (7, Self::branch),
        (3, Self::turn),
        (2, Self::call),
        (2, Self::repeat),
        (2, Self::for_each),
        (2, Self::tail_call),
    ];

    /// A whole XDP program, and the seeds of its actions.
    pub fn program(
        seed: u64,
        maps: &'a Maps,
        skipped: &'a BTreeSet<u64>,
        (name, kind): (&str, ProgramKind),
    ) -> (Assembler, Vec<u64>) {
        let mut a = Assembler::new(name, kind);
        let bail = a.label();
        let mut writer = Self {
            rng: Rng::new(seed),
            skipped,
            actions: Vec::new(),
            maps,
            a,
            state: State::new(),
            role: Role::Main,
            context: None,
            bail,
            gives_up: false,
            bound: false,
            kfuncs: maps.kfuncs,
            waiting: Vec::new(),
            functions: 0,
            depth: 0,
        };
        writer.main();
        while let Some(function) = writer.waiting.pop() {
            writer.function(function);
        }
        (writer.a, writer.actions)
    }

    /// Up to `most` actions. Each has its own generator, so that the others do not change without
    /// it.
    fn block(&mut self, most: usize) {
        self.depth += 1;
        for _ in 0..1 + self.rng.below(most) {
            let seed = self.rng.word();
            if self.skipped.contains(&seed) || self.actions.len() > ACTIONS {
                continue;
            }
            self.actions.push(seed);
            let outer = std::mem::replace(&mut self.rng, Rng::new(seed));
            self.act();
            self.rng = outer;
        }
        self.depth -= 1;
    }

    /// One action; some fit only now and then.
    fn act(&mut self) {
        let all: usize = Self::ACTIONS.iter().map(|(weight, _)| weight).sum();
        for _ in 0..20 {
            let mut at = self.rng.below(all);
            for (weight, action) in &Self::ACTIONS {
                if at < *weight {
                    if action(self) {
                        return;
                    }
                    break;
                }
                at -= weight;
            }
        }
    }

    /// A register with a number in it.
    fn scalar(&mut self) -> Option<Reg> {
        let all = self.state.all(|kind| kind == Kind::Scalar);
        (!all.is_empty()).then(|| self.rng.pick(&all))
    }

    /// A register to write a number to; mostly one that holds no pointer.
    fn target(&mut self) -> Option<Reg> {
        let open = self.state.open();
        let plain: Vec<Reg> =
            open.iter().copied().filter(|reg| self.state.kind(*reg).len() == 0).collect();
        let from = if plain.is_empty() || self.rng.one_in(8) { &open } else { &plain };
        (!from.is_empty()).then(|| self.rng.pick(from))
    }

    /// Registers for pointers, all different.
    fn targets<const N: usize>(&mut self) -> Option<[Reg; N]> {
        let mut open = self.state.open_for_pointers();
        if open.len() < N {
            return None;
        }
        let mut found = [Reg::R0; N];
        for place in &mut found {
            *place = open.swap_remove(self.rng.below(open.len()));
        }
        Some(found)
    }

    /// Sets an argument to a number from `low` to `high`: any, or what a register holds.
    fn argument(&mut self, to: Reg, (low, high): (i32, i32)) {
        let scalar = self.scalar();
        self.state.set(to, Kind::Unset);
        match scalar.filter(|_| self.rng.one_in(3)) {
            Some(from) => {
                let span = (high - low + 1).cast_unsigned();
                let mask = ((span + 1).next_power_of_two() / 2 - 1).cast_signed();
                self.a.mov(to, from).and(to, mask).add(to, low);
            }
            None => {
                self.a.mov(to, self.rng.between(low, high));
            }
        }
    }

    /// The frame's numbers are an argument.
    fn frame_argument(&mut self, to: Reg, part: i16) {
        self.state.set(to, Kind::Unset);
        self.a.mov(to, Reg::R10).add(to, part);
    }

    /// What a helper answered is a number.
    fn answered(&mut self) {
        self.state.called();
        self.state.set(Reg::R0, Kind::Scalar);
    }

    /// Whether calls are possible: r0 to r5 are free.
    fn can_call(&self) -> bool {
        !Reg::ALL[..6].iter().any(|reg| self.state.is_held(*reg))
    }

    fn size(&mut self) -> (Size, u16) {
        self.rng.pick(&SIZES)
    }
}

const SIZES: [(Size, u16); 4] =
    [(Size::Byte, 1), (Size::Half, 2), (Size::Word, 4), (Size::Double, 8)];

/// A place in the frame.
fn frame(off: i16) -> At {
    Reg::R10.at(off)
}

//! `Draft`: a program under construction, with the state and the tables that its parts request.
//!
//! Rule: parts preserve these registers; all others are free between parts and after calls.

use kernel::Ifindex;
use spec::asm::Reg::{self, R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use spec::asm::{Assembler, Cond, Fault, Helper, Label, MemRef, Object};
use spec::{MapDef, MapKind, ProgramKind, Verdict};

use super::abi::{self, control};
use super::job::{Exit, Made};
use crate::error::{ConfigError, Error, Result};
use crate::histogram::BUCKETS;

/// The address of the state.
pub(super) const STATE: Reg = R6;
/// The program's argument.
pub(super) const CONTEXT: Reg = R7;
/// The address of the frame's first byte, from its load until the tail is moved.
pub(super) const FRAME: Reg = R8;
/// Whether the end is announced instead of sending data, in programs that write stamps.
pub(super) const ENDING: Reg = R9;
/// The place on the stack of the address of the frame's size in its table.
pub(super) const SIZE: MemRef = R10.at(-8);

/// A program under construction.
pub(super) struct Draft {
    pub a: Assembler,
    own: usize,
    scratch: Vec<MemRef>,
    pools: Vec<Vec<u8>>,
    arrays: Vec<(String, Vec<Vec<u8>>)>,
    wait: Option<Label>,
    failed: Option<Label>,
    out: Option<Ifindex>,
}

/// Words of the state of the parts before the streams. They always exist, and the words after them
/// depend only on the templates, so that another program of the same templates with other pacing
/// can use the same maps.
pub(super) mod own {
    use crate::program::abi::state::OWN;

    /// End of the wait, ns.
    pub const UNTIL: usize = OWN;
    /// Number of sent frames when `state::LAST` was recorded.
    pub const MARKED: usize = OWN + 8;
    /// Index in the batch of a frame that is returned, in unpaced programs.
    pub const IDLE: usize = OWN + 16;
    /// 1 while the rest of a batch is returned.
    pub const SKIP: usize = OWN + 24;
    /// Scheduled time of the group, ns; 0 without pacing.
    pub const DUE: usize = OWN + 32;
    /// Fraction of a nanosecond of `state::NEXT`, in units of 2^-20.
    pub const FRACTION: usize = OWN + 40;
    /// The last reading of the clock, for stamps.
    pub const NOW: usize = OWN + 48;
    pub const END: usize = OWN + 56;
}

/// The start of a table of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pool: usize,
    at: u32,
}

impl Draft {
    /// Loads the preserved registers.
    pub fn new() -> Self {
        let mut a = Assembler::new(abi::PROGRAM, ProgramKind::XDP);
        a.mov(CONTEXT, R1).load_map_value(STATE, abi::STATE, 0);
        Self {
            a,
            own: own::END,
            scratch: Vec::new(),
            pools: Vec::new(),
            arrays: Vec::new(),
            wait: None,
            failed: None,
            out: None,
        }
    }

    /// Allocates eight bytes of state, initially zero.
    pub fn word(&mut self) -> MemRef {
        let at = word_at(self.own);
        self.own += 8;
        at
    }

    /// A word for use within one run; equal numbers return the same word.
    pub fn scratch(&mut self, number: usize) -> MemRef {
        while self.scratch.len() <= number {
            let word = self.word();
            self.scratch.push(word);
        }
        self.scratch[number]
    }

    /// Adds a table to the program, at a multiple of eight bytes.
    pub fn table(&mut self, bytes: &[u8]) -> Table {
        let room = |pool: &Vec<u8>| pool.len() + bytes.len() <= POOL;
        let pool = match self.pools.iter().position(room) {
            Some(pool) => pool,
            None => {
                self.pools.push(Vec::new());
                self.pools.len() - 1
            }
        };
        let all = &mut self.pools[pool];
        let at = all.len() as u32;
        all.extend_from_slice(bytes);
        all.resize(all.len().next_multiple_of(8), 0);
        Table { pool, at }
    }

    /// Adds a separate array with these elements of equal length.
    pub fn array(&mut self, name: &str, elements: Vec<Vec<u8>>) {
        self.arrays.push((name.to_owned(), elements));
    }

    /// Loads the address of a table into `to`.
    pub fn table_address(&mut self, to: Reg, table: Table) {
        self.a.load_map_value(to, pool_name(table.pool).as_str(), table.at);
    }

    /// Waits, with softirqs disabled, until the clock reaches the time in `until`. Overwrites R0 to
    /// R5.
    pub fn wait_until(&mut self, until: Reg) {
        let a = &mut self.a;
        let body = *self.wait.get_or_insert_with(|| a.label());
        a.store64(word_at(own::UNTIL), until).mov(R1, LOOKS).load_function(R2, body);
        a.mov(R3, 0).mov(R4, 0).call(Helper::LOOP);
    }

    /// The label for frames that are not as required.
    pub fn failed(&mut self) -> Label {
        let a = &mut self.a;
        *self.failed.get_or_insert_with(|| a.label())
    }

    /// Writes the code at that label, if it is used. Control must not fall through into it.
    pub fn write_failed(&mut self) {
        if let Some(failed) = self.failed.take() {
            self.a.note("return it unsent").bind(failed);
            self.return_unsent();
        }
    }

    /// Returns the frame unsent.
    pub fn return_unsent(&mut self) {
        self.a.verdict(Verdict::Drop);
    }

    /// Sends the frame to the exit of the job. A devmap caches the interface, which would otherwise
    /// be looked up by its number each time. That method is used only for an interface that was
    /// removed, so that the kernel reports the error.
    pub fn leave(&mut self, exit: Exit) {
        let a = &mut self.a;
        match exit {
            Exit::Redirect(interface) => {
                let gone = a.label();
                a.load_map(R1, abi::OUT).mov(R2, 0).mov(R3, 0).call(Helper::REDIRECT_MAP);
                a.jump_if(R0, Cond::Ne, Verdict::Redirect as i32, gone).exit().bind(gone);
                a.load_imm64(R1, interface.0.into()).mov(R2, 0).call(Helper::REDIRECT).exit();
                self.out = Some(interface);
            }
            Exit::Pass => {
                a.verdict(Verdict::Pass);
            }
        }
    }

    /// The program with its maps, for live runs of this frame.
    ///
    /// # Errors
    /// [`ConfigError::ProgramTooLarge`] for more tables, words or instructions than a program can
    /// have.
    pub fn finish(mut self, frame: Vec<u8>) -> Result<Made> {
        self.write_wait();
        if self.pools.len() > POOLS || self.own > STATE_MAX {
            return Err(too_large());
        }
        let mut object = Object::new(abi::PROGRAM, "Dual MIT/GPL");
        object.map(array(abi::CONTROL, control::LEN, BPF_F_MMAPABLE));
        object.map(array(abi::STATE, self.own, BPF_F_MMAPABLE));
        object.map(array(abi::LATE, BUCKETS * 8, 0));
        let pools = self.pools.into_iter().enumerate();
        let pools = pools.map(|(index, pool)| (pool_name(index), vec![pool]));
        let mut tables = Vec::new();
        for (name, elements) in pools.chain(self.arrays) {
            let len = elements.first().map_or(0, Vec::len);
            let max_entries = elements.len() as u32;
            object.map(MapDef { max_entries, ..array(&name, len, 0) });
            tables.push((name, elements));
        }
        if let Some(Ifindex(index)) = self.out {
            object.map(MapDef { kind: MapKind::DEVMAP, ..array(abi::OUT, 4, 0) });
            tables.push((abi::OUT.to_owned(), vec![index.to_ne_bytes().to_vec()]));
        }
        object.program(self.a);
        let spec = object.finish().map_err(|error| match error.fault {
            Fault::TooFar { .. } => too_large(),
            _ => error.into(),
        })?;
        Ok(Made { spec, frame, tables })
    }

    /// Writes the body of the wait loop: reads the clock, and returns 1 to end the loop.
    fn write_wait(&mut self) {
        let Some(body) = self.wait else { return };
        let a = &mut self.a;
        let over = a.label();
        a.function(body, "wait").load_map_value(STATE, abi::STATE, 0);
        a.call(Helper::KTIME_GET_NS).load64(R1, word_at(own::UNTIL));
        a.jump_if(R0, Cond::Ge, R1, over);
        a.mov(R0, 0).exit().bind(over).mov(R0, 1).exit();
    }
}

fn too_large() -> Error {
    ConfigError::ProgramTooLarge.into()
}

/// The place of a word of the state.
pub(super) fn word_at(offset: usize) -> MemRef {
    STATE.at(offset as i16)
}

fn pool_name(pool: usize) -> String {
    format!("gen_table_{pool}")
}

fn array(name: &str, value_size: usize, flags: u32) -> MapDef {
    MapDef {
        name: name.into(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: value_size as u32,
        max_entries: 1,
        flags,
        ..MapDef::default()
    }
}

/// Bytes of one map of tables: the most that older kernels let user space write in one call.
const POOL: usize = 4 << 20;
/// Most maps of tables; a program may use 64 maps.
const POOLS: usize = 60;
/// Most bytes of state, limited by the offset of instructions.
const STATE_MAX: usize = i16::MAX as usize & !7;
/// Most reads of the clock in one wait, about 25 ns each: more than the longest wait needs.
const LOOKS: i32 = 1 << 15;
const BPF_F_MMAPABLE: u32 = 1 << 10;

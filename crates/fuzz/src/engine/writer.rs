//! Bytes as a program that calls helpers and kernel functions with plausible arguments.
//!
//! Rule: every byte string is a program. Each step reads a few bytes; what a step needs (a map, a
//! key, a value) it sets up itself, so that most calls get past their first check.

use std::sync::LazyLock;

use spec::asm::{Alu, Assembler, Atomic, Cond, Helper, Label, MapRef, Object, Reg, Size, Width};
use spec::{MapDef, MapKind, ProgramKind, Spec, Verdict};
use vm::{Machine, Options};

/// Maps of every kind, and two programs: an entry, and one for the program array.
pub fn spec(code: &[u8]) -> Option<Spec> {
    let mut object = Object::new("fuzzed", "GPL");
    let maps: Vec<MapRef> = KINDS.iter().map(|kind| object.map(map(*kind))).collect();
    let (entry, tail) = code.split_at(code.len() / 3 * 2);
    object.program(Writer::new("entry", &maps, entry).finish());
    object.program(Writer::new("tail", &maps, tail).finish());
    object.finish().ok()
}

fn map((kind, key_size, value_size, max_entries): Kind) -> MapDef {
    let name = format!("map_{}", kind.0);
    let flags = if kind == MapKind::LPM_TRIE { NO_PREALLOC } else { 0 };
    let inner = kind.is_map_of_maps().then(|| Box::new(map((MapKind::ARRAY, 4, 8, 4))));
    MapDef { name, kind, key_size, value_size, max_entries, flags, inner, ..MapDef::default() }
}

type Kind = (MapKind, u32, u32, u32);

/// Kind, sizes of key and value, and number of entries.
const KINDS: &[Kind] = &[
    (MapKind::ARRAY, 4, 64, 4),
    (MapKind::HASH, 8, 16, 3),
    (MapKind::PERCPU_ARRAY, 4, 16, 2),
    (MapKind::PERCPU_HASH, 4, 8, 3),
    (MapKind::LRU_HASH, 4, 8, 3),
    (MapKind::LRU_PERCPU_HASH, 4, 8, 3),
    (MapKind::LPM_TRIE, 8, 8, 4),
    (MapKind::QUEUE, 0, 8, 2),
    (MapKind::STACK, 0, 8, 2),
    (MapKind::BLOOM_FILTER, 0, 8, 16),
    (MapKind::RINGBUF, 0, 0, 4096),
    (MapKind::USER_RINGBUF, 0, 0, 4096),
    (MapKind::PERF_EVENT_ARRAY, 4, 4, 2),
    (MapKind::PROG_ARRAY, 4, 4, 2),
    (MapKind::DEVMAP, 4, 8, 3),
    (MapKind::DEVMAP_HASH, 4, 8, 3),
    (MapKind::CPUMAP, 4, 8, 2),
    (MapKind::XSKMAP, 4, 4, 2),
    (MapKind::ARRAY_OF_MAPS, 4, 4, 2),
    (MapKind::HASH_OF_MAPS, 4, 4, 2),
];
const NO_PREALLOC: u32 = 1;

struct Writer<'a> {
    assembler: Assembler,
    maps: &'a [MapRef],
    bytes: std::slice::Iter<'a, u8>,
    /// Places to jump back to.
    heads: Vec<Label>,
    end: Label,
    callback: Label,
}

impl<'a> Writer<'a> {
    fn new(name: &str, maps: &'a [MapRef], bytes: &'a [u8]) -> Self {
        let mut assembler = Assembler::new(name, ProgramKind::XDP);
        let (end, callback) = (assembler.label(), assembler.label());
        assembler.mov(CONTEXT, Reg::R1);
        for reg in [RESULT, DATA, DATA_END, Reg::R0] {
            assembler.mov(reg, 0);
        }
        (8..=STACK).step_by(8).for_each(|off| {
            assembler.store64(Reg::R10.at(-off), 0);
        });
        Self { assembler, maps, bytes: bytes.iter(), heads: Vec::new(), end, callback }
    }

    /// The entry function, and one that helpers call back.
    fn finish(mut self) -> Assembler {
        while self.bytes.len() > 0 {
            if self.heads.len() < HEADS {
                let head = self.assembler.here();
                self.heads.push(head);
            }
            self.step();
        }
        self.assembler.bind(self.end);
        self.assembler.verdict(Verdict::Pass);
        self.assembler.function(self.callback, "callback");
        self.assembler.load64(Reg::R0, Reg::R10.at(-8)).mov(Reg::R0, 0).exit();
        self.assembler
    }

    fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or_default()
    }

    fn one<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()].clone()
    }

    fn reg(&mut self) -> Reg {
        self.one(&[Reg::R0, Reg::R1, Reg::R2, Reg::R3, Reg::R4, Reg::R5, RESULT, DATA])
    }

    /// A place on the stack that holds something.
    fn place(&mut self) -> i16 {
        -8 * (1 + i16::from(self.byte()) % (STACK / 8))
    }

    fn number(&mut self) -> i32 {
        const NUMBERS: &[i32] =
            &[0, 1, 2, 3, 4, 8, 14, 16, 64, 255, 256, 4096, -1, -14, i32::MAX, i32::MIN];
        match self.byte() {
            byte @ 0..32 => NUMBERS[usize::from(byte) % NUMBERS.len()],
            byte => i32::from(byte) - 32,
        }
    }

    fn step(&mut self) {
        match self.byte() % 19 {
            0..6 => self.map_call(),
            16 => self.any_call(),
            6 => self.kernel_function(),
            7 => self.arithmetic(),
            8 => self.jump(),
            9 => self.memory(),
            10 => self.atomic(),
            11 => self.packet(),
            12 => self.packet_call(),
            13 => self.loop_call(),
            14 => self.result(),
            17 => self.record(),
            15 => self.argument(),
            _ => self.values(),
        }
    }

    /// Reads and writes where the last call returned, if it returned anything.
    fn values(&mut self) {
        let (size, off, number) = (self.one(SIZES), i16::from(self.byte() % 16), self.number());
        let is_write = self.byte().is_multiple_of(2);
        let (skip, a) = (self.assembler.label(), &mut self.assembler);
        // Errors are negative, numbers are small; the rest are addresses.
        a.jump_if(RESULT, Cond::Slt, 4096, skip);
        match is_write {
            true => a.store(size, RESULT.at(off), number),
            false => a.load(size, Reg::R0, RESULT.at(off)),
        };
        a.bind(skip);
    }

    /// A helper that takes a map, with the map, a key, a value and flags.
    fn map_call(&mut self) {
        let (helper, kinds) = self.one(MAP_HELPERS);
        let kind = if self.byte() < ANY_MAP { self.one(KINDS).0 } else { self.one(kinds) };
        let place = KINDS.iter().position(|one| one.0 == kind);
        let map = self.maps[place.unwrap_or_default()].clone();
        let (key, value) = (self.place(), self.place());
        let (key_byte, flags) = (self.number(), self.number());
        let a = &mut self.assembler;
        a.store64(Reg::R10.at(key), key_byte & 7);
        a.load_map(Reg::R1, map.clone());
        a.mov(Reg::R2, Reg::R10).add(Reg::R2, i32::from(key));
        a.mov(Reg::R3, Reg::R10).add(Reg::R3, i32::from(value)).mov(Reg::R4, flags & 3);
        a.mov(Reg::R5, 8);
        match helper {
            Helper::TAIL_CALL => {
                a.mov(Reg::R1, CONTEXT).load_map(Reg::R2, map).mov(Reg::R3, key_byte & 3);
            }
            Helper::PERF_EVENT_OUTPUT => {
                a.mov(Reg::R1, CONTEXT).load_map(Reg::R2, map).mov(Reg::R4, Reg::R3);
                a.mov(Reg::R3, flags & 3);
            }
            Helper::REDIRECT_MAP | Helper::RINGBUF_RESERVE | Helper::RINGBUF_QUERY => {
                a.mov(Reg::R2, key_byte & 15).mov(Reg::R3, 0);
            }
            Helper::RINGBUF_OUTPUT => {
                a.mov(Reg::R3, 8);
            }
            _ => (),
        }
        self.call(helper);
    }

    fn call(&mut self, helper: Helper) {
        self.assembler.call(helper).mov(RESULT, Reg::R0);
    }

    /// Ends a record that the last call reserved.
    fn record(&mut self) {
        let helper = self.one(&[Helper::RINGBUF_SUBMIT, Helper::RINGBUF_DISCARD]);
        let skip = self.assembler.label();
        let a = &mut self.assembler;
        a.jump_if(RESULT, Cond::Eq, 0, skip).mov(Reg::R1, RESULT).mov(Reg::R2, 0);
        a.call(helper).mov(RESULT, 0).bind(skip);
    }

    /// Any helper, with whatever the registers hold.
    fn any_call(&mut self) {
        let helper = self.one(&HELPERS);
        self.call(helper);
    }

    fn kernel_function(&mut self) {
        let name = self.one(KERNEL_FUNCTIONS);
        if name.contains("_from_xdp") || name.contains("metadata") {
            self.assembler.mov(Reg::R1, CONTEXT);
        }
        self.assembler.call_kfunc(name).mov(RESULT, Reg::R0);
    }

    /// Helpers that call a function back.
    fn loop_call(&mut self) {
        let (helper, number) =
            (self.one(&[Helper::LOOP, Helper::FOR_EACH_MAP_ELEM]), self.number());
        let (map, callback) = (self.one(&self.maps[..WALKED]), self.callback);
        let a = &mut self.assembler;
        match helper {
            Helper::LOOP => a.mov(Reg::R1, number),
            _ => a.load_map(Reg::R1, map),
        };
        a.load_function(Reg::R2, callback).mov(Reg::R3, 0).mov(Reg::R4, 0);
        self.call(helper);
    }

    /// Helpers that change or copy the packet.
    fn packet_call(&mut self) {
        let (helper, number) = (self.one(PACKET_HELPERS), self.number());
        let place = self.place();
        let a = &mut self.assembler;
        a.mov(Reg::R1, CONTEXT).mov(Reg::R2, number).mov(Reg::R3, Reg::R10);
        a.add(Reg::R3, i32::from(place)).mov(Reg::R4, 8);
        if helper == Helper::FIB_LOOKUP {
            a.mov(Reg::R2, Reg::R10).add(Reg::R2, i32::from(-STACK)).mov(Reg::R3, 64);
        }
        self.call(helper);
    }

    fn arithmetic(&mut self) {
        let (alu, to, from, number) = (self.one(ALUS), self.reg(), self.reg(), self.number());
        match self.byte() % 4 {
            0 => self.assembler.alu(alu, to, from),
            1 => self.assembler.alu32(alu, to, from),
            2 => self.assembler.alu(alu, to, number),
            _ => self.assembler.alu32(alu, to, number),
        };
    }

    fn jump(&mut self) {
        let (reg, cond, number) = (self.reg(), self.one(CONDITIONS), self.number());
        let (kind, head) = (self.byte(), self.byte());
        let head = self.heads[usize::from(head) % self.heads.len()];
        match kind % 4 {
            0 => self.assembler.jump_if(reg, cond, number, head),
            1 => self.assembler.jump32_if(reg, cond, number, self.end),
            2 => self.assembler.may_goto(head),
            _ => self.assembler.jump_if(reg, cond, number, self.end),
        };
    }

    fn memory(&mut self) {
        let (size, reg, place) = (self.one(SIZES), self.reg(), self.place());
        match self.byte() % 5 {
            0 => self.assembler.load(size, reg, Reg::R10.at(place)),
            1 => self.assembler.store(size, Reg::R10.at(place), reg),
            2 => self.assembler.load(size, reg, RESULT.at(place.abs() - 8)),
            3 => self.assembler.store(size, RESULT.at(place.abs() - 8), reg),
            _ => self.assembler.load_s8(reg, DATA.at(place.abs())),
        };
    }

    fn atomic(&mut self) {
        let (atomic, reg, place) = (self.one(ATOMICS), self.reg(), self.place());
        let width = self.one(&[Width::W32, Width::W64]);
        let base = self.one(&[Reg::R10, RESULT]);
        let off = if base == Reg::R10 { place } else { 0 };
        self.assembler.atomic(atomic, width, base.at(off), reg);
    }

    /// The borders of the packet, and bytes between them.
    fn packet(&mut self) {
        let (size, reg, off) = (self.one(SIZES), self.reg(), i16::from(self.byte()));
        let (kind, skip) = (self.byte(), self.assembler.label());
        self.assembler.packet(DATA, DATA_END, CONTEXT);
        if kind < SELDOM {
            self.assembler.load(size, reg, CONTEXT.at(off % 32));
            return;
        }
        self.assembler.need(DATA, DATA_END, i32::from(off) + 8, Reg::R0, skip);
        match kind % 2 {
            0 => self.assembler.load(size, reg, DATA.at(off)),
            _ => self.assembler.store(size, DATA.at(off), reg),
        };
        self.assembler.bind(skip);
    }

    /// Ends where the last call returned nothing.
    fn result(&mut self) {
        self.assembler.jump_if(RESULT, Cond::Eq, 0, self.end);
    }

    /// One register for the next call.
    fn argument(&mut self) {
        let (reg, place, number) = (self.reg(), self.place(), self.number());
        let (kind, map, callback) = (self.byte(), self.one(self.maps), self.callback);
        let a = &mut self.assembler;
        match kind % 6 {
            0 => a.mov(reg, CONTEXT),
            1 => a.mov(reg, Reg::R10).add(reg, i32::from(place)),
            2 => a.load_map(reg, map),
            3 => a.mov(reg, RESULT),
            4 => a.load_function(reg, callback),
            _ => a.mov(reg, number),
        };
    }
}

const CONTEXT: Reg = Reg::R6;
const DATA: Reg = Reg::R7;
const DATA_END: Reg = Reg::R8;
/// What the last call returned.
const RESULT: Reg = Reg::R9;
/// Bytes of the stack that are in use.
const STACK: i16 = 128;
/// The first of these maps can be walked.
const WALKED: usize = 6;
/// Places to jump back to.
const HEADS: usize = 16;
const SIZES: &[Size] = &[Size::Byte, Size::Half, Size::Word, Size::Double];
const ALUS: &[Alu] = &[
    Alu::Mov,
    Alu::Add,
    Alu::Sub,
    Alu::Mul,
    Alu::Div,
    Alu::Sdiv,
    Alu::Mod,
    Alu::Smod,
    Alu::Or,
    Alu::And,
    Alu::Xor,
    Alu::Lsh,
    Alu::Rsh,
    Alu::Arsh,
];
const CONDITIONS: &[Cond] =
    &[Cond::Eq, Cond::Ne, Cond::Gt, Cond::Lt, Cond::Set, Cond::Sgt, Cond::Slt];
const ATOMICS: &[Atomic] = &[
    Atomic::Add,
    Atomic::FetchAdd,
    Atomic::FetchOr,
    Atomic::FetchAnd,
    Atomic::FetchXor,
    Atomic::Xchg,
    Atomic::CmpXchg,
];
/// Helpers of maps, and the kinds of map that they take.
const MAP_HELPERS: &[(Helper, &[MapKind])] = &[
    (Helper::MAP_LOOKUP_ELEM, KEYED),
    (Helper::MAP_UPDATE_ELEM, KEYED),
    (Helper::MAP_DELETE_ELEM, KEYED),
    (Helper::MAP_PUSH_ELEM, PUSHED),
    (Helper::MAP_POP_ELEM, PUSHED),
    (Helper::MAP_PEEK_ELEM, PUSHED),
    (Helper::MAP_LOOKUP_PERCPU_ELEM, PER_CPU),
    (Helper::TAIL_CALL, &[MapKind::PROG_ARRAY]),
    (Helper::REDIRECT_MAP, REDIRECTED),
    (Helper::RINGBUF_RESERVE, &[MapKind::RINGBUF]),
    (Helper::RINGBUF_OUTPUT, &[MapKind::RINGBUF]),
    (Helper::RINGBUF_QUERY, &[MapKind::RINGBUF]),
    (Helper::PERF_EVENT_OUTPUT, &[MapKind::PERF_EVENT_ARRAY]),
];
const KEYED: &[MapKind] = &[
    MapKind::ARRAY,
    MapKind::HASH,
    MapKind::PERCPU_ARRAY,
    MapKind::PERCPU_HASH,
    MapKind::LRU_HASH,
    MapKind::LRU_PERCPU_HASH,
    MapKind::LPM_TRIE,
    MapKind::ARRAY_OF_MAPS,
    MapKind::HASH_OF_MAPS,
];
const PUSHED: &[MapKind] = &[MapKind::QUEUE, MapKind::STACK, MapKind::BLOOM_FILTER];
const PER_CPU: &[MapKind] =
    &[MapKind::PERCPU_ARRAY, MapKind::PERCPU_HASH, MapKind::LRU_PERCPU_HASH];
const REDIRECTED: &[MapKind] =
    &[MapKind::DEVMAP, MapKind::DEVMAP_HASH, MapKind::CPUMAP, MapKind::XSKMAP];
/// How often, in 256 calls, a call gets a map of any kind.
const ANY_MAP: u8 = 16;
const SELDOM: u8 = 32;
/// Helpers that an XDP program may call in the engine.
static HELPERS: LazyLock<Vec<Helper>> = LazyLock::new(|| {
    let is_there = |helper: &Helper| {
        let mut assembler = Assembler::new("one_call", ProgramKind::XDP);
        assembler.call(*helper).verdict(Verdict::Pass);
        let mut object = Object::new("fuzzed", "GPL");
        object.program(assembler);
        object.finish().is_ok_and(|spec| Machine::load(&spec, &Options::default()).is_ok())
    };
    Helper::all().filter(is_there).collect()
});
const PACKET_HELPERS: &[Helper] = &[
    Helper::XDP_ADJUST_HEAD,
    Helper::XDP_ADJUST_TAIL,
    Helper::XDP_ADJUST_META,
    Helper::XDP_LOAD_BYTES,
    Helper::XDP_STORE_BYTES,
    Helper::XDP_GET_BUFF_LEN,
    Helper::FIB_LOOKUP,
    Helper::CHECK_MTU,
];
const KERNEL_FUNCTIONS: &[&str] = &[
    "bpf_dynptr_from_xdp",
    "bpf_dynptr_slice",
    "bpf_dynptr_slice_rdwr",
    "bpf_dynptr_adjust",
    "bpf_dynptr_size",
    "bpf_dynptr_clone",
    "bpf_dynptr_copy",
    "bpf_dynptr_memset",
    "bpf_iter_num_new",
    "bpf_iter_num_next",
    "bpf_iter_num_destroy",
    "bpf_iter_bits_new",
    "bpf_iter_bits_next",
    "bpf_strnstr",
    "bpf_strchr",
    "bpf_strspn",
    "bpf_strcasecmp",
    "bpf_rcu_read_lock",
    "bpf_rcu_read_unlock",
    "bpf_xdp_metadata_rx_hash",
    "bpf_xdp_metadata_rx_vlan_tag",
    "bpf_throw",
];

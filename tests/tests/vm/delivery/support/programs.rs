//! The programs of the delivery cases: an entry that acts on test frames, and those that entries
//! of devmaps and cpumaps name.

use spec::asm::{Assembler, Cond, Helper, Object, Reg::*};
use spec::{MapDef, MapKind, ProgramKind, Spec, Verdict};

pub const PORT: u16 = 4242;

/// `BPF_F_BROADCAST` and `BPF_F_EXCLUDE_INGRESS`.
pub const BROADCAST: i32 = 8;
pub const EXCLUDE: i32 = 16;

/// Acts on test frames and passes all others; R6 is the context.
pub fn guarded(name: &str, kind: ProgramKind, act: impl FnOnce(&mut Assembler)) -> Assembler {
    let mut a = Assembler::new(name, kind);
    let pass = a.label();
    a.mov(R6, R1).packet(R2, R3, R1).need(R2, R3, 42, R4, pass);
    a.load16(R4, R2.at(36)).be16(R4).jump_if(R4, Cond::Ne, i32::from(PORT), pass);
    act(&mut a);
    a.bind(pass).verdict(Verdict::Pass);
    a
}

pub fn through(map: &'static str, key: i32, flags: i32) -> impl Fn(&mut Assembler) {
    move |a| {
        a.load_map(R1, map).mov(R2, key).mov(R3, flags).call(Helper::REDIRECT_MAP).exit();
    }
}

/// Puts four bytes of metadata in front, the first of them 0x5a.
pub fn label(a: &mut Assembler) {
    let short = a.label();
    a.mov(R1, R6).mov(R2, -4).call(Helper::XDP_ADJUST_META);
    a.load32(R2, R6.at(8)).load32(R3, R6.at(0)).mov(R4, R2).add(R4, 4);
    a.jump_if(R4, Cond::Gt, R3, short).store32(R2.at(0), 0x5a).bind(short);
}

/// Writes into the addresses where the frame came in and where it leaves.
pub fn stamp(name: &str, kind: ProgramKind) -> Assembler {
    let mut a = Assembler::new(name, kind);
    let pass = a.label();
    a.mov(R6, R1).packet(R2, R3, R1).need(R2, R3, 14, R4, pass);
    a.load32(R5, R6.at(12)).store8(R2.at(11), R5).load32(R5, R6.at(16)).store8(R2.at(10), R5);
    if kind.attach_type == ProgramKind::XDP_DEVMAP.attach_type {
        a.load32(R5, R6.at(20)).store8(R2.at(5), R5);
    } else {
        a.call(Helper::GET_SMP_PROCESSOR_ID).packet(R2, R3, R6).need(R2, R3, 14, R4, pass);
        a.store8(R2.at(5), R0);
    }
    a.bind(pass).verdict(Verdict::Pass);
    a
}

/// Writes the first byte of metadata into the source address, or drops.
pub fn read_label(name: &str, kind: ProgramKind) -> Assembler {
    let mut a = Assembler::new(name, kind);
    let drop = a.label();
    a.mov(R6, R1).load32(R2, R6.at(8)).load32(R3, R6.at(0)).mov(R4, R2).add(R4, 4);
    a.jump_if(R4, Cond::Gt, R3, drop).load8(R5, R2.at(0));
    a.packet(R2, R3, R6).need(R2, R3, 14, R4, drop).store8(R2.at(11), R5).verdict(Verdict::Pass);
    a.bind(drop).verdict(Verdict::Drop);
    a
}

/// Takes four bytes off the frame's tail and adds eight zero bytes in front.
pub fn reshape(name: &str, kind: ProgramKind) -> Assembler {
    let mut a = Assembler::new(name, kind);
    let drop = a.label();
    a.mov(R6, R1).mov(R2, -4).call(Helper::XDP_ADJUST_TAIL);
    a.mov(R1, R6).mov(R2, -8).call(Helper::XDP_ADJUST_HEAD);
    a.packet(R2, R3, R6).need(R2, R3, 14, R4, drop).store32(R2.at(0), 0).store32(R2.at(4), 0);
    a.verdict(Verdict::Pass).bind(drop).verdict(Verdict::Drop);
    a
}

pub fn returns(name: &str, kind: ProgramKind, verdict: u32) -> Assembler {
    let mut a = Assembler::new(name, kind);
    a.mov32(R0, verdict as i32).exit();
    a
}

pub fn onward(name: &str, kind: ProgramKind, key: i32, flags: i32) -> Assembler {
    let mut a = Assembler::new(name, kind);
    a.load_map(R1, "ports").mov(R2, key).mov(R3, flags).call(Helper::REDIRECT_MAP).exit();
    a
}

/// `jumbo`: all programs take frames of several buffers.
pub fn spec(act: &dyn Fn(&mut Assembler), jumbo: bool) -> Spec {
    let of = |kind: ProgramKind| {
        if jumbo { ProgramKind { flags: ProgramKind::XDP_FRAGS.flags, ..kind } } else { kind }
    };
    let entry = of(ProgramKind::XDP);
    let (egress, cpu) = (of(ProgramKind::XDP_DEVMAP), of(ProgramKind::XDP_CPUMAP));
    let mut object = Object::new("delivery.o", "Dual MIT/GPL");
    for (name, kind, max_entries) in [
        ("ports", MapKind::DEVMAP, 8),
        ("hash", MapKind::DEVMAP_HASH, 8),
        ("cpus", MapKind::CPUMAP, 2),
    ] {
        let map = MapDef { name: name.to_owned(), kind, max_entries, ..MapDef::default() };
        object.map(MapDef { key_size: 4, value_size: 8, ..map });
    }
    object.program(guarded("entry", entry, act));
    object.program(stamp("stamp", egress)).program(read_label("labelled", egress));
    object.program(reshape("reshape", egress));
    for (name, verdict) in [("aborts", 0), ("denies", 1), ("sends_back", 3), ("nonsense", 77)] {
        object.program(returns(name, egress, verdict));
        object.program(returns(&format!("cpu_{name}"), cpu, verdict));
    }
    object.program(stamp("cpu_stamp", cpu)).program(read_label("cpu_labelled", cpu));
    object.program(onward("cpu_onward", cpu, 2, 0)).program(onward("cpu_lost", cpu, 5, 0));
    object.program(onward("cpu_all", cpu, 0, BROADCAST | EXCLUDE));
    object.finish().unwrap()
}

/// Overwrites eight bytes of the packet from `at` on, in any buffer.
pub fn overwrite(a: &mut Assembler, at: i32) {
    a.load_imm64(R1, 0x1122_3344_5566_7788).store64(R10.at(-8), R1);
    a.mov(R1, R6).mov(R2, at).mov(R3, R10).add(R3, -8).mov(R4, 8).call(Helper::XDP_STORE_BYTES);
}

pub fn cut(a: &mut Assembler, bytes: i32) {
    a.mov(R1, R6).mov(R2, -bytes).call(Helper::XDP_ADJUST_TAIL);
}

//! `vm-interp`: nanoseconds an instruction of the engine's interpreter, beside a plain one.
//!
//! The plain one is what anybody would write first: instructions decoded beforehand, one `match`,
//! memory a byte array that addresses index; no regions, no rights, no budget, no faults. Both
//! run the same programs in the same rounds, so that the ratio is what our checks cost or save.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use report::Bench;
use spec::asm::text;
use spec::insn::{self, Insn};
use spec::{Fixup, Function, Input, MapDef, MapKind, Program, ProgramKind, Spec, Target};
use vm::{Machine, Options};

use crate::harness::{Arm, Harness};
use crate::{Effort, Kind, Scenario, Testbed};

/// The scenario `vm-interp`.
pub const SCENARIO: Scenario = Scenario {
    name: "vm-interp",
    kind: Kind::Part,
    about: "nanoseconds an instruction of the engine's interpreter, and of a plain match",
    effort: Effort::USUAL,
    run,
};

fn run(harness: &mut Harness, _: &Testbed) -> Result<Bench> {
    let mut bench = Bench::new("vm-interp");
    let mut arms = Vec::new();
    for (name, source) in PROGRAMS {
        let insns = text::parse(source).with_context(|| format!("program {name}"))?;
        let mut plain = Plain::new(&insns);
        let mut engine = Engine::new(&insns)?;
        let (expected, steps) = (plain.run::<true>(), plain.steps);
        ensure!(engine.run()? == expected, "{name}: the two do not agree");
        arms.push(Arm::new(name, "ns", move |window| {
            per_step(window, steps, || engine.run().map(drop))
        }));
        arms.push(Arm::new(&format!("{name}-plain"), "ns", move |window| {
            per_step(window, steps, || {
                plain.run::<false>();
                Ok(())
            })
        }));
    }
    harness.interleave(&mut bench, &mut arms)?;
    for (name, _) in PROGRAMS {
        bench.ratio(name, &format!("{name}-plain"));
    }
    Ok(bench)
}

/// Mean nanoseconds an instruction over the window.
fn per_step(window: Duration, steps: u64, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    let mut runs = 0;
    while start.elapsed() < window {
        for _ in 0..BATCH {
            run()?;
        }
        runs += BATCH;
    }
    Ok(start.elapsed().as_nanos() as f64 / (runs * steps) as f64)
}

/// Runs between two readings of the clock.
const BATCH: u64 = 64;

/// The context's first two words are where the packet starts and ends; `map[1]` of the text is
/// an array of 16 values of eight bytes.
const PROGRAMS: &[(&str, &str)] = &[("alu", ALU), ("parse", PARSE), ("maps", MAPS)];

const ALU: &str = "
    r0 = 1
    r1 = 200
loop:
    r2 = r1
    r2 *= 31
    r0 += r2
    r3 = r0
    r3 >>= 7
    r0 ^= r3
    w0 += 17
    r4 = r0
    r4 &= 255
    if r4 > 250 goto next
    r0 <<= 1
next:
    r1 -= 1
    if r1 != 0 goto loop
    exit";

/// Ethernet, IPv4 and UDP of a frame, checksum over the IPv4 header, addresses to the stack.
const PARSE: &str = "
    r2 = *(u32 *)(r1 +0)
    r3 = *(u32 *)(r1 +4)
    r0 = 1
    r4 = r2
    r4 += 42
    if r4 > r3 goto out
    r5 = *(u16 *)(r2 +12)
    if r5 != 8 goto out
    r5 = *(u8 *)(r2 +14)
    r6 = r5
    r6 &= 15
    if r6 != 5 goto out
    r5 >>= 4
    if r5 != 4 goto out
    r5 = *(u16 *)(r2 +20)
    r5 &= 65343
    if r5 != 0 goto out
    r6 = *(u8 *)(r2 +23)
    if r6 != 17 goto out
    r7 = *(u32 *)(r2 +26)
    *(u32 *)(r10 -16) = r7
    r7 = *(u32 *)(r2 +30)
    *(u32 *)(r10 -12) = r7
    r7 = *(u16 *)(r2 +34)
    *(u16 *)(r10 -8) = r7
    r7 = *(u16 *)(r2 +36)
    r7 = be16 r7
    *(u16 *)(r10 -6) = r7
    if r7 == 53 goto out
    r8 = 0
    r9 = *(u16 *)(r2 +14)
    r8 += r9
    r9 = *(u16 *)(r2 +16)
    r8 += r9
    r9 = *(u16 *)(r2 +18)
    r8 += r9
    r9 = *(u16 *)(r2 +20)
    r8 += r9
    r9 = *(u16 *)(r2 +22)
    r8 += r9
    r9 = *(u16 *)(r2 +24)
    r8 += r9
    r9 = *(u16 *)(r2 +26)
    r8 += r9
    r9 = *(u16 *)(r2 +28)
    r8 += r9
    r9 = *(u16 *)(r2 +30)
    r8 += r9
    r9 = *(u16 *)(r2 +32)
    r8 += r9
    r9 = r8
    r9 >>= 16
    r8 &= 65535
    r8 += r9
    *(u64 *)(r10 -24) = r8
    r0 = 2
out:
    exit";

/// Looks a counter up and adds to it, sixteen times.
const MAPS: &str = "
    r6 = 15
loop:
    *(u32 *)(r10 -4) = r6
    r2 = r10
    r2 += -4
    r1 = 1 ll
    call 1
    if r0 == 0 goto out
    r1 = *(u64 *)(r0 +0)
    r1 += 1
    *(u64 *)(r0 +0) = r1
    r6 += -1
    if r6 s>= 0 goto loop
    r0 = 2
    exit
out:
    r0 = 0
    exit";

/// A frame of 60 bytes: Ethernet, IPv4, UDP.
fn frame() -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
    frame[16..18].copy_from_slice(&46_u16.to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    frame[34..38].copy_from_slice(&[4, 210, 0, 80]);
    frame
}

// ---- ours -----------------------------------------------------------------------------------

struct Engine {
    worker: vm::Worker,
}

impl Engine {
    fn new(insns: &[Insn]) -> Result<Self> {
        let mut insns = insns.to_vec();
        let mut fixups = Vec::new();
        for (slot, insn) in insns.iter_mut().enumerate().filter(|(_, insn)| insn.is_wide()) {
            insn.src = insn::PSEUDO_MAP_FD;
            fixups.push(Fixup { slot, target: Target::Map { map: 0 } });
        }
        let counters = MapDef {
            name: "counters".to_owned(),
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: 8,
            max_entries: 16,
            ..MapDef::default()
        };
        let program = Program {
            name: "program".to_owned(),
            kind: ProgramKind::XDP,
            autoload: true,
            insns,
            fixups,
            functions: vec![Function { name: "program".to_owned(), ..Function::default() }],
            ..Program::default()
        };
        let spec = Spec { programs: vec![program], maps: vec![counters], ..Spec::default() };
        let mut worker = Machine::load(&spec, &Options::default())?.worker(0);
        worker.put(&Input { packet: frame(), ..Input::default() })?;
        Ok(Self { worker })
    }

    fn run(&mut self) -> Result<u64> {
        Ok(self.worker.execute(0)?.into())
    }
}

// ---- the plain one --------------------------------------------------------------------------

/// Instructions beside a byte array that holds everything: context, stack, packet, values.
struct Plain {
    insns: Vec<Insn>,
    memory: Vec<u8>,
    /// Instructions of the last run.
    steps: u64,
}

const CONTEXT: u64 = 0;
const STACK_END: u64 = 1024;
const PACKET: u64 = 1024;
const VALUES: u64 = 2048;

impl Plain {
    fn new(insns: &[Insn]) -> Self {
        let mut memory = vec![0; 4096];
        let frame = frame();
        let end = PACKET + frame.len() as u64;
        memory[..4].copy_from_slice(&(PACKET as u32).to_le_bytes());
        memory[4..8].copy_from_slice(&(end as u32).to_le_bytes());
        memory[PACKET as usize..end as usize].copy_from_slice(&frame);
        Self { insns: insns.to_vec(), memory, steps: 0 }
    }

    /// Returns the low half of r0, and counts instructions if asked to.
    fn run<const COUNTED: bool>(&mut self) -> u64 {
        let Self { insns, memory, steps } = self;
        let mut r = [0_u64; 16];
        (r[1], r[10]) = (CONTEXT, STACK_END);
        let mut pc = 0;
        *steps = 0;
        loop {
            if COUNTED {
                *steps += 1;
            }
            let insn = insns[pc];
            let (dst, src) = (usize::from(insn.dst & 15), usize::from(insn.src & 15));
            let imm = insn.imm as i64 as u64;
            let jump = (pc as i64 + i64::from(insn.off)) as usize;
            pc += 1;
            match insn.code {
                0x04 => r[dst] = u64::from((r[dst] as u32).wrapping_add(imm as u32)),
                0x07 => r[dst] = r[dst].wrapping_add(imm),
                0x0f => r[dst] = r[dst].wrapping_add(r[src]),
                0x17 => r[dst] = r[dst].wrapping_sub(imm),
                0x27 => r[dst] = r[dst].wrapping_mul(imm),
                0x57 => r[dst] &= imm,
                0x67 => r[dst] <<= imm & 63,
                0x77 => r[dst] >>= imm & 63,
                0xaf => r[dst] ^= r[src],
                0xb7 => r[dst] = imm,
                0xbf => r[dst] = r[src],
                0xdc => r[dst] = u64::from((r[dst] as u16).swap_bytes()),
                0x18 => {
                    r[dst] = imm;
                    pc += 1;
                }
                0x61 => r[dst] = u32::from_le_bytes(load(memory, r[src], insn.off)).into(),
                0x69 => r[dst] = u16::from_le_bytes(load(memory, r[src], insn.off)).into(),
                0x71 => r[dst] = u8::from_le_bytes(load(memory, r[src], insn.off)).into(),
                0x79 => r[dst] = u64::from_le_bytes(load(memory, r[src], insn.off)),
                0x63 => store(memory, r[dst], insn.off, (r[src] as u32).to_le_bytes()),
                0x6b => store(memory, r[dst], insn.off, (r[src] as u16).to_le_bytes()),
                0x7b => store(memory, r[dst], insn.off, r[src].to_le_bytes()),
                0x15 if r[dst] == imm => pc = jump + 1,
                0x25 if r[dst] > imm => pc = jump + 1,
                0x2d if r[dst] > r[src] => pc = jump + 1,
                0x55 if r[dst] != imm => pc = jump + 1,
                0x75 if r[dst] as i64 >= imm as i64 => pc = jump + 1,
                0x15 | 0x25 | 0x2d | 0x55 | 0x75 => {}
                0x85 => {
                    let index = u32::from_le_bytes(load(memory, r[2], 0));
                    r[0] = if index < 16 { VALUES + u64::from(index) * 8 } else { 0 };
                }
                _ => return u64::from(r[0] as u32),
            }
        }
    }
}

fn load<const N: usize>(memory: &[u8], base: u64, off: i16) -> [u8; N] {
    let at = base.wrapping_add(off as i64 as u64) as usize;
    let mut bytes = [0; N];
    bytes.copy_from_slice(&memory[at..at + N]);
    bytes
}

fn store<const N: usize>(memory: &mut [u8], base: u64, off: i16, bytes: [u8; N]) {
    let at = base.wrapping_add(off as i64 as u64) as usize;
    memory[at..at + N].copy_from_slice(&bytes);
}

//! The program that a flood runs on every live frame.
//!
//! ```text
//! sent all? ─yes─▶ drop       not due in a while? ─yes─▶ drop (the frame is recycled)
//! write the headers and the number, fix the checksum, count, redirect into the interface
//! ```
//! Frames are recycled with whatever their receiver did to them (a router's hop count, a stack that
//! took off a VLAN tag), so the headers are written anew every time. One processor runs it at a
//! time: plain loads and stores suffice.

use std::time::Duration;

use spec::asm::Reg::{R0, R1, R2, R3, R4, R5, R6, R7, R8};
use spec::asm::{self, Assembler, At, Cond, Helper, Label, Object};
use spec::{Map as _, MapDef, MapKind, ProgramKind, Spec, Verdict};

use super::plan::{Checksum, Plan, Sequence};
use crate::error::Result;
use crate::limits::{FLOOD_HEADERS, FLOOD_WAIT};

pub(super) const PROGRAM: &str = "flood";
pub(super) const STATE: &str = "flood_state";

/// The object for one flood.
pub(super) fn object(plan: &Plan) -> Result<Spec, asm::Error> {
    let mut object = Object::new("flood", "Dual MIT/GPL");
    object.map(MapDef {
        name: STATE.into(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: STATE_LEN,
        max_entries: 1,
        ..MapDef::default()
    });
    object.program(assemble(plan));
    object.finish()
}

/// Frames redirected so far.
pub(super) fn sent(state: &kernel::Map) -> Result<u64> {
    number_at(state, SENT)
}

/// From the first run to the last frame that was due; zero when frames are not paced.
pub(super) fn paced_time(state: &kernel::Map) -> Result<Duration> {
    Ok(Duration::from_nanos(number_at(state, LAST)? >> FRACTION))
}

fn number_at(state: &kernel::Map, offset: i16) -> Result<u64> {
    let value = state.lookup(&0u32.to_ne_bytes())?.unwrap_or_default();
    let at = usize::from(offset.unsigned_abs());
    let bytes = value.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    Ok(bytes.map_or(0, u64::from_ne_bytes))
}

/// R6 is the state, R7 the context, R8 how many were sent.
fn assemble(plan: &Plan) -> Assembler {
    let mut a = Assembler::new(PROGRAM, ProgramKind::XDP);
    let (drop, waits) = (a.label(), a.label());
    a.mov(R7, R1).load_map_value(R6, STATE, 0).load64(R8, R6.at(SENT));
    if let Some(limit) = plan.config.limit {
        a.note("all are sent").load_imm64(R2, limit).jump_if(R8, Cond::Ge, R2, drop);
    }
    if let Some(rate) = plan.config.rate_pps {
        pace(&mut a, rate, plan.config.batch, waits, drop);
    }
    headers(&mut a, &plan.config.frame, drop);
    if let Some(sequence) = plan.config.sequence {
        number(&mut a, plan, sequence);
    }
    a.note("count and send").add(R8, 1).store64(R6.at(SENT), R8);
    a.load_imm64(R1, u64::from(plan.out.0)).mov(R2, 0).call(Helper::REDIRECT).exit();
    a.note("recycle the frame").bind(drop).verdict(Verdict::Drop);
    if plan.config.rate_pps.is_some() {
        wait(&mut a, waits);
    }
    a
}

/// Goes on when the frame is due; waits for it inside the program, because a frame that is given
/// back unsent goes through the pool's lock, which the receiver needs too. A sender that was held
/// up catches up with one batch: more would only overflow the receiver's ring. Times are in units
/// of 2^-20 ns since the first run.
fn pace(a: &mut Assembler, rate_pps: u64, batch: u32, wait: Label, drop: Label) {
    let interval = (1_000_000_000u64 << FRACTION) / rate_pps;
    let slack = interval.saturating_mul(u64::from(batch));
    let (started, due, kept) = (a.label(), a.label(), a.label());
    a.note("time since the first run").call(Helper::KTIME_GET_NS);
    a.load64(R1, R6.at(STARTED)).jump_if(R1, Cond::Ne, 0, started);
    a.mov(R1, R0).store64(R6.at(STARTED), R1);
    a.bind(started).sub(R0, R1).lsh(R0, i32::from(FRACTION));
    a.load64(R1, R6.at(NEXT)).jump_if(R0, Cond::Ge, R1, due);
    a.note("wait until it is due").mov(R1, FLOOD_WAIT).load_function(R2, wait);
    a.mov(R3, 0).mov(R4, 0).call(Helper::LOOP);
    elapsed(a);
    a.note("not due yet").load64(R1, R6.at(NEXT)).jump_if(R0, Cond::Lt, R1, drop);
    a.bind(due).store64(R6.at(LAST), R0);
    a.note("too late to catch up").mov(R2, R0).sub(R2, R1).load_imm64(R3, slack);
    a.jump_if(R2, Cond::Le, R3, kept).mov(R1, R0).sub(R1, R3);
    a.note("when the next is due").bind(kept).load_imm64(R2, interval).add(R1, R2);
    a.store64(R6.at(NEXT), R1);
}

/// The body of the loop that waits: one look at the clock, 1 to end it.
fn wait(a: &mut Assembler, entry: Label) {
    let due = a.label();
    a.function(entry, "flood_wait").load_map_value(R6, STATE, 0);
    elapsed(a);
    a.load64(R1, R6.at(NEXT)).jump_if(R0, Cond::Ge, R1, due);
    a.mov(R0, 0).exit();
    a.bind(due).mov(R0, 1).exit();
}

/// R0 becomes the time since the first run; R6 is the state.
fn elapsed(a: &mut Assembler) {
    a.call(Helper::KTIME_GET_NS).load64(R1, R6.at(STARTED)).sub(R0, R1);
    a.lsh(R0, i32::from(FRACTION));
}

/// R2 becomes the packet, with its first bytes as the plan has them.
fn headers(a: &mut Assembler, frame: &[u8], drop: Label) {
    a.note("write the headers").packet(R2, R3, R7).need(R2, R3, frame.len() as i32, R4, drop);
    let fresh = &frame[..frame.len().min(FLOOD_HEADERS)];
    for (index, chunk) in fresh.chunks(8).enumerate() {
        let at = index * 8;
        if let Ok(eight) = <[u8; 8]>::try_from(chunk) {
            a.load_imm64(R4, u64::from_ne_bytes(eight)).store64(place(at), R4);
        } else {
            for (offset, byte) in chunk.iter().enumerate() {
                a.store8(place(at + offset), *byte);
            }
        }
    }
}

fn number(a: &mut Assembler, plan: &Plan, sequence: Sequence) {
    a.note("write the number").load_imm64(R1, sequence.first).add(R1, R8);
    a.mov(R4, R1).be64(R4).store64(place(sequence.at), R4);
    if let Some(checksum) = plan.checksum {
        fix(a, checksum);
        a.store16(place(checksum.at), R5);
    }
}

/// Live frames fit a page, so their offsets fit an instruction.
fn place(at: usize) -> At {
    R2.at(at as i16)
}

/// R5 becomes the checksum in network order, from the number in R1.
fn fix(a: &mut Assembler, checksum: Checksum) {
    a.note("fix the checksum").mov(R5, i32::from(checksum.base));
    for shift in [0, 16, 32, 48] {
        a.mov(R4, R1).rsh(R4, shift).and(R4, 0xffff).add(R5, R4);
    }
    for _ in 0..2 {
        a.mov(R4, R5).rsh(R4, 16).and(R5, 0xffff).add(R5, R4);
    }
    a.xor(R5, 0xffff);
    if checksum.never_zero {
        let some = a.label();
        a.jump_if(R5, Cond::Ne, 0, some).mov(R5, 0xffff).bind(some);
    }
    a.be16(R5);
}

// The state: four numbers of eight bytes.
const SENT: i16 = 0;
const STARTED: i16 = 8;
const NEXT: i16 = 16;
const LAST: i16 = 24;
const STATE_LEN: u32 = 32;

/// Binary digits behind the point: ten minutes and a rate of 1 a second both fit 64 bits.
const FRACTION: u8 = 20;

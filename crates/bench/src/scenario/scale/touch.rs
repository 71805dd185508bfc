//! The smallest program that reads a frame before it drops it.
//!
//! Compared with [`limit`], which reads nothing, it shows the cost of the first access to a packet:
//! on a network card that is a miss of the cache, if the card did not put the frame into it.

use anyhow::Result;
use kernel::{LoadOptions, Object};
use spec::asm::Reg::*;
use spec::asm::{self, Assembler, Cond};
use spec::{ProgramKind, Verdict};

use crate::hook::{Hook, limit};

/// The smallest program that reads a frame before it drops it.
pub const TOUCH: Hook =
    Hook::new("touch", "it reads the frame's type, and drops it whatever that is", |field| {
        limit::attach(field, &object()?)
    });

/// Passes a frame without a type, of which there are none, so that the type must be read.
fn object() -> Result<Object> {
    let mut program = Assembler::new(limit::NAME, ProgramKind::XDP);
    let odd = program.label();
    program.packet(R2, R3, R1).need(R2, R3, ETHERNET, R4, odd);
    program.load16(R4, R2.at(TYPE)).jump_if(R4, Cond::Eq, 0, odd).verdict(Verdict::Drop);
    program.bind(odd).verdict(Verdict::Pass);
    let mut object = asm::Object::new("touch", "Dual MIT/GPL");
    object.program(program);
    Ok(Object::load(&object.finish()?, &LoadOptions::default())?)
}

/// Bytes of the header, and where in it the type is.
const ETHERNET: i32 = 14;
const TYPE: i16 = 12;

//! The least program that drops, counted by the interface: what the sender can do.

use anyhow::Result;
use kernel::{Link, LoadOptions, Mode, Object};
use spec::asm::{self, Assembler};
use spec::{ProgramKind, Verdict};

use super::{ActiveHook, Hook};
use crate::field::{Field, Place};

/// A program of two instructions: the limit of the sender.
pub const LIMIT: Hook =
    Hook::new(NAME, "the least program in the driver: what the sender can do", set);

struct Attached {
    receiver: Place,
    _link: Link,
}

fn set(field: &Field) -> Result<Box<dyn ActiveHook>> {
    attach(field, &object()?)
}

/// An object's program [`NAME`] in the driver, counted by the interface: for all that drop every
/// frame.
pub fn attach(field: &Field, object: &Object) -> Result<Box<dyn ActiveHook>> {
    let link = field.receiver.attach(object.program(NAME)?, Mode::Native)?;
    Ok(Box::new(Attached { receiver: field.receiver.clone(), _link: link }))
}

/// A program of two instructions.
pub fn object() -> Result<Object> {
    let mut program = Assembler::new(NAME, ProgramKind::XDP);
    program.verdict(Verdict::Drop);
    let mut object = asm::Object::new(NAME, "Dual MIT/GPL");
    object.program(program);
    Ok(Object::load(&object.finish()?, &LoadOptions::default())?)
}

impl ActiveHook for Attached {
    fn ended(&self) -> Result<u64> {
        Ok(self.receiver.statistics()?.rx_packets)
    }
}

/// Name of the program and of its row.
pub const NAME: &str = "limit";

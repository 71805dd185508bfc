//! Filling the slots of a program that only a running kernel can supply: maps, kernel variables
//! and functions. Encodings are those of `BPF_PSEUDO_*` in `include/uapi/linux/bpf.h`.

use std::os::fd::{AsFd, AsRawFd};

use spec::insn::{PSEUDO_BTF_ID, PSEUDO_KFUNC_CALL, PSEUDO_MAP_FD, PSEUDO_MAP_VALUE};
use spec::{Insn, Program, Target};

use super::maps::Made;
use super::symbols::{Host, Place};
use crate::error::{Error, Result};

/// Instructions ready for the kernel, and which module types they refer to by index.
#[derive(Debug, Default)]
pub(super) struct Patched {
    /// The instructions with all references resolved.
    pub insns: Vec<Insn>,
    /// Numbers of [`Host`]'s modules; index 0 of the kernel's array stands for vmlinux.
    pub modules: Vec<usize>,
}

pub(super) fn apply(program: &Program, maps: &[Option<Made>], host: &mut Host) -> Result<Patched> {
    let mut patched = Patched { insns: program.insns.clone(), modules: Vec::new() };
    for fixup in &program.fixups {
        patched.one(fixup.slot, &fixup.target, maps, host)?;
    }
    Ok(patched)
}

impl Patched {
    fn one(
        &mut self,
        slot: usize,
        target: &Target,
        maps: &[Option<Made>],
        host: &mut Host,
    ) -> Result<()> {
        match target {
            Target::Map { map } => self.wide(slot, PSEUDO_MAP_FD, descriptor(maps, *map)?, 0),
            Target::MapValue { map, offset } => {
                let fd = descriptor(maps, *map)?;
                self.wide(slot, PSEUDO_MAP_VALUE, fd, offset.cast_signed());
            }
            Target::Ksym { name, type_id: 0, weak } => match host.address(name)? {
                Some(address) => {
                    self.wide(slot, 0, address as i32, (address >> 32) as i32);
                }
                None => self.absent(slot, "kernel variable", name, *weak)?,
            },
            Target::Ksym { name, weak, .. } => match host.variable(name)? {
                Some(place) => self.typed(slot, place, host),
                None => self.absent(slot, "kernel variable", name, *weak)?,
            },
            Target::KfuncAddress { name, weak, .. } => match host.function(name)? {
                Some(place) => self.typed(slot, place, host),
                None => self.absent(slot, "kernel function", name, *weak)?,
            },
            Target::Kfunc { name, weak, .. } => match host.function(name)? {
                Some(place) => self.call(slot, place)?,
                None if *weak => self.call_nothing(slot),
                None => return Err(unresolved("kernel function", name)),
            },
            Target::Field(_) => {
                return Err(Error::Unresolved {
                    what: "kernel types for the field",
                    name: format!("at instruction {slot}"),
                    why: String::new(),
                });
            }
        }
        Ok(())
    }

    fn wide(&mut self, slot: usize, src: u8, low: i32, high: i32) {
        self.insns[slot].src = src;
        self.insns[slot].imm = low;
        self.insns[slot + 1].imm = high;
    }

    fn typed(&mut self, slot: usize, place: Place, host: &Host) {
        let module = place.module.map_or(0, |module| host.module_fd(module).as_raw_fd());
        self.wide(slot, PSEUDO_BTF_ID, place.type_id.cast_signed(), module);
    }

    /// A weak reference to nothing is the null pointer.
    fn absent(&mut self, slot: usize, what: &'static str, name: &str, weak: bool) -> Result<()> {
        if !weak {
            return Err(unresolved(what, name));
        }
        self.wide(slot, 0, 0, 0);
        Ok(())
    }

    fn call(&mut self, slot: usize, place: Place) -> Result<()> {
        let index = match place.module {
            None => 0,
            Some(module) => {
                let known = self.modules.iter().position(|known| *known == module);
                let at = known.unwrap_or_else(|| {
                    self.modules.push(module);
                    self.modules.len() - 1
                });
                at + 1
            }
        };
        let insn = &mut self.insns[slot];
        insn.src = PSEUDO_KFUNC_CALL;
        insn.imm = place.type_id.cast_signed();
        insn.off = i16::try_from(index).map_err(|_| Error::Unsupported {
            what: "program".to_owned(),
            why: "it calls functions of too many modules".to_owned(),
        })?;
        Ok(())
    }

    /// The verifier takes a call of function 0 as long as it cannot be reached.
    fn call_nothing(&mut self, slot: usize) {
        let insn = &mut self.insns[slot];
        (insn.src, insn.imm, insn.off) = (PSEUDO_KFUNC_CALL, 0, 0);
    }
}

fn descriptor(maps: &[Option<Made>], number: usize) -> Result<i32> {
    let made = maps.get(number).and_then(Option::as_ref);
    made.map(|made| made.map.as_fd().as_raw_fd()).ok_or_else(|| Error::Unresolved {
        what: "map",
        name: format!("number {number}"),
        why: String::new(),
    })
}

fn unresolved(what: &'static str, name: &str) -> Error {
    Error::Unresolved { what, name: name.to_owned(), why: String::new() }
}

//! Addresses of instructions in the protocol: number of the program and slot.

use anyhow::{Context as _, Result};
use runner::debug::{Debugger, Place};

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Position of the program in [`Debugger::programs`].
    pub program: usize,
    pub slot: usize,
}

impl Address {
    /// The address of an instruction of a named program.
    pub fn of(debugger: &Debugger<'_>, program: &str, slot: usize) -> Self {
        let program = debugger.programs().iter().position(|name| *name == program);
        Self { program: program.unwrap_or_default(), slot }
    }

    /// Reads `0x100000`.
    pub fn parse(text: &str) -> Result<Self> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let number = u64::from_str_radix(digits, 16).ok();
        let number = number.and_then(|number| usize::try_from(number).ok());
        let number = number.with_context(|| format!("invalid address `{text}`"))?;
        let bytes = number & ((1 << PROGRAM) - 1);
        Ok(Self { program: number >> PROGRAM, slot: bytes / INSN })
    }

    /// The address that many bytes later.
    pub fn moved(self, bytes: i64) -> Result<Self> {
        let slot = (self.slot as i64).checked_add(bytes / INSN as i64);
        let slot = slot.and_then(|slot| usize::try_from(slot).ok());
        let slot = slot.filter(|slot| *slot < (1 << PROGRAM) / INSN);
        Ok(Self { slot: slot.context("the offset leads out of the program")?, ..self })
    }

    /// The place for a breakpoint.
    pub fn place(self, debugger: &Debugger<'_>) -> Result<Place> {
        let programs = debugger.programs();
        let program = programs.get(self.program).context("no program has this address")?;
        Ok(Place::Instruction { program: Some((*program).to_owned()), slot: self.slot })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", (self.program << PROGRAM) + self.slot * INSN)
    }
}

/// Bits of an address within a program: a million instructions.
const PROGRAM: u32 = 23;
/// Bytes of an instruction.
const INSN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_both_ways() {
        let address = Address { program: 3, slot: 17 };
        assert_eq!(Address::parse(&address.to_string()).unwrap(), address);
        assert_eq!(address.moved(-8).unwrap().slot, 16);
        assert!(address.moved(-8 * 18).is_err() && address.moved(i64::MIN).is_err());
        assert!(Address::parse("x").is_err() && Address::parse("0xfffffffffffffffff").is_err());
    }
}

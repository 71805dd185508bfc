//! One decoded operation: sixteen bytes with all names resolved.
//!
//! Rule: a decoded operation needs no checks except those of memory: registers exist, targets are
//! inside the program, tables have the rows that it names.

/// One operation. The meaning of `off` and `imm` depends on the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Op {
    pub kind: Kind,
    pub dst: Reg,
    pub src: Reg,
    /// Offset from a register's address, or the target slot of a jump or call.
    pub off: i32,
    /// Second operand, all 64 bits of a wide load, or a row of the program's tables.
    pub imm: u64,
}

impl Op {
    /// An operation without operands.
    pub const fn new(kind: Kind) -> Self {
        Self { kind, dst: Reg::R0, src: Reg::R0, off: 0, imm: 0 }
    }

    /// Target slot of a jump or call.
    pub const fn target(&self) -> usize {
        self.off as u32 as usize
    }
}

/// A register. A program has r0 to r10; sixteen values make an index into sixteen registers valid
/// without a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[rustfmt::skip]
pub(crate) enum Reg { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10, R11, R12, R13, R14, R15 }

impl Reg {
    #[rustfmt::skip]
    const ALL: [Self; 16] = [
        Self::R0, Self::R1, Self::R2, Self::R3, Self::R4, Self::R5, Self::R6, Self::R7,
        Self::R8, Self::R9, Self::R10, Self::R11, Self::R12, Self::R13, Self::R14, Self::R15,
    ];

    /// The register of a number; only the low four bits count.
    pub const fn of(register: u8) -> Self {
        Self::ALL[(register & 15) as usize]
    }

    /// Index into the registers.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What an operation does. `64` and `32` are widths, `K` takes the immediate, `X` a register,
/// `Back` jumps to its own slot or an earlier one and therefore spends budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[rustfmt::skip]
pub(crate) enum Kind {
    Add64K, Add64X, Add32K, Add32X,
    Sub64K, Sub64X, Sub32K, Sub32X,
    Mul64K, Mul64X, Mul32K, Mul32X,
    Div64K, Div64X, Div32K, Div32X,
    Sdiv64K, Sdiv64X, Sdiv32K, Sdiv32X,
    Or64K, Or64X, Or32K, Or32X,
    And64K, And64X, And32K, And32X,
    Lsh64K, Lsh64X, Lsh32K, Lsh32X,
    Rsh64K, Rsh64X, Rsh32K, Rsh32X,
    Mod64K, Mod64X, Mod32K, Mod32X,
    Smod64K, Smod64X, Smod32K, Smod32X,
    Xor64K, Xor64X, Xor32K, Xor32X,
    Mov64K, Mov64X, Mov32K, Mov32X,
    Arsh64K, Arsh64X, Arsh32K, Arsh32X,
    Jeq64K, Jeq64KBack, Jeq64X, Jeq64XBack, Jeq32K, Jeq32KBack, Jeq32X, Jeq32XBack,
    Jne64K, Jne64KBack, Jne64X, Jne64XBack, Jne32K, Jne32KBack, Jne32X, Jne32XBack,
    Jgt64K, Jgt64KBack, Jgt64X, Jgt64XBack, Jgt32K, Jgt32KBack, Jgt32X, Jgt32XBack,
    Jge64K, Jge64KBack, Jge64X, Jge64XBack, Jge32K, Jge32KBack, Jge32X, Jge32XBack,
    Jlt64K, Jlt64KBack, Jlt64X, Jlt64XBack, Jlt32K, Jlt32KBack, Jlt32X, Jlt32XBack,
    Jle64K, Jle64KBack, Jle64X, Jle64XBack, Jle32K, Jle32KBack, Jle32X, Jle32XBack,
    Jset64K, Jset64KBack, Jset64X, Jset64XBack, Jset32K, Jset32KBack, Jset32X, Jset32XBack,
    Jsgt64K, Jsgt64KBack, Jsgt64X, Jsgt64XBack, Jsgt32K, Jsgt32KBack, Jsgt32X, Jsgt32XBack,
    Jsge64K, Jsge64KBack, Jsge64X, Jsge64XBack, Jsge32K, Jsge32KBack, Jsge32X, Jsge32XBack,
    Jslt64K, Jslt64KBack, Jslt64X, Jslt64XBack, Jslt32K, Jslt32KBack, Jslt32X, Jslt32XBack,
    Jsle64K, Jsle64KBack, Jsle64X, Jsle64XBack, Jsle32K, Jsle32KBack, Jsle32X, Jsle32XBack,
    Neg64, Neg32,
    /// Moves with sign extension, from the first width to the second.
    Extend8To64, Extend16To64, Extend32To64, Extend8To32, Extend16To32,
    /// Conversion to little-endian order, which keeps the low bits.
    Low16, Low32, Low64,
    /// Reversal of the byte order.
    Swap16, Swap32, Swap64,
    Ja, JaBack,
    /// Jumps when the function's loops have exhausted their iterations.
    MayGoto, MayGotoBack,
    Load8, Load16, Load32, Load64,
    LoadSigned8, LoadSigned16, LoadSigned32,
    Store8, Store16, Store32, Store64,
    StoreImm8, StoreImm16, StoreImm32, StoreImm64,
    /// A 64-bit constant in two slots.
    Wide,
    /// Atomic addition that does not fetch the old value, as for counters.
    AtomicAdd32, AtomicAdd64,
    /// Any other atomic operation, which the immediate selects.
    Atomic32, Atomic64,
    LoadAcquire8, LoadAcquire16, LoadAcquire32, LoadAcquire64,
    StoreRelease8, StoreRelease16, StoreRelease32, StoreRelease64,
    /// A call of a helper or kfunc; `imm` is its row in the program's callees.
    Call,
    CallLocal,
    /// A call of a register's value: a function's address or a helper's number.
    CallRegister,
    TailCall,
    Exit,
    /// `r[dst] = r[src] + imm`: a move and an addition in two slots.
    MoveAdd,
    /// A lookup that is predicted to be in a certain array; `imm` is the array's row in the
    /// program's arrays.
    LookupArray,
    /// Must not execute; `imm` is the row of the reason in the program's traps.
    Trap,
}

impl Kind {
    /// Whether this is a conditional jump.
    pub fn is_branch(self) -> bool {
        (Self::Jeq64K as u16..=Self::Jsle32XBack as u16).contains(&(self as u16))
            || matches!(self, Self::MayGoto | Self::MayGotoBack)
    }

    /// Number of bytes that a store or atomic operation writes; `None` for other kinds.
    pub fn stored_len(self) -> Option<usize> {
        use Kind::*;
        Some(match self {
            Store8 | StoreImm8 | StoreRelease8 => 1,
            Store16 | StoreImm16 | StoreRelease16 => 2,
            Store32 | StoreImm32 | StoreRelease32 | AtomicAdd32 | Atomic32 => 4,
            Store64 | StoreImm64 | StoreRelease64 | AtomicAdd64 | Atomic64 => 8,
            _ => return None,
        })
    }
}

//! One decoded operation: sixteen bytes with everything resolved.
//!
//! Rule: an operation that decoding let through needs no check but those of memory: registers
//! exist, targets are inside the program, tables have the rows that are named.

/// One operation. What `off` and `imm` hold depends on the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Op {
    pub kind: Kind,
    pub dst: Reg,
    pub src: Reg,
    /// Distance from a register's address, or the slot that a jump or call goes to.
    pub off: i32,
    /// Second operand, all 64 bits of a wide load, or a row of the program's tables.
    pub imm: u64,
}

impl Op {
    pub const fn new(kind: Kind) -> Self {
        Self { kind, dst: Reg::R0, src: Reg::R0, off: 0, imm: 0 }
    }

    /// The slot that a jump or call goes to.
    pub const fn target(&self) -> usize {
        self.off as u32 as usize
    }
}

/// A register's place. Sixteen of them, so that whoever indexes sixteen registers with one needs
/// no check; a program has r0 to r10.
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

    /// The place of a register's number, of which the low four bits count.
    pub const fn of(register: u8) -> Self {
        Self::ALL[(register & 15) as usize]
    }

    #[inline(always)]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What an operation does. `64` and `32` are widths, `K` takes the immediate, `X` a register,
/// `Back` jumps to a slot no later than its own and so counts as a step.
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
    /// Moves that extend the sign of so many bits into so many.
    Extend8To64, Extend16To64, Extend32To64, Extend8To32, Extend16To32,
    /// Little-endian order: the low bits stay.
    Low16, Low32, Low64,
    /// The other byte order.
    Swap16, Swap32, Swap64,
    Ja, JaBack,
    /// Jumps when the function's loops have run too many iterations.
    MayGoto, MayGotoBack,
    Load8, Load16, Load32, Load64,
    LoadSigned8, LoadSigned16, LoadSigned32,
    Store8, Store16, Store32, Store64,
    StoreImm8, StoreImm16, StoreImm32, StoreImm64,
    /// A 64-bit constant; takes two slots.
    Wide,
    /// Atomic addition without its old value: counters.
    AtomicAdd32, AtomicAdd64,
    /// Any other atomic operation; the instruction's own immediate says which.
    Atomic32, Atomic64,
    LoadAcquire8, LoadAcquire16, LoadAcquire32, LoadAcquire64,
    StoreRelease8, StoreRelease16, StoreRelease32, StoreRelease64,
    /// A helper or kfunc; `imm` is its row in the program's calls.
    Call,
    CallLocal,
    /// What a register names: a function's address or a helper's number.
    CallRegister,
    TailCall,
    Exit,
    /// `r[dst] = r[src] + imm`: a move and an addition, which are two slots.
    MoveAdd,
    /// A call of the lookup helper that is expected to be for a certain array; `imm` is the
    /// array's row in the program's arrays.
    LookupArray,
    /// Must not be reached; `imm` is the reason's row in the program's traps.
    Trap,
}

impl Kind {
    /// A jump that depends on something: one with two ways out.
    pub fn is_branch(self) -> bool {
        (Self::Jeq64K as u16..=Self::Jsle32XBack as u16).contains(&(self as u16))
            || matches!(self, Self::MayGoto | Self::MayGotoBack)
    }

    /// Bytes that a plain store writes.
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

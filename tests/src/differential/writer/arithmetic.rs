//! Actions on numbers in registers.

use spec::asm::{Alu, Reg};

use super::{Kind, Writer};

const OPERATIONS: [Alu; 14] = [
    Alu::Add,
    Alu::Sub,
    Alu::Mul,
    Alu::Div,
    Alu::Or,
    Alu::And,
    Alu::Lsh,
    Alu::Rsh,
    Alu::Mod,
    Alu::Xor,
    Alu::Mov,
    Alu::Arsh,
    Alu::Sdiv,
    Alu::Smod,
];

impl Writer<'_> {
    /// A register that may be changed and holds a number.
    pub(super) fn changeable(&mut self) -> Option<Reg> {
        let open = self.state.open();
        let numbers: Vec<Reg> =
            open.into_iter().filter(|reg| self.state.kind(*reg) == Kind::Scalar).collect();
        (!numbers.is_empty()).then(|| self.rng.pick(&numbers))
    }

    pub(super) fn arithmetic(&mut self) -> bool {
        let Some(to) = self.changeable() else { return self.constant() };
        let alu = self.rng.pick(&OPERATIONS);
        let narrow = self.rng.one_in(2);
        match self.scalar().filter(|_| !self.rng.one_in(3)) {
            Some(from) if narrow => self.a.alu32(alu, to, from),
            Some(from) => self.a.alu(alu, to, from),
            None => {
                let imm = self.operand(alu, if narrow { 32 } else { 64 });
                if narrow { self.a.alu32(alu, to, imm) } else { self.a.alu(alu, to, imm) }
            }
        };
        true
    }

    /// An immediate that the verifier takes for the operation.
    fn operand(&mut self, alu: Alu, bits: i32) -> i32 {
        match alu {
            Alu::Lsh | Alu::Rsh | Alu::Arsh => self.rng.between(0, bits - 1),
            Alu::Div | Alu::Mod | Alu::Sdiv | Alu::Smod => match self.rng.immediate() {
                0 => -1,
                other => other,
            },
            _ => self.rng.immediate(),
        }
    }

    pub(super) fn constant(&mut self) -> bool {
        let Some(to) = self.target() else { return false };
        match self.rng.below(3) {
            0 => self.a.mov(to, self.rng.immediate()),
            1 => self.a.mov32(to, self.rng.immediate()),
            _ => self.a.load_imm64(to, self.rng.number()),
        };
        self.state.set(to, Kind::Scalar);
        true
    }

    /// Negation, byte order, moves that extend signs.
    pub(super) fn unary(&mut self) -> bool {
        let (Some(to), Some(from)) = (self.changeable(), self.scalar()) else { return false };
        match self.rng.below(17) {
            0 => self.a.neg(to),
            1 => self.a.neg32(to),
            2 => self.a.mov_s8(to, from),
            3 => self.a.mov_s16(to, from),
            4 => self.a.mov_s32(to, from),
            5 => self.a.mov32_s8(to, from),
            6 => self.a.mov32_s16(to, from),
            7 => self.a.be16(to),
            8 => self.a.be32(to),
            9 => self.a.be64(to),
            10 => self.a.le16(to),
            11 => self.a.le32(to),
            12 => self.a.le64(to),
            13 => self.a.bswap16(to),
            14 => self.a.bswap32(to),
            15 => self.a.bswap64(to),
            _ => self.a.mov32(to, from),
        };
        true
    }
}

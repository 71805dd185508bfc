//! Operands where arithmetic has its edges.

/// Operands of operations on 64 bits, in lists of which a case takes one for each operand: a packet
/// of the kernel's test runs has no space for all pairs.
pub const WIDE: &[&[u64]] = &[
    &[
        0,
        1,
        7,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x0123_4567_89ab_cdef,
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        0xfedc_ba98_7654_3210,
        0xffff_ffff_8000_0000,
        0xffff_ffff_ffff_ffff,
    ],
    SMALL,
];

/// Operands of operations on the low 32 bits: the upper half must not matter.
pub const HALF: &[&[u64]] = &[
    &[
        0,
        1,
        0xdead_beef_0000_0007,
        0x7fff_ffff,
        0xffff_ffff_7fff_ffff,
        0x8000_0000,
        0x0000_0001_8000_0000,
        0xffff_ffff,
        0xffff_ffff_ffff_ffff,
        0xdead_beef_0000_0000,
        0x0123_4567_89ab_cdef,
        0x8000_0000_7654_3210,
    ],
    SMALL,
];

/// Edges of shifts, bytes and half words, and the first number of 33 bits.
const SMALL: &[u64] =
    &[2, 31, 32, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x1_0000_0000, 0x7fff_ffff_0000_0000];

/// Counts of bits to shift by: in and beyond the width.
pub const SHIFTS: &[&[u64]] = &[
    &[0, 1, 8, 31, 32, 33, 63, 64, 65, 0xff, 0x1_0000_0001, 0xffff_ffff_ffff_ffff],
    &[
        2,
        7,
        0x7f,
        0x80,
        0x7fff,
        0x8000,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x1_0000_0000,
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        0xffff_ffff_8000_0000,
    ],
];

pub const IMMEDIATES: &[i32] = &[
    0,
    1,
    2,
    7,
    31,
    32,
    63,
    64,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    -1,
    -2,
    i32::MAX,
    i32::MIN,
    0x1234_5678,
    -0x0765_4321,
];

pub const SHIFT_IMMEDIATES: &[i32] = &[
    0,
    1,
    2,
    7,
    8,
    31,
    32,
    33,
    63,
    64,
    65,
    96,
    0x7f,
    0x80,
    255,
    0x7fff,
    0x8000,
    i32::MAX,
    -1,
    -31,
    i32::MIN,
];

/// Half or all of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    W32,
    W64,
}

impl Width {
    pub const ALL: [Self; 2] = [Self::W32, Self::W64];

    pub fn bits(self) -> u32 {
        match self {
            Self::W32 => 32,
            Self::W64 => 64,
        }
    }

    /// What mnemonics of this width end in.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::W32 => "32",
            Self::W64 => "",
        }
    }

    /// The lists of its operands.
    pub fn values(self) -> &'static [&'static [u64]] {
        match self {
            Self::W32 => HALF,
            Self::W64 => WIDE,
        }
    }

    /// The value of the low bits, without a sign.
    pub fn unsigned(self, value: u64) -> i128 {
        i128::from(value) & ((1 << self.bits()) - 1)
    }

    /// The value of the low bits, with their sign.
    pub fn signed(self, value: u64) -> i128 {
        extend(value, self.bits())
    }

    /// What a register holds after an operation of this width: zeros above it.
    pub fn register(self, value: i128) -> u64 {
        (value & ((1 << self.bits()) - 1)) as u64
    }
}

/// The low `bits` of a value as a signed number.
pub fn extend(value: u64, bits: u32) -> i128 {
    let low = i128::from(value) & ((1 << bits) - 1);
    if low >> (bits - 1) == 1 { low - (1 << bits) } else { low }
}

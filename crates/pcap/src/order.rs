//! The byte order of a file or section.
//!
//! Rule: callers hand in bytes whose length they checked; a field beyond their end is this
//! crate's own mistake.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    /// Reads a 16-bit number at an offset that is within the bytes.
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let bytes = array(bytes, at);
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    /// Reads a 32-bit number at an offset that is within the bytes.
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = array(bytes, at);
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// Reads a 64-bit number at an offset that is within the bytes.
    pub fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let bytes = array(bytes, at);
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

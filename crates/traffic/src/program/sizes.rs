//! Sizes of frames: a constant, or a row of a table for each frame.
//!
//! A row has the length (32 bits), the words in the byte order of the frame, and the initial sums
//! of checksums, 16 bits each.

use spec::asm::Reg::{R0, R1, R2, R3};
use spec::asm::{Cond, Helper, Reg};

use super::draft::{CONTEXT, Draft, FRAME, SIZE, Table};
use super::draw::Part;
use super::fields::bound;
use super::shape::Shape;

/// The sizes of the frames of one stream.
pub(super) enum Sizes {
    One(usize),
    Table { table: Table, row: usize },
}

impl Sizes {
    /// Prepares the sizes; `part` is that of the draw that selects the size, if there is one.
    pub fn new(draft: &mut Draft, shape: &Shape, part: Option<Part>) -> Self {
        let sizes = shape.sizes();
        let (Some(part), 2..) = (part, sizes.len()) else { return Self::One(sizes[0].len) };
        let row = (ROW_HEAD + 2 * (shape.words.len() + shape.sums.len())).next_multiple_of(4);
        let mut rows = Vec::new();
        for number in part.numbers() {
            let size = number as usize;
            let begin = rows.len();
            rows.extend_from_slice(&(sizes[size].len as u32).to_ne_bytes());
            for (_, values) in &shape.words {
                rows.extend_from_slice(&values[size].to_be_bytes());
            }
            for sum in &shape.sums {
                rows.extend_from_slice(&sum.bases[size].to_ne_bytes());
            }
            rows.resize(begin + row, 0);
        }
        Self::Table { table: draft.table(&rows), row }
    }

    /// Selects the row with the index in R0, which is preserved, and writes its words. Overwrites
    /// R1 and R2.
    pub fn pick(&self, draft: &mut Draft, shape: &Shape, part: Part) {
        let Self::Table { table, row } = self else { return };
        bound(draft, part.last);
        draft.a.note("size").mov(R1, R0).mul(R1, *row as i32);
        draft.table_address(R2, *table);
        draft.a.add(R2, R1).store64(SIZE, R2);
        for (index, (at, _)) in shape.words.iter().enumerate() {
            let word = R2.at((ROW_HEAD + 2 * index) as i16);
            draft.a.load16(R1, word).store16(FRAME.at(*at as i16), R1);
        }
    }

    /// Loads the initial sum of a checksum into R1.
    pub fn base(&self, draft: &mut Draft, shape: &Shape, sum: usize) {
        match self {
            Self::One(_) => {
                draft.a.mov(R1, i32::from(shape.sums[sum].bases[0]));
            }
            Self::Table { .. } => {
                let at = ROW_HEAD + 2 * (shape.words.len() + sum);
                draft.a.load64(R1, SIZE).load16(R1, R1.at(at as i16));
            }
        }
    }

    /// Adds the frame's length to a register. Overwrites R2.
    pub fn add(&self, draft: &mut Draft, to: Reg) {
        match self {
            Self::One(len) => {
                draft.a.add(to, *len as i32);
            }
            Self::Table { .. } => {
                draft.a.load64(R2, SIZE).load32(R2, R2.at(0)).add(to, R2);
            }
        }
    }

    /// Shortens a frame of `whole` bytes to its size. Overwrites R0 to R5; the address of the frame
    /// is no longer valid.
    pub fn cut(&self, draft: &mut Draft, whole: usize) {
        if matches!(self, Self::One(len) if *len == whole) {
            return;
        }
        draft.a.note("shorten");
        match self {
            Self::One(len) => {
                draft.a.mov(R2, *len as i32);
            }
            Self::Table { .. } => {
                draft.a.load64(R2, SIZE).load32(R2, R2.at(0));
            }
        }
        draft.a.sub(R2, whole as i32).mov(R1, CONTEXT).call(Helper::XDP_ADJUST_TAIL);
        let failed = draft.failed();
        draft.a.jump_if(R0, Cond::Ne, 0, failed);
    }

    /// Loads the address of the stamp, at the end of the frame, into R3. Overwrites R1 and R2.
    pub fn stamp(&self, draft: &mut Draft, whole: usize) {
        let len = crate::stamp::Stamp::LEN as i32;
        let failed = draft.failed();
        let a = &mut draft.a;
        a.mov(R3, FRAME);
        match self {
            Self::One(at) => {
                a.add(R3, *at as i32 - len);
            }
            Self::Table { .. } => {
                a.load64(R1, SIZE).load32(R1, R1.at(0)).sub(R1, len);
                a.jump_if(R1, Cond::Gt, whole as i32 - len, failed).add(R3, R1);
                a.load32(R2, CONTEXT.at(4)).mov(R1, R3).add(R1, len);
                a.jump_if(R1, Cond::Gt, R2, failed);
            }
        }
    }
}

/// Bytes of a row before its words.
const ROW_HEAD: usize = 4;

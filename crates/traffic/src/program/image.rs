//! Constant bytes of a stream that must be written because frames are recycled: another stream,
//! another size or a receiver may have left other bytes there.

use spec::asm::Helper;
use spec::asm::Reg::{R1, R2, R3, R4};

use super::draft::{CONTEXT, Draft, FRAME};
use super::shape::Shape;
use crate::limits::SPARE;
use crate::stamp::Stamp;

/// The common bytes of the frames of a job, and the bytes that differ.
pub(super) struct Image {
    /// The input of the live run: the longest frame, and the spare bytes after it.
    pub frame: Vec<u8>,
    /// Bytes that may be different in a recycled frame.
    dirty: Vec<bool>,
}

/// Bytes of one stream that must be written, `to` excluded.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: usize,
    to: usize,
}

impl Image {
    pub fn new(shapes: &[Shape], rewrite: bool) -> Self {
        let len = shapes.iter().map(Shape::len).max().unwrap_or(0);
        let longest = shapes.iter().find(|shape| shape.len() == len);
        let mut frame = longest.map_or_else(Vec::new, |shape| shape.bytes[..len].to_vec());
        let mut dirty = vec![false; len];
        for shape in shapes {
            if rewrite {
                dirty[..shape.template.headers.min(shape.len())].fill(true);
            }
            let own = shape.bytes.iter().zip(&frame).zip(shape.written());
            for (mark, ((byte, common), written)) in dirty.iter_mut().zip(own) {
                *mark |= byte != common || written;
            }
            if shape.template.stamp.is_some() {
                shape.lens().for_each(|len| dirty[len - Stamp::LEN..len].fill(true));
            }
        }
        if rewrite {
            frame.resize(len + SPARE, 0);
        }
        Self { frame, dirty }
    }

    /// Writes long stretches with a helper. Overwrites R0 to R5.
    pub fn write_long(&self, draft: &mut Draft, shape: &Shape) {
        for Stretch { from, to } in self.stretches(shape).filter(Stretch::is_long) {
            let table = draft.table(&shape.bytes[from..to]);
            draft.a.note("payload").mov(R1, CONTEXT).mov(R2, from as i32);
            draft.table_address(R3, table);
            draft.a.mov(R4, (to - from) as i32).call(Helper::XDP_STORE_BYTES);
        }
    }

    /// Writes all other stretches with immediate stores. Overwrites R1.
    pub fn write_short(&self, draft: &mut Draft, shape: &Shape) {
        draft.a.note("constant bytes");
        for Stretch { from, to } in self.stretches(shape).filter(|it| !it.is_long()) {
            let need = self.need(shape);
            let mut at = from;
            while let Some(first) = (at..to).find(|at| need[*at]) {
                let last = (first..to.min(first + 8)).rev().find(|at| need[*at]).unwrap_or(first);
                let len = (last + 1 - first).next_power_of_two();
                let first = first.min(shape.len() - len);
                store(draft, first, &shape.bytes[first..first + len]);
                at = first + len;
            }
        }
    }

    /// Whether there are other stretches.
    pub fn is_short(&self, shape: &Shape) -> bool {
        self.stretches(shape).any(|stretch| !stretch.is_long())
    }

    /// Bytes of a stream that are dirty and not written by its fields.
    fn need(&self, shape: &Shape) -> Vec<bool> {
        let written = shape.written();
        self.dirty.iter().zip(written).map(|(dirty, written)| *dirty && !written).collect()
    }

    /// The bytes that must be written, including gaps of less than eight bytes.
    fn stretches(&self, shape: &Shape) -> impl Iterator<Item = Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for (at, _) in self.need(shape).into_iter().enumerate().filter(|(_, need)| *need) {
            match stretches.last_mut() {
                Some(last) if at < last.to + 8 => last.to = at + 1,
                _ => stretches.push(Stretch { from: at, to: at + 1 }),
            }
        }
        stretches.into_iter()
    }
}

impl Stretch {
    fn is_long(&self) -> bool {
        self.to - self.from > LONG
    }
}

fn store(draft: &mut Draft, at: usize, bytes: &[u8]) {
    let at = FRAME.at(at as i16);
    let a = &mut draft.a;
    match *bytes {
        [one] => a.store8(at, one),
        [a0, a1] => a.store16(at, u16::from_ne_bytes([a0, a1])),
        [a0, a1, a2, a3] => a.store32(at, i32::from_ne_bytes([a0, a1, a2, a3])),
        _ => {
            let number = bytes.iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
            let number = if cfg!(target_endian = "big") { number.swap_bytes() } else { number };
            a.load_imm64(R1, number).store64(at, R1)
        }
    };
}

/// Length in bytes above which a call of a helper is faster than stores.
const LONG: usize = 128;

//! Writes the stamp at the end of a frame, in the layout of `crate::stamp`: two stores of eight
//! bytes.

use spec::asm::Reg::{R0, R1, R2, R3, R4, R5};
use spec::asm::{Cond, Helper};

use super::abi::state;
use super::checksum::fold;
use super::draft::{Draft, ENDING, own, word_at};
use super::fields::store_big_endian;
use super::job::{Clock, Job};
use super::pace;
use super::sizes::Sizes;
use crate::stamp::{Expect, Kind, Stamp};
use crate::template::Template;

/// The clock of a program's stamps.
#[derive(Clone, Copy)]
pub(super) struct Time {
    clock: Clock,
}

impl Time {
    pub fn new(clock: Clock) -> Self {
        Self { clock }
    }

    /// Discards the time of a group that is not sent.
    pub fn forget(&self, draft: &mut Draft) {
        if self.clock == Clock::Group {
            draft.a.store64(word_at(own::NOW), 0);
        }
    }

    /// Reads the clock, if required for this frame. Overwrites R0 to R5.
    pub fn read(&self, draft: &mut Draft, job: &Job) {
        let [read, known] = [(); 2].map(|()| draft.a.label());
        draft.a.note("the time");
        if self.clock == Clock::Group && job.group > 1 {
            pace::unless_first(draft, job.group, known);
            draft.a.jump(read).bind(known);
            let late = draft.a.label();
            draft.a.load64(R0, word_at(own::NOW)).jump_if(R0, Cond::Ne, 0, late).bind(read);
            draft.a.call(Helper::KTIME_GET_NS).store64(word_at(own::NOW), R0).bind(late);
        } else {
            draft.a.call(Helper::KTIME_GET_NS).store64(word_at(own::NOW), R0);
        }
    }

    /// Writes the stamp of a frame of this template. Overwrites R0 to R5.
    pub fn write(&self, draft: &mut Draft, job: &Job, it: &Stamped) {
        let Stamped { template, stream, sizes, whole } = *it;
        let Some(expect) = template.stamp else { return };
        draft.a.note("stamp");
        sizes.stamp(draft, whole);
        let head = u64::from(Stamp::MAGIC) << 48 | u64::from(template.id) << 32;
        let source = job.thread as u8;
        let parts = [Stamp::MAGIC, template.id, u16::from(source) << 8];
        let fixed: u64 = parts.map(u64::from).iter().sum();
        self.kind(draft, expect);
        let a = &mut draft.a;
        a.load32(R0, word_at(state::STREAMS + 8 * stream)).load32(R2, word_at(own::NOW));
        a.mov(R1, R0).add(R1, R2).add(R1, fixed as i32).add(R1, R4);
        a.load_imm64(R5, head).or(R0, R5);
        store_big_endian(draft, R3.at(0), 8, R0);
        let a = &mut draft.a;
        a.mov(R5, R2).lsh(R5, 16).or(R5, R4).or(R5, i32::from(source) << 8).lsh(R5, 16);
        fold(draft, 2 * u64::from(u32::MAX) + fixed + 0xff);
        draft.a.xor(R1, 0xffff).or(R5, R1);
        store_big_endian(draft, R3.at(8), 8, R5);
    }

    /// Loads the code of the kind into R4.
    fn kind(&self, draft: &mut Draft, expect: Expect) {
        let a = &mut draft.a;
        let data = a.label();
        a.mov(R4, i32::from(Kind::Data(expect).code())).jump_if(ENDING, Cond::Eq, 0, data);
        a.mov(R4, i32::from(Kind::End.code())).bind(data);
    }
}

/// The frame of a stamp.
#[derive(Clone, Copy)]
pub(super) struct Stamped<'a> {
    pub template: &'a Template,
    /// Index of the stream in the job.
    pub stream: usize,
    pub sizes: &'a Sizes,
    /// Bytes of the frame before it is shortened.
    pub whole: usize,
}

//! The program that sends a recording: each frame unchanged, when it is due.
//!
//! ```text
//! limit, hold ─▶ find the record ─▶ wait until it is due ─▶ cut the frame to its length,
//! copy it from the map ─▶ count ─▶ advance to the next record ─▶ redirect
//! ```
//! Records are stored consecutively in the elements ("blocks") of one array, each entirely within
//! one block, so that one addition finds a record and the verifier knows its bounds:
//!
//! ```text
//!  0       8      12     16
//!  ├─ due ─┼ next ┼ len ─┼ the frame's bytes … ┤   to a multiple of eight; machine byte order
//! ```
//! `next` is the offset of the next record in the block, or 0 in the block's last record. The array
//! of a thread holds only the frames of that thread.

use spec::asm::Reg::{R0, R1, R2, R3, R4, R8, R9};
use spec::asm::{Cond, Helper, Label, MemRef};

use super::abi::state;
use super::draft::{CONTEXT, Draft, word_at};
use super::gate;
use super::image::Image;
use super::job::{Clock, Exit, Job, Made};
use super::pace;
use super::stream::Shared;
use crate::error::{ConfigError, Error, Result};
use crate::limits::{FRAME_MAX, FRAME_MIN, SPARE};
use crate::replay::{Frame, Recording};

/// One thread's part of a recording.
#[derive(Clone, Copy, Debug)]
pub struct ReplayJob<'a> {
    pub recording: &'a Recording,
    pub exit: Exit,
    /// Number of this thread, from 0: it sends the frames whose number modulo `threads` is this.
    /// Only recordings without times have several threads.
    pub thread: u32,
    pub threads: u32,
    /// Number of frames that are sent together, 1 to `limits::BATCH`: the batch of every live run.
    /// Frames with times are sent one by one.
    pub group: u32,
}

/// Compiles the program of a job.
///
/// # Errors
/// [`Error::Config`] when the recording cannot be sent with these settings.
pub fn replay(job: &ReplayJob) -> Result<Made> {
    job.check()?;
    let longest = job.recording.longest();
    let blocks = blocks(job);
    let stream = job.stream();
    let shared = Shared { job: &stream, image: Image::new(&[], true), pacer: None, time: None };
    let mut draft = Draft::new();
    let cursor = Cursor::new(&mut draft, blocks.len());
    let back = draft.failed();
    gate::gate(&mut draft, &shared, back);
    cursor.find(&mut draft, back);
    if job.recording.is_paced() {
        wait(&mut draft, &cursor, back);
    }
    shape(&mut draft, longest, back);
    count(&mut draft);
    cursor.advance(&mut draft, job.recording);
    draft.leave(job.exit);
    draft.write_failed();
    draft.array(FRAMES, blocks);
    draft.finish(vec![0; longest + SPARE])
}

/// The position of the program in the recording; R9 is the address of the record after
/// [`Cursor::find`].
struct Cursor {
    block: MemRef,
    offset: MemRef,
    /// Start of the round in ns of the clock; 0 before the first frame.
    base: MemRef,
    blocks: usize,
}

impl Cursor {
    fn new(draft: &mut Draft, blocks: usize) -> Self {
        let [block, offset, base] = [draft.word(), draft.word(), draft.word()];
        Self { block, offset, base, blocks }
    }

    fn find(&self, draft: &mut Draft, back: Label) {
        let a = &mut draft.a;
        a.note("find the record").mov(R2, self.block.base).add(R2, self.block.off);
        a.load_map(R1, FRAMES).call(Helper::MAP_LOOKUP_ELEM).jump_if(R0, Cond::Eq, 0, back);
        a.load32(R1, self.offset).jump_if(R1, Cond::Gt, (BLOCK - RECORD_MAX) as i32, back);
        a.mov(R9, R0).add(R9, R1);
    }

    fn advance(&self, draft: &mut Draft, recording: &Recording) {
        let sent = draft.a.label();
        let a = &mut draft.a;
        a.note("the next record").load32(R1, R9.at(NEXT)).store32(self.offset, R1);
        a.jump_if(R1, Cond::Ne, 0, sent);
        a.note("the next block").load32(R1, self.block).add(R1, 1).store32(self.block, R1);
        a.jump_if(R1, Cond::Lt, self.blocks as i32, sent);
        a.note("the next round").store32(self.block, 0);
        if recording.is_paced() {
            a.load64(R1, self.base).load_imm64(R2, nanoseconds(recording.length));
            a.add(R1, R2).store64(self.base, R1);
        }
        a.bind(sent);
    }
}

/// Continues if the frame of the record is due, otherwise returns the frame.
fn wait(draft: &mut Draft, cursor: &Cursor, back: Label) {
    let due_at = draft.word();
    let [begun, near, due, kept] = [(); 4].map(|()| draft.a.label());
    let a = &mut draft.a;
    a.note("when it is due").call(Helper::KTIME_GET_NS).load64(R1, R9.at(DUE));
    a.load64(R2, cursor.base).jump_if(R2, Cond::Ne, 0, begun);
    a.mov(R2, R0).store64(cursor.base, R2);
    a.bind(begun).add(R1, R2).store64(due_at, R1).store64(word_at(state::NEXT), R1);
    a.jump_if(R0, Cond::Ge, R1, due);
    a.note("wait until it is due").mov(R2, R1).sub(R2, R0);
    a.jump_if(R2, Cond::Le, pace::FAR_NS, near).mov(R1, R0).add(R1, pace::NEAR_NS).bind(near);
    draft.wait_until(R1);
    let a = &mut draft.a;
    a.call(Helper::KTIME_GET_NS).load64(R1, due_at).jump_if(R0, Cond::Lt, R1, back);
    a.bind(due).note("too late to catch up").mov(R2, R0).sub(R2, R1);
    a.jump_if(R2, Cond::Le, SLACK_NS, kept).load64(R3, cursor.base).add(R3, R2);
    a.store64(cursor.base, R3).count(word_at(state::SLIPPED), 1, R3).bind(kept);
    pace::count_late(draft, due_at);
}

/// Writes the frame of the record; R8 is its length.
fn shape(draft: &mut Draft, longest: usize, back: Label) {
    let a = &mut draft.a;
    a.note("its length").load32(R8, R9.at(LEN)).jump_if(R8, Cond::Lt, FRAME_MIN as i32, back);
    a.jump_if(R8, Cond::Gt, longest as i32, back).mov(R1, CONTEXT).mov(R2, R8);
    a.sub(R2, (longest + SPARE) as i32).call(Helper::XDP_ADJUST_TAIL).jump_if(
        R0,
        Cond::Ne,
        0,
        back,
    );
    a.note("its bytes").mov(R1, CONTEXT).mov(R2, 0).mov(R3, R9).add(R3, HEADER as i32).mov(R4, R8);
    a.call(Helper::XDP_STORE_BYTES).jump_if(R0, Cond::Ne, 0, back);
}

fn count(draft: &mut Draft) {
    let a = &mut draft.a;
    a.note("count").count(word_at(state::SENT), 1, R1).count(word_at(state::STREAMS), 1, R1);
    a.count(word_at(state::BYTES), R8, R1);
}

/// The frames of the thread as elements of the array.
fn blocks(job: &ReplayJob) -> Vec<Vec<u8>> {
    let recording = job.recording;
    let mine = recording.frames.iter().skip(job.thread as usize).step_by(job.threads as usize);
    let mut blocks = Vec::new();
    let mut block: Vec<u8> = Vec::with_capacity(BLOCK);
    // Position of the `next` field of the latest record in the block.
    let mut link = None;
    for frame in mine {
        if block.len() + RECORD_MAX > BLOCK {
            block.resize(BLOCK, 0);
            blocks.push(std::mem::replace(&mut block, Vec::with_capacity(BLOCK)));
            link = None;
        }
        let at = block.len();
        if let Some(link) = link.replace(at + NEXT as usize) {
            block[link..link + 4].copy_from_slice(&(at as u32).to_ne_bytes());
        }
        append(&mut block, frame, recording.bytes_of(frame));
    }
    block.resize(BLOCK, 0);
    blocks.push(block);
    blocks
}

fn append(block: &mut Vec<u8>, frame: &Frame, bytes: &[u8]) {
    block.extend_from_slice(&nanoseconds(frame.due).to_ne_bytes());
    block.extend_from_slice(&[0; 4]);
    block.extend_from_slice(&(bytes.len() as u32).to_ne_bytes());
    block.extend_from_slice(bytes);
    block.resize(block.len().next_multiple_of(8), 0);
}

/// Converts to nanoseconds. No run lasts long enough for the truncated bits to matter.
fn nanoseconds(duration: std::time::Duration) -> u64 {
    duration.as_nanos().min(u128::from(u64::MAX >> 2)) as u64
}

impl ReplayJob<'_> {
    /// A job with the settings that all programs have in common.
    fn stream(&self) -> Job<'static> {
        Job {
            templates: &[],
            exit: self.exit,
            thread: self.thread,
            threads: self.threads,
            seed: 0,
            group: self.group,
            pace: None,
            rewrite: true,
            clock: Clock::Frame,
        }
    }

    fn check(&self) -> Result<()> {
        let fail = |wrong| Err(Error::Config(wrong));
        let Self { recording, threads, group, .. } = *self;
        let count = recording.frames.len();
        if recording.is_paced() && threads > 1 {
            return fail(ConfigError::RecordingThreads);
        }
        if recording.is_paced() && group != 1 {
            return fail(ConfigError::RecordingBatch);
        }
        if count < threads as usize {
            return fail(ConfigError::FewerFramesThanThreads { frames: count, threads });
        }
        let fits = |frame: &Frame| (FRAME_MIN..=FRAME_MAX).contains(&frame.len);
        if !recording.frames.iter().all(fits) {
            return fail(ConfigError::RecordingFrame);
        }
        Ok(())
    }
}

const FRAMES: &str = "gen_frames";

/// Bytes of a block: large enough to waste little space at its end, and small enough for any
/// kernel.
const BLOCK: usize = 1 << 18;
const HEADER: usize = 16;
const RECORD_MAX: usize = (HEADER + FRAME_MAX).next_multiple_of(8);

// Offsets in a record.
const DUE: i16 = 0;
const NEXT: i16 = 8;
const LEN: i16 = 12;

/// The delay up to which the program catches up: a delayed sender immediately sends the frames that
/// became due within this time, but none before.
const SLACK_NS: i32 = 10_000_000;

#[cfg(test)]
mod tests;

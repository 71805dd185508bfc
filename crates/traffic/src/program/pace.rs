//! Pacing: sends groups of frames at their scheduled times.
//!
//! ```text
//! first of its group ─▶ due? ─no, within FAR ─▶ wait inside the program ─▶ send all of the group
//!                            └no, farther ────▶ wait NEAR, return the whole batch
//! last of its group ─▶ how late was it?
//! ```
//! Frames that are returned unsent need the lock of the page pool, which the receiver needs, too,
//! so no frame is returned that is due soon. A group fills one batch of the live run, which the
//! kernel flushes together: only the first frame waits, and if it is returned, so is the rest of
//! its batch. A delayed sender catches up with one group; a longer delay moves the schedule.

use spec::asm::Reg::{R0, R1, R2, R3, R4};
use spec::asm::{Cond, Helper, Label, MemRef};

use super::abi::{self, FRACTION, control, state};
use super::draft::{Draft, own, word_at};
use super::erlang;
use super::job::{Gaps, Job};
use super::random;
use crate::histogram::BUCKETS;

/// The pacing of the groups of a program.
#[derive(Clone, Copy)]
pub(super) struct Pacer {
    group: u32,
    gaps: Gaps,
}

/// Maintains the index in the batch: `state::RUNS` is that of the next run.
pub(super) fn place(draft: &mut Draft, group: u32) {
    if group == 1 {
        return;
    }
    let a = &mut draft.a;
    let keep = a.label();
    a.note("place in the batch").load64(R1, word_at(state::RUNS)).add(R1, 1);
    a.jump_if(R1, Cond::Lt, group as i32, keep).mov(R1, 0);
    a.bind(keep).store64(word_at(state::RUNS), R1);
}

/// Jumps to `inside` unless this run is the first of its batch.
pub(super) fn unless_first(draft: &mut Draft, group: u32, inside: Label) {
    if group > 1 {
        draft.a.load64(R1, word_at(state::RUNS)).jump_if(R1, Cond::Ne, 1, inside);
    }
}

impl Pacer {
    pub fn new(group: u32, gaps: Gaps) -> Self {
        Self { group, gaps }
    }

    /// Marks the rest of a batch to be returned, too.
    pub fn skip(&self, draft: &mut Draft) {
        draft.a.store64(word_at(own::SKIP), 1);
    }

    /// Continues if the group of the frame is due, otherwise returns the frame. Only for programs
    /// that maintain their [`place`].
    pub fn pace(&self, draft: &mut Draft, job: &Job) {
        let [inside, paced, due, back, send] = [(); 5].map(|()| draft.a.label());
        draft.a.note("pace");
        unless_first(draft, self.group, inside);
        let a = &mut draft.a;
        a.load_map_value(R1, abi::CONTROL, control::INTERVAL as u32).load64(R1, R1.at(0));
        a.jump_if(R1, Cond::Ne, 0, paced);
        a.store64(word_at(own::DUE), 0).store64(word_at(own::SKIP), 0).jump(send);
        a.bind(paced).store64(word_at(own::SKIP), 1).call(Helper::KTIME_GET_NS);
        a.load64(R1, word_at(state::NEXT)).jump_if(R0, Cond::Ge, R1, due);
        self.wait(draft, back);
        draft.a.bind(due).store64(word_at(own::SKIP), 0);
        self.schedule(draft, job);
        if self.group == 1 {
            count_late(draft, word_at(own::DUE));
        }
        draft.a.jump(send);
        self.rest(draft, inside, back, send);
    }

    /// Waits until the group is due: R0 is the time, R1 the scheduled time. Falls through when it
    /// is due, with both read again.
    fn wait(&self, draft: &mut Draft, back: Label) {
        let near = draft.a.label();
        let a = &mut draft.a;
        a.note("wait until it is due").mov(R2, R1).sub(R2, R0).jump_if(R2, Cond::Le, FAR_NS, near);
        a.mov(R1, R0).add(R1, NEAR_NS).bind(near);
        draft.wait_until(R1);
        let a = &mut draft.a;
        a.call(Helper::KTIME_GET_NS).load64(R1, word_at(state::NEXT));
        a.jump_if(R0, Cond::Lt, R1, back);
    }

    /// Schedules the next group. R0 is the time, and is preserved.
    fn schedule(&self, draft: &mut Draft, job: &Job) {
        let [begun, kept, slack] = [(); 3].map(|()| draft.a.label());
        let a = &mut draft.a;
        a.note("when the next is due").load64(R1, word_at(state::NEXT));
        a.jump_if(R1, Cond::Ne, 0, begun).mov(R1, R0).bind(begun).store64(word_at(own::DUE), R1);
        a.load_map_value(R2, abi::CONTROL, control::INTERVAL as u32).load64(R2, R2.at(0));
        a.mov(R3, R2).rsh(R3, FRACTION as i32).jump_if(R3, Cond::Ge, SLACK_NS, slack);
        a.mov(R3, SLACK_NS).bind(slack);
        a.mov(R4, R0).sub(R4, R1).jump_if(R4, Cond::Le, R3, kept);
        a.note("too late to catch up").mov(R1, R0).sub(R1, R3);
        a.count(word_at(state::SLIPPED), 1, R3).bind(kept);
        if self.gaps == Gaps::Poisson {
            poisson(draft, job);
        }
        let a = &mut draft.a;
        a.load64(R3, word_at(own::FRACTION)).add(R2, R3).mov(R3, R2).and(R3, (1 << FRACTION) - 1);
        a.store64(word_at(own::FRACTION), R3).rsh(R2, FRACTION as i32).add(R1, R2);
        a.store64(word_at(state::NEXT), R1);
    }

    /// Handles the frames after the first of a group.
    fn rest(&self, draft: &mut Draft, inside: Label, back: Label, send: Label) {
        let a = &mut draft.a;
        if self.group > 1 {
            a.bind(inside).load64(R1, word_at(own::SKIP)).jump_if(R1, Cond::Eq, 0, send);
        } else {
            a.bind(inside);
        }
        a.note("not due yet").bind(back);
        draft.return_unsent();
        draft.a.bind(send);
    }

    /// Records the delay of a group, after its last frame. Overwrites R0 to R5.
    pub fn record_delay(&self, draft: &mut Draft) {
        if self.group == 1 {
            return;
        }
        let inside = draft.a.label();
        let a = &mut draft.a;
        a.note("the last of its group").load64(R1, word_at(state::RUNS));
        a.jump_if(R1, Cond::Ne, 0, inside).load64(R1, word_at(own::DUE)).jump_if(
            R1,
            Cond::Eq,
            0,
            inside,
        );
        a.call(Helper::KTIME_GET_NS);
        count_late(draft, word_at(own::DUE));
        draft.a.bind(inside);
    }
}

/// Counts the delay after the scheduled time in `due`: R0 is the time, which is also that of the
/// last frame. Overwrites R0 to R2.
pub(super) fn count_late(draft: &mut Draft, due: MemRef) {
    let [fits, over] = [(); 2].map(|()| draft.a.label());
    let a = &mut draft.a;
    a.note("how late").store64(word_at(state::LAST), R0);
    a.load64(R1, due).sub(R0, R1).load_imm64(R1, u64::from(u32::MAX));
    a.jump_if(R0, Cond::Le, R1, fits).mov(R0, R1).bind(fits).mov(R1, 0);
    for shift in [16, 8, 4, 2, 1] {
        let small = a.label();
        a.mov(R2, R0).rsh(R2, shift).jump_if(R2, Cond::Lt, 64, small);
        a.mov(R0, R2).add(R1, shift).bind(small);
    }
    a.lsh(R1, 6).add(R0, R1).jump_if(R0, Cond::Gt, BUCKETS as i32 - 1, over).lsh(R0, 3);
    a.load_map_value(R1, abi::LATE, 0).add(R1, R0).count(R1.at(0), 1, R2).bind(over);
}

/// Converts R2, the mean interval, to a random gap of a Poisson process. Overwrites R3 to R5;
/// preserves R0 and R1.
fn poisson(draft: &mut Draft, job: &Job) {
    let gaps = erlang::gaps(job.group);
    let bytes: Vec<u8> = gaps.iter().flat_map(|gap| gap.to_ne_bytes()).collect();
    draft.a.note("a random gap").load64(R3, word_at(state::SENT));
    random::mix(&mut draft.a, R3, R4, random::key(job, usize::MAX, 0));
    draft.a.rsh(R3, 64 - erlang::BITS as i32).lsh(R3, 2);
    let name = format!("gen_gaps_{}", job.group);
    draft.a.load_map_value(R4, name.as_str(), 0);
    draft.array(&name, vec![bytes]);
    draft.a.add(R4, R3).load32(R4, R4.at(0));
    draft.a.rsh(R2, 10).mul(R2, R4).rsh(R2, erlang::FRACTION as i32 - 10);
}

/// A group that is due within this time, in ns, is waited for in one wait.
pub(super) const FAR_NS: i32 = 100_000;
/// Wait in ns for a later group, before its batch is returned.
pub(super) const NEAR_NS: i32 = 50_000;
/// Delay in ns that is caught up with even if the interval of groups is shorter.
const SLACK_NS: i32 = 16_000;

//! Decides whether a frame may be sent: hold, limit and end; records the time of the first frame.
//!
//! A frame that may not be sent is returned after a wait, once per batch, so that an idle sender
//! leaves the lock of the page pool to its receiver.

use spec::asm::Reg::{R0, R1, R2};
use spec::asm::{Cond, Helper, Label, MemRef};

use super::abi::{self, control, state};
use super::draft::{Draft, ENDING, own, word_at};
use super::stream::Shared;

/// Continues if the frame may be sent; jumps to `ready` if it announces the end. Paced programs
/// also maintain the index in the batch here.
pub(super) fn gate(draft: &mut Draft, shared: &Shared, ready: Label) {
    let job = shared.job;
    if job.needs_place() {
        super::pace::place(draft, job.group);
    }
    let idle = draft.a.label();
    let go = draft.a.label();
    let first = draft.a.label();
    let a = &mut draft.a;
    a.note("limit and hold").load_map_value(R2, abi::CONTROL, 0);
    if job.is_stamped() {
        a.load64(ENDING, R2.at(control::END as i16)).jump_if(ENDING, Cond::Ne, 0, ready);
    }
    a.load64(R1, R2.at(control::GO as i16)).jump_if(R1, Cond::Eq, 0, idle);
    a.load64(R1, word_at(state::SENT)).load64(R2, R2.at(control::LIMIT as i16));
    a.jump_if(R1, Cond::Ge, R2, idle).jump_if(R1, Cond::Eq, 0, first).jump(go);
    return_frame(draft, shared, idle);
    let a = &mut draft.a;
    a.note("the first").bind(first).call(Helper::KTIME_GET_NS);
    a.store64(word_at(state::FIRST), R0).bind(go);
}

fn return_frame(draft: &mut Draft, shared: &Shared, idle: Label) {
    let (now, job) = (draft.a.label(), shared.job);
    draft.a.note("return it unsent").bind(idle);
    mark_last(draft);
    if let Some(pacer) = &shared.pacer {
        pacer.skip(draft);
    }
    if let Some(time) = &shared.time {
        time.forget(draft);
    }
    if job.group > 1 {
        let runs = match job.needs_place() {
            true => word_at(state::RUNS),
            false => count_idle(draft, job.group),
        };
        draft.a.load64(R1, runs).jump_if(R1, Cond::Ne, 1, now);
    }
    draft.a.call(Helper::KTIME_GET_NS).mov(R1, R0).add(R1, IDLE_NS);
    draft.wait_until(R1);
    draft.a.bind(now);
    draft.return_unsent();
}

/// Maintains a word that is 1 once in each batch of returned frames.
fn count_idle(draft: &mut Draft, group: u32) -> MemRef {
    let idle = word_at(own::IDLE);
    let a = &mut draft.a;
    let keep = a.label();
    a.load64(R1, idle).add(R1, 1).jump_if(R1, Cond::Le, group as i32, keep).mov(R1, 1);
    a.bind(keep).store64(idle, R1);
    idle
}

/// Records the time when frames are first returned after sent ones.
fn mark_last(draft: &mut Draft) {
    let marked = word_at(own::MARKED);
    let a = &mut draft.a;
    let known = a.label();
    a.load64(R1, word_at(state::SENT)).load64(R2, marked).jump_if(R1, Cond::Eq, R2, known);
    a.store64(marked, R1).call(Helper::KTIME_GET_NS);
    a.store64(word_at(state::LAST), R0).bind(known);
}

/// Wait in ns before a frame is returned, once per batch.
const IDLE_NS: i32 = 20_000;

//! Draws numbers: each thread draws its own part.
//!
//! Of n threads, thread t draws t, t + n, t + 2n and so on. A program draws an index into this
//! part; fields and tables are generated for the index, and the number itself never appears in a
//! program.

use spec::asm::Reg::{R0, R1, R2, R3, R4};
use spec::asm::{Cond, MemRef};

use super::alias::Alias;
use super::draft::{Draft, Table};
use super::job::Job;
use super::random;
use crate::template::{Draw, Order};

/// A thread's part of the numbers of a draw: `first + step * index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub first: u64,
    pub step: u64,
    /// The highest index.
    pub last: u64,
}

impl Part {
    /// The part of a job's thread; all numbers if there are fewer than threads.
    pub fn new(draw: &Draw, job: &Job) -> Self {
        let (thread, threads) = (u64::from(job.thread), u64::from(job.threads));
        if draw.last < threads.saturating_sub(1) {
            return Self { first: 0, step: 1, last: draw.last };
        }
        Self { first: thread, step: threads, last: (draw.last - thread) / threads }
    }

    pub fn number(&self, index: u64) -> u64 {
        self.first + self.step * index
    }

    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        let part = *self;
        (0..=self.last).map(move |index| part.number(index))
    }
}

/// One draw of one stream in a program.
pub(super) struct Drawing {
    pub part: Part,
    method: Method,
}

enum Method {
    /// There is only one number.
    Only,
    Sequence {
        next: MemRef,
    },
    Random {
        key: u64,
    },
    Zipf {
        key: u64,
        thresholds: Table,
        others: Table,
    },
}

/// The number of a stream's draw for the frame with this count: the model of programs.
pub(super) fn number(job: &Job, stream: usize, draw: usize, count: u64) -> u64 {
    let it = &job.templates[stream].draws[draw];
    let part = Part::new(it, job);
    let random = || random::number(random::key(job, stream, draw), count);
    let index = match it.order {
        _ if part.last == 0 => 0,
        Order::Sequence if part.last == u64::MAX => count,
        Order::Sequence => count % (part.last + 1),
        Order::Random => even(random(), part.last),
        Order::Zipf { exponent } => Alias::new(part.numbers(), exponent).pick(random()),
    };
    part.number(index)
}

/// A random index up to `last` from 64 random bits.
fn even(random: u64, last: u64) -> u64 {
    match last.wrapping_add(1) {
        0 => random,
        count if count.is_power_of_two() => random & last,
        count if last <= u64::from(u32::MAX) => ((random >> 32) * count) >> 32,
        count => random % count,
    }
}

impl Drawing {
    pub fn new(draft: &mut Draft, job: &Job, stream: usize, draw: usize) -> Self {
        let it = &job.templates[stream].draws[draw];
        let part = Part::new(it, job);
        let key = random::key(job, stream, draw);
        let method = match it.order {
            _ if part.last == 0 => Method::Only,
            Order::Sequence => Method::Sequence { next: draft.word() },
            Order::Random => Method::Random { key },
            Order::Zipf { exponent } => {
                let alias = Alias::new(part.numbers(), exponent);
                let thresholds = draft.table(&alias.thresholds());
                Method::Zipf { key, thresholds, others: draft.table(&alias.others()) }
            }
        };
        Self { part, method }
    }

    /// Draws an index into R0; the stream's count is at `count`. Overwrites R1 to R4.
    pub fn write(&self, draft: &mut Draft, count: MemRef) {
        match self.method {
            Method::Only => {
                draft.a.mov(R0, 0);
            }
            Method::Sequence { next } => self.sequence(draft, next),
            Method::Random { key } => {
                draft.a.load64(R0, count);
                random::mix(&mut draft.a, R0, R1, key);
                self.cut(draft);
            }
            Method::Zipf { key, thresholds, others } => {
                draft.a.load64(R0, count);
                random::mix(&mut draft.a, R0, R1, key);
                self.zipf(draft, thresholds, others);
            }
        }
    }

    fn sequence(&self, draft: &mut Draft, next: MemRef) {
        let a = &mut draft.a;
        a.load64(R0, next).mov(R1, R0).add(R1, 1);
        let last = self.part.last;
        if last & last.wrapping_add(1) == 0 {
            and(draft, last);
        } else {
            let keep = draft.a.label();
            draft.a.load_imm64(R2, last).jump_if(R1, Cond::Le, R2, keep).mov(R1, 0).bind(keep);
        }
        draft.a.store64(next, R1);
    }

    /// Converts 64 random bits in R0 to an index.
    fn cut(&self, draft: &mut Draft) {
        let (a, last) = (&mut draft.a, self.part.last);
        match last.wrapping_add(1) {
            0 => {}
            count if count.is_power_of_two() => match i32::try_from(last) {
                Ok(mask) => {
                    a.and(R0, mask);
                }
                Err(_) => {
                    a.load_imm64(R1, last).and(R0, R1);
                }
            },
            count => {
                a.load_imm64(R1, count);
                if last <= u64::from(u32::MAX) {
                    a.rsh(R0, 32).mul(R0, R1).rsh(R0, 32);
                } else {
                    a.rem(R0, R1);
                }
            }
        }
    }

    /// The upper half of the random bits selects an entry, the lower half one of its two numbers.
    fn zipf(&self, draft: &mut Draft, thresholds: Table, others: Table) {
        let a = &mut draft.a;
        let known = a.label();
        a.mov32(R1, R0).rsh(R0, 32).load_imm64(R2, self.part.last + 1).mul(R0, R2).rsh(R0, 32);
        // Always true, but the verifier does not know it.
        a.load_imm64(R2, self.part.last).jump_if(R0, Cond::Le, R2, known).mov(R0, 0).bind(known);
        a.mov(R2, R0).lsh(R2, 2);
        draft.table_address(R3, thresholds);
        draft.a.add(R3, R2).load32(R3, R3.at(0));
        draft.table_address(R4, others);
        let a = &mut draft.a;
        a.add(R4, R2).load32(R4, R4.at(0));
        // All ones if the lower half is below the threshold: selects the entry's own number without
        // a jump.
        a.sub(R1, R3).arsh(R1, 63).xor(R0, R4).and(R0, R1).xor(R0, R4);
    }
}

/// Masks R1 with `mask`, a power of two less one.
fn and(draft: &mut Draft, mask: u64) {
    let a = &mut draft.a;
    match i32::try_from(mask) {
        Ok(mask) => a.and(R1, mask),
        Err(_) if mask == u64::MAX => a,
        Err(_) => a.load_imm64(R2, mask).and(R1, R2),
    };
}

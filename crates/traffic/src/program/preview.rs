//! `Frames`: the frames that a program sends, without running it.
//!
//! It is the model against which programs are tested, and also prints frames without sending them.

use super::draw;
use super::job::Job;
use super::mix;
use crate::error::Result;
use crate::stamp::{Kind, Stamp};

/// The infinite sequence of the frames of a job, in the order of sending.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    job: &'a Job<'a>,
    order: Vec<u8>,
    next: usize,
    counts: Vec<u64>,
}

/// A frame that will be sent.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    job: &'a Job<'a>,
    /// Index of its stream in the job.
    pub stream: usize,
    /// Number of earlier frames of the stream.
    pub number: u64,
}

impl<'a> Frames<'a> {
    /// # Errors
    /// As [`compile`](super::compile) for a job that exceeds limits.
    pub fn new(job: &'a Job<'a>) -> Result<Self> {
        job.check()?;
        let counts = vec![0; job.templates.len()];
        Ok(Self { job, order: mix::order(job.templates)?, next: 0, counts })
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Planned<'a>;

    fn next(&mut self) -> Option<Planned<'a>> {
        let stream = usize::from(self.order[self.next % self.order.len()]);
        self.next += 1;
        self.counts[stream] += 1;
        Some(Planned { job: self.job, stream, number: self.counts[stream] - 1 })
    }
}

impl Planned<'_> {
    /// The number of each of its draws.
    pub fn numbers(&self) -> Vec<u64> {
        let draws = 0..self.job.templates[self.stream].draws.len();
        draws.map(|draw| draw::number(self.job, self.stream, draw, self.number)).collect()
    }

    /// Its bytes if it is sent at this time of the monotonic clock.
    pub fn bytes(&self, time_ns: u64) -> Vec<u8> {
        let template = &self.job.templates[self.stream];
        let numbers = self.numbers();
        let size = template.size_draw.map_or(0, |draw| numbers[draw] as usize);
        template.render(
            &numbers,
            size,
            template.stamp.map(|expect| Stamp {
                stream: template.id,
                source: self.job.thread as u8,
                number: self.number as u32,
                time_ns: time_ns as u32,
                kind: Kind::Data(expect),
            }),
        )
    }
}

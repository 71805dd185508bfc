//! Live frames: the kernel runs the program on copies of a packet repeatedly, and executes the
//! verdict on each frame. Linux 5.18.
//!
//! Frames are recycled: a program sees what it wrote into the frame last time.

use std::os::fd::AsFd;

use spec::Input;
use sys::bpf::{self, uapi::test_flag};
use sys::errno::EINTR;

use super::Program;
use crate::error::{Result, named};

/// A burst of live frames.
#[derive(Clone, Debug, Default)]
pub struct LiveRun {
    /// The frame, its metadata, and the interface and queue that it seems to come from. The
    /// verdict `Tx` sends out of that interface; `Pass` hands the frame to its stack.
    pub input: Input,
    /// Frames; 0 counts as 1.
    pub count: u32,
    /// Number of frames per batch, at most 256; 0 for 64.
    pub batch: u32,
    /// Processor to run on; the calling thread must be allowed there.
    pub cpu: Option<u32>,
}

/// How a burst ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Burst {
    /// All frames went through the program.
    Done,
    /// A signal interrupted the run; the kernel does not report after how many frames.
    Interrupted,
}

impl Program {
    /// Runs the whole burst before it returns, unless a signal comes.
    pub fn live(&self, live: &LiveRun) -> Result<Burst> {
        let data = [live.input.metadata.as_slice(), &live.input.packet].concat();
        let ctx = self.context(&live.input, data.len());
        let mut call = bpf::TestRun {
            data: &data,
            ctx: &ctx,
            repeat: live.count,
            cpu: live.cpu,
            flags: test_flag::XDP_LIVE_FRAMES,
            batch: live.batch,
            ..Default::default()
        };
        match bpf::test_run(self.as_fd(), &mut call) {
            Ok(_) => Ok(Burst::Done),
            Err(error) if error.is(EINTR) => Ok(Burst::Interrupted),
            Err(error) => Err(named(&self.name)(error)),
        }
    }
}

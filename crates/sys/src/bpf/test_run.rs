//! `PROG_TEST_RUN`: run a program on given bytes, or on a stream of live XDP frames.

use std::os::fd::BorrowedFd;

use crate::Result;
use crate::bpf::attr::{self, Command, TestRunAttr, call, raw};
use crate::bpf::uapi::test_flag;

/// What one call takes. Buffers for output may be empty.
#[derive(Debug, Default)]
pub struct TestRun<'a> {
    /// The packet.
    pub data: &'a [u8],
    /// Buffer for the packet after the run.
    pub data_out: &'a mut [u8],
    /// `struct xdp_md` or `struct __sk_buff`, or empty.
    pub ctx: &'a [u8],
    /// Buffer for the context after the run.
    pub ctx_out: &'a mut [u8],
    /// 0 counts as 1.
    pub repeat: u32,
    /// CPU on which to run; `None` for the current one.
    pub cpu: Option<u32>,
    /// `test_flag::XDP_LIVE_FRAMES`, or 0.
    pub flags: u32,
    /// Live frames a batch, at most 256; 0 for the kernel's 64.
    pub batch: u32,
}

/// What the kernel wrote back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestRunResult {
    /// Return value of the program.
    pub retval: u32,
    /// Bytes that the packet has now, which may be more than fitted.
    pub data_size: usize,
    /// Size in bytes of the context after the run.
    pub ctx_size: usize,
    /// Mean of one run.
    pub duration_ns: u32,
}

/// `ENOSPC` when `data_out` was too small (the program did run); `EINTR` when a signal cut a long
/// run.
pub fn test_run(program: BorrowedFd<'_>, run: &mut TestRun<'_>) -> Result<TestRunResult> {
    let mut attr = TestRunAttr {
        prog_fd: raw(Some(program)),
        data_size_in: attr::length(run.data),
        data_in: attr::pointer(run.data),
        data_size_out: attr::length(run.data_out),
        data_out: attr::pointer_mut(run.data_out),
        ctx_size_in: attr::length(run.ctx),
        ctx_in: attr::pointer(run.ctx),
        ctx_size_out: attr::length(run.ctx_out),
        ctx_out: attr::pointer_mut(run.ctx_out),
        repeat: run.repeat,
        flags: run.flags,
        batch_size: run.batch,
        ..Default::default()
    };
    if let Some(cpu) = run.cpu {
        attr.flags |= test_flag::RUN_ON_CPU;
        attr.cpu = cpu;
    }
    // SAFETY: all four buffers have the lengths in their size fields; the output ones are
    // exclusive.
    unsafe { call(Command::TestRun, &mut attr) }?;
    Ok(TestRunResult {
        retval: attr.retval,
        data_size: attr.data_size_out as usize,
        ctx_size: attr.ctx_size_out as usize,
        duration_ns: attr.duration,
    })
}

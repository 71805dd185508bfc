//! Running a program on one packet, without an interface.

use std::os::fd::AsFd;

use spec::{Input, Verdict};
use sys::bpf::{self, uapi::prog_type};

use super::Program;
use crate::error::{Result, named};

/// One test run. The program must be of a type that can be run so: XDP, tc and others.
#[derive(Clone, Debug, Default)]
pub struct TestRun {
    /// Packet, metadata before it, interface and queue. An interface that is not 0 must
    /// exist in this thread's network namespace.
    pub input: Input,
    /// Runs in a row on the same bytes; 0 counts as 1.
    pub repeat: u32,
    /// CPU on which to run; `None` for the current one.
    pub cpu: Option<u32>,
}

/// What the program left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestOutcome {
    /// What it returned.
    pub code: u32,
    /// The packet after the run.
    pub packet: Vec<u8>,
    /// The metadata after the run.
    pub metadata: Vec<u8>,
    /// Mean of one run, in nanoseconds.
    pub duration_ns: u32,
}

impl TestOutcome {
    /// The return value as a verdict.
    pub fn verdict(&self) -> Verdict {
        Verdict::from_code(self.code)
    }
}

/// `struct xdp_md`, six words: data, data_end, data_meta, ingress_ifindex, rx_queue_index,
/// egress_ifindex.
const CTX_LEN: usize = 24;
/// Number of bytes that a program may add before a packet or after it.
const GROWTH: usize = 8192;

impl Program {
    /// Runs on a copy of the packet. Packets are 14 bytes to about 64 KiB (in one
    /// buffer up to a page less head and tail room, in fragments beyond).
    pub fn run(&self, run: &TestRun) -> Result<TestOutcome> {
        let metadata = &run.input.metadata;
        let data = [metadata.as_slice(), &run.input.packet].concat();
        let mut data_out = vec![0; data.len() + GROWTH];
        let ctx = self.context(&run.input, data.len());
        let mut ctx_out = vec![0; ctx.len()];
        let mut call = bpf::TestRun {
            data: &data,
            data_out: &mut data_out,
            ctx: &ctx,
            ctx_out: &mut ctx_out,
            repeat: run.repeat,
            cpu: run.cpu,
            ..Default::default()
        };
        let result = bpf::test_run(self.as_fd(), &mut call).map_err(named(&self.name))?;
        data_out.truncate(result.data_size);
        let packet_at = data_start(&ctx_out).min(data_out.len());
        let packet = data_out.split_off(packet_at);
        Ok(TestOutcome {
            code: result.retval,
            packet,
            metadata: data_out,
            duration_ns: result.duration_ns,
        })
    }

    /// Runs a program of type `raw_tracepoint` in the calling thread, with these arguments, and
    /// answers what it returned. Linux 5.10.
    pub fn call(&self, arguments: &[u64]) -> Result<u32> {
        let ctx: Vec<u8> = arguments.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut call = bpf::TestRun { ctx: &ctx, ..Default::default() };
        let result = bpf::test_run(self.as_fd(), &mut call).map_err(named(&self.name))?;
        Ok(result.retval)
    }

    /// Empty for other types than XDP.
    pub(super) fn context(&self, input: &Input, data_len: usize) -> Vec<u8> {
        if self.kind != prog_type::XDP {
            return Vec::new();
        }
        let start = input.metadata.len() as u32;
        let words = [start, data_len as u32, 0, input.ingress_ifindex, input.rx_queue, 0];
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }
}

/// Number of bytes of metadata before the packet after the run: the context's first word.
fn data_start(ctx_out: &[u8]) -> usize {
    if ctx_out.len() < CTX_LEN {
        return 0;
    }
    u32::from_ne_bytes([ctx_out[0], ctx_out[1], ctx_out[2], ctx_out[3]]) as usize
}

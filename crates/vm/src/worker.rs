//! One processor of a machine as its owner uses it: packets in, programs run, results out.
//!
//! Rule: a worker is used by one thread at a time. What programs and helpers act on is the
//! [`Processor`]; this adds what a run consists of: timers that are due, a full budget, and the
//! release of everything that the program left behind.

use std::borrow::Cow;
use std::sync::Arc;

use spec::{Input, ProgramKind};

use crate::error::{Error, InvalidPacket, Result};
use crate::fault::Fault;
use crate::frame::Saved;
use crate::helpers;
use crate::interpreter;
use crate::memory::{Layout, RegionId, Slab};
use crate::processor::{Context, Executable, Hook, Processor, Shared};
use crate::redirect::{Choice, Redirect, Target};

/// Runs programs, one packet at a time. [`Machine::worker`](crate::Machine::worker) creates it.
#[derive(Debug)]
pub struct Worker {
    pub(crate) processor: Processor,
    /// The program that ran last: running it again changes no reference count that workers share.
    last: Option<Arc<Executable>>,
    /// Copy of a frame that is broadcast; kept for its buffer.
    pub(crate) saved: Saved,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, cpu: u32) -> Self {
        Self { processor: Processor::new(shared, cpu), last: None, saved: Saved::default() }
    }

    /// Makes `input` the packet of the next [`Worker::execute`]. Interface 0 stands for the
    /// loopback interface, 1, as in a test run of the kernel.
    ///
    /// # Errors
    /// The packet or its metadata is too short or too long.
    pub fn put(&mut self, input: &Input) -> Result<()> {
        let Processor { frame, memory, context, .. } = &mut self.processor;
        frame.put(memory, input)?;
        let ingress_ifindex = input.ingress_ifindex.max(LOOPBACK);
        frame.grows = ingress_ifindex == LOOPBACK;
        *context = Context { ingress_ifindex, rx_queue: input.rx_queue, egress_ifindex: 0 };
        Ok(())
    }

    /// Runs a program, by its number, on the current packet, which it may change. Timers that are
    /// due run before. Returns the program's return code, which for a well-behaved program is the
    /// number of a verdict.
    ///
    /// # Errors
    /// A fault of the program or of a timer's callback.
    pub fn execute(&mut self, program: usize) -> std::result::Result<u32, Box<Fault>> {
        helpers::run_due_timers(&mut self.processor)?;
        self.processor.frames.budget.refill();
        self.execute_on(program)
    }

    /// Runs a program on the current packet with the rest of the budget: all programs that one
    /// packet meets share one budget. Timers wait until the next packet.
    pub(crate) fn execute_on(&mut self, program: usize) -> std::result::Result<u32, Box<Fault>> {
        self.processor.redirect = Redirect::default();
        let executable = self.take_program(program);
        let r0 = interpreter::run(&mut self.processor, &executable, (RegionId::CONTEXT.at(0), 0));
        self.last = Some(executable);
        let r0 = helpers::end_run(&mut self.processor, r0)?;
        Ok(r0 as u32)
    }

    fn take_program(&mut self, number: usize) -> Arc<Executable> {
        let executable = &self.processor.programs[number];
        let again = self.last.take().filter(|last| Arc::ptr_eq(last, executable));
        again.unwrap_or_else(|| Arc::clone(executable))
    }

    /// The current packet; borrowed if it is in one buffer.
    pub fn packet(&self) -> Cow<'_, [u8]> {
        let Processor { frame, memory, .. } = &self.processor;
        if !frame.is_split() {
            return Cow::Borrowed(frame.head(memory));
        }
        let mut packet = Vec::with_capacity(frame.len() as usize);
        frame.append_packet(memory, &mut packet);
        Cow::Owned(packet)
    }

    /// The metadata before the packet (`data_meta` to `data`).
    pub fn metadata(&self) -> &[u8] {
        self.processor.frame.metadata(&self.processor.memory)
    }

    /// The interface to which the last run redirected, whatever its verdict.
    pub fn redirect_ifindex(&self) -> Option<u32> {
        match self.processor.redirect.choice {
            Choice::To(Target::Device { ifindex, .. }) => Some(ifindex),
            _ => None,
        }
    }

    /// Refuses a packet in several buffers for a program that accepts one, as drivers do.
    pub(crate) fn check_buffers(&self, program: usize) -> Result<()> {
        let program = &self.processor.programs[program].program;
        let accepts = program.kind().flags & ProgramKind::XDP_FRAGS.flags != 0;
        if accepts || !self.processor.frame.is_split() {
            return Ok(());
        }
        let (len, program) = (self.processor.frame.len(), program.name().to_owned());
        Err(Error::Packet(InvalidPacket::Fragmented { len, program }))
    }

    /// Runs a program that takes no packet: r1 is the address of `input`, r2 its length. Changes
    /// that the program makes are in `input` afterwards. Returns r0.
    ///
    /// # Errors
    /// A fault of the program.
    pub fn run_raw(&mut self, program: usize, input: &mut [u8]) -> Result<u64> {
        let processor = &mut self.processor;
        let executable = Arc::clone(&processor.programs[program]);
        let len = input.len() as u64;
        processor.memory.install(RegionId::INPUT, Arc::new(slab(len)), Layout::flat(len));
        processor.memory.private_mut(RegionId::INPUT).copy_from_slice(input);
        let start = if input.is_empty() { 0 } else { RegionId::INPUT.at(0) };
        processor.frames.budget.refill();
        let r0 = interpreter::run(processor, &executable, (start, len));
        let r0 = helpers::end_run(processor, r0).map_err(Error::Fault)?;
        input.copy_from_slice(processor.memory.private(RegionId::INPUT));
        Ok(r0)
    }

    /// The worker's clock, nanoseconds since boot.
    pub fn now_ns(&self) -> u64 {
        self.processor.now_ns()
    }

    /// Sets the worker's clock, which never runs backward: an earlier time is ignored.
    pub fn set_clock_ns(&mut self, now_ns: u64) {
        self.processor.set_clock_ns(now_ns);
    }

    /// Advances the clock to `now_ns` since boot and runs on this processor the timers that are
    /// due until then, each at its time. Returns the number of timers that ran.
    ///
    /// # Errors
    /// A fault of a timer's callback.
    pub fn advance(&mut self, now_ns: u64) -> std::result::Result<usize, Box<Fault>> {
        let count = helpers::run_timers(&mut self.processor, now_ns)?;
        self.processor.set_clock_ns(now_ns);
        Ok(count)
    }

    /// Sets the hook that observes this worker's runs, or removes it. Returns the previous one.
    pub fn set_hook(&mut self, hook: Option<Box<dyn Hook + Send>>) -> Option<Box<dyn Hook + Send>> {
        std::mem::replace(&mut self.processor.hook.0, hook)
    }

    /// Sets a check that each run calls at least once in 1,048,576 instructions, or removes it. A
    /// run for which it returns `true` ends with
    /// [`Cause::Interrupted`](crate::Cause::Interrupted).
    pub fn set_interrupt(&mut self, is_interrupted: Option<Box<dyn FnMut() -> bool + Send>>) {
        self.processor.frames.budget.set_interrupt(is_interrupted);
    }
}

/// Number of the loopback interface.
const LOOPBACK: u32 = 1;

/// A slab of a size that this crate chose itself.
fn slab(len: u64) -> Slab {
    Slab::new(len).expect("the size is far below the limit")
}

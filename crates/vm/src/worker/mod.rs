//! One processor of a machine: its memory, packet and state between instructions.
//!
//! Rule: a worker is used by one thread at a time and owns all that the kernel keeps per CPU;
//! what workers share (maps, world, programs) is in `machine::Shared`.

mod context;
mod objects;

use std::borrow::Cow;
use std::sync::Arc;

use spec::{Input, ProgramKind};

use crate::code::Program;
use crate::error::{Error, Result};
use crate::fault::Fault;
use crate::frame::{Frame, Saved};
use crate::helpers::{Local, Reservations};
use crate::interpreter;
use crate::machine::Shared;
use crate::maps::Map;
use crate::memory::{Layout, Memory, RegionId, Slab};
use crate::objects::{Objects, install};
use crate::redirect::{Choice, Redirect, Target};

pub(crate) use context::Context;

/// Runs programs, one packet at a time. Made by [`Machine::worker`](crate::Machine::worker).
#[derive(Debug)]
pub struct Worker {
    pub(crate) shared: Arc<Shared>,
    /// This processor's number.
    pub(crate) cpu: u32,
    pub(crate) memory: Memory,
    pub(crate) frame: Frame,
    pub(crate) context: Context,
    pub(crate) redirect: Redirect,
    /// Where a frame waits while copies of it are sent.
    pub(crate) saved: Saved,
    /// The machine's maps by number, as far as this worker has met them.
    pub(crate) maps: Vec<Arc<Map>>,
    /// The machine's programs by number.
    pub(crate) programs: Vec<Arc<Program>>,
    /// The program that ran last: to run it again touches no count that other workers touch.
    ran: Option<Arc<Program>>,
    /// Room for a key and a value of any map.
    pub(crate) scratch: Vec<u8>,
    pub(crate) frames: interpreter::Frames,
    /// Ring buffer records that the program is writing.
    pub(crate) reservations: Reservations,
    /// What its helpers remember between calls.
    pub(crate) local: Local,
    /// What is lent to its program.
    pub(crate) objects: Objects,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, cpu: u32) -> Self {
        let mut memory = Memory::new();
        interpreter::install_stack(&mut memory);
        let frame = Frame::install(&mut memory);
        let mut worker = Self {
            local: Local::new(&shared.world, cpu),
            objects: install(&mut memory, &shared.services.heap),
            shared,
            cpu,
            memory,
            frame,
            context: Context::default(),
            redirect: Redirect::default(),
            saved: Saved::default(),
            maps: Vec::new(),
            programs: Vec::new(),
            ran: None,
            scratch: Vec::new(),
            frames: interpreter::Frames::default(),
            reservations: Reservations::default(),
        };
        worker.meet();
        worker
    }

    /// Learns of maps and programs that the machine has got since.
    pub(crate) fn meet(&mut self) {
        let shared = Arc::clone(&self.shared);
        let maps = shared.maps();
        for map in &maps[self.maps.len()..] {
            if let Some((slab, layout)) = map.values() {
                self.memory.install(RegionId::values_of(map.facts().number), slab, layout);
            }
            let room = map.facts().key_size as usize + map.facts().value_size as usize;
            if room > self.scratch.len() {
                // Pages of it are touched when they are used: values may be very long.
                self.scratch = vec![0; room];
            }
            self.maps.push(Arc::clone(map));
        }
        self.programs.clone_from(&shared.programs());
    }

    /// Makes `input` the packet that the next [`Worker::execute`] works on. Interface 0 stands
    /// for the loopback interface, 1, as it does in a test run of the kernel.
    pub fn put(&mut self, input: &Input) -> Result<()> {
        self.frame.put(&mut self.memory, input)?;
        let ingress_ifindex = input.ingress_ifindex.max(LOOPBACK);
        self.frame.grows = ingress_ifindex == LOOPBACK;
        self.context = Context { ingress_ifindex, rx_queue: input.rx_queue, egress_ifindex: 0 };
        Ok(())
    }

    /// Runs a program, by its number, on the packet that is there, and leaves the packet as the
    /// program left it. What it returns is a verdict's number where the program keeps to them.
    pub fn execute(&mut self, program: usize) -> std::result::Result<u32, Box<Fault>> {
        self.run_due_timers()?;
        self.refill_budget();
        self.execute_on(program)
    }

    /// Runs a program on the packet that is there, on what is left of the budget: all programs that
    /// one packet meets spend the same. Timers wait until the next packet.
    pub(crate) fn execute_on(&mut self, program: usize) -> std::result::Result<u32, Box<Fault>> {
        self.redirect = Redirect::default();
        let program = self.take_program(program);
        let r0 = interpreter::run_on(self, &program, (RegionId::CONTEXT.at(0), 0));
        self.ran = Some(program);
        let r0 = self.end_run(r0)?;
        Ok(r0 as u32)
    }

    fn take_program(&mut self, number: usize) -> Arc<Program> {
        let program = &self.programs[number];
        let again = self.ran.take().filter(|ran| Arc::ptr_eq(ran, program));
        again.unwrap_or_else(|| Arc::clone(program))
    }

    /// The packet as it is now; borrowed where it is in one buffer.
    pub fn packet(&self) -> Cow<'_, [u8]> {
        if !self.frame.is_split() {
            return Cow::Borrowed(self.frame.head(&self.memory));
        }
        let mut packet = Vec::with_capacity(self.frame.len() as usize);
        self.frame.append_packet(&self.memory, &mut packet);
        Cow::Owned(packet)
    }

    /// What is in front of the packet now (`data_meta`).
    pub fn metadata(&self) -> &[u8] {
        self.frame.metadata(&self.memory)
    }

    /// The interface that the last run chose, whatever its verdict.
    pub fn redirect_ifindex(&self) -> Option<u32> {
        match self.redirect.choice {
            Choice::To(Target::Device { ifindex, .. }) => Some(ifindex),
            _ => None,
        }
    }

    /// Refuses a packet in several buffers for a program that takes one, as drivers do.
    pub(crate) fn check_buffers(&self, program: usize) -> Result<()> {
        let takes = self.programs[program].kind().flags & ProgramKind::XDP_FRAGS.flags != 0;
        if takes || !self.frame.is_split() {
            return Ok(());
        }
        let (name, len) = (self.programs[program].name(), self.frame.len());
        Err(Error::Packet(format!(
            "{len} bytes are more than one buffer holds, and `{name}` is not `xdp.frags`"
        )))
    }

    /// Runs a program that is no packet program: r1 is the address of `input`, r2 its length.
    /// What the program writes is in `input` afterwards; r0 is returned.
    pub fn run_raw(&mut self, program: usize, input: &mut [u8]) -> Result<u64> {
        let program = Arc::clone(&self.programs[program]);
        let len = input.len() as u64;
        self.memory.install(RegionId::INPUT, Arc::new(slab(len)), Layout::flat(len));
        self.memory.private_mut(RegionId::INPUT).copy_from_slice(input);
        let start = if input.is_empty() { 0 } else { RegionId::INPUT.at(0) };
        let r0 = interpreter::run(self, &program, (start, len));
        let r0 = self.end_run(r0).map_err(Error::Fault)?;
        input.copy_from_slice(self.memory.private(RegionId::INPUT));
        Ok(r0)
    }
}

/// Number of the loopback interface.
const LOOPBACK: u32 = 1;

/// A slab of a size that this crate chose itself.
fn slab(len: u64) -> Slab {
    Slab::new(len).expect("the size is far below the limit")
}

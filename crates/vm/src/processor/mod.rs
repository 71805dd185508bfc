//! One processor of a machine: its memory, packet and state between instructions.
//!
//! Rule: a processor is used by one thread at a time and owns all state that the kernel keeps per
//! CPU; what processors share (maps, environment, programs) is in [`Shared`]. Programs run in
//! `interpreter`, the functions that they call are in `helpers`; both act on this state alone.
//! Not here: what a run consists of (`worker`), what happens to the packet afterwards
//! (`delivery`).

mod argument;
mod budget;
mod context;
mod executable;
mod frames;
mod hook;
mod lending;
mod local;
mod random;
mod reservations;
mod shared;
mod step;

use std::sync::Arc;

use crate::frame::Frame;
use crate::maps::Map;
use crate::memory::{Memory, RegionId};
use crate::objects::{Objects, install};
use crate::redirect::Redirect;

pub(crate) use argument::{CHUNK, bad_argument};
pub(crate) use budget::Exhausted;
pub(crate) use context::Context;
pub(crate) use executable::{Call, Executable};
pub(crate) use frames::{Caller, Frames};
pub(crate) use hook::Slot as HookSlot;
pub use hook::{CallEvent, Hook, WriteEvent};
pub(crate) use local::{LOCKS, Local, Sections};
use random::Random;
pub(crate) use reservations::Reservations;
pub(crate) use shared::Shared;
pub use step::{Pointee, Step};

/// The state that a program and its helpers work on.
#[derive(Debug)]
pub(crate) struct Processor {
    /// State that all processors of the machine share.
    pub shared: Arc<Shared>,
    /// Number of this processor.
    pub cpu: u32,
    /// All memory that programs can address.
    pub memory: Memory,
    /// Position of the packet in its buffers.
    pub frame: Frame,
    /// Fields of `struct xdp_md` that describe where the packet came from.
    pub context: Context,
    /// Target that the redirect helpers chose.
    pub redirect: Redirect,
    /// The machine's maps by number, up to the last [`Processor::refresh`].
    pub maps: Vec<Arc<Map>>,
    /// The machine's programs by number.
    pub programs: Vec<Arc<Executable>>,
    /// Buffer that holds a key and a value of any map.
    pub scratch: Vec<u8>,
    /// Active functions and the budget of the run.
    pub frames: Frames,
    /// Hook that observes the runs.
    pub hook: HookSlot,
    /// Ring buffer records that the program is writing.
    pub reservations: Reservations,
    /// State that helpers keep between calls.
    pub local: Local,
    /// Objects lent to the program.
    pub objects: Objects,
}

impl Processor {
    /// Processor `cpu` of the machine, without a packet.
    pub fn new(shared: Arc<Shared>, cpu: u32) -> Self {
        let mut memory = Memory::new();
        frames::install_stack(&mut memory);
        let frame = Frame::install(&mut memory);
        let mut processor = Self {
            local: Local::new(&shared.world, cpu),
            objects: install(&mut memory, &shared.services.heap),
            frames: Frames::new(shared.budget),
            shared,
            cpu,
            memory,
            frame,
            context: Context::default(),
            redirect: Redirect::default(),
            maps: Vec::new(),
            programs: Vec::new(),
            scratch: Vec::new(),
            hook: HookSlot::default(),
            reservations: Reservations::default(),
        };
        processor.refresh();
        processor
    }

    /// Adds the maps and programs that the machine has received since the last call.
    pub fn refresh(&mut self) {
        let shared = Arc::clone(&self.shared);
        let maps = shared.maps();
        for map in &maps[self.maps.len()..] {
            if let Some((slab, layout)) = map.values() {
                self.memory.install(RegionId::values_of(map.attributes().number), slab, layout);
            }
            let room = map.attributes().key_size as usize + map.attributes().value_size as usize;
            if room > self.scratch.len() {
                // The allocation is zeroed lazily: its pages take memory only when used.
                self.scratch = vec![0; room];
            }
            self.maps.push(Arc::clone(map));
        }
        self.programs.clone_from(&shared.programs());
    }
}

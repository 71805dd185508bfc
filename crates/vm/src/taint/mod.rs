//! Marks values that may differ between two runtimes: clocks, random numbers, addresses.
//!
//! A [`Taint`] is a hook that follows such values through registers, stack, packet and map values,
//! so that a comparison can omit them. After a branch on a marked value the rest of the run is
//! marked, and so are the maps that the program has used or may still use in either direction. Runs
//! without it have no cost: it is an ordinary [`Hook`].
//!
//! Rule: it may mark values that are equal, but never omits one that differs.

mod calls;
mod flow;
mod label;
mod reach;
mod shadow;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use label::Label;

use crate::code::Kind;
use crate::fault::Fault;
use crate::limits;
use crate::machine::Machine;
use crate::maps::Map;
use crate::memory::{RegionId, offset};
use crate::processor::{CallEvent, Hook, Pointee, Step};
use shadow::Shadow;

/// Follows marked values through the runs of one worker.
#[derive(Debug)]
pub struct Taint {
    maps: Vec<Arc<Map>>,
    /// Number of the processor that runs the programs.
    cpu: u32,
    shadow: Shadow,
    /// The active functions.
    frames: Vec<Active>,
    /// How the next instruction enters a function.
    entry: Entry,
    /// Why the path of the run may differ.
    control: Label,
    /// Maps of which no element can be compared, and why.
    uncertain: BTreeMap<usize, Label>,
    /// Maps that the current run has used, by number.
    used: Vec<usize>,
    /// Label of the last result of the outermost function.
    returned: Label,
    /// First byte of the metadata in the packet's buffer when the run ended.
    head: u64,
    ended: Option<Ended>,
}

/// An active function.
#[derive(Clone, Copy, Debug, Default)]
struct Active {
    /// Labels of r0 to r10.
    labels: [Label; 11],
    /// Whether a helper called it.
    is_callback: bool,
}

/// State after the first program that ran on the packet.
#[derive(Clone, Copy, Debug)]
struct Ended {
    verdict: Label,
    control: Label,
    head: u64,
}

/// How the function of the next instruction was entered.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// By a helper (callback), or as the entry function.
    Outside,
    /// With the arguments r1 to r5.
    Local([Label; 5]),
    /// By a tail call.
    Tail,
}

impl Taint {
    /// A hook for a worker of this machine that is processor `cpu`.
    pub fn new(machine: &Machine, cpu: u32) -> Self {
        Self {
            maps: machine.maps(),
            cpu,
            shadow: Shadow::default(),
            frames: Vec::new(),
            entry: Entry::Outside,
            control: Label::NONE,
            uncertain: BTreeMap::new(),
            used: Vec::new(),
            returned: Label::NONE,
            head: 0,
            ended: None,
        }
    }

    /// Prepares for a new packet.
    pub fn start_packet(&mut self) {
        self.shadow.clear_packet();
        self.ended = None;
    }

    /// Why the verdict on the packet may differ.
    pub fn verdict(&self) -> Label {
        self.ended.map_or(Label::NONE, |ended| ended.verdict | ended.control)
    }

    /// Why the length and all bytes of the packet may differ.
    pub fn packet(&self) -> Label {
        self.ended.map_or(Label::NONE, |ended| ended.control)
    }

    /// Why a byte may differ, counted from the first byte of metadata.
    pub fn packet_byte(&self, at: usize) -> Label {
        let head = self.ended.map_or(0, |ended| ended.head);
        self.shadow.byte(RegionId::PACKET.at(head + at as u64)).as_data()
    }

    /// Why no element of a map can be compared, by the map's number in the object.
    pub fn map(&self, number: usize) -> Label {
        self.uncertain.get(&number).copied().unwrap_or_default()
    }

    /// Why each byte of an element may differ, in the format of user space. Empty if none may.
    pub fn value(&self, number: usize, key: &[u8]) -> Vec<Label> {
        let Some(map) = self.maps.get(number).filter(|map| is_followed(map)) else {
            return Vec::new();
        };
        let attributes = map.attributes();
        if key.len() != attributes.key_size as usize {
            return Vec::new();
        }
        let mut labels = Vec::new();
        for cpu in 0..attributes.copies() {
            let address = map.lookup(cpu, key);
            let from = labels.len();
            let bytes = (0..u64::from(attributes.value_size)).map(|at| address.wrapping_add(at));
            labels.extend(bytes.map(|address| self.shadow.byte(address).as_data()));
            if attributes.kind.is_per_cpu() {
                labels.resize(from + attributes.stride() as usize, Label::NONE);
            }
        }
        if labels.iter().all(|label| label.is_empty()) { Vec::new() } else { labels }
    }

    // ---- marking ------------------------------------------------------------------------------

    /// Records a branch on a marked value: the rest of the run is marked, and every map that either
    /// direction may have changed.
    fn branch_on(&mut self, step: &Step<'_>, label: Label) {
        if label.is_empty() {
            return;
        }
        self.control |= label;
        let reached = reach::maps(step.program.source(), step.slot);
        let all = || (0..self.maps.len()).collect();
        let reached: Vec<usize> = reached.map_or_else(all, |maps| maps.into_iter().collect());
        for map in reached.into_iter().chain(std::mem::take(&mut self.used)) {
            self.doubt(map, label);
        }
    }

    fn doubt(&mut self, map: usize, label: Label) {
        if !label.is_empty() && self.maps.get(map).is_some_and(|map| !map.is_frozen()) {
            *self.uncertain.entry(map).or_default() |= label.as_data();
        }
    }

    /// Number of the map to which an address refers, as a map pointer or in a value.
    fn map_at(&self, address: u64) -> Option<usize> {
        let region = RegionId::of(address);
        let number = match region {
            RegionId::MAPS => offset(address) as usize,
            _ => region.0.checked_sub(RegionId::VALUES.0)? as usize,
        };
        (number < self.maps.len()).then_some(number)
    }

    fn registers(&mut self) -> &mut Active {
        if self.frames.is_empty() {
            self.frames.push(Active::default());
        }
        self.frames.last_mut().expect("one was just made where there was none")
    }

    fn label(&mut self, register: u8) -> Label {
        self.registers().labels[usize::from(register).min(10)]
    }

    fn set(&mut self, register: u8, label: Label) {
        let label = label | self.control;
        self.registers().labels[usize::from(register).min(10)] = label;
    }

    // ---- functions ----------------------------------------------------------------------------

    fn follow_calls(&mut self, step: &Step<'_>) {
        self.frames.truncate(step.depth);
        let entry = std::mem::replace(&mut self.entry, Entry::Outside);
        let is_new = self.frames.len() < step.depth;
        let is_callback = !self.frames.is_empty() && matches!(entry, Entry::Outside);
        if self.frames.is_empty() {
            self.control = Label::NONE;
            self.used.clear();
        }
        self.frames.resize(step.depth, Active { is_callback, ..Active::default() });
        let mut labels = [Label::NONE; 11];
        match entry {
            Entry::Local(args) if is_new => labels[1..6].copy_from_slice(&args),
            Entry::Tail => labels[1] = Label::POINTER,
            _ if is_new => {
                for (label, value) in labels[1..6].iter_mut().zip(&step.registers[1..6]) {
                    *label = if is_address(step, *value) { Label::POINTER } else { self.control };
                }
            }
            _ => return,
        }
        labels[10] = Label::POINTER;
        self.registers().labels = labels;
        let stack = limits::STACK_BYTES;
        self.shadow.write(step.registers[10].wrapping_sub(stack as u64), stack, Label::NONE);
    }

    fn exit(&mut self, step: &Step<'_>) {
        let returned = self.label(0);
        // The result of a callback decides whether it is called again.
        if self.registers().is_callback {
            self.branch_on(step, returned.as_data());
        }
        self.frames.pop();
        match self.frames.last_mut() {
            Some(caller) => {
                caller.labels[0] = returned;
                caller.labels[1..6].fill(Label::NONE);
            }
            None => {
                self.returned = returned.as_data();
                let layout = step.memory.layout(step.memory.packet());
                self.head = layout.map_or(0, |layout| layout.low);
            }
        }
    }
}

impl Hook for Taint {
    fn step(&mut self, step: &Step<'_>) {
        self.follow_calls(step);
        match step.program.ops()[step.slot].kind {
            Kind::Exit => self.exit(step),
            Kind::CallLocal | Kind::CallRegister => {
                let args = *self.registers().labels[1..6].first_chunk().expect("five of eleven");
                self.entry = Entry::Local(args);
            }
            Kind::TailCall => {
                let index = self.label(3).as_data();
                self.branch_on(step, index);
                self.entry = Entry::Tail;
            }
            Kind::Call => self.before_call(step),
            _ => self.flow(step),
        }
    }

    fn call(&mut self, step: &Step<'_>, call: &CallEvent<'_>) {
        self.entry = Entry::Outside;
        self.after_call(step, call);
    }

    fn end(&mut self, result: Result<u64, &Fault>) {
        let verdict = if result.is_ok() { self.returned } else { Label::NONE };
        let (control, head) = (self.control, self.head);
        self.ended.get_or_insert(Ended { verdict, control, head });
        self.frames.clear();
        self.entry = Entry::Outside;
    }
}

/// Whether an element of a map can be looked up without changing the map: in an LRU map, a lookup
/// marks the element as used.
fn is_followed(map: &Map) -> bool {
    use spec::MapKind as Kind;
    let kinds = [Kind::ARRAY, Kind::PERCPU_ARRAY, Kind::HASH, Kind::PERCPU_HASH, Kind::LPM_TRIE];
    kinds.contains(&map.attributes().kind)
}

fn is_address(step: &Step<'_>, value: u64) -> bool {
    RegionId::of(value).is_object()
        || !matches!(step.pointee(value), Pointee::Number(_) | Pointee::Other)
}

//! What differs between runtimes by nature, because it comes from a clock, chance or an address.
//!
//! Rule: a second engine runs the same packets with a [`Taint`] that follows such values; the one
//! that is compared runs unwatched, as users run it. Runs repeat, so both do the same. Only what
//! differs and is marked is left out, and all of it is reported. The second engine also records
//! which map elements each packet changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use spec::MapDef;
use vm::{ChangedElements, Changes, Label, Run, Taint};

use crate::arm::Vm;
use crate::entries::{Entries, is_array};
use crate::error::Result;
use crate::input::Played;
use crate::results::NotCompared;

pub struct Nature {
    vm: Vm,
    taint: Arc<Mutex<Taint>>,
    changes: Arc<Mutex<Changes>>,
    pub left_out: NotCompared,
}

impl Nature {
    /// Watches an engine that runs as processor `cpu`.
    pub fn new(mut vm: Vm, cpu: u32) -> Self {
        let taint = Arc::new(Mutex::new(Taint::new(vm.machine(), cpu)));
        let changes = Arc::new(Mutex::new(Changes::new(vm.machine())));
        vm.worker().set_hook(Some(Box::new((Arc::clone(&taint), Arc::clone(&changes)))));
        Self { vm, taint, changes, left_out: NotCompared::default() }
    }

    pub fn run(&mut self, packet: &Played) -> Result<()> {
        self.taint().start_packet();
        self.vm.run(packet)?;
        self.vm.log();
        Ok(())
    }

    /// Map elements that the engine changed since the last call, by the map's place in the object.
    pub fn take_changes(&mut self) -> BTreeMap<usize, ChangedElements> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether different verdicts on the packet are left out.
    pub fn excuses_verdict(&mut self) -> bool {
        let label = self.taint().verdict();
        self.left_out.verdicts += u64::from(!label.is_empty());
        self.note(label)
    }

    /// Whether all bytes in which the packets or their metadata differ are left out.
    pub fn excuses_bytes(&mut self, kernel: &Run, vm: &Run) -> bool {
        let label = match different(kernel, vm) {
            Some(places) => {
                let taint = self.taint();
                let labels: Vec<Label> = places.map(|at| taint.packet_byte(at)).collect();
                let all = labels.iter().fold(taint.packet(), |all, one| all | *one);
                let marked = labels.iter().all(|label| !label.is_empty());
                if marked { all } else { taint.packet() }
            }
            None => self.taint().packet(),
        };
        self.left_out.packets += u64::from(!label.is_empty());
        self.note(label)
    }

    /// Clears what is left out of a map's entries, by the map's place in the object.
    pub fn mask(&mut self, number: usize, def: &MapDef, sides: [&mut Entries; 2]) {
        let taint = self.taint();
        let whole = taint.map(number);
        let mut noted = whole;
        for entries in sides {
            if !whole.is_empty() {
                entries.clear();
            }
            for (key, value) in entries.iter_mut() {
                for (byte, label) in value.iter_mut().zip(taint.value(number, key)) {
                    if !label.is_empty() {
                        *byte = 0;
                        noted |= label;
                    }
                }
            }
            if is_array(def) {
                entries.retain(|(_, value)| value.iter().any(|byte| *byte != 0));
            }
        }
        drop(taint);
        if self.note(noted) {
            self.left_out.maps.entry(def.name.clone()).or_default().extend(noted.causes());
        }
    }

    fn note(&mut self, label: Label) -> bool {
        self.left_out.causes.extend(label.causes());
        !label.is_empty()
    }

    fn taint(&self) -> MutexGuard<'_, Taint> {
        self.taint.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Places of the bytes that differ, counted from the first byte of metadata; `None` where the
/// lengths differ.
fn different<'a>(kernel: &'a Run, vm: &'a Run) -> Option<impl Iterator<Item = usize> + 'a> {
    let lengths = |run: &Run| (run.metadata.len(), run.packet.len());
    if lengths(kernel) != lengths(vm) {
        return None;
    }
    let bytes = |run: &'a Run| run.metadata.iter().chain(&run.packet);
    let pairs = bytes(kernel).zip(bytes(vm)).enumerate();
    Some(pairs.filter(|(_, (kernel, vm))| kernel != vm).map(|(at, _)| at))
}

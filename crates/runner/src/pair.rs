//! Kernel and engine with the same object and the same maps, and what differs between them.

use std::collections::{BTreeMap, BTreeSet};

use control::inventory::Types;
use spec::MapDef;
use vm::{ChangedElements, Run};

use crate::arm::{Arm, Kernel, Vm};
use crate::difference;
use crate::entries::Entries;
use crate::error::Result;
use crate::input::Played;
use crate::nature::Nature;
use crate::results::{Difference, NotCompared, What};
use crate::setup::Setup;

/// Elements of maps, by the map's place in the object.
pub type Elements = BTreeMap<usize, ChangedElements>;

pub struct Pair<'a> {
    setup: &'a Setup<'a>,
    kernel: Arm,
    vm: Arm,
    nature: Nature,
    /// Maps that are compared, by their places in the object.
    maps: BTreeMap<usize, &'a MapDef>,
}

/// The entries of a map that differ: the kernel's and the engine's.
type Sides = [Entries; 2];

impl<'a> Pair<'a> {
    pub fn load(setup: &'a Setup<'a>) -> Result<Self> {
        let kernel = Kernel::load(setup)?;
        let vm = Vm::like_kernel(setup, kernel.cpu())?;
        let watched = Vm::like_kernel(setup, kernel.cpu())?;
        let nature = Nature::new(watched, kernel.cpu() as u32);
        let maps = setup.spec.maps.iter().enumerate();
        let maps = maps.filter(|(_, map)| setup.shows(map) && !holds_ids(map)).collect();
        let (kernel, vm) = (Arm::Kernel(Box::new(kernel)), Arm::Vm(Box::new(vm)));
        Ok(Self { setup, kernel, vm, nature, maps })
    }

    pub fn setup(&self) -> &'a Setup<'a> {
        self.setup
    }

    /// What was different and left out.
    pub fn into_left_out(self) -> NotCompared {
        self.nature.left_out
    }

    /// Runs a packet on both. What is returned is the engine's run.
    pub fn step(&mut self, packet: &Played) -> Result<(Run, Option<Difference>)> {
        let theirs = self.kernel.run(packet)?;
        let ours = self.vm.run(packet)?;
        if ours.is_interrupted() {
            return Ok((ours, None));
        }
        self.nature.run(packet)?;
        let what = match &ours.fault {
            Some(fault) => Some(What::Fault { message: fault.to_string() }),
            None if ours.code != theirs.code && self.nature.excuses_verdict() => None,
            None if ours.code != theirs.code => {
                Some(What::Verdict { kernel: verdict(&theirs), vm: verdict(&ours) })
            }
            None if ours.packet == theirs.packet && ours.metadata == theirs.metadata => None,
            None if self.nature.excuses_bytes(&theirs, &ours) => None,
            None if ours.packet != theirs.packet => {
                Some(difference::bytes(&theirs.packet, &ours.packet))
            }
            None => Some(difference::metadata(&theirs.metadata, &ours.metadata)),
        };
        let difference = what.map(|what| Difference { packet: Some(packet.number), what });
        Ok((ours, difference))
    }

    /// Compares the elements that the engine changed in packet `number`.
    pub fn compare_changed(&mut self, number: u64) -> Result<Option<Difference>> {
        let changes = self.nature.take_changes();
        let what = self.compare(&changes)?;
        Ok(what.map(|what| Difference { packet: Some(number), what }))
    }

    /// Compares some elements.
    pub fn compare(&mut self, elements: &Elements) -> Result<Option<What>> {
        for (place, elements) in elements {
            let Some(def) = self.maps.get(place).copied() else { continue };
            if let Some(sides) = self.differing(*place, def, elements)? {
                return Ok(Some(self.describe(def, &sides)));
            }
        }
        Ok(None)
    }

    /// Compares all elements of all maps: the first difference, and which elements differ.
    pub fn compare_all(&mut self) -> Result<Option<(What, Elements)>> {
        let (mut first, mut elements) = (None, Elements::new());
        for (place, def) in self.maps.clone() {
            let Some(sides) = self.differing(place, def, &ChangedElements::All)? else { continue };
            elements.insert(place, keys(&sides));
            first.get_or_insert_with(|| self.describe(def, &sides));
        }
        Ok(first.map(|what| (what, elements)))
    }

    fn describe(&self, def: &MapDef, [theirs, ours]: &Sides) -> What {
        difference::map(def, &Types::of_def(def, self.setup.spec.btf.as_ref()), theirs, ours)
    }

    /// The given elements of a map on both sides, if any of them differs.
    fn differing(
        &mut self,
        place: usize,
        def: &MapDef,
        elements: &ChangedElements,
    ) -> Result<Option<Sides>> {
        let read = |arm: &Arm| match elements {
            ChangedElements::Keys(keys) => Ok(arm.entries_of(def, keys.iter())),
            ChangedElements::All => arm.entries(def, &self.setup.callbacks.interrupt),
        };
        let (theirs, ours) = (read(&self.kernel)?, read(&self.vm)?);
        let (Some(mut theirs), Some(mut ours)) = (theirs, ours) else { return Ok(None) };
        self.vm.blank(def, &mut theirs)?;
        self.vm.blank(def, &mut ours)?;
        if theirs == ours {
            return Ok(None);
        }
        self.nature.mask(place, def, [&mut theirs, &mut ours]);
        Ok((theirs != ours).then_some([theirs, ours]))
    }
}

/// Keys of the entries that differ; of many, the first.
fn keys([theirs, ours]: &Sides) -> ChangedElements {
    let only = |one: &Entries, other: &Entries| {
        let differs = |entry: &&(Vec<u8>, Vec<u8>)| other.binary_search(entry).is_err();
        one.iter().filter(differs).map(|(key, _)| key.clone()).take(SOUGHT).collect::<Vec<_>>()
    };
    let keys: BTreeSet<_> = only(theirs, ours).into_iter().chain(only(ours, theirs)).collect();
    ChangedElements::Keys(keys)
}

/// Whether values are ids of programs and maps, which are each runtime's own.
fn holds_ids(def: &MapDef) -> bool {
    def.kind.is_map_of_maps() || def.kind == spec::MapKind::PROG_ARRAY
}

fn verdict(run: &Run) -> String {
    match run.code {
        code if code == run.verdict as u32 => run.verdict.name().to_owned(),
        code => format!("{} (returned {code})", run.verdict.name()),
    }
}

/// Differing elements of one side of a map of which the first packet is searched.
const SOUGHT: usize = 256;

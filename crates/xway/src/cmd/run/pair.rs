//! Kernel and engine with the same object and the same maps, and what differs between them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use control::inventory::Types;
use spec::MapDef;
use vm::{ChangedElements, Run};

use super::Job;
use super::arm::Arm;
use super::difference;
use super::entries::Entries;
use super::input::Played;
use super::nature::Nature;
use crate::view::run::{Difference, NotCompared, What};

/// Elements of maps, by the map's place in the object.
pub type Elements = BTreeMap<usize, ChangedElements>;

pub struct Pair<'a> {
    job: &'a Job<'a>,
    kernel: Arm,
    vm: Arm,
    nature: Nature,
    /// Maps that are compared, by their places in the object.
    maps: BTreeMap<usize, &'a MapDef>,
}

/// The entries of a map that differ: the kernel's and the engine's.
type Sides = [Entries; 2];

impl<'a> Pair<'a> {
    pub fn load(job: &'a Job<'a>) -> Result<Self> {
        let kernel = Arm::kernel(job)?;
        let vm = Arm::vm_like_kernel(job, kernel.cpu())?;
        let watched = Arm::vm_like_kernel(job, kernel.cpu())?;
        for arm in [&kernel, &vm, &watched] {
            arm.configure(&job.configuration)?;
        }
        let nature = Nature::new(watched, u32::try_from(kernel.cpu())?)?;
        let maps = job.spec.maps.iter().enumerate();
        let maps = maps.filter(|(_, map)| job.shows(map) && !holds_ids(map)).collect();
        Ok(Self { job, kernel, vm, nature, maps })
    }

    pub fn job(&self) -> &'a Job<'a> {
        self.job
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
        difference::map(def, &Types::of_def(def, self.job.spec.btf.as_ref()), theirs, ours)
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
            ChangedElements::All => arm.entries(def, &self.job.interrupt),
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

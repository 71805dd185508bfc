//! `run --diff`: kernel and engine side by side, packet for packet, to the first difference.
//!
//! Rule: both start alike and see the same packets in the same order; compared are verdict,
//! bytes and metadata of each packet, and the maps now and then and at the end. What comes from
//! clocks, chance and addresses is left out where it differs (see `nature`).

use anyhow::Result;
use spec::MapDef;
use vm::Run;

use super::arm::Arm;
use super::input::{Capture, Played};
use super::nature::Nature;
use super::tally::Tally;
use super::{Context, Exit, Job};
use crate::cmd::map::types::Types;
use crate::view::run::{Difference, Report, What};

pub fn run(job: &Job<'_>, mut capture: Capture<'_>, context: &Context) -> Result<Exit> {
    let mut pair = Pair::load(job)?;
    let mut tally = Tally::default();
    let mut found = None;
    while let Some(packet) = capture.next()? {
        let (ours, difference) = pair.step(&packet)?;
        if ours.is_interrupted() {
            break;
        }
        tally.count(&packet, &ours);
        found = difference;
        if found.is_none() && packet.number.is_multiple_of(pair.map_pace) {
            found = pair.maps(packet.number)?;
        }
        if found.is_some() {
            break;
        }
    }
    if found.is_none() {
        found = pair.maps(0)?;
    }
    let report = Report {
        object: job.name.clone(),
        program: job.program.name.clone(),
        runtime: "kernel and vm",
        interrupted: capture.interrupted(),
        unfit: capture.unfit(),
        tally: tally.finish(&job.world),
        rates: None,
        maps: Vec::new(),
        events: Vec::new(),
        log: Vec::new(),
        files: Vec::new(),
        coverage: None,
        first_difference: found,
        not_compared: Some(pair.nature.left_out),
    };
    context.show(&report)?;
    Ok(if report.first_difference.is_none() { Exit::Done } else { Exit::No })
}

struct Pair<'a> {
    job: &'a Job<'a>,
    kernel: Arm,
    vm: Arm,
    nature: Nature,
    /// Maps that are compared, with their places in the object.
    maps: Vec<(usize, &'a MapDef)>,
    /// Packets between comparisons of the maps.
    map_pace: u64,
}

impl<'a> Pair<'a> {
    fn load(job: &'a Job<'a>) -> Result<Self> {
        let kernel = Arm::kernel(job)?;
        let vm = Arm::vm_like_kernel(job, kernel.cpu())?;
        let watched = Arm::vm_like_kernel(job, kernel.cpu())?;
        for arm in [&kernel, &vm, &watched] {
            arm.configure(&job.configuration)?;
        }
        let nature = Nature::new(watched, u32::try_from(kernel.cpu())?)?;
        let maps = job.spec.maps.iter().enumerate();
        let maps: Vec<_> = maps.filter(|(_, map)| job.shows(map)).collect();
        let bytes = |(_, map): &(usize, &MapDef)| {
            u64::from(map.max_entries) * u64::from(map.key_size.saturating_add(map.value_size))
        };
        let all: u64 = maps.iter().map(bytes).sum();
        let map_pace = if all <= EACH_TIME_BYTES { 1 } else { PACE };
        Ok(Self { job, kernel, vm, nature, maps, map_pace })
    }

    /// Runs a packet on both. What is returned is the engine's run.
    fn step(&mut self, packet: &Played) -> Result<(Run, Option<Difference>)> {
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
            None if ours.packet != theirs.packet => Some(What::bytes(&theirs.packet, &ours.packet)),
            None => Some(What::metadata(&theirs.metadata, &ours.metadata)),
        };
        let difference = what.map(|what| Difference { packet: Some(packet.number), what });
        Ok((ours, difference))
    }

    /// Compares the maps after a packet; 0 stands for the end.
    fn maps(&mut self, number: u64) -> Result<Option<Difference>> {
        for (place, def) in &self.maps {
            let interrupt = &self.job.interrupt;
            let theirs = self.kernel.entries(def, interrupt)?;
            let ours = self.vm.entries(def, interrupt)?;
            let (Some(mut theirs), Some(mut ours)) = (theirs, ours) else { continue };
            self.vm.blank(def, &mut theirs)?;
            self.vm.blank(def, &mut ours)?;
            if theirs == ours || holds_ids(def) {
                continue;
            }
            self.nature.mask(*place, def, [&mut theirs, &mut ours]);
            if theirs != ours {
                let types = Types::of_def(def, self.job.spec.btf.as_ref());
                let what = What::map(def, &types, &theirs, &ours);
                return Ok(Some(Difference { packet: (number != 0).then_some(number), what }));
            }
        }
        Ok(None)
    }
}

/// Ids of programs and maps are each runtime's own.
fn holds_ids(def: &MapDef) -> bool {
    def.kind.is_map_of_maps() || def.kind == spec::MapKind::PROG_ARRAY
}

fn verdict(run: &Run) -> String {
    match run.code {
        code if code == run.verdict as u32 => run.verdict.name().to_owned(),
        code => format!("{} (returned {code})", run.verdict.name()),
    }
}

/// Maps of that size together are compared after each packet.
const EACH_TIME_BYTES: u64 = 64 << 10;
/// Bigger ones after so many packets.
const PACE: u64 = 1000;

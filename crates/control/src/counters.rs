//! Packets by verdict of any program that counts. Programs of `bpf/` count themselves; others were
//! composed with counters when they were attached.
//!
//! Rule: a program is recognized by the names of its maps alone, so counters are also found if
//! another process, or one that was killed, attached it. Maps that are pinned in the state
//! directory are opened by their pins, which needs no `CAP_SYS_ADMIN`; opening them by id does.

use std::collections::BTreeMap;

use functions::stats::{self, Count, Stats};
use kernel::{Map, Program};
use spec::compose::{self, SlotTotals};
use spec::{Map as _, MapDef, Spec, Verdict};
use sys::errno::ENOENT;

use crate::error::Result;
use crate::map_names::LABELS;
use crate::state::Generation;
use crate::text_map::{text, text_map};

/// The counters of a program.
#[derive(Debug)]
pub enum Counters {
    /// Packets are counted by reason and verdict; `labels` are the names of the reasons.
    Reasons { map: Map, labels: Vec<String> },
    /// Packets are counted by verdict; one further counter is for invalid return values.
    Verdicts {
        map: Map,
        /// Number of the program's slot.
        slot: u32,
        /// What an earlier program counted in the slot.
        before: Box<SlotTotals>,
    },
}

/// The values of all counters of a program at one moment, also by CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Which counters they are.
    pub origin: Origin,
    /// The sum of all CPUs.
    pub counts: Counts,
    /// For each possible CPU in order: packets by verdict, without reasons. For a member of a chain
    /// they include what an earlier member counted in its place.
    pub cpus: Vec<Counts>,
}

/// Identifies counters: as long as it is the same, they only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Id of the map.
    pub map: u32,
    /// Number of the slot in a verdict map.
    pub slot: u32,
    /// Packets that an earlier program counted in the slot.
    pub before: u64,
}

/// Slots of a verdict map: a chain keeps the map when its members change.
pub const VERDICT_SLOTS: u32 = compose::MAX_LINKS as u32;

/// The values of all counters of a program, read together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub verdicts: BTreeMap<Verdict, Count>,
    /// Packets with a return value that is not a valid verdict; the driver drops them.
    pub invalid: Count,
    /// Empty for a program that counts by verdict alone.
    pub reasons: BTreeMap<(Verdict, String), Count>,
}

impl Counters {
    /// Finds the counters of a program by the ids of its maps; `None` if it has none.
    pub fn of(program: &Program) -> Result<Option<Self>> {
        for id in program.info()?.map_ids {
            let map = match Map::from_id(id) {
                // A map that was removed meanwhile counts nothing.
                Err(error) if error.errno() == Some(ENOENT) => continue,
                other => other?,
            };
            match map.name() {
                stats::MAP => {
                    let btf = program.btf()?;
                    let labels = btf.as_ref().and_then(stats::labels).unwrap_or_default();
                    return Ok(Some(Self::Reasons { map, labels }));
                }
                compose::VERDICTS_MAP => return Ok(Some(Self::in_slot(map, 0))),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Opens the counters of a program in the state directory by their pins; `None` if it has none.
    pub fn kept(generation: &Generation) -> Result<Option<Self>> {
        if let Some(map) = generation.map_if_kept(stats::MAP)? {
            let labels = labels(generation)?;
            return Ok(Some(Self::Reasons { map, labels }));
        }
        Self::of_member(generation, 0, SlotTotals::default())
    }

    /// Opens the counter of a chain's member.
    pub fn of_member(
        generation: &Generation,
        slot: u32,
        before: SlotTotals,
    ) -> Result<Option<Self>> {
        let verdicts = generation.map_if_kept(compose::VERDICTS_MAP)?;
        Ok(verdicts.map(|map| Self::Verdicts { map, slot, before: Box::new(before) }))
    }

    fn in_slot(map: Map, slot: u32) -> Self {
        Self::Verdicts { map, slot, before: Box::default() }
    }

    /// Reads all counters together, also by CPU.
    pub fn read_by_cpu(&self) -> Result<Counted> {
        match self {
            Self::Reasons { map, labels } => {
                let (stats, cpus) = Stats::read_by_cpu(map, labels)?;
                Ok(Counted {
                    origin: Origin { map: map.id(), ..Origin::default() },
                    counts: Counts::by_reason(&stats),
                    cpus: cpus.iter().map(Counts::of_verdicts).collect(),
                })
            }
            Self::Verdicts { map, slot, before } => {
                let values = map.lookup_per_cpu(&[0; 4])?;
                let of_cpu = |value| SlotTotals::read([value], *slot).unwrap_or_default();
                let values = values.iter().flat_map(|all| all.values());
                let cpus: Vec<_> = values.map(of_cpu).collect();
                let all = cpus.iter().fold(SlotTotals::default(), |sum, one| sum.plus(one));
                let packets = before.counts.iter().map(|[packets, _]| packets).sum();
                Ok(Counted {
                    origin: Origin { map: map.id(), slot: *slot, before: packets },
                    counts: Counts::by_verdict(&all.since(before)),
                    cpus: cpus.iter().map(Counts::by_verdict).collect(),
                })
            }
        }
    }

    /// Reads all counters.
    pub fn read(&self) -> Result<Counts> {
        match self {
            Self::Reasons { map, labels } => Ok(Counts::by_reason(&Stats::read(map, labels)?)),
            Self::Verdicts { map, slot, before } => {
                Ok(Counts::by_verdict(&totals(map, *slot)?.since(before)))
            }
        }
    }
}

/// What the verdict map has in a slot. A map of another layout, by an earlier version, has nothing.
pub fn totals(map: &Map, slot: u32) -> Result<SlotTotals> {
    let values = map.lookup_per_cpu(&[0; 4])?;
    let values = values.iter().flat_map(|all| all.values());
    Ok(SlotTotals::read(values, slot).unwrap_or_default())
}

/// Names of a program's reasons, by number. They are kept in a map, because opening the program's
/// BTF needs `CAP_SYS_ADMIN`; earlier versions kept them for filters only, or not at all.
pub fn labels(generation: &Generation) -> Result<Vec<String>> {
    for name in [LABELS, FILTER_LABELS] {
        let Some(map) = generation.map_if_kept(name)? else { continue };
        let bytes = map.lookup(&[0; 4])?.unwrap_or_default();
        let text = text(bytes, "the stored names of reasons")?;
        return Ok(text.lines().map(str::to_owned).collect());
    }
    let Some(program) = generation.program()? else { return Ok(Vec::new()) };
    let btf = program.btf()?;
    Ok(btf.as_ref().and_then(stats::labels).unwrap_or_default())
}

/// The map that keeps the names of a program's reasons.
pub fn labels_map(labels: &[String]) -> MapDef {
    // The line break keeps the map from being empty, which the kernel refuses.
    text_map(LABELS, &format!("{}\n", labels.join("\n")))
}

/// The map of labels to add to an object; `None` if it has one, or has no reasons.
pub fn missing_labels(spec: &Spec) -> Option<MapDef> {
    let labels = spec.btf.as_ref().and_then(stats::labels)?;
    let is_missing = spec.map(stats::MAP).is_some() && spec.map(LABELS).is_none();
    is_missing.then(|| labels_map(&labels))
}

/// Name of the map of labels in earlier versions.
const FILTER_LABELS: &str = "filter_labels";

impl Counts {
    /// Packets and bytes with a verdict, 0 if there were none.
    pub fn verdict(&self, verdict: Verdict) -> Count {
        self.verdicts.get(&verdict).copied().unwrap_or_default()
    }

    /// Packets and bytes with any result.
    pub fn total(&self) -> Count {
        self.verdicts.values().copied().fold(self.invalid, |sum, one| sum + one)
    }

    fn of_verdicts(counts: &[Count; Verdict::ALL.len()]) -> Self {
        let counts = Verdict::ALL.into_iter().zip(counts.iter().copied());
        let verdicts = counts.filter(|(_, count)| *count != Count::default()).collect();
        Self { verdicts, ..Self::default() }
    }

    fn by_reason(stats: &Stats) -> Self {
        let mut counts = Self::default();
        for row in &stats.rows {
            *counts.verdicts.entry(row.verdict).or_default() += row.count;
            *counts.reasons.entry((row.verdict, row.reason.clone())).or_default() += row.count;
        }
        counts
    }

    fn by_verdict(totals: &SlotTotals) -> Self {
        let mut counts = Self::default();
        for (index, [packets, bytes]) in totals.counts.into_iter().enumerate() {
            let count = Count { packets, bytes };
            match Verdict::ALL.get(index) {
                _ if count == Count::default() => {}
                Some(verdict) => *counts.verdicts.entry(*verdict).or_default() += count,
                None => counts.invalid += count,
            }
        }
        counts
    }
}

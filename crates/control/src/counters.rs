//! Packets by verdict of any program that counts: those of `bpf/` by themselves, others because
//! they were composed so when they were attached.
//!
//! Rule: a program is recognised by the names of its maps alone, so counters are found also when
//! another process, or a killed one, attached it. Maps that are pinned in the state directory are
//! opened there, which takes no `CAP_SYS_ADMIN`; opening them by their ids does.

use std::collections::BTreeMap;

use functions::stats::{self, Count, Stats};
use kernel::{Map, Program};
use spec::{Map as _, MapDef, MapKind, Spec, Verdict, compose};

use crate::error::{Error, Result};
use crate::state::Generation;

/// Where a program's counters are.
#[derive(Debug)]
pub enum Counters {
    /// By reason and verdict.
    Reasons { map: Map, labels: Vec<String> },
    /// By verdict, with one more counter for return values that are none.
    Verdicts { map: Map },
}

/// All counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub verdicts: BTreeMap<Verdict, Count>,
    /// Return values that are no verdict; the driver drops such packets.
    pub invalid: Count,
    /// Empty for a program that counts by verdict alone.
    pub reasons: BTreeMap<(Verdict, String), Count>,
}

impl Counters {
    /// `None` for a program that does not count.
    pub fn of(program: &Program) -> Result<Option<Self>> {
        for id in program.info()?.map_ids {
            let map = match Map::from_id(id) {
                // A map that is gone by now counts nothing.
                Err(error) if error.errno() == Some(ENOENT) => continue,
                other => other?,
            };
            match map.name() {
                stats::MAP => {
                    let btf = program.btf()?;
                    let labels = btf.as_ref().and_then(stats::labels).unwrap_or_default();
                    return Ok(Some(Self::Reasons { map, labels }));
                }
                compose::VERDICTS_MAP => return Ok(Some(Self::Verdicts { map })),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Counters of a program in the state directory, by their pins; `None` for one that does not
    /// count.
    pub fn kept(generation: &Generation, program: &Program) -> Result<Option<Self>> {
        if let Some(map) = generation.map_if_kept(stats::MAP)? {
            let labels = labels(generation, program)?;
            return Ok(Some(Self::Reasons { map, labels }));
        }
        let verdicts = generation.map_if_kept(compose::VERDICTS_MAP)?;
        Ok(verdicts.map(|map| Self::Verdicts { map }))
    }

    pub fn read(&self) -> Result<Counts> {
        match self {
            Self::Reasons { map, labels } => Ok(Counts::by_reason(&Stats::read(map, labels)?)),
            Self::Verdicts { map } => Counts::by_verdict(map),
        }
    }
}

/// Names of a program's reasons, by number. They are kept in a map, because opening the program's
/// BTF takes `CAP_SYS_ADMIN`; earlier versions kept them for filters only, or not at all.
pub fn labels(generation: &Generation, program: &Program) -> Result<Vec<String>> {
    for name in [LABELS, FILTER_LABELS] {
        let Some(map) = generation.map_if_kept(name)? else { continue };
        let bytes = map.lookup(&[0; 4])?.unwrap_or_default();
        let text = text(bytes, "the kept names of reasons are not UTF-8")?;
        return Ok(text.lines().map(str::to_owned).collect());
    }
    let btf = program.btf()?;
    Ok(btf.as_ref().and_then(stats::labels).unwrap_or_default())
}

/// The map that keeps the names of a program's reasons.
pub fn labels_map(labels: &[String]) -> MapDef {
    // A map cannot be empty.
    text_map(LABELS, &format!("{}\n", labels.join("\n")))
}

/// The map of labels that is to be added to an object; `None` where it has one or has no reasons.
pub fn missing_labels(spec: &Spec) -> Option<MapDef> {
    let labels = spec.btf.as_ref().and_then(stats::labels)?;
    let is_missing = spec.map(stats::MAP).is_some() && spec.map(LABELS).is_none();
    is_missing.then(|| labels_map(&labels))
}

/// The text that such a map holds.
pub(crate) fn text(bytes: Vec<u8>, complaint: &str) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| Error::Malformed(format!("{complaint}: {error}")))
}

/// A map that holds a text and does not change.
pub fn text_map(name: &str, text: &str) -> MapDef {
    MapDef {
        name: name.to_owned(),
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: text.len() as u32,
        max_entries: 1,
        contents: Some(text.as_bytes().to_vec()),
        frozen: true,
        ..MapDef::default()
    }
}

const LABELS: &str = "xway_labels";
/// Name of that map in earlier versions.
const FILTER_LABELS: &str = "filter_labels";
const ENOENT: i32 = 2;

impl Counts {
    pub fn verdict(&self, verdict: Verdict) -> Count {
        self.verdicts.get(&verdict).copied().unwrap_or_default()
    }

    fn by_reason(stats: &Stats) -> Self {
        let mut counts = Self::default();
        for row in &stats.rows {
            *counts.verdicts.entry(row.verdict).or_default() += row.count;
            *counts.reasons.entry((row.verdict, row.reason.clone())).or_default() += row.count;
        }
        counts
    }

    fn by_verdict(map: &Map) -> Result<Self> {
        let mut counts = Self::default();
        for index in 0..compose::ENTRIES {
            let Some(value) = map.lookup(&index.to_ne_bytes())? else { continue };
            let count = Count::sum(&value);
            match Verdict::ALL.get(index as usize) {
                _ if count == Count::default() => {}
                Some(verdict) => *counts.verdicts.entry(*verdict).or_default() += count,
                None => counts.invalid += count,
            }
        }
        Ok(counts)
    }
}

//! Packets by verdict of any program that counts: those of `bpf/` by themselves, others because
//! they were composed so when they were attached.
//!
//! Rule: a program is recognised by the names of its maps alone, so counters are found also when
//! another process, or a killed one, attached it.

use std::collections::BTreeMap;

use anyhow::Result;
use functions::stats::{self, Count, Stats};
use kernel::{Map, Program};
use spec::{Map as _, Verdict, compose};

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

    pub fn read(&self) -> Result<Counts> {
        match self {
            Self::Reasons { map, labels } => Ok(Counts::by_reason(&Stats::read(map, labels)?)),
            Self::Verdicts { map } => Counts::by_verdict(map),
        }
    }
}

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

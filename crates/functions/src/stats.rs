//! Counters of any program that leaves through `xway_done()`: packets and bytes for each pair of
//! verdict and reason.
//!
//! Rule: the labels come from the object's own `enum xway_reason`, so an object that this crate
//! has never seen is counted as well as ours. CPUs are added up here.

use std::ops::{Add, AddAssign};

use serde::Serialize;
use spec::btf::Btf;
use spec::{Map, Verdict};

/// The map that holds the counters, by its name in the object.
pub const MAP: &str = "xway_stats";

/// Packets and their bytes from the Ethernet header on, frame check sequence left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
}

/// One counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub verdict: Verdict,
    pub reason: String,
    pub count: Count,
}

/// All counters that are not zero. This is not a consistent snapshot, because packets continue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub rows: Vec<Row>,
}

impl Stats {
    /// Reads the map that is called [`MAP`] in the object that `labels` came from.
    pub fn read<M: Map>(map: &M, labels: &[String]) -> Result<Self, M::Error> {
        Ok(Self::of(&map.array()?, labels))
    }

    /// As [`read`](Self::read), with the counts of each CPU by verdict from the same reading.
    pub fn read_by_cpu<M: Map>(
        map: &M,
        labels: &[String],
    ) -> Result<(Self, Vec<[Count; Verdict::ALL.len()]>), M::Error> {
        let values = map.array()?;
        Ok((Self::of(&values, labels), by_cpu(&values, labels.len())))
    }

    fn of(values: &[Vec<u8>], labels: &[String]) -> Self {
        let mut rows = Vec::new();
        for (reason, label) in labels.iter().enumerate() {
            for verdict in Verdict::ALL {
                let index = reason * Verdict::ALL.len() + verdict as usize;
                let count =
                    values.get(index).map_or_else(Count::default, |value| Count::sum(value));
                if count != Count::default() {
                    rows.push(Row { verdict, reason: label.clone(), count });
                }
            }
        }
        Self { rows }
    }

    /// The sum of the counters with a verdict.
    pub fn verdict(&self, verdict: Verdict) -> Count {
        self.sum(|row| row.verdict == verdict)
    }

    /// The sum of the counters with a reason.
    pub fn reason(&self, label: &str) -> Count {
        self.sum(|row| row.reason == label)
    }

    /// The sum of all counters.
    pub fn total(&self) -> Count {
        self.sum(|_| true)
    }

    /// What was counted since an earlier reading of the same map.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let rows = self.rows.iter().map(|row| {
            let before = earlier.sum(|old| old.verdict == row.verdict && old.reason == row.reason);
            Row { count: row.count.since(before), ..row.clone() }
        });
        Self { rows: rows.filter(|row| row.count != Count::default()).collect() }
    }

    fn sum(&self, wanted: impl Fn(&Row) -> bool) -> Count {
        let mut sum = Count::default();
        self.rows.iter().filter(|row| wanted(row)).for_each(|row| sum += row.count);
        sum
    }
}

impl Count {
    /// Adds the values of all CPUs, each 16 bytes; a part at the end is left out.
    pub fn sum(value: &[u8]) -> Self {
        let word =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let mut sum = Self::default();
        for cpu in value.chunks_exact(COUNT) {
            sum += Self { packets: word(&cpu[..8]), bytes: word(&cpu[8..]) };
        }
        sum
    }

    /// Zero where the counter was made anew meanwhile.
    fn since(self, earlier: Self) -> Self {
        Self {
            packets: self.packets.saturating_sub(earlier.packets),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }
}

impl Add for Count {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            packets: self.packets.wrapping_add(other.packets),
            bytes: self.bytes.wrapping_add(other.bytes),
        }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// For each CPU: packets by verdict, the sum of all reasons.
fn by_cpu(values: &[Vec<u8>], reasons: usize) -> Vec<[Count; Verdict::ALL.len()]> {
    let mut cpus = Vec::new();
    for (index, value) in values.iter().take(reasons * Verdict::ALL.len()).enumerate() {
        for (cpu, count) in value.chunks_exact(COUNT).enumerate() {
            if cpus.len() <= cpu {
                cpus.resize(cpu + 1, Default::default());
            }
            let of_cpu: &mut [Count; Verdict::ALL.len()] = &mut cpus[cpu];
            of_cpu[index % Verdict::ALL.len()] += Count::sum(count);
        }
    }
    cpus
}

/// The labels of an object's reasons in the order of their numbers: `XWAY_BAD_HEADER` is
/// `bad-header`. `None` for an object that does not count by reason.
pub fn labels(btf: &Btf) -> Option<Vec<String>> {
    let mut labels: Vec<String> = Vec::new();
    for value in btf.enum_values(REASONS)? {
        let number = usize::try_from(value.value).ok().filter(|number| *number < MOST_REASONS)?;
        if labels.len() <= number {
            labels.resize_with(number + 1, String::new);
        }
        let name = value.name.strip_prefix("XWAY_").unwrap_or(value.name);
        labels[number] = name.to_lowercase().replace('_', "-");
    }
    Some(labels)
}

/// Bytes of a counter of one CPU.
const COUNT: usize = 16;
/// The enum that the labels come from.
const REASONS: &str = "xway_reason";
/// Bound on what a foreign object can make us allocate and look up.
const MOST_REASONS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use spec::MemoryMap;
    use spec::btf::Builder;
    use spec::{Expect, Spec};

    fn counters(entries: &[(u32, &[(u64, u64)])]) -> MemoryMap {
        let map = MemoryMap::array(32, 10);
        for (index, cpus) in entries {
            let value: Vec<u8> = cpus
                .iter()
                .flat_map(|(packets, bytes)| [packets.to_le_bytes(), bytes.to_le_bytes()])
                .flatten()
                .collect();
            map.update(&index.to_le_bytes(), &value, Expect::Any).unwrap();
        }
        map
    }

    fn two_reasons() -> Vec<String> {
        vec!["odd".to_owned(), "rule".to_owned()]
    }

    #[test]
    fn processors_verdicts_and_reasons_add_up() {
        let map = counters(&[
            (2, &[(1, 60), (2, 120)]),
            (6, &[(10, 600), (0, 0)]),
            (7, &[(0, 0), (5, 500)]),
        ]);
        let stats = Stats::read(&map, &two_reasons()).unwrap();
        assert_eq!(stats.verdict(Verdict::Pass), Count { packets: 8, bytes: 680 });
        assert_eq!(stats.verdict(Verdict::Drop), Count { packets: 10, bytes: 600 });
        assert_eq!(stats.reason("rule"), Count { packets: 15, bytes: 1100 });
        assert_eq!(stats.reason("odd"), Count { packets: 3, bytes: 180 });
        assert_eq!(stats.reason("unheard"), Count::default());
        assert_eq!(stats.total(), Count { packets: 18, bytes: 1280 });
        assert_eq!(stats.rows.len(), 3);
    }

    #[test]
    fn processors_are_kept_apart() {
        let map = counters(&[(1, &[(1, 60), (2, 120)]), (6, &[(10, 600), (0, 0)])]);
        let (stats, cpus) = Stats::read_by_cpu(&map, &two_reasons()).unwrap();
        assert_eq!(stats, Stats::read(&map, &two_reasons()).unwrap());
        let drops = cpus.iter().map(|one| one[Verdict::Drop as usize]);
        let expected = [(11, 660), (2, 120)].map(|(packets, bytes)| Count { packets, bytes });
        assert_eq!(drops.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_difference_never_goes_below_zero() {
        let earlier = Stats::read(&counters(&[(6, &[(10, 600), (0, 0)])]), &two_reasons()).unwrap();
        let later = Stats::read(&counters(&[(6, &[(12, 720), (0, 0)])]), &two_reasons()).unwrap();
        assert_eq!(later.since(&earlier).total(), Count { packets: 2, bytes: 120 });
        assert_eq!(earlier.since(&later), Stats::default());
    }

    #[test]
    fn labels_come_from_the_object() {
        for (object, reasons) in [
            (crate::drop::OBJECT, labels_of(&crate::drop::Reason::ALL, crate::drop::Reason::label)),
            (
                crate::route::OBJECT,
                labels_of(&crate::route::Reason::ALL, crate::route::Reason::label),
            ),
            (
                crate::route::CONNTRACK_OBJECT,
                labels_of(&crate::route::Reason::ALL, crate::route::Reason::label),
            ),
        ] {
            let spec = Spec::parse("object", object).unwrap();
            assert_eq!(labels(spec.btf.as_ref().unwrap()), Some(reasons));
        }
    }

    fn labels_of<T: Copy>(all: &[T], label: fn(T) -> &'static str) -> Vec<String> {
        all.iter().map(|reason| label(*reason).to_owned()).collect()
    }

    #[test]
    fn strange_enums_are_no_labels() {
        for (values, expected) in [
            (vec![("XWAY_A", 0), ("OWN_B", 2)], Some(vec!["a", "", "own-b"])),
            (vec![("XWAY_A", u32::MAX)], None),
            (vec![], Some(vec![])),
        ] {
            let mut types = Builder::new();
            types.enumeration("xway_reason", &values);
            let found = labels(&types.build().unwrap());
            let expected: Option<Vec<String>> =
                expected.map(|labels| labels.into_iter().map(str::to_owned).collect());
            assert_eq!(found, expected, "{values:?}");
        }
        assert_eq!(labels(&Builder::new().build().unwrap()), None);
    }
}

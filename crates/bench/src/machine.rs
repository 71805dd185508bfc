//! What else the machine did while a scenario was measured: time that a hypervisor gave to others.
//!
//! Rule: only /proc is read; what it does not contain is not reported. Whether the values are too
//! noisy for a conclusion is judged from the values and the load before (`report`).

use std::fs;

use report::Bench;

/// The processors' time since a scenario began.
#[derive(Debug)]
pub struct CpuWatch(Option<Ticks>);

/// Time of all processors since the machine started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    all: u64,
    stolen: u64,
}

impl CpuWatch {
    /// Reads the counters at the start of a scenario.
    pub fn begin() -> Self {
        Self(Ticks::now())
    }

    /// Adds a note about time that was lost.
    pub fn end(&self, bench: &mut Bench) {
        if let Some(note) = self.0.zip(Ticks::now()).and_then(|(old, new)| old.stolen(new)) {
            bench.note(note);
        }
    }
}

impl Ticks {
    fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// The line of all processors: user, nice, system, idle, iowait, irq, softirq, steal; the times
    /// of virtual machines that follow are part of user already.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let fields: Vec<u64> =
            line.split_whitespace().take(KINDS).map_while(|field| field.parse().ok()).collect();
        let stolen = *fields.get(KINDS - 1)?;
        Some(Self { all: fields.iter().sum(), stolen })
    }

    fn stolen(self, after: Self) -> Option<String> {
        let all = after.all.checked_sub(self.all).filter(|all| *all > 0)?;
        let share = 100.0 * after.stolen.saturating_sub(self.stolen) as f64 / all as f64;
        let told = share >= STOLEN_PERCENT;
        told.then(|| format!("the hypervisor took {share:.1} % of the processors' time"))
    }
}

/// Kinds of time in `/proc/stat`, up to steal.
const KINDS: usize = 8;
/// Share below which no note is added, because every virtual machine loses as much.
const STOLEN_PERCENT: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all() {
        let stat = |steal: u64| format!("cpu  50 0 30 {} 0 0 10 {steal} 5 0\ncpu0 1 1\n", 10);
        let ticks = |steal| Ticks::parse(&stat(steal)).unwrap();
        assert_eq!(ticks(7), Ticks { all: 107, stolen: 7 });
        let before = Ticks { all: 7, stolen: 0 };
        let told = before.stolen(ticks(12)).unwrap();
        assert_eq!(told, "the hypervisor took 11.4 % of the processors' time");
        assert_eq!(before.stolen(ticks(0)), None);
        assert_eq!(ticks(3).stolen(ticks(3)), None, "no time went by");
        for broken in ["", "cpu  1 2 3 4", "cpu  1 2 3 four 5 6 7 8"] {
            assert_eq!(Ticks::parse(broken), None, "{broken}");
        }
    }
}

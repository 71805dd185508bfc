//! What each processor does: shares of its time, and packets that the network stack received on it.

use std::collections::BTreeMap;
use std::fs;

use crate::{Error, Result};

/// Counters of a processor since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuActivity {
    /// Time in units of [`Times`].
    pub times: Times,
    /// Packets that the network stack received; they wrap around.
    pub stack_packets: u32,
    /// Packets that were dropped because the backlog was full; they wrap around.
    pub backlog_dropped: u32,
    /// Times that packets waited because the softirq had used its budget; they wrap around.
    pub squeezed: u32,
}

/// Time of a processor, in hundredths of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// All time.
    pub all: u64,
    /// Time without work, or waiting for a disk.
    pub idle: u64,
    /// Time in soft interrupts, where packets are received.
    pub softirq: u64,
}

/// The activity of the processors that run now, by number.
///
/// # Errors
/// `/proc` cannot be read.
pub fn activity() -> Result<BTreeMap<usize, CpuActivity>> {
    let read = |path: &'static str| {
        fs::read_to_string(path).map_err(|error| Error::from_io("read", path, &error))
    };
    Ok(parse(&read("/proc/stat")?, &read("/proc/net/softnet_stat")?))
}

fn parse(stat: &str, softnet: &str) -> BTreeMap<usize, CpuActivity> {
    let mut all: BTreeMap<usize, CpuActivity> = BTreeMap::new();
    for (cpu, times) in stat.lines().filter_map(times) {
        all.entry(cpu).or_default().times = times;
    }
    for (line, text) in softnet.lines().enumerate() {
        let words: Vec<_> = text.split(' ').map(|word| u32::from_str_radix(word, 16)).collect();
        let word = |at: usize| words.get(at).and_then(|word| word.as_ref().ok()).copied();
        // Before Linux 5.10, the number of the processor is missing.
        let cpu = word(SOFTNET_CPU).map_or(line, |cpu| cpu as usize);
        let activity = all.entry(cpu).or_default();
        activity.stack_packets = word(0).unwrap_or_default();
        activity.backlog_dropped = word(1).unwrap_or_default();
        activity.squeezed = word(2).unwrap_or_default();
    }
    all
}

/// A line of a processor: user, nice, system, idle, iowait, irq, softirq, steal; the times of
/// virtual machines that follow are part of user already.
fn times(line: &str) -> Option<(usize, Times)> {
    let mut words = line.strip_prefix("cpu")?.split_whitespace();
    let cpu = words.next().filter(|_| !line.starts_with("cpu "))?.parse().ok()?;
    let fields: Vec<u64> = words.take(KINDS).map_while(|word| word.parse().ok()).collect();
    let field = |at: usize| fields.get(at).copied();
    let idle = field(IDLE)? + field(IOWAIT)?;
    Some((cpu, Times { all: fields.iter().sum(), idle, softirq: field(SOFTIRQ)? }))
}

/// Kinds of time in `/proc/stat`, up to steal.
const KINDS: usize = 8;
const IDLE: usize = 3;
const IOWAIT: usize = 4;
const SOFTIRQ: usize = 6;
/// Position of the processor's number in `/proc/net/softnet_stat` (net/core/net-procfs.c at v6.18).
const SOFTNET_CPU: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_go_by_their_numbers() {
        let stat = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 40 5 6 7 8 90 90\n\
                    cpu2 0 0 0 10 0 0 0 0\nintr 5\ncpu3 broken\n";
        let softnet = "0000000a 00000001 00000002 0 0 0 0 0 0 0 0 00000000 00000000 0 0\n\
                       fffffff0 00000000 00000000 0 0 0 0 0 0 0 0 00000000 00000002 0 0\n";
        let all = parse(stat, softnet);
        assert_eq!(all.keys().copied().collect::<Vec<_>>(), [0, 2]);
        let first = CpuActivity {
            times: Times { all: 72, idle: 45, softirq: 7 },
            stack_packets: 10,
            backlog_dropped: 1,
            squeezed: 2,
        };
        assert_eq!(all[&0], first);
        assert_eq!((all[&2].times.idle, all[&2].stack_packets), (10, 0xffff_fff0));
        assert_eq!(parse("", ""), BTreeMap::new());
    }

    #[test]
    fn this_machine_has_processors() {
        let all = activity().unwrap();
        let online = super::super::online().unwrap();
        assert!(online.iter().all(|cpu| all[cpu].times.all > 0), "{all:?}");
    }
}

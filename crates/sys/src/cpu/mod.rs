//! Processors: how many there may be, which are on, and where this thread may run.

mod activity;

use std::fs;
use std::sync::OnceLock;

pub use activity::{CpuActivity, Times, activity};

use crate::{Error, Result};

/// Number of CPUs for which per-CPU values have space; at least 1. Their numbers may have gaps, the
/// values have none. It does not change while the system runs, and is read once.
pub fn possible() -> Result<usize> {
    static POSSIBLE: OnceLock<usize> = OnceLock::new();
    if let Some(known) = POSSIBLE.get() {
        return Ok(*known);
    }
    let read = possible_numbers()?.len().max(1);
    Ok(*POSSIBLE.get_or_init(|| read))
}

/// Numbers of the CPUs for which per-CPU values have space, in the order of the values.
pub fn possible_numbers() -> Result<Vec<usize>> {
    list("/sys/devices/system/cpu/possible")
}

/// Processors that run now, in order.
pub fn online() -> Result<Vec<usize>> {
    list("/sys/devices/system/cpu/online")
}

/// The CPU that receives an interrupt, the first of several; `None` if the kernel does not report
/// it.
pub fn of_interrupt(irq: u32) -> Option<usize> {
    ["effective_affinity_list", "smp_affinity_list"]
        .iter()
        .find_map(|file| list(&format!("/proc/irq/{irq}/{file}")).ok()?.first().copied())
}

/// Whether two processors share a core (hyper-threading); `None` if unknown.
pub fn shares_cores() -> Option<bool> {
    let text = fs::read_to_string("/sys/devices/system/cpu/smt/active").ok()?;
    match text.trim() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Processors that the calling thread may run on, in order.
pub fn affinity() -> Result<Vec<usize>> {
    let mut set = empty_set();
    // SAFETY: `set` is exclusive and has the stated length; 0 is the calling thread.
    let answer = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    if answer != 0 {
        return Err(Error::last("sched_getaffinity", ""));
    }
    // SAFETY: the number is inside the set, which `CPU_SETSIZE` bounds.
    Ok((0..LIMIT).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect())
}

/// Keeps the calling thread on `cpus`.
pub fn set_affinity(cpus: &[usize]) -> Result<()> {
    set_affinity_of(CALLER, cpus)
}

/// Keeps a thread, a kernel's too, on `cpus`.
pub fn set_affinity_of(thread: u32, cpus: &[usize]) -> Result<()> {
    let mut set = empty_set();
    for cpu in cpus.iter().copied().filter(|cpu| *cpu < LIMIT) {
        // SAFETY: the number is inside the set (filtered above).
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    let id = thread as libc::pid_t;
    // SAFETY: `set` has the stated length and is only read.
    let answer = unsafe { libc::sched_setaffinity(id, size_of_val(&set), &raw const set) };
    if answer != 0 {
        return Err(Error::last("sched_setaffinity", format!("thread {thread} on CPUs {cpus:?}")));
    }
    Ok(())
}

/// What the kernel takes for the calling thread.
const CALLER: u32 = 0;
const LIMIT: usize = libc::CPU_SETSIZE as usize;

fn empty_set() -> libc::cpu_set_t {
    // SAFETY: a bit set; all zero is the empty one.
    unsafe { std::mem::zeroed() }
}

fn list(path: &str) -> Result<Vec<usize>> {
    let text = fs::read_to_string(path).map_err(|error| Error::from_io("read", path, &error))?;
    parse(&text).ok_or_else(|| Error::new("read", path, libc::EINVAL).with_detail(text))
}

/// The kernel's list format: `0-3,8,10-11`. Bounded by [`LIMIT`].
fn parse(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= LIMIT {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel() {
        let table: &[(&str, Option<Vec<usize>>)] = &[
            ("0\n", Some(vec![0])),
            ("0-1\n", Some(vec![0, 1])),
            ("0-1,4,6-7\n", Some(vec![0, 1, 4, 6, 7])),
            ("\n", Some(vec![])),
            ("0-x\n", None),
            ("0-99999999\n", None),
        ];
        for (text, cpus) in table {
            assert_eq!(parse(text), *cpus, "{text:?}");
        }
    }

    #[test]
    fn a_thread_can_be_kept_on_one_processor() {
        let allowed = affinity().unwrap();
        let kept = std::thread::spawn(move || {
            set_affinity(&allowed[..1]).unwrap();
            (affinity().unwrap(), allowed[0])
        });
        let (now, wanted) = kept.join().unwrap();
        assert_eq!(now, [wanted]);
        assert!(set_affinity(&[LIMIT + 1]).is_err());
    }
}

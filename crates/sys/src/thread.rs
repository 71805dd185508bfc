//! Threads and clocks: wake a thread out of a long system call; time as BPF programs see it.

use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use crate::{Error, Result};

/// A thread that another one may wake out of a system call, which then fails with `EINTR`.
///
/// Uses SIGURG, which does nothing where no handler is installed; the handler made here does
/// nothing either. A signal that arrives just before the call begins is lost, so the waiting thread
/// repeats it until the call has ended.
#[derive(Clone, Copy, Debug)]
pub struct Interruptible {
    process: libc::pid_t,
    thread: libc::pid_t,
}

impl Interruptible {
    /// The calling thread. Installs the handler for the process.
    pub fn current() -> Result<Self> {
        install()?;
        // SAFETY: both calls only read.
        let process = unsafe { libc::getpid() };
        // SAFETY: as above.
        let thread = unsafe { libc::gettid() };
        Ok(Self { process, thread })
    }

    /// `ESRCH` when the thread has ended.
    pub fn interrupt(self) -> Result<()> {
        // SAFETY: a signal with a handler that does nothing, to a thread of this process.
        let answer =
            unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, libc::SIGURG) };
        if answer != 0 {
            return Err(Error::last("tgkill", self.thread.to_string()));
        }
        Ok(())
    }

    /// Nanoseconds that the thread has spent on a processor; nothing when it has ended.
    pub fn cpu_ns(self) -> Option<u64> {
        // `MAKE_THREAD_CPUCLOCK(tid, CPUCLOCK_SCHED)` of include/linux/posix-timers.h.
        const THREAD_SCHED: libc::clockid_t = 4 | 2;
        read_clock((!self.thread) << 3 | THREAD_SCHED)
    }
}

extern "C" fn ignore(_: libc::c_int) {}

/// Without `SA_RESTART`, so that calls are not taken up again.
fn install() -> Result<()> {
    // SAFETY: integers and pointers; all zero is "no flags, no mask".
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = ignore as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler is a function that touches nothing, so it may run anywhere.
    let answer = unsafe { libc::sigaction(libc::SIGURG, &raw const action, std::ptr::null_mut()) };
    if answer != 0 {
        return Err(Error::last("sigaction", "SIGURG"));
    }
    Ok(())
}

/// Runs `work` in a thread of its own, in a network namespace without a name that holds nothing
/// but a loopback interface and ends with the thread. Needs `CAP_SYS_ADMIN`.
pub fn in_private_network<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    run_alone("private-network", || {
        // SAFETY: only changes the namespace of this thread, which ends below.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return Err(Error::last("unshare(CLONE_NEWNET)", ""));
        }
        Ok(work())
    })
}

/// Runs `work` in a thread of its own and waits for it. What it changes of its thread (a
/// namespace, the scheduler) ends with it. A panic of `work` is resumed in the caller.
pub fn run_alone<T: Send>(
    name: &'static str,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let mut result = None;
    start_and_join(name, Box::new(|| result = Some(work())))?;
    result.expect("work that did not panic has stored its result")
}

/// Not generic, so that a thread's start is compiled once instead of for every closure.
fn start_and_join(name: &'static str, work: Box<dyn FnOnce() + Send + '_>) -> Result<()> {
    std::thread::scope(|scope| {
        let worker = spawn_scoped(scope, name, work)?;
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok(())
    })
}

/// Starts a thread. The kernel's refusal is an error, where `std::thread::spawn` panics.
pub fn spawn<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>> {
    let thread = Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|error| Error::from_io("clone", name, &error))
}

/// Starts a thread of a scope. The kernel's refusal is an error, where `Scope::spawn` panics.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    let thread = Builder::new().name(name.to_owned()).spawn_scoped(scope, work);
    thread.map_err(|error| Error::from_io("clone", name, &error))
}

/// Lets the calling thread's sleeps end when they should, not up to 50 microseconds later.
pub fn sleep_precisely() -> Result<()> {
    // SAFETY: plain numbers; changes only this thread's timer slack.
    if unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) } != 0 {
        return Err(Error::last("prctl(PR_SET_TIMERSLACK)", ""));
    }
    Ok(())
}

/// Waits until every run of a BPF program in the kernel that had begun before has ended: what a
/// program counted that was just replaced is final then. Where the kernel does not offer it
/// (full dynticks), a time that is long against any run must do.
pub fn wait_for_running_programs() {
    /// `MEMBARRIER_CMD_GLOBAL`, which is `synchronize_rcu()` (kernel/sched/membarrier.c).
    const GLOBAL: libc::c_int = 1;
    // SAFETY: plain numbers; the call only waits.
    let answer = unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) };
    if answer != 0 {
        std::thread::sleep(LONGEST_RUN);
    }
}

/// Nanoseconds of `CLOCK_MONOTONIC`: the clock of `bpf_ktime_get_ns`.
pub fn monotonic_ns() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of `CLOCK_MONOTONIC_COARSE`, which moves with the ticks of the kernel's timer.
pub fn coarse_ns() -> u64 {
    clock(libc::CLOCK_MONOTONIC_COARSE)
}

/// Nanoseconds since boot, sleep included: the clock of a program's load time.
pub fn boottime_ns() -> u64 {
    clock(libc::CLOCK_BOOTTIME)
}

/// Nanoseconds of `CLOCK_TAI`: the clock of `AF_XDP` transmit timestamps in copy mode.
pub fn tai_ns() -> u64 {
    clock(libc::CLOCK_TAI)
}

/// Nanoseconds that the calling thread has spent on a processor.
pub fn cpu_ns() -> u64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Processor time of a thread in user and kernel mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// Time in the kernel in nanoseconds, including interrupts that it served meanwhile.
    pub system_ns: u64,
}

impl CpuTime {
    /// Times of the calling thread, up to now.
    pub fn now() -> Self {
        // SAFETY: plain numbers; all zero is valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is exclusive. The call cannot fail for the calling thread.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        Self { user_ns: of_timeval(usage.ru_utime), system_ns: of_timeval(usage.ru_stime) }
    }

    /// The difference to an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }
}

/// Far longer than a run: a poll of a driver is at most some milliseconds.
const LONGEST_RUN: std::time::Duration = std::time::Duration::from_millis(200);

fn of_timeval(time: libc::timeval) -> u64 {
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1000
}

/// These clocks exist on every Linux, so the call cannot fail.
fn clock(which: libc::clockid_t) -> u64 {
    read_clock(which).unwrap_or(0)
}

fn read_clock(which: libc::clockid_t) -> Option<u64> {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is exclusive.
    let answer = unsafe { libc::clock_gettime(which, &raw mut now) };
    let ns = now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned();
    (answer == 0).then_some(ns)
}

/// Ticks of the kernel's timer in a second, its `CONFIG_HZ`: the coarse clock moves with them.
pub fn tick_hz() -> Option<u64> {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `step` is exclusive.
    let answer = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) };
    let ns = u64::try_from(step.tv_nsec).ok().filter(|ns| answer == 0 && *ns > 0)?;
    // A tick of 1/300 s is not a whole number of nanoseconds.
    Some((1_000_000_000 + ns / 2) / ns)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn clocks_go_forward() {
        let (wall, cpu) = (monotonic_ns(), cpu_ns());
        assert!(wall > 0);
        while cpu_ns() == cpu {}
        assert!(monotonic_ns() > wall);
        assert!(boottime_ns() >= wall);
    }

    #[test]
    fn time_is_spent_by_somebody() {
        let before = CpuTime::now();
        let spent = || CpuTime::now().since(before);
        while spent().user_ns + spent().system_ns == 0 {}
        assert_eq!(before.since(CpuTime::now()), CpuTime::default(), "time does not go back");
    }

    #[test]
    fn a_waiting_thread_is_woken() {
        let (ready, started) = mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            ready.send(Interruptible::current().unwrap()).unwrap();
            // SAFETY: no descriptors are given, so no memory is touched.
            unsafe { libc::poll(std::ptr::null_mut(), 0, 60_000) }
        });
        let target = started.recv().unwrap();
        assert!(target.cpu_ns().is_some_and(|ns| ns > 0));
        while !sleeper.is_finished() {
            // ESRCH once it has ended.
            let _ = target.interrupt();
            std::thread::park_timeout(Duration::from_millis(1));
        }
        assert_eq!(sleeper.join().unwrap(), -1, "poll was cut short");
        assert_eq!(target.cpu_ns(), None, "it has ended");
    }
}

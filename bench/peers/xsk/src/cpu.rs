//! What the calling thread has cost.

use std::time::Duration;

/// Time of processors, up to now.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    pub user: Duration,
    /// Also what the kernel received and sent for others meanwhile.
    pub system: Duration,
}

impl Cpu {
    pub fn now() -> Self {
        // SAFETY: all zeros are a rusage.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a rusage of our own.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        Self { user: duration(usage.ru_utime), system: duration(usage.ru_stime) }
    }

    pub fn since(&self, earlier: &Self) -> Self {
        Self { user: self.user - earlier.user, system: self.system - earlier.system }
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000)
}

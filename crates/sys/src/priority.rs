//! Scheduling priority of threads.

use crate::{Error, Result};

/// How the scheduler treats a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Ordinary, from -20 (favoured) to 19. Below 0 needs `CAP_SYS_NICE`.
    Nice(i32),
    /// Before every ordinary thread, from 1 to 99; needs `CAP_SYS_NICE`. The kernel leaves
    /// ordinary threads a twentieth of the processor all the same.
    RealTime(u32),
}

impl Priority {
    /// Gives it to a thread, a kernel's too; 0 is the calling one.
    pub fn give(self, thread: u32) -> Result<()> {
        match self {
            Self::Nice(nice) => set_nice(thread, nice),
            Self::RealTime(priority) => set_real_time(thread, priority),
        }
    }
}

/// The calling thread's nice value, which threads that it starts inherit.
pub fn nice() -> i32 {
    // SAFETY: plain numbers; of the caller itself it cannot fail.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
}

fn set_nice(thread: u32, nice: i32) -> Result<()> {
    // SAFETY: plain numbers.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, thread, nice) } != 0 {
        return Err(Error::last("setpriority", format!("thread {thread}, nice {nice}")));
    }
    Ok(())
}

fn set_real_time(thread: u32, priority: u32) -> Result<()> {
    let parameter = libc::sched_param { sched_priority: priority as libc::c_int };
    let id = thread as libc::pid_t;
    // SAFETY: the parameter is initialised and only read.
    if unsafe { libc::sched_setscheduler(id, libc::SCHED_FIFO, &raw const parameter) } != 0 {
        let object = format!("thread {thread}, SCHED_FIFO {priority}");
        return Err(Error::last("sched_setscheduler", object));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anybody_may_step_back_and_nobody_leaves_the_range() {
        std::thread::spawn(|| {
            Priority::Nice(19).give(0).unwrap();
            assert_eq!(nice(), 19);
            std::thread::spawn(|| assert_eq!(nice(), 19)).join().unwrap();
            let error = Priority::RealTime(1000).give(0).unwrap_err();
            assert!(error.to_string().contains("SCHED_FIFO 1000"), "{error}");
        })
        .join()
        .unwrap();
    }
}

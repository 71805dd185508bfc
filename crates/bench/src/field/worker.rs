//! A thread that handles packets, on a processor of its own.
//!
//! Rule: it repeats a turn of at most some milliseconds until it is dropped or a turn fails; then
//! it is joined.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, bail};
use sys::priority::Priority;
use sys::thread::Interruptible;

/// The thread; dropping it ends the thread.
#[derive(Debug)]
pub struct Worker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
    clock: Interruptible,
}

impl Worker {
    /// Starts the thread, in the namespace of the caller.
    pub fn start(
        cpu: usize,
        mut turn: impl FnMut() -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let (own, clock) = mpsc::channel();
        let body = move || {
            own.send(Interruptible::current()?).context("no reader of the thread's clock")?;
            sys::cpu::set_affinity(&[cpu])?;
            // The priority of the sender; refused without CAP_SYS_NICE.
            let _unsteady = Priority::Nice(-20).give(0);
            while !is_over.load(Ordering::Relaxed) {
                turn()?;
            }
            Ok(())
        };
        let thread = thread::Builder::new().name("bench-worker".into()).spawn(body);
        let thread = thread.context("cannot start a thread for packets")?;
        match clock.recv() {
            Ok(clock) => Ok(Self { stop, thread: Some(thread), clock }),
            Err(_) => joined(thread).and_then(|()| bail!("the thread for packets ended early")),
        }
    }

    /// Nanoseconds that the thread has spent on its processor.
    pub fn cpu_ns(&self) -> Result<u64> {
        self.clock.cpu_ns().context("the thread for packets has ended")
    }

    /// # Errors
    /// The error of the turn that failed, once.
    pub fn check(&mut self) -> Result<()> {
        match self.thread.take_if(|thread| thread.is_finished()) {
            Some(thread) => joined(thread),
            None => Ok(()),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A failure at the end does not change what was measured.
            let _ = joined(thread);
        }
    }
}

fn joined(thread: JoinHandle<Result<()>>) -> Result<()> {
    thread.join().unwrap_or_else(|_| bail!("the thread for packets panicked"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::field::Cpus;

    #[test]
    fn it_turns_until_it_is_dropped_or_fails() {
        let cpu = Cpus::here().unwrap().process;
        let (turns, seen) = mpsc::sync_channel(0);
        let turn = move || {
            // There is no receiver once a test has ended after the first turns.
            let _ = turns.try_send(());
            Ok(())
        };
        let worker = Worker::start(cpu, turn);
        let mut worker = worker.unwrap();
        seen.recv().unwrap();
        seen.recv().unwrap();
        worker.check().unwrap();
        drop(worker);
        assert!(seen.recv().is_err(), "the turn is gone with its thread");

        let mut worker = Worker::start(cpu, || anyhow::bail!("the link is down")).unwrap();
        let fault = loop {
            if let Err(fault) = worker.check() {
                break fault;
            }
        };
        assert_eq!(fault.to_string(), "the link is down");
        worker.check().unwrap();
    }
}

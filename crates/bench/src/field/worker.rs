//! A thread that handles packets, on a processor of its own.
//!
//! Rule: it does one turn after the other, each of at most some milliseconds, until it is dropped
//! or a turn fails; then it is joined.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use sys::priority::Priority;

/// Ends when dropped.
#[derive(Debug)]
pub struct Worker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Worker {
    /// Takes turns from now on. It is in the namespace of whoever starts it.
    pub fn start(
        cpu: usize,
        mut turn: impl FnMut() -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&stop);
        let body = move || {
            sys::cpu::set_affinity(&[cpu])?;
            // As the sender; refused without CAP_SYS_NICE.
            let _unsteady = Priority::Nice(-20).give(0);
            while !is_over.load(Ordering::Relaxed) {
                turn()?;
            }
            Ok(())
        };
        let thread = thread::Builder::new().name("bench-worker".into()).spawn(body);
        let thread = thread.context("a thread for packets")?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// # Errors
    /// That of the turn that failed, once.
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
            // What went wrong at the end changes nothing that was measured.
            let _ = joined(thread);
        }
    }
}

fn joined(thread: JoinHandle<Result<()>>) -> Result<()> {
    thread.join().unwrap_or_else(|_| anyhow::bail!("the thread for packets panicked"))
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
            // Nobody takes it when the test is done with the first ones.
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

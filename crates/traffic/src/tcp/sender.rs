//! `Sender`: a thread that runs a sending program on live frames.
//!
//! A call lasts until a signal ends it, because each sets up a page pool. Rule: one thread per
//! sender, because the private state of its program is not locked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use kernel::{Burst, LiveRun};
use spec::Input;
use sys::errno::ESRCH;
use sys::thread::Interruptible;

use super::engine::Engine;
use crate::error::{Error, Result};

/// A thread that sends until its flag is set.
#[derive(Debug)]
pub(super) struct Sender {
    thread: JoinHandle<Result<()>>,
    handle: Interruptible,
}

/// The task of a sender.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub number: u32,
    /// The processor; any when `None`.
    pub cpu: Option<usize>,
    pub batch: u32,
    pub frame: Vec<u8>,
    pub engine: Arc<Engine>,
    pub over: Arc<AtomicBool>,
}

impl Sender {
    pub fn start(task: Task) -> Result<Self> {
        let (ready, answer) = mpsc::channel();
        let body = move || {
            let handle = prepare(&task);
            let prepared = handle.is_ok();
            // `start` waits for this; if it has ended, nothing is sent.
            if ready.send(handle).is_err() || !prepared {
                return Ok(());
            }
            send(&task)
        };
        let thread = thread::Builder::new().name("tcp-sender".into()).spawn(body);
        let thread = thread.map_err(|error| sys::Error::from_io("clone", "thread", &error))?;
        let lost = Error::Ended("the sending thread ended before it began");
        let handle = answer.recv().map_err(|_| lost)??;
        Ok(Self { thread, handle })
    }

    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Joins the thread. The flag that ends its task must have been set before.
    pub fn join(self) -> Result<()> {
        // A signal just before the call begins is lost, so it is repeated until the thread has
        // ended.
        while !self.thread.is_finished() {
            match self.handle.interrupt() {
                Err(error) if !error.is(ESRCH) => return Err(error.into()),
                _ => thread::sleep(LOOK_EVERY),
            }
        }
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn prepare(task: &Task) -> Result<Interruptible> {
    if let Some(cpu) = task.cpu {
        sys::cpu::set_affinity(&[cpu])?;
    }
    Ok(Interruptible::current()?)
}

fn send(task: &Task) -> Result<()> {
    let program = &task.engine.send[task.number as usize];
    let run = LiveRun {
        input: Input { packet: task.frame.clone(), ..Input::default() },
        count: RUNS,
        batch: task.batch,
        ..LiveRun::default()
    };
    while !task.over.load(Ordering::Acquire) {
        task.engine.begin(task.number);
        match program.live(&run)? {
            Burst::Done | Burst::Interrupted => {}
        }
    }
    Ok(())
}

/// Number of runs of one call, below the limit of the kernel's counter.
const RUNS: u32 = 1 << 30;
/// Interval of checks whether the thread has ended.
const LOOK_EVERY: Duration = Duration::from_millis(1);

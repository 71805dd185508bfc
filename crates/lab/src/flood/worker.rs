//! The thread that sends, and the one that ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use kernel::{LiveRun, Map, Object};
use spec::Input;
use sys::priority::Priority;
use sys::thread::Interruptible;

use super::FloodReport;
use super::plan::Plan;
use super::program::{self, PROGRAM, STATE};
use crate::error::{Error, Result};
use crate::host::Host;
use crate::limits::{FLOOD_BURST, FLOOD_LOOK_EVERY, FLOOD_NICE, LOOK_EVERY};

/// A thread in the host that makes live runs until it is told to end.
pub(super) struct Worker {
    thread: JoinHandle<Option<Result<Duration>>>,
    handle: Interruptible,
    over: Arc<AtomicBool>,
    state: Map,
}

impl Worker {
    pub fn start(host: &Host, plan: &Plan, object: Object) -> Result<Self> {
        let state = object.map(STATE)?.duplicate()?;
        let over = Arc::new(AtomicBool::new(false));
        let (ready, answer) = mpsc::channel();
        let (plan, flag) = (plan.clone(), Arc::clone(&over));
        let body = move || {
            let handle = prepare(plan.config.cpu);
            let prepared = handle.is_ok();
            // `start` waits for it; if it is gone there is nothing to send for.
            if ready.send(handle).is_err() || !prepared {
                return Ok(Duration::ZERO);
            }
            send(&plan, &object, &flag)
        };
        let thread = host.spawn(body)?;
        let lost = || Error::Flood("the sending thread ended before it began".into());
        let handle = answer.recv().map_err(|_| lost())??;
        Ok(Self { thread, handle, over, state })
    }

    /// Waits for the end of the flood, whatever brings it, and makes it so.
    pub fn supervise(self, plan: &Plan, stopped: &Receiver<()>) -> Result<FloodReport> {
        let start = Instant::now();
        while !self.thread.is_finished() && !self.is_enough(plan)? {
            let left = plan.config.duration.saturating_sub(start.elapsed());
            if left.is_zero() {
                break;
            }
            match stopped.recv_timeout(left.min(FLOOD_LOOK_EVERY)) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.end()
    }

    fn is_enough(&self, plan: &Plan) -> Result<bool> {
        match plan.config.limit {
            Some(limit) => Ok(program::sent(&self.state)? >= limit),
            None => Ok(false),
        }
    }

    fn end(self) -> Result<FloodReport> {
        self.over.store(true, Ordering::Release);
        // A signal just before the call begins is lost, so it is sent until the thread has ended.
        while !self.thread.is_finished() {
            match self.handle.interrupt() {
                Err(error) if !error.is(ESRCH) => return Err(error.into()),
                _ => thread::sleep(LOOK_EVERY),
            }
        }
        let outcome = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let whole = outcome.unwrap_or(Ok(Duration::ZERO))?;
        // A call takes a while to begin and to end, in which nothing is sent.
        let paced = program::paced_time(&self.state)?;
        let time = if paced.is_zero() { whole } else { paced };
        Ok(FloodReport::new(program::sent(&self.state)?, time))
    }
}

fn prepare(cpu: Option<usize>) -> Result<Interruptible> {
    if let Some(cpu) = cpu {
        sys::cpu::set_affinity(&[cpu])?;
        // Refused without CAP_SYS_NICE: then it sends as well, only less steadily.
        let _unsteady = Priority::Nice(FLOOD_NICE).give(0);
    }
    Ok(Interruptible::current()?)
}

/// Answers how long it sent.
fn send(plan: &Plan, object: &Object, over: &AtomicBool) -> Result<Duration> {
    let program = object.program(PROGRAM)?;
    let state = object.map(STATE)?;
    let start = Instant::now();
    let mut run = LiveRun {
        input: Input { packet: plan.config.frame.clone(), ..Input::default() },
        batch: plan.config.batch,
        ..LiveRun::default()
    };
    while !over.load(Ordering::Acquire) {
        let left = match plan.config.limit {
            Some(limit) => limit.saturating_sub(program::sent(state)?),
            None => u64::MAX,
        };
        if left == 0 {
            break;
        }
        // Without pacing each run sends one frame, so the call ends with the last.
        let wanted = if plan.is_unpaced() { left } else { u64::MAX };
        run.count = wanted.min(FLOOD_BURST) as u32;
        program.live(&run)?;
    }
    Ok(start.elapsed())
}

const ESRCH: i32 = 3;

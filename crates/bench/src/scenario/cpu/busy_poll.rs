//! An AF_XDP socket whose thread runs the driver's receive code itself, whether packets come or
//! not.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use sys::thread::Interruptible;
use xsk::wait::BusyPoll;
use xsk::{Interface, Rx, Stop};

use crate::field::{Attribute, Field, work_on};
use crate::hook::Set;

/// Ended, and the interface as it was, when dropped.
pub struct BusyPolling {
    counts: Arc<AtomicU64>,
    stop: Stop,
    clock: Interruptible,
    thread: Option<JoinHandle<Result<()>>>,
    _settings: [Attribute; 3],
}

impl fmt::Debug for BusyPolling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BusyPolling").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl BusyPolling {
    pub fn start(field: &Field) -> Result<Self> {
        let settings = field.receiver.leave_to_poller(TIMEOUT_NS)?;
        let device = field.receiver.device();
        let options = BusyPoll { prefer: true, ..BusyPoll::default() };
        let open = || Interface::open(device)?.socket(QUEUE).busy_poll(options).open();
        let (tx, rx) = field.receiver.run(open)??.split();
        // What it would send is nobody's, and closing half a socket later is as good.
        drop(tx);
        let (counts, stop, cpu) = (Arc::new(AtomicU64::new(0)), Stop::new(), field.receiver_cpu);
        let (told, clock) = mpsc::channel();
        let body = {
            let (counts, stop) = (Arc::clone(&counts), stop.clone());
            move || -> Result<()> {
                work_on(cpu)?;
                told.send(Interruptible::current()?).context("nobody asks for its time")?;
                receive(rx, &counts, &stop)
            }
        };
        let thread = thread::Builder::new().name("busy-poll".into()).spawn(body);
        let thread = Some(thread.context("a thread that polls")?);
        let clock = clock.recv().context("the polling thread ended at once")?;
        Ok(Self { counts, stop, clock, thread, _settings: settings })
    }

    /// Nanoseconds that the thread has spent on its processor.
    pub fn spent_ns(&self) -> Result<u64> {
        self.clock.cpu_ns().context("the polling thread has ended")
    }
}

fn receive(mut rx: Rx, counts: &AtomicU64, stop: &Stop) -> Result<()> {
    while !stop.is_set() {
        if rx.wait(TURN)? {
            // Nobody else writes it.
            let count = counts.load(Ordering::Relaxed) + rx.for_each(BATCH, |_| ()) as u64;
            counts.store(count, Ordering::Relaxed);
        }
    }
    Ok(())
}

impl Set for BusyPolling {
    fn ended(&self) -> Result<u64> {
        Ok(self.counts.load(Ordering::Relaxed))
    }
}

impl Drop for BusyPolling {
    fn drop(&mut self) {
        self.stop.set();
        // Its time was asked for while it ran: one that had ended said so then.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The kernel looks for packets itself when nobody has for so long.
const TIMEOUT_NS: u32 = 2_000_000;
const QUEUE: u32 = 0;
const BATCH: usize = 64;
/// Between two looks at whether it shall end.
const TURN: Duration = Duration::from_millis(20);

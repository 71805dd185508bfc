//! AF_XDP as a cable: a thread polls one interface and sends what comes through the other.

use std::fmt;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use xsk::wait::BusyPoll;
use xsk::{Interface, Rx, Stop, Tx, Umem};

use super::stage::Stage;
use crate::field::{Attribute, work_on};

/// Ended when dropped.
pub struct Cable {
    stop: Stop,
    thread: Option<JoinHandle<Result<()>>>,
    _settings: [Attribute; 3],
}

impl fmt::Debug for Cable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cable").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl Cable {
    pub fn start(stage: &Stage) -> Result<Self> {
        let settings = stage.near.leave_to_poller(TIMEOUT_NS)?;
        let umem = Umem::builder().frames(FRAMES).build()?;
        let (near, far) = (stage.near.device(), stage.far.device());
        let options = BusyPoll { prefer: true, ..BusyPoll::default() };
        let open = || -> xsk::Result<_> {
            let out = Interface::builder(far).without_steering().open()?;
            let from =
                Interface::open(near)?.socket(QUEUE).umem(&umem).busy_poll(options).open()?;
            Ok((from.split(), out.socket(QUEUE).umem(&umem).open()?.split()))
        };
        let ((near_tx, rx), (tx, far_rx)) = stage.near.run(open)??;
        // Nothing goes back.
        drop((near_tx, far_rx));
        let (stop, cpu) = (Stop::new(), stage.cpu);
        let body = {
            let stop = stop.clone();
            move || -> Result<()> {
                work_on(cpu)?;
                pass(rx, tx, &stop)
            }
        };
        let thread = thread::Builder::new().name("cable".into()).spawn(body);
        let thread = Some(thread.context("a thread that forwards")?);
        Ok(Self { stop, thread, _settings: settings })
    }
}

fn pass(mut rx: Rx, mut tx: Tx, stop: &Stop) -> Result<()> {
    while !stop.is_set() {
        if !rx.wait(TURN)? {
            continue;
        }
        let mut sending = tx.batch(BATCH);
        let mut coming = rx.batch(BATCH as usize);
        while let Some(frame) = coming.next() {
            if let Err(rejected) = sending.push(frame) {
                // It is lost, and missed at the sink.
                coming.recycle(rejected.frame);
            }
        }
        drop(coming);
        sending.finish()?;
    }
    Ok(())
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.stop.set();
        // Had it failed, nothing would have arrived.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

const FRAMES: u32 = 4096;
const QUEUE: u32 = 0;
const BATCH: u32 = 64;
/// The kernel looks for packets itself when nobody has for so long.
const TIMEOUT_NS: u32 = 2_000_000;
/// Between two looks at whether it shall end.
const TURN: Duration = Duration::from_millis(20);

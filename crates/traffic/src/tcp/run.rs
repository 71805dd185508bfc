//! `Run`: connections from their first SYN to their last FIN.
//!
//! ```text
//! run ──time over, or stop──▶ finish: FIN of each flow ──patience over──▶ abort: RST of the rest
//!  └────every flow has ended─────────┴────every flow has ended────▶ halt ◀──────┘
//! ```
//! Rule: whatever ends it, the program comes off the interface, and no flow is left half open as
//! long as its packets get through.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender as Channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use kernel::{Attach, Link, Mode, Replace};
use sys::thread::monotonic_ns;

use super::abi::Phase;
use super::config::Config;
use super::engine::Engine;
use super::path::Path;
use super::plan::{self, Plan};
use super::read;
use super::report::{Report, Snapshot};
use super::sender::{Sender, Task};
use crate::error::Result;
use crate::generator::interface::Interface;

/// Connections that are open, or being opened.
#[derive(Debug)]
pub struct Run {
    engine: Arc<Engine>,
    began: Instant,
    stop: Channel<()>,
    supervisor: Option<JoinHandle<Result<Report>>>,
}

impl Run {
    /// Opens connections from the calling thread's namespace. Needs Linux 5.18.
    ///
    /// # Errors
    /// [`Error::Config`] for numbers that do not fit, [`Error::Interface`] and [`Error::Peer`] for
    /// a way that does not lead there, [`Error::Kernel`] with the name of a program that is on the
    /// interface already.
    pub fn start(config: &Config) -> Result<Self> {
        let path = Path::find(&config.interface, config.destination.ip(), config.source)?;
        let now = monotonic_ns();
        // RFC 9293, 3.4.1: numbers move on with the clock, so that old segments fit no new flow.
        let plan = Plan::new(config, &path, now, (now / CLOCK) as u32)?;
        Interface::find(&config.interface)?.check_transmit(plan.frame().len())?;
        let frags = path.mtu > MOST_IN_A_PAGE;
        let receive = if frags { plan::RECEIVE_FRAGS } else { plan::RECEIVE };
        let engine = Arc::new(Engine::load(&plan, receive)?);
        let link = attach(&engine, &path)?;
        let over = Arc::new(AtomicBool::new(false));
        let senders = start_senders(config, &plan, &engine, &over)?;
        let began = Instant::now();
        let (stop, stopped) = mpsc::channel();
        let work = Work {
            plan,
            engine: Arc::clone(&engine),
            over,
            senders,
            began,
            duration: config.duration,
            patience: config.patience,
            _link: link,
        };
        let supervisor = thread::Builder::new()
            .name("tcp-supervisor".into())
            .spawn(move || work.supervise(&stopped))
            .map_err(|error| sys::Error::from_io("clone", "thread", &error))?;
        Ok(Self { engine, began, stop, supervisor: Some(supervisor) })
    }

    /// All flows together, up to now.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let totals = self.engine.totals()?;
        Ok(read::snapshot(&totals, self.engine.rtts()?, self.began.elapsed()))
    }

    /// Whether it has ended by itself.
    pub fn is_done(&self) -> bool {
        self.supervisor.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until all flows have ended, or the duration and the patience are over.
    pub fn wait(mut self) -> Result<Report> {
        self.join()
    }

    /// Ends it now: FIN from each flow, and RST from those that are left when the patience is over.
    pub fn stop(mut self) -> Result<Report> {
        // Nobody listens when it has ended already.
        let _ = self.stop.send(());
        self.join()
    }

    fn join(&mut self) -> Result<Report> {
        let supervisor = self.supervisor.take().expect("a run is joined once, by value");
        supervisor.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(supervisor) = self.supervisor.take() {
            let _ = self.stop.send(());
            // A destructor cannot report what the run came to.
            let _ = supervisor.join();
        }
    }
}

/// What the supervisor holds.
struct Work {
    plan: Plan,
    engine: Arc<Engine>,
    over: Arc<AtomicBool>,
    senders: Vec<Sender>,
    began: Instant,
    duration: Option<Duration>,
    patience: Duration,
    _link: Link,
}

impl Work {
    fn supervise(mut self, stopped: &Receiver<()>) -> Result<Report> {
        let outcome = self.carry_through(stopped);
        // Whatever went wrong, the threads end.
        self.engine.set_phase(Phase::Halt);
        self.over.store(true, Ordering::Release);
        let ended: Vec<_> = self.senders.drain(..).map(Sender::join).collect();
        let was_stopped = outcome?;
        ended.into_iter().collect::<Result<()>>()?;
        let totals =
            read::snapshot(&self.engine.totals()?, self.engine.rtts()?, self.began.elapsed());
        let flows = self.engine.flows()?;
        Ok(read::report(&self.plan, totals, &flows, monotonic_ns(), was_stopped))
    }

    /// Answers whether it was stopped.
    fn carry_through(&self, stopped: &Receiver<()>) -> Result<bool> {
        let mut was_stopped = false;
        let flows = u64::from(self.plan.flows());
        while !self.have_ended(flows)? && self.duration.is_none_or(|all| self.began.elapsed() < all)
        {
            match stopped.recv_timeout(LOOK_EVERY) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                    was_stopped = true;
                    break;
                }
            }
        }
        let mut phase = Phase::Finish;
        self.engine.set_phase(phase);
        if !self.wait_for(self.patience, || self.have_ended(0))? {
            phase = Phase::Abort;
            self.engine.set_phase(phase);
        }
        // The last acknowledgements and resets leave.
        self.wait_for(LAST_WORDS, || self.engine.is_drained(phase))?;
        Ok(was_stopped)
    }

    /// Whether all flows that were opened, and so many at least, have ended.
    fn have_ended(&self, flows: u64) -> Result<bool> {
        let totals = self.engine.totals()?;
        let ended: u64 = totals.ends.iter().sum();
        Ok(totals.opened >= flows && ended >= totals.opened || self.has_failed())
    }

    /// A sender that has ended was refused by the kernel: nothing more will happen.
    fn has_failed(&self) -> bool {
        self.senders.iter().any(Sender::has_ended)
    }

    fn wait_for(&self, time: Duration, mut done: impl FnMut() -> Result<bool>) -> Result<bool> {
        let start = Instant::now();
        while !done()? {
            if start.elapsed() > time || self.has_failed() {
                return Ok(false);
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(true)
    }
}

/// In the driver where it can, before the stack makes packets of frames otherwise.
fn attach(engine: &Engine, path: &Path) -> Result<Link> {
    let program = &engine.receive;
    let with = |mode| Attach { ifindex: path.ifindex, program, mode, replace: Replace::No };
    match kernel::attach(&with(Mode::Native)) {
        Err(kernel::Error::System(_)) => Ok(kernel::attach(&with(Mode::Generic))?),
        other => Ok(other?),
    }
}

fn start_senders(
    config: &Config,
    plan: &Plan,
    engine: &Arc<Engine>,
    over: &Arc<AtomicBool>,
) -> Result<Vec<Sender>> {
    let mut senders = Vec::new();
    for number in 0..plan.senders() {
        let task = Task {
            number,
            cpu: config.cpus.get(number as usize).copied(),
            batch: config.batch,
            frame: plan.frame(),
            engine: Arc::clone(engine),
            over: Arc::clone(over),
        };
        let started = Sender::start(task);
        if started.is_err() {
            over.store(true, Ordering::Release);
            engine.set_phase(Phase::Halt);
            for sender in senders.drain(..) {
                // What made the start fail is told, not what came of ending the others.
                let _: Result<()> = Sender::join(sender);
            }
        }
        senders.push(started?);
    }
    Ok(senders)
}

/// Between two looks at whether the run is over.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// For what is still to be sent at the end.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// An MTU whose frames fit a page with what drivers keep in front of and behind them.
const MOST_IN_A_PAGE: u32 = 3_400;
/// Initial sequence numbers move on by one in so many ns.
const CLOCK: u64 = 4_000;

//! `Run`: connections from their first SYN to their last FIN.
//!
//! ```text
//! run ──time over, or stop──▶ finish: FIN of each flow ──patience over──▶ abort: RST of the rest
//!  └────every flow has ended─────────┴────every flow has ended────▶ halt ◀──────┘
//! ```
//! Rule: however a run ends, the program is detached, and no flow remains half open as long as its
//! packets are delivered.

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

/// A run of connections in progress.
#[derive(Debug)]
pub struct Run {
    engine: Arc<Engine>,
    began: Instant,
    stop: Channel<()>,
    supervisor: Option<JoinHandle<Result<Report>>>,
}

impl Run {
    /// Opens connections from the network namespace of the calling thread. Requires Linux 5.18.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for invalid settings,
    /// [`Error::Interface`](crate::Error::Interface) and
    /// [`Error::NoNeighbor`](crate::Error::NoNeighbor) when the destination cannot be reached,
    /// [`Error::Kernel`](crate::Error::Kernel) with the name of an XDP program that is already
    /// attached.
    pub fn start(config: &Config) -> Result<Self> {
        let path = Path::find(&config.interface, config.destination.ip(), config.source)?;
        let now = monotonic_ns();
        // Sequence numbers advance with the clock (RFC 9293, section 3.4.1), so that old segments
        // are not acceptable to new flows.
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

    /// The counters of all flows so far.
    ///
    /// # Errors
    /// When a map cannot be read.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let totals = self.engine.totals()?;
        Ok(read::snapshot(&totals, self.engine.rtts()?, self.began.elapsed()))
    }

    /// Whether the run has ended.
    pub fn is_done(&self) -> bool {
        self.supervisor.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until all flows have ended, or the duration and the patience have elapsed.
    ///
    /// # Errors
    /// The error of a thread that failed.
    pub fn wait(mut self) -> Result<Report> {
        self.join()
    }

    /// Ends the run: each flow sends FIN, and the flows that remain after the patience send RST.
    ///
    /// # Errors
    /// The error of a thread that failed.
    pub fn stop(mut self) -> Result<Report> {
        // The channel is closed when the run has ended already.
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
            // A destructor cannot report the result of the run.
            let _ = supervisor.join();
        }
    }
}

/// The state of the supervisor.
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
        let outcome = self.execute(stopped);
        // The threads end also after an error.
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

    /// Executes the phases of the run; returns whether it was stopped.
    fn execute(&self, stopped: &Receiver<()>) -> Result<bool> {
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
        // The last acknowledgments and resets are sent.
        self.wait_for(LAST_WORDS, || self.engine.is_drained(phase))?;
        Ok(was_stopped)
    }

    /// Whether all opened flows, and at least `flows`, have ended.
    fn have_ended(&self, flows: u64) -> Result<bool> {
        let totals = self.engine.totals()?;
        let ended: u64 = totals.ends.iter().sum();
        Ok(totals.opened >= flows && ended >= totals.opened || self.has_failed())
    }

    /// Whether a sender has ended, which means that the kernel rejected its live run.
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

/// Attaches the receiving program in the driver if it supports XDP, otherwise in the stack.
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
                // The error of the failed start is returned, not those of ending the other senders.
                let _: Result<()> = Sender::join(sender);
            }
        }
        senders.push(started?);
    }
    Ok(senders)
}

/// Interval of checks whether the run is over.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// Time for the last segments at the end.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Largest MTU whose frames fit into a page with the headroom and tailroom of drivers.
const MOST_IN_A_PAGE: u32 = 3_400;
/// Initial sequence numbers advance by one per this number of ns.
const CLOCK: u64 = 4_000;

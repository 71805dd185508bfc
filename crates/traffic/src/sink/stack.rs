//! A sink that reads a packet socket in a thread of its own.
//!
//! Frames that exceed the socket's buffer are lost, and counted as missed. The stack may have
//! merged TCP segments (GRO): a merged frame has only the stamp of the last one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use packet::Mac;
use sys::net::{Netlink, PacketSocket};
use sys::thread::monotonic_ns;

use super::abi::Reason;
use super::config::{FrameAction, SinkConfig};
use super::reflect::reflect;
use super::report::SinkReport;
use super::tracker::Tracker;
use crate::error::{Error, Result};
use crate::stamp::{Kind, Stamp};

/// A thread that reads a socket; dropping it ends the thread.
#[derive(Debug)]
pub(super) struct Listener {
    counters: Arc<Mutex<Counters>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

#[derive(Debug)]
struct Counters {
    tracker: Tracker,
    /// Frames that the socket dropped.
    missed: u64,
}

impl Listener {
    /// Starts reading frames.
    pub fn start(config: &SinkConfig) -> Result<Self> {
        config.check()?;
        let interface = Netlink::open()?.link(&config.interface)?;
        let socket = PacketSocket::open(interface.ifindex)?;
        let counters = Arc::new(Mutex::new(Counters { tracker: Tracker::new(config), missed: 0 }));
        let over = Arc::new(AtomicBool::new(false));
        let reader = Reader {
            socket,
            counters: Arc::clone(&counters),
            over: Arc::clone(&over),
            reflects: config.action == FrameAction::Reflect,
            mac: interface.mac,
        };
        let thread = thread::Builder::new()
            .name("sink".to_owned())
            .spawn(move || reader.run())
            .map_err(|error| sys::Error::from_io("clone", "the sink's thread", &error))?;
        Ok(Self { counters, over, thread: Some(thread) })
    }

    pub fn report(&self) -> Result<SinkReport> {
        self.check()?;
        Ok(lock(&self.counters).report())
    }

    pub fn all_ended(&self) -> Result<bool> {
        self.check()?;
        Ok(lock(&self.counters).tracker.all_ended())
    }

    /// Stops the sink after it has read the frames that are queued.
    pub fn stop(mut self) -> Result<SinkReport> {
        self.end()?;
        Ok(lock(&self.counters).report())
    }

    /// # Errors
    /// [`Error::Ended`] when the thread has ended without being stopped.
    fn check(&self) -> Result<()> {
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            let what = "the thread that reads the socket has ended; stop the sink to see why";
            return Err(Error::Ended(what));
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.over.store(true, Ordering::Release);
        let thread = self.thread.take().map(JoinHandle::join).transpose();
        thread.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).unwrap_or(Ok(()))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if self.thread.is_some() {
            // A destructor cannot report.
            let _ = self.end();
        }
    }
}

impl Counters {
    fn report(&self) -> SinkReport {
        SinkReport { missed: self.missed, ..self.tracker.report() }
    }
}

/// The state of the thread.
struct Reader {
    socket: PacketSocket,
    counters: Arc<Mutex<Counters>>,
    over: Arc<AtomicBool>,
    reflects: bool,
    /// Frames to other addresses are not reflected.
    mac: Option<Mac>,
}

impl Reader {
    fn run(self) -> Result<()> {
        let mut frame = Vec::new();
        while !self.over.load(Ordering::Acquire) {
            if self.socket.receive_into(&mut frame, LOOK_EVERY)? {
                self.judge(&mut frame)?;
            }
            self.count_missed()?;
        }
        let end = Instant::now() + DRAIN;
        while Instant::now() < end && self.socket.receive_into(&mut frame, Duration::ZERO)? {
            self.judge(&mut frame)?;
        }
        self.count_missed()
    }

    fn judge(&self, frame: &mut [u8]) -> Result<()> {
        let reason = lock(&self.counters).tracker.judge(frame, monotonic_ns(), 0);
        let is_whole =
            matches!(reason, Reason::Received | Reason::Duplicated | Reason::Late | Reason::End);
        if self.reflects && is_whole && !is_reflected(frame) && reflect(frame, self.mac) {
            self.socket.send(frame)?;
        }
        Ok(())
    }

    fn count_missed(&self) -> Result<()> {
        let missed = self.socket.missed()?;
        if missed > 0 {
            lock(&self.counters).missed += missed;
        }
        Ok(())
    }
}

/// Whether a frame was reflected already; it is not sent again.
fn is_reflected(frame: &[u8]) -> bool {
    let stamp = Stamp::read(frame).and_then(std::result::Result::ok);
    stamp.is_some_and(|stamp| stamp.kind.code() & Kind::REFLECTED != 0)
}

/// Locks the counters, which are consistent also after a panic.
fn lock(counters: &Mutex<Counters>) -> MutexGuard<'_, Counters> {
    counters.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Interval at which the thread checks whether it must end.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Longest time for reading the queued frames at the end.
const DRAIN: Duration = Duration::from_secs(2);

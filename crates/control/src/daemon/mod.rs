//! The daemon: applies declarations when interfaces appear, detects floods where that is declared,
//! and exports metrics of all interfaces.
//!
//! ```text
//!  link events ─┐                      ┌─▶ apply (plan, then one call for each interface)
//!  SIGHUP ──────┼─▶ poll, one thread ──┼─▶ detection: next step of each interface that is due
//!  times ───────┘                      └─▶ service manager: ready, reloading, watchdog
//!
//!  scrape ──▶ second thread: reads status and filters, answers
//! ```
//!
//! Rule: the daemon is not on the data path. What it attaches outlives it, and if it is killed,
//! nothing changes. After its start it has the capabilities that it needs and no others. Not here:
//! what applying means (`apply`).

mod detections;
mod scrape;

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sys::cap::Cap;
use sys::confine;
use sys::net::{Link, LinkEvents, Netlink, OwnedRoute};
use sys::notify::NotifySocket;
use sys::poll::Watch;
use sys::priority::{self, Priority};
use sys::signal::{self, Stop};

use self::detections::Detections;
use self::scrape::{Known, Scraper};
use crate::Control;
use crate::apply::{self, ApplyOptions, FileError, InterfacePlan, Plan};
use crate::balance;
use crate::balance::announce::Announcer;
use crate::balance::health::{self, Checker, HealthEvent};
use crate::balance::sync::Syncers;
use crate::declaration;
use crate::error::{DaemonError, Result, full};
use crate::filter::auto_detection::AutoEvent;
use crate::metrics::{Endpoint, LastApply};
use crate::route_memory::Follower;
use crate::state::{State, Writer};

/// What a daemon does.
#[derive(Clone, Debug, Default)]
pub struct DaemonOptions {
    /// Directory of declarations; without one, nothing is applied.
    pub dir: Option<PathBuf>,
    /// Address at which metrics are served; without one, there are none.
    pub listen: Option<SocketAddr>,
}

/// Something that happened, for the log.
#[derive(Debug)]
pub enum Event<'a> {
    /// Metrics are served at this address.
    Listening(SocketAddr),
    /// An interface was changed, or could not be.
    Interface(&'a InterfacePlan),
    /// A declaration is not valid.
    Invalid(&'a FileError),
    /// The detection of floods on an interface made a step.
    Detection { interface: &'a str, event: &'a AutoEvent },
    /// The directory of declarations does not exist: nothing is changed until it does.
    Undeclared(&'a Path),
    /// The declarations could not be applied at all, with the reason.
    Failed(String),
    /// The kernel's routes are not followed any more, with the reason.
    Unfollowed(String),
    /// The balancer of an interface does not synchronize for now, with the reason.
    Unsynchronized { interface: &'a str, reason: String },
    /// The health of balancers' backends is not checked any more, with the reason.
    Unchecked(String),
    /// Checks of balancers' backends changed something.
    Health(&'a HealthEvent),
    /// The network of a service is announced: not because of a check, which is an event of health.
    Announced(&'a OwnedRoute),
    /// The network of a service is not announced any more.
    Withdrawn(&'a OwnedRoute),
    /// Networks of services are not announced as they should be, with the reason.
    NotAnnounced(&'a str),
    /// SIGHUP arrived.
    Reloading,
}

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    control: Control,
    dir: Option<PathBuf>,
    events: LinkEvents,
    service: NotifySocket,
    endpoint: Option<Endpoint>,
    detections: Detections,
    /// Follows the kernel's routes for routers; without it, they ask the kernel more often.
    follower: Option<Follower>,
    /// Checks the backends of balancers, or why it does not, until that is reported.
    checker: std::result::Result<Checker, Option<String>>,
    /// When the next hops of balancers are refreshed next.
    refresh_at: Instant,
    /// Announces services, and why it cannot, as it was reported.
    announcer: Announcer,
    not_announced: Option<String>,
    /// Exchange flows with balancers of other hosts.
    syncers: Syncers,
    /// What the thread that serves metrics reads.
    shared: Arc<Mutex<Known>>,
    scraper: Arc<Mutex<Scraper>>,
    /// The interfaces when declarations were last applied.
    interfaces: Vec<Identity>,
    retry: Retry,
    /// Only one daemon runs for a state directory.
    _claim: File,
}

/// What makes an interface another one.
type Identity = (u32, String, Vec<String>);

/// The pause after a failure, which grows.
#[derive(Clone, Copy, Debug, Default)]
struct Retry {
    pause: Duration,
    at: Option<Instant>,
}

impl Daemon {
    /// Prepares the state directory, gives up other capabilities, and listens. The process must
    /// have one thread.
    ///
    /// # Errors
    /// Another daemon uses the state directory, the address is in use, or rights are missing.
    pub fn start(control: &Control, options: &DaemonOptions) -> Result<Self> {
        // Mounts the bpffs, which takes a capability that is given up then.
        drop(Writer::open(control)?);
        let claim = State::claim_directory(control, CLAIM)?.map_err(DaemonError::Runs)?;
        let events = LinkEvents::open()?;
        let follower = Follower::new(control)?;
        // Before the right to open its sockets is given up.
        let checker = Checker::open(control, None).map_err(|error| Some(full(&error)));
        // Where processors are busy, a change of routes must not wait for its turn.
        let given = priority::nice();
        if given == 0 {
            // Without the right to it, programs are informed later.
            let _ = Priority::Nice(PREFERRED).give(0);
        }
        // Next hops of routers and balancers are confirmed in both cases, which needs `NetAdmin`.
        let caps: &[Cap] = match options.dir {
            Some(_) => &[Cap::NetAdmin, Cap::Bpf, Cap::Perfmon],
            None => &[Cap::NetAdmin, Cap::Bpf],
        };
        confine::service(caps)?;
        let shared = Arc::default();
        let scraper = Arc::new(Mutex::new(Scraper::new(control.clone(), Arc::clone(&shared))));
        let served = Arc::clone(&scraper);
        let page = move || {
            // Requests for metrics are not preferred. A greater value is always permitted.
            let _ = Priority::Nice(given.max(0)).give(0);
            locked(&served).page()
        };
        let serve = |address| Endpoint::serve(address, page);
        let endpoint = options.listen.map(serve).transpose()?;
        Ok(Self {
            control: control.clone(),
            dir: options.dir.clone(),
            events,
            service: NotifySocket::from_environment(),
            endpoint,
            detections: Detections::default(),
            follower: Some(follower),
            checker,
            refresh_at: Instant::now(),
            announcer: Announcer::default(),
            not_announced: None,
            syncers: Syncers::default(),
            shared,
            scraper,
            interfaces: Vec::new(),
            retry: Retry::default(),
            _claim: claim,
        })
    }

    /// Runs until a signal other than SIGHUP arrives.
    ///
    /// # Errors
    /// The process cannot wait for events any more.
    pub fn run(&mut self, stop: &Stop, mut log: impl FnMut(&Event<'_>)) -> Result<()> {
        if let Some(endpoint) = &self.endpoint {
            log(&Event::Listening(endpoint.address()));
        }
        self.apply(&mut log);
        self.service.send("READY=1");
        loop {
            self.service.send("WATCHDOG=1");
            self.wait(stop)?;
            match stop.pending() {
                Some(signal::RELOAD) => {
                    self.service.send("RELOADING=1");
                    log(&Event::Reloading);
                    self.apply(&mut log);
                    self.service.send("READY=1");
                }
                Some(_) => break,
                None => {
                    let is_due = self.retry.at.is_some_and(|at| at <= Instant::now());
                    let may_differ = self.events.take()?;
                    locked(&self.scraper).forget_idle();
                    if is_due || (may_differ && self.has_other_interfaces()) {
                        self.apply(&mut log);
                    }
                    self.detect(&mut log);
                }
            }
            self.follow(&mut log);
            self.check(&mut log);
            self.refresh(&mut log);
            self.syncers.step(|interface, reason| {
                log(&Event::Unsynchronized { interface, reason });
            });
        }
        self.service.send("STOPPING=1");
        Ok(())
    }

    /// Waits for a signal, an event, or the time of a retry, a detection's step or a sign of life.
    fn wait(&self, stop: &Stop) -> Result<()> {
        let idle = locked(&self.scraper).idle_at();
        let follow = self.follower.as_ref().map(Follower::due);
        let times =
            self.retry.at.into_iter().chain(self.detections.due()).chain(idle).chain(follow);
        let times = times.chain([self.refresh_at]).chain(self.syncers.due());
        let times = times.map(|at| at.saturating_duration_since(Instant::now()));
        let times = times.chain(self.checker.as_ref().ok().map(Checker::due));
        let timeout = times.chain(self.service.interval()).min();
        let mut watches = vec![Watch::readable(stop.as_fd()), Watch::readable(self.events.fd())];
        let changes = self.follower.as_ref().and_then(Follower::fd);
        watches.extend(changes.map(Watch::readable));
        watches.extend(self.syncers.fds().map(Watch::readable));
        watches.extend(self.checker.as_ref().ok().map(|one| Watch::readable(one.fd())));
        sys::poll::wait(&mut watches, timeout)?;
        Ok(())
    }

    /// Informs routers of changed routes. After a failure they do without it.
    fn follow(&mut self, log: &mut impl FnMut(&Event<'_>)) {
        let Some(follower) = &mut self.follower else { return };
        if let Err(error) = follower.step() {
            log(&Event::Unfollowed(full(&error)));
            self.follower = None;
        }
    }

    /// Continues the checks of balancers' backends. If they fail, the backends remain as they are.
    fn check(&mut self, log: &mut impl FnMut(&Event<'_>)) {
        match &mut self.checker {
            Ok(checker) => {
                if let Err(error) = checker.step(|event| log(&Event::Health(event))) {
                    self.checker = Err(Some(full(&error)));
                }
            }
            Err(reason) => {
                let has_checks = reason.is_some() && health::is_wanted(&self.control);
                if let Some(reason) = reason.take_if(|_| has_checks) {
                    log(&Event::Unchecked(reason));
                }
            }
        }
    }

    /// Has the kernel confirm the next hops of balancers, of which it sees no packet.
    fn refresh(&mut self, log: &mut impl FnMut(&Event<'_>)) {
        if self.refresh_at <= Instant::now() {
            self.syncers.follow(&self.control, |interface, reason| {
                log(&Event::Unsynchronized { interface, reason });
            });
            // What fails, because an interface vanishes meanwhile, succeeds the next time.
            let _ = balance::refresh(&self.control);
            self.announce(log);
            self.refresh_at = Instant::now() + REFRESH;
        }
    }

    /// Brings the routes of announced services to what balancers have: after a restart, or when an
    /// interface vanished with its balancer.
    fn announce(&mut self, log: &mut impl FnMut(&Event<'_>)) {
        match self.announcer.step(&self.control) {
            Ok(changed) => {
                self.not_announced = None;
                changed.announced.iter().for_each(|one| log(&Event::Announced(one)));
                changed.withdrawn.iter().for_each(|one| log(&Event::Withdrawn(one)));
            }
            Err(error) => {
                let reason = full(&error);
                if self.not_announced.as_ref() != Some(&reason) {
                    log(&Event::NotAnnounced(&reason));
                }
                self.not_announced = Some(reason);
            }
        }
    }

    /// Whether an interface appeared, vanished or was renamed since the last application.
    fn has_other_interfaces(&self) -> bool {
        interfaces().is_ok_and(|now| now != self.interfaces)
    }

    fn apply(&mut self, log: &mut impl FnMut(&Event<'_>)) {
        let Some(dir) = self.dir.clone() else { return };
        self.interfaces = interfaces().unwrap_or_default();
        if fs::symlink_metadata(&dir).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            if self.retry.at.is_none() {
                log(&Event::Undeclared(&dir));
            }
            self.retry = self.retry.next();
            self.service.send(&format!("STATUS=there is no directory {}", dir.display()));
            return;
        }
        let outcome = self.applied_plan(&dir);
        let is_complete = match &outcome {
            Ok(plan) => {
                self.report(plan, log);
                self.detections.follow(&self.control, plan);
                !plan.has_errors()
            }
            Err(error) => {
                log(&Event::Failed(full(error)));
                false
            }
        };
        self.retry = if is_complete { Retry::default() } else { self.retry.next() };
        let status = if is_complete { "as declared" } else { "a declaration is not applied" };
        self.service.send(&format!("STATUS={status}"));
    }

    fn applied_plan(&self, dir: &Path) -> Result<Plan> {
        let mut plan = apply::plan(&self.control, declaration::read(dir)?, &[])?;
        plan.apply(&self.control, &ApplyOptions::default());
        Ok(plan)
    }

    /// Logs what was changed or failed, and keeps the results for the metrics.
    fn report(&self, plan: &Plan, log: &mut impl FnMut(&Event<'_>)) {
        let told =
            plan.interfaces.iter().filter(|one| !one.changes.is_empty() || one.error.is_some());
        told.for_each(|one| log(&Event::Interface(one)));
        plan.errors.iter().for_each(|error| log(&Event::Invalid(error)));
        let present = plan.interfaces.iter().filter(|one| one.present && one.file.is_some());
        let of_interface = |one: &InterfacePlan| LastApply {
            name: one.name.clone(),
            is_applied: one.error.is_none(),
        };
        let of_error = |error: &FileError| LastApply {
            name: error.file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            is_applied: false,
        };
        let results = present.map(of_interface).chain(plan.errors.iter().map(of_error)).collect();
        locked(&self.shared).applied = results;
    }

    /// Makes the steps of detections that are due.
    fn detect(&mut self, log: &mut impl FnMut(&Event<'_>)) {
        self.detections.step(|interface, event| log(&Event::Detection { interface, event }));
        locked(&self.shared).detections = self.detections.counts();
    }
}

impl Retry {
    /// The next attempt, after twice the time of the last pause.
    fn next(self) -> Self {
        let pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        Self { pause, at: Some(Instant::now() + pause) }
    }
}

/// The value, also after a panic of the other thread: each request reads everything again.
fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn interfaces() -> Result<Vec<Identity>> {
    let identity = |link: Link| (link.ifindex.0, link.name, link.altnames);
    Ok(Netlink::open()?.links()?.into_iter().map(identity).collect())
}

/// Time between two refreshes of the balancers' next hops.
const REFRESH: Duration = Duration::from_secs(1);
/// Purpose of the claim on the state directory.
const CLAIM: &str = "daemon";
/// Nice value of the daemon, unless it was started with one.
const PREFERRED: i32 = -10;
/// Pause after the first failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause after repeated failures.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit() {
        let mut retry = Retry::default();
        let mut pauses = Vec::new();
        for _ in 0..12 {
            retry = retry.next();
            pauses.push(retry.pause.as_secs());
        }
        assert_eq!(pauses[..4], [1, 2, 4, 8]);
        assert_eq!(pauses[11], 300);
    }
}

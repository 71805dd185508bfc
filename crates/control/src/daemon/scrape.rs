//! The daemon's page of metrics, made from one reading for each request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Control;
use crate::balance::{self, BalanceReport};
use crate::error::Result;
use crate::filter::auto_detection::AutoCounts;
use crate::filter::monitor::FilterMonitor;
use crate::filter::report::FilterReport;
use crate::metrics::{self, HostReading, LastApply};
use crate::route::{self, RouteReport};
use crate::status::{Interface, Status, StatusMonitor};

/// What the daemon's loop knows, and the page reports.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Results of the last application of declarations.
    pub applied: Vec<LastApply>,
    /// Detection of floods by interface.
    pub detections: Vec<(String, AutoCounts)>,
}

/// Readers of all programs and filters of a namespace.
#[derive(Debug)]
pub(super) struct Scraper {
    control: Control,
    shared: Arc<Mutex<Known>>,
    status: Option<StatusMonitor>,
    filters: BTreeMap<String, FilterMonitor>,
    /// The last request; `None` if nothing is open.
    last: Option<Instant>,
}

impl Scraper {
    pub fn new(control: Control, shared: Arc<Mutex<Known>>) -> Self {
        Self { control, shared, status: None, filters: BTreeMap::new(), last: None }
    }

    /// The page. What cannot be read is left out, and `up` is 0 then.
    pub fn page(&mut self) -> String {
        let begin = Instant::now();
        self.last = Some(begin);
        let status = self.status();
        let filters = status.as_ref().map(|status| self.filters(status)).unwrap_or_default();
        let routers = status.as_ref().ok().and_then(|status| self.routers(status));
        let balancers = status.as_ref().ok().and_then(|status| self.balancers(status));
        let known = self.shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let empty = Status { interval_s: 0.0, interfaces: Vec::new() };
        metrics::host(&HostReading {
            is_complete: status.is_ok(),
            status: status.as_ref().unwrap_or(&empty),
            filters: &filters,
            routers: routers.as_ref(),
            balancers: balancers.as_ref(),
            applied: &known.applied,
            detections: &known.detections,
            seconds: begin.elapsed().as_secs_f64(),
        })
    }

    /// When to close what is open for the next page, unless it is requested before.
    pub fn idle_at(&self) -> Option<Instant> {
        self.last.map(|last| last + IDLE)
    }

    /// Closes what is open if no page was requested for some time, so that programs which were
    /// replaced are freed.
    pub fn forget_idle(&mut self) {
        if self.idle_at().is_some_and(|at| at <= Instant::now()) {
            self.filters.clear();
            self.status.iter_mut().for_each(StatusMonitor::forget);
            self.last = None;
        }
    }

    fn status(&mut self) -> Result<Status> {
        let monitor = match self.status.take() {
            Some(monitor) => monitor,
            None => StatusMonitor::new(&self.control, None)?,
        };
        self.status.insert(monitor).read()
    }

    /// The report of the routers; one that cannot be read is left out.
    fn routers(&self, status: &Status) -> Option<RouteReport> {
        let has_any = status.interfaces.iter().any(Interface::runs_router);
        has_any.then(|| route::show(&self.control).ok()).flatten()
    }

    /// The report of the balancers; one that cannot be read is left out.
    fn balancers(&self, status: &Status) -> Option<BalanceReport> {
        let has_any = status.interfaces.iter().any(Interface::runs_balancer);
        has_any.then(|| balance::show(&self.control).ok()).flatten()
    }

    /// Reports of all filters. A filter that vanishes meanwhile has none.
    fn filters(&mut self, status: &Status) -> Vec<FilterReport> {
        let runs =
            |name: &str| status.interfaces.iter().any(|one| one.name == name && one.runs_filter());
        self.filters.retain(|name, _| runs(name));
        let mut reports = Vec::new();
        for interface in status.interfaces.iter().filter(|one| one.runs_filter()) {
            let known = self.filters.remove(&interface.name);
            let monitor =
                known.map_or_else(|| FilterMonitor::new(&self.control, &interface.name), Ok);
            let program = interface.programs.first().map_or(0, |program| program.id);
            let read =
                monitor.and_then(|mut monitor| Ok((monitor.read_running(program)?, monitor)));
            if let Ok((report, monitor)) = read {
                reports.push(report);
                self.filters.insert(interface.name.clone(), monitor);
            }
        }
        reports
    }
}

/// Time without a request after which programs and maps are closed: over two long intervals of
/// Prometheus.
const IDLE: Duration = Duration::from_secs(150);

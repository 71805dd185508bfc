//! Progress of a run: a live view on a terminal, lines elsewhere, JSON with `--json`; and metrics
//! for Prometheus.

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use control::metrics::Endpoint;

use super::Context;
use crate::view::browser::{Browsable, BrowserScreen};
use crate::view::live::{Drawing, Screen};
use crate::view::{View, output, say};

#[derive(Debug)]
pub struct Watch<'a> {
    context: &'a Context,
    to: To,
    every: Duration,
    next: Instant,
    endpoint: Option<Endpoint>,
}

/// Output of states.
enum To {
    Picture(Box<Screen>),
    /// Tables that the reader sorts, filters and scrolls.
    Browser(Box<BrowserScreen>),
    /// One line for each state on standard output.
    Json,
    /// One line for each state on standard error.
    Lines,
    Nowhere,
}

impl<'a> Watch<'a> {
    /// Uses `height` rows of a terminal, and serves metrics at `prometheus` until it is dropped.
    pub fn new(
        (interval, prometheus): (Option<Duration>, Option<SocketAddr>),
        height: u16,
        context: &'a Context,
    ) -> Result<Self> {
        let endpoint = serve(prometheus)?;
        Self::with(interval, endpoint, context, || Ok(To::Picture(Box::new(Screen::new(height)))))
    }

    /// As [`new`](Self::new), with tables that the reader sorts, filters and scrolls.
    pub fn browse(
        (interval, prometheus): (Option<Duration>, Option<SocketAddr>),
        context: &'a Context,
    ) -> Result<Self> {
        let endpoint = serve(prometheus)?;
        Self::with(interval, endpoint, context, || {
            let screen = BrowserScreen::open().context("cannot take over the terminal")?;
            Ok(To::Browser(Box::new(screen)))
        })
    }

    fn with(
        interval: Option<Duration>,
        endpoint: Option<Endpoint>,
        context: &'a Context,
        open: impl FnOnce() -> Result<To>,
    ) -> Result<Self> {
        let to = match (context.json, interval, io::stderr().is_terminal()) {
            (true, Some(_), _) => To::Json,
            _ if output::is_quiet() => To::Nowhere,
            (_, _, true) => open()?,
            (true, None, false) => To::Nowhere,
            (false, _, false) => To::Lines,
        };
        let every = interval.unwrap_or(match to {
            To::Picture(_) | To::Browser(_) => REDRAW,
            _ => LINE,
        });
        Ok(Self { context, to, every, next: Instant::now() + every, endpoint })
    }

    /// Whether the next state is due. Metrics are at most this old.
    pub fn is_due(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        // A missed state is skipped.
        let next = self.next + self.every;
        self.next = if next > now { next } else { now + self.every };
        true
    }

    /// Restarts the interval.
    pub fn begin(&mut self) {
        self.next = Instant::now() + self.every;
    }

    /// Shows a state. Returns `false` if standard output was closed.
    pub fn tell(&mut self, state: &(impl View + Drawing)) -> Result<bool> {
        match &mut self.to {
            To::Picture(screen) => screen.show(state),
            To::Json => return self.context.show_next(state),
            To::Lines => say(&state.line()),
            To::Browser(_) | To::Nowhere => {}
        }
        Ok(true)
    }

    /// Shows tables. Returns `false` if standard output was closed.
    pub fn tell_tables(&mut self, state: &impl Browsable) -> Result<bool> {
        match &mut self.to {
            To::Browser(screen) => screen.show(state),
            To::Json => return self.context.show_next(state),
            To::Lines => say(&state.line()),
            To::Picture(_) | To::Nowhere => {}
        }
        Ok(true)
    }

    /// Reacts to the reader's keys; returns `false` when the reader quits.
    pub fn react(&mut self) -> Result<bool> {
        match &mut self.to {
            To::Browser(screen) => screen.react().context("cannot read keys"),
            _ => Ok(true),
        }
    }

    /// Replaces the page of metrics; `page` is called only if there is an endpoint.
    pub fn publish(&self, page: impl FnOnce() -> String) {
        if let Some(endpoint) = &self.endpoint {
            endpoint.publish(page());
        }
    }
}

/// Serves metrics at this address.
fn serve(prometheus: Option<SocketAddr>) -> Result<Option<Endpoint>> {
    let endpoint = prometheus.map(Endpoint::start).transpose()?;
    if let Some(endpoint) = &endpoint {
        say(&format!("metrics at http://{}/metrics", endpoint.address()));
    }
    Ok(endpoint)
}

impl std::fmt::Debug for To {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Picture(_) => "Picture",
            Self::Browser(_) => "Browser",
            Self::Json => "Json",
            Self::Lines => "Lines",
            Self::Nowhere => "Nowhere",
        })
    }
}

/// Time between two drawings.
const REDRAW: Duration = Duration::from_millis(250);
/// Time between lines without `--interval`.
const LINE: Duration = Duration::from_secs(1);

//! What a run tells of itself while it lasts: a picture on a terminal, lines elsewhere, JSON when
//! that was asked for; and the numbers for whoever scrapes them.

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Result;
use control::metrics::Endpoint;

use super::Context;
use crate::view::live::{Drawing, Screen};
use crate::view::{View, say};

#[derive(Debug)]
pub struct Watch<'a> {
    context: &'a Context,
    to: To,
    every: Duration,
    next: Instant,
    endpoint: Option<Endpoint>,
}

/// Where states go.
enum To {
    Picture(Box<Screen>),
    /// Standard output, a line each.
    Json,
    /// Standard error, a line each.
    Lines,
    Nowhere,
}

impl<'a> Watch<'a> {
    /// `height` rows of a terminal are used. Answers scrapes at `prometheus` until dropped.
    pub fn new(
        (interval, prometheus): (Option<Duration>, Option<SocketAddr>),
        height: u16,
        context: &'a Context,
    ) -> Result<Self> {
        let endpoint = prometheus.map(Endpoint::start).transpose()?;
        if let Some(endpoint) = &endpoint {
            say(&format!("metrics at http://{}/metrics", endpoint.address()));
        }
        let to = match (context.json, interval, io::stderr().is_terminal()) {
            (true, Some(_), _) => To::Json,
            (_, _, true) => To::Picture(Box::new(Screen::new(height))),
            (true, None, false) => To::Nowhere,
            (false, _, false) => To::Lines,
        };
        let every = interval.unwrap_or(match to {
            To::Picture(_) => REDRAW,
            _ => LINE,
        });
        Ok(Self { context, to, every, next: Instant::now() + every, endpoint })
    }

    /// Whether it is time for the next state. Scrapes get one that is at most this old.
    pub fn is_due(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        // One that was missed is not made up for.
        let next = self.next + self.every;
        self.next = if next > now { next } else { now + self.every };
        true
    }

    /// Time counts from now on.
    pub fn begin(&mut self) {
        self.next = Instant::now() + self.every;
    }

    /// `false` when nobody reads on.
    pub fn tell(&mut self, state: &(impl View + Drawing)) -> Result<bool> {
        match &mut self.to {
            To::Picture(screen) => screen.show(state),
            To::Json => return self.context.show_next(state),
            To::Lines => say(&state.line()),
            To::Nowhere => {}
        }
        Ok(true)
    }

    /// `page` is made only where somebody may scrape it.
    pub fn publish(&self, page: impl FnOnce() -> String) {
        if let Some(endpoint) = &self.endpoint {
            endpoint.publish(page());
        }
    }
}

impl std::fmt::Debug for To {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Picture(_) => "Picture",
            Self::Json => "Json",
            Self::Lines => "Lines",
            Self::Nowhere => "Nowhere",
        })
    }
}

/// Between pictures.
const REDRAW: Duration = Duration::from_millis(250);
/// Between lines that nobody asked for.
const LINE: Duration = Duration::from_secs(1);

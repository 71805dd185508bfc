//! `Syncer`: synchronizes the balancer of an interface, step by step.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use functions::balancer::FLOWS;
use functions::balancer::sync::wire::{Cells, Item, Message};
use functions::balancer::sync::{CellMemory, News, now_units};
use sys::poll::{self, Watch};
use sys::signal::Stop;
use sys::thread::monotonic_ns;

use super::super::{OwnMaps, Running};
use super::endpoint::{Endpoint, Received};
use super::memory::FlowMemory;
use super::options::SyncOptions;
use super::pull::Pull;
use super::status::{self, PeerReport, SyncReport};
use super::store::{Known, Store, Tally, answer, entry};
use crate::Control;
use crate::error::{FunctionError, Result};
use crate::target::Target;

/// A balancer and its peers.
#[derive(Debug)]
pub struct Syncer {
    control: Control,
    interface: String,
    endpoint: Endpoint,
    state: State,
    tally: Tally,
    sent: u64,
    pulls: Vec<Pull>,
    /// Datagrams of each peer that were lost when its flows were last requested.
    lost: BTreeMap<SocketAddr, u64>,
    /// Readings of the tables, and flows of unknown backends, when a change was last noticed.
    noticed: (u64, u64),
    hello_at: Instant,
    scan_at: Instant,
}

/// The maps of the program that runs.
struct State {
    maps: OwnMaps,
    flows_id: u32,
    memory: FlowMemory,
    known: Known,
    news: News,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("flows_id", &self.flows_id).finish_non_exhaustive()
    }
}

impl State {
    fn new(running: &Running) -> Result<Self> {
        let maps = running.maps()?;
        let flows = running.generation.map(FLOWS)?;
        let memory = FlowMemory::new(&flows)?;
        // Peers request what is here when they meet this process.
        let mut news = News::new(memory.lines());
        news.skip(&memory);
        Ok(Self { maps, flows_id: flows.id(), memory, known: Known::default(), news })
    }
}

impl Syncer {
    /// # Errors
    /// No balancer runs on the interface, or the address cannot be used.
    pub fn start(control: &Control, interface: &str, options: &SyncOptions) -> Result<Self> {
        let target = Target::open(control, interface)?;
        let state = State::new(&super::super::running(&target)?)?;
        let now = Instant::now();
        Ok(Self {
            control: control.clone(),
            interface: interface.to_owned(),
            endpoint: Endpoint::open(options, options.listen)?,
            state,
            tally: Tally::default(),
            sent: 0,
            pulls: Vec::new(),
            lost: BTreeMap::new(),
            noticed: (0, 0),
            hello_at: now,
            scan_at: now,
        })
    }

    /// Becomes readable when a peer sent something.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.endpoint.fd()
    }

    /// When the next step is due.
    #[must_use]
    pub fn due(&self) -> Instant {
        let pulls = self.pulls.iter().map(Pull::due);
        pulls.chain([self.hello_at, self.scan_at]).min().unwrap_or(self.hello_at)
    }

    /// Runs until a signal arrives, or for this time.
    ///
    /// # Errors
    /// As of [`Self::step`].
    pub fn run(&mut self, stop: &Stop, time: Option<Duration>) -> Result<SyncReport> {
        let end = time.map(|time| Instant::now() + time);
        while stop.pending().is_none() && end.is_none_or(|end| Instant::now() < end) {
            let due = end.map_or(self.due(), |end| self.due().min(end));
            let timeout = due.saturating_duration_since(Instant::now());
            let mut watches = [Watch::readable(stop.as_fd()), Watch::readable(self.fd())];
            poll::wait(&mut watches, Some(timeout))?;
            self.step()?;
        }
        Ok(self.report())
    }

    /// Receives what peers sent, and sends what is due.
    ///
    /// # Errors
    /// The socket failed, or no balancer runs on the interface any more.
    pub fn step(&mut self) -> Result<()> {
        let now = Instant::now();
        self.receive(now)?;
        if self.hello_at <= now {
            self.follow()?;
            self.check_unknown()?;
            self.endpoint.hello(self.state.memory.lines());
            self.hello_at = now + HELLO;
            // What is shown may be missing; that the balancer is gone is found by `follow`.
            let _ = status::keep(&self.control, &self.interface, self.report());
        }
        if self.scan_at <= now {
            let is_complete = self.send_news()?;
            let reading = (now.elapsed() * SHARE).clamp(LEAST_SCAN, MOST_SCAN);
            self.scan_at = now + if is_complete { reading } else { BURST };
        }
        self.request(now);
        Ok(())
    }

    #[must_use]
    pub fn report(&self) -> SyncReport {
        let now = Instant::now();
        let peers = self.endpoint.peers.iter().filter(|(_, peer)| peer.is_configured());
        let peers = peers.map(|(address, peer)| {
            let heard = peer.heard.map(|at| now.saturating_duration_since(at));
            let up = peer.session.is_joined() && heard.is_some_and(|heard| heard < SILENCE);
            let is_pulled = self.pulls.iter().any(|pull| pull.from == *address);
            PeerReport {
                address: *address,
                up,
                in_step: up && !is_pulled,
                heard: heard.map(|heard| heard.as_secs_f64()),
                sent: peer.sent,
                received: peer.received,
                lost: peer.session.lost(),
            }
        });
        let refused = self.endpoint.refused.iter();
        SyncReport {
            listen: self.endpoint.address(),
            peers: peers.collect(),
            sent: self.sent,
            flows: named(self.tally.flows.iter().map(|(what, count)| (what.label(), *count))),
            unknown: self.tally.unknown,
            lines: self.tally.lines,
            watched: self.tally.watched,
            refused: named(refused.map(|(why, count)| (why.label(), *count))),
        }
    }

    /// Continues with the maps of another program, if the balancer was loaded again.
    fn follow(&mut self) -> Result<()> {
        let all = super::super::balancers(&self.control)?;
        let own = all.into_iter().find(|(interface, _)| *interface == self.interface);
        let missing = || FunctionError::NoBalancer { interface: self.interface.clone() };
        let (_, running) = own.ok_or_else(missing)?;
        if running.generation.map(FLOWS)?.id() != self.state.flows_id {
            self.state = State::new(&running)?;
            let partners = self.endpoint.partners();
            partners.into_iter().for_each(|peer| self.pull(peer));
        }
        Ok(())
    }

    fn receive(&mut self, now: Instant) -> Result<()> {
        let mut cells = Vec::new();
        while cells.len() < BATCH {
            let lines = self.state.memory.lines();
            let Some(received) = self.endpoint.receive(lines)? else { break };
            let Received { from, message, joined } = received;
            if joined && self.endpoint.peers.get(&from).is_some_and(|one| one.is_configured()) {
                self.pull(from);
            }
            match message {
                Message::Hello(_) => self.check_lost(from),
                Message::Want(want) => {
                    self.state.known.refresh(&self.state.maps.named())?;
                    for one in answer(&self.state.memory, &self.state.known, &want) {
                        self.endpoint.send(from, &one);
                    }
                }
                Message::Cells(one) => {
                    let mut pulls = self.pulls.iter_mut();
                    if one.id == 0 || pulls.any(|pull| pull.admits(from, one.id)) {
                        cells.push(one);
                    }
                }
                // Only a balancer that is not attached yet requests it.
                Message::History(_) => {}
                Message::End(end) => {
                    self.pulls.iter_mut().for_each(|pull| pull.end(from, &end, now));
                    self.pulls.retain(|pull| !pull.is_done());
                }
            }
        }
        self.merge(&cells)
    }

    /// Merges flows, while no other process changes the balancer: a number of a backend must not
    /// be given to another one meanwhile.
    fn merge(&mut self, cells: &[Cells]) -> Result<()> {
        if cells.is_empty() {
            return Ok(());
        }
        let _locked = Target::open(&self.control, &self.interface)?;
        let maps = self.state.maps.named();
        self.state.known.refresh(&maps)?;
        let (memory, known, tally) = (&self.state.memory, &mut self.state.known, &mut self.tally);
        let mut store = Store { maps: &maps, memory, known, tally, adopts: None };
        cells.iter().try_for_each(|one| store.flows(one, Some(&mut self.state.news)))
    }

    /// Sends what changed to all peers; returns whether that was all.
    fn send_news(&mut self) -> Result<bool> {
        self.state.known.refresh(&self.state.maps.named())?;
        let peers = self.endpoint.partners();
        let State { memory, known, news, .. } = &mut self.state;
        let (mut full, now) = (Vec::new(), now_units(monotonic_ns()));
        let new = || Cells { id: 0, lines: memory.lines(), ..Cells::default() };
        let mut part = new();
        let is_complete = news.scan(memory, now, |line, flow| {
            let Some(name) = known.live.name(flow.backend) else { return true };
            if part.push(name, entry(line, flow)) {
                return true;
            }
            full.push(std::mem::replace(&mut part, new()));
            full.len() < BURST_SIZE && part.push(name, entry(line, flow))
        });
        full.extend(Some(part).filter(|part| !part.cells.is_empty()));
        for cells in full {
            self.sent += cells.cells.len() as u64;
            let message = Message::Cells(cells);
            peers.iter().for_each(|peer| self.endpoint.send(*peer, &message));
        }
        Ok(is_complete)
    }

    /// Requests all flows of a peer.
    fn pull(&mut self, from: SocketAddr) {
        self.pulls.retain(|pull| pull.from != from);
        let number = self.endpoint.random().unwrap_or(1) as u32;
        self.pulls.push(Pull::new(from, number, [Item::Cells { line: 0 }]));
        self.lost.insert(from, self.endpoint.peers.get(&from).map_or(0, |one| one.session.lost()));
    }

    /// Requests all flows of a peer of which a datagram was lost, once nothing else is requested.
    fn check_lost(&mut self, from: SocketAddr) {
        let Some(peer) = self.endpoint.peers.get(&from) else { return };
        let known = self.lost.get(&from).copied().unwrap_or(0);
        let is_pulled = self.pulls.iter().any(|pull| pull.from == from);
        if peer.is_configured() && peer.session.lost() > known && !is_pulled {
            self.pull(from);
        }
    }

    /// Requests all flows again if some had backends that were unknown, and the services changed
    /// since: a peer that had the new file earlier does not send them a second time.
    fn check_unknown(&mut self) -> Result<()> {
        self.state.known.refresh(&self.state.maps.named())?;
        let now = (self.state.known.readings, self.tally.unknown);
        let (readings, unknown) = self.noticed;
        if now.0 == readings {
            return Ok(());
        }
        self.noticed = now;
        if now.1 > unknown {
            let partners = self.endpoint.partners();
            partners.into_iter().for_each(|peer| self.pull(peer));
        }
        Ok(())
    }

    fn request(&mut self, now: Instant) {
        for pull in &mut self.pulls {
            if let Some(message) = pull.request(now) {
                self.endpoint.send(pull.from, &message);
            }
        }
    }
}

fn named(counts: impl Iterator<Item = (&'static str, u64)>) -> BTreeMap<String, u64> {
    counts.map(|(what, count)| (what.to_owned(), count)).collect()
}

/// Time between two signs of life.
const HELLO: Duration = Duration::from_secs(1);
/// A peer that was not heard for this time is down.
const SILENCE: Duration = Duration::from_secs(3);
/// Time between two readings of all flows: this number of times as long as one takes, within
/// bounds.
const SHARE: u32 = 20;
const LEAST_SCAN: Duration = Duration::from_millis(50);
const MOST_SCAN: Duration = Duration::from_millis(500);
/// Datagrams of changes that are sent together, and the pause after them: four megabytes a second.
const BURST_SIZE: usize = 64;
const BURST: Duration = Duration::from_millis(20);
/// Datagrams with flows that are merged together.
const BATCH: usize = 256;

//! `Story`: a plan, a peer and a path, and the simulation that they result in.

use crate::tcp_sim::auditor::Auditor;
use crate::tcp_sim::connection::Manner;
use crate::tcp_sim::engine::Engine;
pub use crate::tcp_sim::engine::Plan;
use crate::tcp_sim::link::Link;
use crate::tcp_sim::peer::Peer;
use crate::tcp_sim::simulation::Simulation;
use crate::tcp_sim::{MS, SECOND, Time};

pub struct Story {
    plan: Plan,
    pub peer: Manner,
    pub keeps_logs: bool,
    /// A run that has not ended by this time has failed.
    pub limit: Time,
    there: Option<Link>,
    back: Option<Link>,
    sim: Option<Simulation<Engine>>,
}

/// Payload of a full segment over IPv4 with timestamps.
pub const FULL: u64 = 1448;

/// Payload of a full segment over IPv4 with this MSS.
pub fn payload(mss: u16, time: bool) -> u64 {
    u64::from(mss) - if time { 12 } else { 0 }
}

impl Story {
    /// A path of 2 ms from end to end, to a peer with the default behavior.
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            peer: Manner::default(),
            keeps_logs: true,
            limit: 600 * SECOND,
            there: None,
            back: None,
            sim: None,
        }
    }

    pub fn with_peer(self, peer: Manner) -> Self {
        Self { peer, ..self }
    }

    pub fn there(&mut self, link: Link) -> &mut Self {
        self.there = Some(link);
        self
    }

    pub fn back(&mut self, link: Link) -> &mut Self {
        self.back = Some(link);
        self
    }

    /// Creates the simulation, for tests that run it step by step.
    pub fn start(&mut self) {
        let there = self.there.take().unwrap_or_else(|| Link::new(MS));
        let back = self.back.take().unwrap_or_else(|| Link::new(MS));
        let peer = Peer::new(self.peer.clone());
        let mut sim = Simulation::new(Engine::new(&self.plan), there, back, peer);
        sim.keeps_logs = self.keeps_logs;
        self.sim = Some(sim);
    }

    /// Runs until every flow has ended.
    pub fn run(&mut self) -> &Simulation<Engine> {
        if self.sim.is_none() {
            self.start();
        }
        let limit = self.limit;
        let sim = self.sim();
        sim.run(limit);
        sim
    }

    /// Runs until every flow has ended, then for `longer`, or until the peer's connections have
    /// ended, too.
    pub fn run_on(&mut self, longer: Time) -> &Simulation<Engine> {
        self.run();
        let sim = self.sim();
        sim.run_while(sim.now + longer, |sim| {
            sim.peer.connections.values().any(|connection| !connection.is_over())
        });
        sim
    }

    pub fn sim(&mut self) -> &mut Simulation<Engine> {
        self.sim.as_mut().expect("started")
    }

    /// The only flow, after a run.
    pub fn flow(&self) -> &Auditor {
        self.ran().flow()
    }

    pub fn tell(&self) -> String {
        self.ran().tell()
    }

    pub fn ends(&self) -> Vec<(&'static str, u64)> {
        self.ran().sender.ends()
    }

    fn ran(&self) -> &Simulation<Engine> {
        self.sim.as_ref().expect("it ran")
    }
}

impl Simulation<Engine> {
    pub fn had_timeout(&self) -> bool {
        self.sender.totals().iter().any(|totals| totals.timeouts > 0)
    }
}

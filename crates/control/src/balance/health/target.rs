//! `Target`: a backend that is checked, with its check if one is under way.

use std::net::IpAddr;
use std::time::Duration;

use functions::balancer::health::{Check, Ends, Health, Outcome, Probe, Reason, Received, Step};
use functions::balancer::{Backend, Config, Service, wrap};
use packet::{EtherType, IpProtocol};
use sys::net::SilentPort;

use super::Means;
use super::way::Way;
use crate::error::{FunctionError, Result};

/// A backend that is checked.
#[derive(Debug)]
pub struct Target {
    pub backend: Backend,
    ends: Ends,
    /// Own port or identifier, and the port that is checked.
    ports: (u16, u16),
    protocol: IpProtocol,
    /// Keeps the kernel from answering in place of the check.
    _port: Option<SilentPort>,
    next_at: Duration,
    probe: Option<Probe>,
    /// Why no packet of the check was sent; `None` once one was.
    unsent: Option<Reason>,
}

/// Ports of this host for checks.
#[derive(Debug, Default)]
pub struct Ports {
    last: u16,
}

/// What is sent to a backend is made of.
pub struct Delivery<'a> {
    pub config: &'a Config,
    pub service: &'a Service,
    pub health: &'a Health,
}

impl Ports {
    /// The first port above those that Linux gives to connections by default.
    pub const FIRST: u16 = 61_000;

    /// The next number, of which each comes again after all others.
    fn next(&mut self) -> u16 {
        self.last =
            if (Self::FIRST..u16::MAX).contains(&self.last) { self.last + 1 } else { Self::FIRST };
        self.last
    }

    /// A port or identifier that `is_used` does not have.
    fn take(
        &mut self,
        protocol: IpProtocol,
        own: IpAddr,
        is_used: impl Fn(u16) -> bool,
    ) -> Result<(u16, Option<SilentPort>)> {
        for _ in Self::FIRST..=u16::MAX {
            let number = self.next();
            if is_used(number) {
                continue;
            }
            if protocol == IpProtocol::ICMP {
                return Ok((number, None));
            }
            if let Some(port) = SilentPort::take(protocol, own, number)? {
                return Ok((number, Some(port)));
            }
        }
        Err(FunctionError::NoCheckPort.into())
    }
}

impl Target {
    /// A backend whose first check begins then.
    pub fn new(
        backend: Backend,
        (health, ends, port): (&Health, Ends, u16),
        ports: &mut Ports,
        is_used: impl Fn(u8, u16) -> bool,
        next_at: Duration,
    ) -> Result<Self> {
        let protocol = match health.check {
            Check::Tcp | Check::Http(_) => IpProtocol::TCP,
            Check::Udp(_) => IpProtocol::UDP,
            Check::Icmp => IpProtocol::ICMP,
        };
        let (own, silent) = ports.take(protocol, ends.own, |number| is_used(protocol.0, number))?;
        let (probe, unsent, ports) = (None, None, (own, port));
        Ok(Self { backend, ends, ports, protocol, _port: silent, next_at, probe, unsent })
    }

    /// Protocol and number by which its packets are known.
    pub fn key(&self) -> (u8, u16) {
        (self.protocol.0, self.ports.0)
    }

    pub fn due(&self) -> Duration {
        self.probe.as_ref().map_or(self.next_at, Probe::due)
    }

    /// Begins the check that is due, or continues the one that is under way.
    pub fn tick(&mut self, delivery: &Delivery<'_>, means: &mut Means<'_>) -> Option<Outcome> {
        let now = means.now;
        if now < self.due() {
            return None;
        }
        let Some(probe) = &mut self.probe else {
            self.next_at = now + delivery.health.interval.0;
            let (health, token) = (delivery.health, means.tokens.next());
            let mut probe = Probe::new(health, self.ends, self.ports, token, now);
            let step = probe.tick(now);
            (self.probe, self.unsent) = (Some(probe), Some(Reason::NoNeighbour));
            return self.handle(step, delivery, means);
        };
        if now >= probe.deadline() && means.late > delivery.health.timeout.0 / 2 {
            // This process did not run: the time has no meaning.
            (self.probe, self.next_at) = (None, now);
            return None;
        }
        let step = probe.tick(now);
        self.handle(step, delivery, means)
    }

    /// A packet arrived that has its key.
    pub fn receive(
        &mut self,
        received: &Received<'_>,
        delivery: &Delivery<'_>,
        means: &mut Means<'_>,
    ) -> Option<Outcome> {
        let step = self.probe.as_mut()?.receive(received);
        self.handle(step, delivery, means)
    }

    fn handle(
        &mut self,
        step: Step,
        delivery: &Delivery<'_>,
        means: &mut Means<'_>,
    ) -> Option<Outcome> {
        let mut outcome = step.outcome;
        for packet in step.send {
            match means.ways.find(self.backend.address, means.now) {
                Way::Known(ifindex, mac) => {
                    let packet = wrap(delivery.config, delivery.service, &self.backend, &packet);
                    let is_ipv6 = packet.first().is_some_and(|byte| byte >> 4 == 6);
                    let kind = if is_ipv6 { EtherType::IPV6 } else { EtherType::IPV4 };
                    // What cannot be sent is lost, as on the network, and is sent again.
                    let is_sent = means.socket.send((ifindex, mac), kind, &packet).is_ok();
                    self.unsent =
                        self.unsent.and(if is_sent { None } else { Some(Reason::NotSent) });
                }
                Way::Resolving => {}
                Way::None => outcome = outcome.or(Some(Err(Reason::NoRoute))),
            }
        }
        if outcome.is_some() {
            self.probe = None;
        }
        match outcome {
            Some(Err(Reason::Timeout)) => Some(Err(self.unsent.unwrap_or(Reason::Timeout))),
            other => other,
        }
    }
}

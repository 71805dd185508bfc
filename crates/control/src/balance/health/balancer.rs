//! `CheckedBalancer`: the checks of one balancer, and how their results get into its maps.

use std::fs::File;
use std::net::IpAddr;
use std::time::Duration;

use functions::balancer::health::{Ends, Group, Health, Received, Transition};
use functions::balancer::{self, Config, Live, Out, Ports as ServicePorts, Service, State};
use sys::net::{Ifindex, Netlink};

use super::Means;
use super::detail::Details;
use super::event::{HealthEvent, HealthEventKind};
use super::target::{Delivery, Ports, Target};
use crate::Control;
use crate::balance::announce::{self, Announcements};
use crate::balance::{Running, source_to};
use crate::error::{FunctionError, Result, full};
use crate::record::Record;
use crate::target::Target as Interface;

/// A balancer whose backends are checked.
#[derive(Debug)]
pub struct CheckedBalancer {
    interface: String,
    ifindex: Ifindex,
    config: Config,
    /// The program that has the details.
    generation: Option<u64>,
    services: Vec<CheckedService>,
    changes: Changes,
    /// When what failed is tried again.
    retry_at: Option<Duration>,
    /// Events that are not reported yet.
    events: Vec<HealthEvent>,
    _claim: File,
}

/// What is not in the kernel yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Changes {
    /// Backends are out, or in use, that are not in the maps.
    table: bool,
    details: bool,
    /// Services may be announced that have no backend, or the reverse.
    routes: bool,
}

#[derive(Debug)]
struct CheckedService {
    service: Service,
    group: Group,
    targets: Vec<Target>,
}

impl CheckedBalancer {
    pub fn new(interface: String, ifindex: Ifindex, claim: File) -> Self {
        Self {
            interface,
            ifindex,
            config: Config::default(),
            generation: None,
            services: Vec::new(),
            changes: Changes::default(),
            retry_at: None,
            events: Vec::new(),
            _claim: claim,
        }
    }

    pub fn is_of(&self, interface: &str, ifindex: Ifindex) -> bool {
        (&*self.interface, self.ifindex) == (interface, ifindex)
    }

    /// Keys of the targets, with the numbers of their services and their own.
    pub fn keys(&self) -> impl Iterator<Item = ((u8, u16), usize, usize)> {
        self.services.iter().enumerate().flat_map(|(number, service)| {
            let targets = service.targets.iter().enumerate();
            targets.map(move |(at, target)| (target.key(), number, at))
        })
    }

    pub fn due(&self) -> Option<Duration> {
        let targets = self.services.iter().flat_map(|one| &one.targets).map(Target::due);
        targets.chain(self.retry_at).min()
    }

    /// Checks what the configuration has now.
    pub fn follow(
        &mut self,
        config: Config,
        running: &Running,
        ports: &mut Ports,
        now: Duration,
        log: &mut impl FnMut(&HealthEvent),
    ) -> Result<()> {
        let generation = Some(running.generation.number());
        if self.config == config && self.generation == generation {
            return Ok(());
        }
        let details = Details::read(&running.generation)?;
        let maps = running.maps()?;
        let out = Live::read(&maps.named())?.out(&config);
        let mut before = std::mem::take(&mut self.services);
        for service in config.services.iter().filter(|one| one.health.is_some()) {
            let Some(health) = &service.health else { continue };
            let known = before.iter().position(|one| one.service.name == service.name);
            let known = known.map(|at| before.swap_remove(at));
            let group = known.as_ref().map(|one| one.group.clone());
            let mut group = group.unwrap_or_else(|| Group::new(health.clone()));
            let backends = service.backends.iter().filter(|one| one.state != State::Down);
            group.follow(health, backends.map(|one| one.address), |backend| {
                let is_out = out.contains(&(service.name.clone(), backend));
                Some(details.member(&service.name, backend, is_out, now))
            });
            let targets = known.map(|one| one.targets).unwrap_or_default();
            let service = service.clone();
            self.services.push(CheckedService { service, group, targets: Vec::new() });
            self.targets(&config, targets, ports, now, log);
        }
        (self.config, self.generation) = (config, generation);
        // The maps may be of another program, which does not have what is out.
        self.changes = Changes { table: self.out() != out, details: true, routes: false };
        Ok(())
    }

    /// Makes the targets of the last service; those that it had and that did not change continue.
    fn targets(
        &mut self,
        config: &Config,
        mut before: Vec<Target>,
        ports: &mut Ports,
        now: Duration,
        log: &mut impl FnMut(&HealthEvent),
    ) {
        let used: Vec<_> = self.keys().map(|(key, ..)| key).collect();
        let Some(last) = self.services.last_mut() else { return };
        let same = self.config.services.iter().find(|one| one.name == last.service.name);
        let is_same = same.is_some_and(|one| {
            (&one.health, one.address, one.port)
                == (&last.service.health, last.service.address, last.service.port)
        }) && self.config.source == config.source;
        if !is_same {
            before.clear();
        }
        let Some(health) = &last.service.health else { return };
        let count = last.service.backends.len().max(1) as u32;
        for (number, backend) in (0_u32..).zip(&last.service.backends) {
            if backend.state == State::Down {
                continue;
            }
            let known = before.iter().position(|one| one.backend.address == backend.address);
            if let Some(at) = known {
                let mut target = before.swap_remove(at);
                target.backend = backend.clone();
                last.targets.push(target);
                continue;
            }
            let is_used = |protocol, number| {
                let key = (protocol, number);
                used.contains(&key) || last.targets.iter().any(|one| one.key() == key)
            };
            // The first checks are spread over an interval.
            let first_at = now + health.interval.0 * number / count;
            let target =
                ends(&last.service, health, backend.address, self.ifindex).and_then(|ends| {
                    let what = (health, ends, port(&last.service, health));
                    Target::new(backend.clone(), what, ports, is_used, first_at)
                });
            match target {
                Ok(target) => last.targets.push(target),
                Err(error) => log(&HealthEvent {
                    interface: self.interface.clone(),
                    service: Some(last.service.name.clone()),
                    backend: Some(backend.address),
                    event: HealthEventKind::NotChecked,
                    reason: full(&error),
                }),
            }
        }
    }

    /// Begins and continues checks.
    pub fn tick(&mut self, means: &mut Means<'_>) {
        for number in 0..self.services.len() {
            for at in 0..self.services[number].targets.len() {
                self.with_target((number, at), means, |target, delivery, means| {
                    target.tick(delivery, means)
                });
            }
        }
    }

    /// A packet arrived for a target of a service.
    pub fn receive(
        &mut self,
        place: (usize, usize),
        received: &Received<'_>,
        means: &mut Means<'_>,
    ) {
        self.with_target(place, means, |target, delivery, means| {
            target.receive(received, delivery, means)
        });
    }

    fn with_target(
        &mut self,
        (number, at): (usize, usize),
        means: &mut Means<'_>,
        act: impl FnOnce(
            &mut Target,
            &Delivery<'_>,
            &mut Means<'_>,
        ) -> Option<balancer::health::Outcome>,
    ) {
        let CheckedService { service, group, targets } = &mut self.services[number];
        let Some(health) = &service.health else { return };
        let delivery = Delivery { config: &self.config, service, health };
        let target = &mut targets[at];
        let Some(outcome) = act(target, &delivery, means) else { return };
        let backend = target.backend.address;
        let state = |group: &Group| group.members().get(&backend).map(|one| group.state(one));
        let before = state(group);
        let transitions = group.record(backend, outcome, means.now);
        self.changes.details |= !transitions.is_empty() || state(group) != before;
        for transition in transitions {
            let event = match transition {
                Transition::Known(_) => continue,
                Transition::Up(backend) => (Some(backend), HealthEventKind::Up, String::new()),
                Transition::Down(backend) => {
                    let reason = group.members().get(&backend).map(|one| one.reason.clone());
                    (Some(backend), HealthEventKind::Down, reason.unwrap_or_default())
                }
                Transition::Open { failing, of } => {
                    let reason = format!("{failing} of {of} backends fail");
                    (None, HealthEventKind::FailOpen, reason)
                }
                Transition::Closed => (None, HealthEventKind::FailClosed, String::new()),
            };
            let (backend, event, reason) = event;
            self.changes.table |= backend.is_some();
            let (interface, service) = (self.interface.clone(), Some(service.name.clone()));
            self.events.push(HealthEvent { interface, service, backend, event, reason });
        }
    }

    /// Backends that are out.
    fn out(&self) -> Out {
        let mut out = Out::new();
        for one in &self.services {
            let members = one.group.members().iter().filter(|(_, member)| member.is_out);
            out.extend(members.map(|(backend, _)| (one.service.name.clone(), *backend)));
        }
        out
    }

    /// Brings what changed into the kernel, and reports it.
    pub fn settle(&mut self, control: &Control, now: Duration, log: &mut impl FnMut(&HealthEvent)) {
        if self.retry_at.is_some_and(|at| now < at) || self.changes == Changes::default() {
            return;
        }
        match self.apply(control, log) {
            Ok(()) => (self.changes, self.retry_at) = (Changes::default(), None),
            Err(error) => {
                if self.retry_at.is_none() {
                    log(&HealthEvent {
                        interface: self.interface.clone(),
                        service: None,
                        backend: None,
                        event: HealthEventKind::NotApplied,
                        reason: full(&error),
                    });
                }
                self.retry_at = Some(now + RETRY);
            }
        }
    }

    /// Reports routes that changed with the health of backends.
    fn report(&self, changed: &Announcements, log: &mut impl FnMut(&HealthEvent)) {
        let Announcements { announced, withdrawn } = changed;
        let announced = announced.iter().map(|one| (one, HealthEventKind::Announced));
        let withdrawn = withdrawn.iter().map(|one| (one, HealthEventKind::Withdrawn));
        for (route, event) in announced.chain(withdrawn) {
            log(&HealthEvent {
                interface: self.interface.clone(),
                service: None,
                backend: None,
                event,
                reason: announce::text(route),
            });
        }
    }

    fn apply(&mut self, control: &Control, log: &mut impl FnMut(&HealthEvent)) -> Result<()> {
        let interface = Interface::open(control, &self.interface)?;
        let running = Running::find(&interface.slot, interface.ifindex)?
            .ok_or_else(|| FunctionError::NoBalancer { interface: self.interface.clone() })?;
        if self.changes.table || self.changes.details {
            self.apply_health(&running)?;
            let routes = self.config.announce.is_some();
            self.changes = Changes { routes, ..Changes::default() };
            self.events.drain(..).for_each(|event| log(&event));
        }
        if self.changes.routes {
            self.report(&announce::settle(control)?, log);
        }
        Ok(())
    }

    fn apply_health(&self, running: &Running) -> Result<()> {
        if self.changes.table {
            let config = Record::read(&running.generation)?.and_then(|one| one.balance);
            let config = config.unwrap_or_default();
            let maps = running.maps()?;
            let mut out = self.out();
            // What is not checked remains as it is, such as a backend that is configured down.
            let mut others = Live::read(&maps.named())?.out(&config);
            others.retain(|one| !self.is_checked(one));
            out.extend(others);
            balancer::take_out(&config, &maps.named(), out)?;
        }
        let mut details = Details::default();
        self.services.iter().for_each(|one| details.add(&one.service.name, &one.group));
        details.replace(&running.generation)
    }

    fn is_checked(&self, (service, backend): &(String, IpAddr)) -> bool {
        let mut services = self.services.iter().filter(|one| one.service.name == *service);
        services.any(|one| one.group.members().contains_key(backend))
    }
}

/// The port that is checked; 0 for one without ports.
fn port(service: &Service, health: &Health) -> u16 {
    let own = match service.port {
        ServicePorts::Range(first, _) => first,
        ServicePorts::Any => 0,
    };
    health.port.unwrap_or(own)
}

/// The addresses of the checks of a backend.
fn ends(service: &Service, health: &Health, backend: IpAddr, ifindex: Ifindex) -> Result<Ends> {
    let to = health.address.unwrap_or_else(|| service.address.0.address());
    let no_source = |reason: String| FunctionError::NoCheckSource { service: to, reason };
    let own = match health.source {
        Some(own) => own,
        None if backend.is_ipv4() == to.is_ipv4() => {
            source_to(backend).map_err(|error| no_source(error.to_string()))?
        }
        None => own_address(to, ifindex)?
            .ok_or_else(|| no_source("the interface has no address of its family".to_owned()))?,
    };
    if own == to {
        return Err(no_source(format!("{own} is the service's own")).into());
    }
    Ok(Ends { own, service: to })
}

/// An address of this host of the family of a service: that which it would use, or the interface's.
fn own_address(to: IpAddr, ifindex: Ifindex) -> Result<Option<IpAddr>> {
    if let Some(own) = source_to(to).ok().filter(|own| *own != to) {
        return Ok(Some(own));
    }
    let is_local = |ip: IpAddr| matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
    let mut all = Netlink::open()?.addresses()?.into_iter().filter(|one| one.ifindex == ifindex);
    let found =
        all.find(|one| one.ip.is_ipv4() == to.is_ipv4() && one.ip != to && !is_local(one.ip));
    Ok(found.map(|one| one.ip))
}

/// Time before what failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

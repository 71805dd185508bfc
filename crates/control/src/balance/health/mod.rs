//! Health checks of the balancers of this namespace: `Checker` runs them, and takes backends out.
//!
//! ```text
//!  record of a balancer ─▶ targets ─▶ checks ─▶ packets in the tunnel of each backend ─▶ network
//!                                       ▲                                                  │
//!  maps and details ◀── transitions ◀───┴──────────── answers, by own port ◀───────────────┘
//! ```
//!
//! Answers come straight from the backend, from the address of the service to that of this host. A
//! packet socket sees them before routing, reverse path filters and firewalls of this host do; a
//! `SilentPort` keeps the kernel from resetting the connections.
//!
//! Rule: whether a backend is out is in the balancer's map of backends, beside its configured
//! state, which is not changed. So it survives this process, other files of services and a restart;
//! what a report has beyond that is in a map of details. There is no thread: the caller waits for
//! [`Checker::fd`] and [`Checker::due`] and calls [`Checker::step`].

mod balancer;
mod detail;
mod event;
mod target;
mod way;

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Duration;

use functions::balancer::health::Received;
use sys::cap::Cap;
use sys::errno::EPERM;
use sys::net::CookedSocket;
use sys::netns::NetNs;
use sys::thread::monotonic_ns;

use self::balancer::CheckedBalancer;
use self::target::Ports;
use self::way::Ways;
use super::{Running, announce, balancers};
use crate::Control;
use crate::error::{Error, FunctionError, Result};
use crate::record::Record;
use crate::state::State;
use crate::target::Target as Interface;

pub use detail::{Detail, Details};
pub use event::{HealthEvent, HealthEventKind};

/// Checks of the backends of one balancer, or of all in this namespace.
#[derive(Debug)]
pub struct Checker {
    control: Control,
    /// Name of the only interface.
    only: Option<String>,
    socket: CookedSocket,
    is_listening: bool,
    ways: Ways,
    ports: Ports,
    tokens: Tokens,
    balancers: Vec<CheckedBalancer>,
    /// Which target has a key: balancer, service, backend.
    targets: BTreeMap<Key, [usize; 3]>,
    follow_at: Duration,
    /// When the next step was due after the last one.
    expected_at: Duration,
}

/// Protocol, and own port or identifier.
type Key = (u8, u16);

/// Numbers that no peer can guess.
#[derive(Debug, Default)]
struct Tokens {
    secret: RandomState,
    count: u64,
}

/// What a step needs of the checker, beside the targets.
struct Means<'a> {
    socket: &'a CookedSocket,
    ways: &'a mut Ways,
    tokens: &'a mut Tokens,
    now: Duration,
    /// How much too late the step is.
    late: Duration,
}

impl Checker {
    /// Opens the sockets. `CAP_NET_RAW` is needed for that, and not afterwards.
    ///
    /// # Errors
    /// The right is missing.
    pub fn open(control: &Control, only: Option<&str>) -> Result<Self> {
        Ok(Self {
            control: control.clone(),
            only: only.map(str::to_owned),
            socket: CookedSocket::open().map_err(denied)?,
            is_listening: false,
            ways: Ways::open()?,
            ports: Ports::default(),
            tokens: Tokens::default(),
            balancers: Vec::new(),
            targets: BTreeMap::new(),
            follow_at: Duration::ZERO,
            expected_at: Duration::MAX,
        })
    }

    /// Finds the balancer of an interface, and proves that results can be applied.
    ///
    /// # Errors
    /// None runs there, it checks no backends, another process checks them, or rights are missing.
    pub fn require(&mut self, interface: &str) -> Result<()> {
        let Some((name, running)) =
            balancers(&self.control)?.into_iter().find(|one| one.0 == interface)
        else {
            return Err(FunctionError::NoBalancer { interface: interface.to_owned() }.into());
        };
        if !is_checked(&running) {
            return Err(FunctionError::NoHealth { interface: name }.into());
        }
        let netns = NetNs::current()?.id()?;
        if let Err(holder) = State::claim(&self.control, netns, running.ifindex, CLAIM)? {
            return Err(FunctionError::Checked { interface: name, holder }.into());
        }
        let _lock = Interface::open(&self.control, interface)?;
        Details::read(&running.generation)?.replace(&running.generation)?;
        announce::require(&running)
    }

    /// What becomes readable when answers arrive.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Time until the next step.
    #[must_use]
    pub fn due(&self) -> Duration {
        self.expected_at().saturating_sub(now())
    }

    fn expected_at(&self) -> Duration {
        let due = self.balancers.iter().filter_map(CheckedBalancer::due).min();
        due.map_or(self.follow_at, |due| due.min(self.follow_at))
    }

    /// Reads what arrived, sends what is due, and applies what follows.
    ///
    /// # Errors
    /// The sockets failed.
    pub fn step(&mut self, mut log: impl FnMut(&HealthEvent)) -> Result<()> {
        let now = now();
        if now >= self.follow_at {
            self.follow_at = now + FOLLOW;
            // What fails, because an interface vanishes meanwhile, succeeds the next time.
            let _ = self.follow(now, &mut log);
        }
        self.receive(now)?;
        let late = now.saturating_sub(self.expected_at);
        let (socket, ways, tokens) = (&self.socket, &mut self.ways, &mut self.tokens);
        let mut means = Means { socket, ways, tokens, now, late };
        for balancer in &mut self.balancers {
            balancer.tick(&mut means);
            balancer.settle(&self.control, now, &mut log);
        }
        self.expected_at = self.expected_at();
        Ok(())
    }

    /// Reads which balancers there are, and what they check.
    fn follow(&mut self, now: Duration, log: &mut impl FnMut(&HealthEvent)) -> Result<()> {
        let netns = NetNs::current()?.id()?;
        let mut before = std::mem::take(&mut self.balancers);
        let is_meant = |name: &str| self.only.as_deref().is_none_or(|only| only == name);
        for (name, running) in balancers(&self.control)?.into_iter().filter(|one| is_meant(&one.0))
        {
            let config = Record::read(&running.generation)?.and_then(|one| one.balance);
            let config = config.unwrap_or_default();
            if config.services.iter().all(|one| one.health.is_none()) {
                continue;
            }
            let known = before.iter().position(|one| one.is_of(&name, running.ifindex));
            let mut one = match known {
                Some(at) => before.swap_remove(at),
                None => {
                    let claim = State::claim(&self.control, netns, running.ifindex, CLAIM)?;
                    // Another process checks them.
                    let Ok(claim) = claim else { continue };
                    CheckedBalancer::new(name, running.ifindex, claim)
                }
            };
            let outcome = one.follow(config, &running, &mut self.ports, now, log);
            self.balancers.push(one);
            outcome?;
        }
        self.targets = targets(&self.balancers);
        self.ways.forget(now);
        if !self.is_listening && !self.targets.is_empty() {
            self.socket.listen(&FILTER)?;
            self.is_listening = true;
        }
        Ok(())
    }

    fn receive(&mut self, now: Duration) -> Result<()> {
        let mut packet = Vec::new();
        for _ in 0..MOST_PACKETS {
            if !self.socket.receive(&mut packet)? {
                break;
            }
            let Some(received) = Received::read(&packet) else { continue };
            let Some((protocol, number)) = received.key() else { continue };
            let Some([balancer, service, target]) = self.targets.get(&(protocol.0, number)) else {
                continue;
            };
            let (socket, ways, tokens) = (&self.socket, &mut self.ways, &mut self.tokens);
            let mut means = Means { socket, ways, tokens, now, late: Duration::ZERO };
            self.balancers[*balancer].receive((*service, *target), &received, &mut means);
        }
        Ok(())
    }
}

/// Whether a balancer of this namespace has backends to check.
#[must_use]
pub fn is_wanted(control: &Control) -> bool {
    balancers(control).is_ok_and(|all| all.iter().any(|(_, running)| is_checked(running)))
}

/// Whether a balancer has backends to check.
fn is_checked(running: &Running) -> bool {
    let record = Record::read(&running.generation).ok().flatten();
    let config = record.and_then(|one| one.balance).unwrap_or_default();
    config.services.iter().any(|one| one.health.is_some())
}

impl Tokens {
    fn next(&mut self) -> u64 {
        self.count += 1;
        self.secret.hash_one(self.count)
    }
}

/// The targets of all balancers by their keys.
fn targets(balancers: &[CheckedBalancer]) -> BTreeMap<Key, [usize; 3]> {
    let mut targets = BTreeMap::new();
    for (number, balancer) in balancers.iter().enumerate() {
        for (key, service, target) in balancer.keys() {
            targets.insert(key, [number, service, target]);
        }
    }
    targets
}

/// Time on the monotonic clock, which all processes share.
fn now() -> Duration {
    Duration::from_nanos(monotonic_ns())
}

/// Names the capability that a packet socket needs.
fn denied(error: sys::Error) -> Error {
    match error.is(EPERM) {
        true => {
            Error::MissingCapabilities { missing: vec![Cap::NetRaw], cause: Box::new(error.into()) }
        }
        false => error.into(),
    }
}

/// Purpose of the claim on an interface.
const CLAIM: &str = "health";
/// Time between two readings of the balancers.
const FOLLOW: Duration = Duration::from_secs(1);
/// Packets that are read in a step; the rest waits for the next one.
const MOST_PACKETS: usize = 4096;
/// Passes ICMP, and TCP and UDP to ports from [`Ports::FIRST`] on. Packets begin with the IP
/// header.
const FILTER: [(u16, u8, u8, u32); 19] = [
    (LOAD_BYTE, 0, 0, 0),
    (AND, 0, 0, 0xf0),
    (EQUAL, 0, 9, 0x40),
    (LOAD_BYTE, 0, 0, 9),
    (EQUAL, 13, 0, 1),
    (EQUAL, 1, 0, 6),
    (EQUAL, 0, 10, 17),
    (LOAD_HALF, 0, 0, 6),
    (SET, 8, 0, 0x1fff),
    (LOAD_HEADER, 0, 0, 0),
    (LOAD_HALF_AFTER, 0, 0, 2),
    (JUMP, 0, 0, 4),
    (EQUAL, 0, 4, 0x60),
    (LOAD_BYTE, 0, 0, 6),
    (EQUAL, 3, 0, 58),
    (LOAD_HALF, 0, 0, 42),
    (AT_LEAST, 1, 0, Ports::FIRST as u32),
    (RETURN, 0, 0, 0),
    (RETURN, 0, 0, u32::MAX),
];
/// Instructions of classic BPF (include/uapi/linux/bpf_common.h).
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF: u16 = 0x28;
const LOAD_HALF_AFTER: u16 = 0x48;
/// X becomes the length of the IPv4 header at this offset.
const LOAD_HEADER: u16 = 0xb1;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const SET: u16 = 0x45;
const RETURN: u16 = 0x06;

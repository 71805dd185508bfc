//! Keeps the routers' memory of routes valid: follows the kernel's changes, and informs running
//! programs of them.
//!
//! Each program asks the kernel again after a change, and remembers packets by those fields only
//! that the present rules and routes inspect. While nothing follows, they remember by all fields
//! and ask again at each tick of the kernel's clock (`bpf/route/memory.h`). So the data path does
//! not depend on this process: if it is killed, programs do not trust it after [`TRUST`].
//!
//! Rule: fields are in a map before the generation that they belong to, because a program reads
//! them only when the generation changes.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use functions::route::abi::{self, Fields};
use functions::route::{self, Ignored};
use kernel::Map;
use spec::{Expect, Map as _};
use sys::net::{Deciding, Link, Netlink, RouteEvents};
use sys::netns::{NetNs, NetNsId};
use sys::thread::monotonic_ns;

use crate::Control;
use crate::error::Result;
use crate::route::hops::Hops;
use crate::route::host::{of_lookup, own_addresses};
use crate::route::neighbours::NextHops;
use crate::route::{LivePorts, router};
use crate::state::State;

/// Follows the routes of a network namespace for the routers that run in it.
#[derive(Debug)]
pub struct Follower {
    control: Control,
    netns: NetNsId,
    /// Listens only while there are routers: reading a full table takes seconds.
    events: RouteEvents,
    routers: Vec<Router>,
    next_hops: NextHops,
    scan_at: Instant,
    beat_at: Instant,
    synchronize_at: Instant,
    synchronizations: u64,
}

/// Programs that share a memory.
#[derive(Debug)]
struct Router {
    /// The map through which it is kept valid.
    map: Map,
    written: abi::Control,
    own: Map,
    ports: LivePorts,
    hops: Option<Hops>,
}

/// Maps of a router that runs.
struct Found {
    control: Map,
    own: Map,
    ports: LivePorts,
    hops: Option<Hops>,
}

impl Follower {
    /// Begins to follow the namespace of the calling thread, which all later calls must be in. The
    /// capability to enlarge the buffer of events (`CAP_NET_ADMIN`) is only needed here.
    ///
    /// # Errors
    /// The namespace cannot be identified, or there is no socket.
    pub fn new(control: &Control) -> Result<Self> {
        let now = Instant::now();
        Ok(Self {
            control: control.clone(),
            netns: NetNs::current()?.id()?,
            events: RouteEvents::open()?,
            routers: Vec::new(),
            next_hops: NextHops::default(),
            scan_at: now,
            beat_at: now,
            synchronize_at: now,
            synchronizations: 0,
        })
    }

    /// Readable when something changed; `None` while there are no routers.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.events.is_listening().then(|| self.events.fd())
    }

    /// Time of the next step without a change.
    #[must_use]
    pub fn due(&self) -> Instant {
        match self.routers.is_empty() {
            true => self.scan_at,
            false => self.scan_at.min(self.beat_at),
        }
    }

    /// Number of routers that are followed.
    #[must_use]
    pub fn routers(&self) -> usize {
        self.routers.len()
    }

    /// How often all rules and routes were read: once, and after each loss of events.
    #[must_use]
    pub fn synchronizations(&self) -> u64 {
        self.synchronizations
    }

    /// Takes changes, informs the programs of them, and finds programs that were attached or
    /// detached. To be called when [`Self::fd`] is readable and at [`Self::due`].
    ///
    /// # Errors
    /// Changes cannot be read any more. Programs then do not trust the follower for long.
    pub fn step(&mut self) -> Result<()> {
        let now = Instant::now();
        if self.scan_at <= now {
            // An interface may vanish meanwhile: the next search finds what there is.
            if let Ok(found) = self.scan() {
                self.keep(found);
                // A router that ends meanwhile sends nothing more.
                let _ = self.refresh();
            }
            self.scan_at = now + SCAN;
            self.listen()?;
        }
        let events = &mut self.events;
        if !events.is_listening() {
            return Ok(());
        }
        let has_changed = events.take()?;
        if events.is_incomplete() && self.synchronize_at <= now {
            events.synchronize()?;
            self.synchronize_at = now + SYNCHRONIZE;
            self.synchronizations += 1;
        }
        let (links_changed, deciding) = (events.take_links(), events.deciding());
        let trust = if events.is_behind() { Duration::ZERO } else { TRUST };
        if links_changed {
            self.update_ports();
        }
        if has_changed || self.beat_at <= now {
            let fields = deciding.map_or(EVERYTHING, fields);
            self.tell((fields, deciding.map(of_lookup)), has_changed, trust);
            self.beat_at = now + BEAT;
        }
        Ok(())
    }

    /// Has the kernel confirm the next hops that were used.
    fn refresh(&mut self) -> Result<()> {
        let mut sent = BTreeMap::new();
        for hops in self.routers.iter().filter_map(|router| router.hops.as_ref()) {
            for (hop, count) in hops.sent()? {
                let Some(hop) = hop else { continue };
                *sent.entry(hop).or_default() += count.packets;
            }
        }
        self.next_hops.refresh(sent)
    }

    /// Receives changes while there are routers, and not otherwise.
    fn listen(&mut self) -> Result<()> {
        match (self.routers.is_empty(), self.events.is_listening()) {
            (true, true) => self.events.pause()?,
            (false, false) => {
                self.events.listen()?;
                self.synchronizations += 1;
            }
            _ => {}
        }
        Ok(())
    }

    /// Makes ports of VLAN devices and bonds, what errors state about ports, and addresses those
    /// that exist now. What fails, because interfaces change meanwhile, causes another event.
    fn update_ports(&self) {
        let found = Netlink::open().and_then(|mut one| Ok((one.links()?, one.addresses()?)));
        let Ok((links, addresses)) = found else { return };
        let own = own_addresses(&addresses);
        for router in &self.routers {
            let _ = router.ports.update(&links, &addresses);
            let _ = route::set_own(&router.own, &own);
        }
    }

    /// A router whose map cannot be written is not followed any more, until it is found again.
    fn tell(&mut self, deciding: (Fields, Option<Ignored>), has_changed: bool, trust: Duration) {
        self.routers.retain_mut(|router| router.tell(deciding, has_changed, trust).is_ok());
    }

    /// Finds the maps of the namespace's routers, each once.
    fn scan(&self) -> Result<Vec<Found>> {
        let state = State::read(&self.control)?;
        let mut found: Vec<Found> = Vec::new();
        for link in Netlink::open()?.links()? {
            for one in controls(&state, self.netns, &link)? {
                if found.iter().all(|known| known.id() != one.id()) {
                    found.push(one);
                }
            }
        }
        Ok(found)
    }

    /// Continues with those that were known, and begins with the others.
    fn keep(&mut self, found: Vec<Found>) {
        let mut known = std::mem::take(&mut self.routers);
        let mut any_new = false;
        for one in found {
            let place = known.iter().position(|known| known.map.info().id == one.id());
            self.routers.extend(match place {
                Some(number) => Some(known.swap_remove(number)),
                None => {
                    any_new = true;
                    Router::new(one).ok()
                }
            });
        }
        if any_new {
            self.update_ports();
        }
    }
}

impl Found {
    fn id(&self) -> u32 {
        self.control.info().id
    }
}

impl Router {
    fn new(Found { control: map, own, ports, hops }: Found) -> Result<Self> {
        let bytes = map.lookup(&ONLY)?.unwrap_or_default();
        let written = bytes.first_chunk().map(abi::Control::from_bytes).unwrap_or_default();
        // Nothing that was remembered before was by these fields. No change was read yet.
        let mut router = Self { map, written, own, ports, hops };
        router.tell((EVERYTHING, None), true, Duration::ZERO)?;
        Ok(router)
    }

    /// Informs the program, which trusts this for a time: not at all while changes wait that were
    /// not read yet, so that a change takes effect within a tick then. What is not known yet
    /// remains what it was.
    fn tell(
        &mut self,
        (fields, ignored): (Fields, Option<Ignored>),
        has_changed: bool,
        trust: Duration,
    ) -> Result<()> {
        let mut next = abi::Control { fields, ..self.written };
        next = ignored.map_or(next, |known| known.within(next));
        let is_same = next == self.written;
        if !is_same {
            // No process vouches for the old generation meanwhile.
            next.valid_until = 0;
            self.write(next)?;
        }
        if has_changed || !is_same {
            next.generation += 1;
        }
        next.valid_until = monotonic_ns() + trust.as_nanos() as u64;
        self.write(next)?;
        self.written = next;
        Ok(())
    }

    fn write(&self, control: abi::Control) -> Result<()> {
        Ok(self.map.update(&ONLY, &control.to_bytes(), Expect::Any)?)
    }
}

/// The maps through which the memory of an interface's routers is kept valid.
fn controls(state: &State, netns: NetNsId, link: &Link) -> Result<Vec<Found>> {
    let slot = state.slot(netns, link.ifindex);
    let mut maps = Vec::new();
    for (_mode, program) in link.xdp.programs() {
        if let Some((generation, _)) = router(&slot, program)? {
            let (control, own) = (generation.map(route::CONTROL)?, generation.map(route::OWN)?);
            let (ports, hops) = (LivePorts::open(&generation)?, Hops::of(&generation)?);
            maps.push(Found { control, own, ports, hops });
        }
    }
    Ok(maps)
}

/// The fields by which packets must be distinguished.
fn fields(deciding: Deciding) -> Fields {
    let mut fields = Fields::default();
    if deciding.by_source {
        fields.source = u64::MAX;
    }
    if deciding.by_service {
        (fields.label, fields.tos) = ([u8::MAX; 4], u32::MAX);
    }
    if deciding.by_ports {
        (fields.ports, fields.protocol) = ([u8::MAX; 4], u32::MAX);
    }
    if deciding.has_several_hops {
        (fields.source, fields.protocol) = (u64::MAX, u32::MAX);
        fields.label = [u8::MAX; 4];
        // Policy 0 hashes addresses (IPv6: and the flow label), 1 also ports, others more.
        if POLICIES.iter().any(|path| setting(path) != Some(0)) {
            fields.ports = [u8::MAX; 4];
        }
    }
    fields
}

/// A setting of the namespace below `/proc/sys/net`.
fn setting(path: &str) -> Option<u32> {
    NetNs::current().ok()?.sysctl(path).ok()?.trim().parse().ok()
}

const ONLY: [u8; 4] = [0; 4];
/// All fields, while it is not known what rules and routes inspect.
const EVERYTHING: Fields = Fields {
    source: u64::MAX,
    ports: [u8::MAX; 4],
    label: [u8::MAX; 4],
    protocol: u32::MAX,
    tos: u32::MAX,
};
const POLICIES: [&str; 2] = ["ipv4/fib_multipath_hash_policy", "ipv6/fib_multipath_hash_policy"];
/// How long a program trusts the last sign of life.
const TRUST: Duration = Duration::from_millis(200);
/// Time between signs of life.
const BEAT: Duration = Duration::from_millis(50);
/// Time between searches for routers.
const SCAN: Duration = Duration::from_secs(1);
/// Time between two readings of all routes, which take longer the more there are.
const SYNCHRONIZE: Duration = Duration::from_secs(1);

//! `RouteTracer`: why a router does what it does with a packet.
//!
//! Rule: the verdict is that of the program that runs, found by a second copy of it which has its
//! constants, translations and ports, but counters and a memory of its own: it asks the kernel
//! about each packet, and changes nothing. It runs in the kernel or the engine. Its reasons
//! are the kernel's, found by the same request as `ip route get … fibmatch`.

mod engine;
mod steps;

use std::net::IpAddr;

use functions::route::{self, abi};
use functions::stats::{self, Stats};
use kernel::{LoadOptions, Object, TestRun};
use packet::Mac;
use serde::Serialize;
use spec::{Expect, Input, Map as _, Spec, Verdict};
use sys::errno::{EACCES, EPERM};
use sys::net::{Link, Netlink};

use super::NAME;
use super::report::{routers, vlan_of};
use crate::Control;
use crate::composition::link;
use crate::error::{Error, FunctionError, Malformed, Result};
use crate::notice::Notice;
use crate::record::Record;
use crate::state::Generation;
use crate::target::find_link;
use engine::EngineRouter;
use steps::Step;

/// Why a packet is forwarded, or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RouteExplanation {
    /// Number of the packet in its capture, from 1.
    pub n: u64,
    /// Interface that it arrives at.
    pub ingress: String,
    /// Verdict of the program: `redirect` for a packet that is forwarded.
    pub verdict: &'static str,
    /// Interface that it leaves through; `null` if it is not forwarded.
    pub port: Option<String>,
    /// VLAN that it leaves with; `null` for a frame without a tag.
    pub vlan: Option<u16>,
    /// Address of the next hop that the kernel selects for it; `null` if there is none.
    pub next_hop: Option<IpAddr>,
    /// Reason under which the program counts it.
    pub reason: String,
    /// What led to the verdict, in order.
    pub steps: Vec<Step>,
}

/// How packets are traced.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceOptions {
    /// Run the program in the engine, which needs no privileges; otherwise that is done where the
    /// kernel does not permit to run it.
    pub engine: bool,
    /// Firewall mark that the kernel's rules see. The program's packets have none.
    pub mark: u32,
}

/// A copy of a router's program, to run packets through.
#[derive(Debug)]
pub struct RouteTracer {
    link: Link,
    router: Router,
    links: Vec<Link>,
    mark: u32,
}

#[derive(Debug)]
enum Router {
    Kernel(KernelRouter),
    Engine(Box<EngineRouter>),
}

/// A copy in the kernel.
#[derive(Debug)]
struct KernelRouter {
    twin: Object,
    labels: Vec<String>,
    /// What the copy counted so far.
    seen: Stats,
}

/// What a program did with a packet.
#[derive(Debug)]
struct Ran {
    verdict: Verdict,
    packet: Vec<u8>,
    reason: String,
    /// The port that it sent the packet through.
    port: Option<abi::Port>,
}

impl Ran {
    /// Whether it sent an ICMP error in place of the packet.
    fn answers(&self) -> bool {
        self.reason.starts_with(steps::ANSWERED)
    }
}

/// The interface of a router that a frame is for: the one that has its destination address. Where
/// routers cannot be read, all interfaces are theirs.
///
/// # Errors
/// No router has a port with this address.
pub fn ingress_of(control: &Control, frame: &[u8], options: TraceOptions) -> Result<String> {
    let to = frame.first_chunk().copied().map(Mac);
    let links = Netlink::open()?.links()?;
    let interfaces: Vec<String> = match super::show(control) {
        Ok(report) if !report.ports.is_empty() || !options.engine => {
            report.ports.into_iter().map(|port| port.name).collect()
        }
        _ => links.iter().map(|link| link.name.clone()).collect(),
    };
    let mut ports = links.iter().filter(|link| interfaces.contains(&link.name));
    let port = ports.find(|link| to.is_some() && link.mac == to);
    let to = to.map_or_else(|| "nothing".to_owned(), |mac| mac.to_string());
    Ok(port.map(|link| link.name.clone()).ok_or(FunctionError::NoIngress { to, interfaces })?)
}

impl RouteTracer {
    /// Loads a copy of the router that runs on an interface, into the kernel or into the engine.
    ///
    /// # Errors
    /// None runs there, it is of another version, or the copy is refused.
    pub fn begin(control: &Control, interface: &str, options: TraceOptions) -> Result<Self> {
        let link = find_link(interface)?;
        let links = Netlink::open()?.links()?;
        let kernel = match options.engine {
            true => None,
            false => match KernelRouter::new(control, &link) {
                Err(error) if is_denied(&error) => {
                    control.notify(&Notice::EngineDecides(error.to_string()));
                    None
                }
                other => Some(other?),
            },
        };
        let router = match kernel {
            Some(kernel) => Router::Kernel(kernel),
            None => Router::Engine(Box::new(EngineRouter::new(control, &link, &links)?)),
        };
        Ok(Self { link, router, links, mark: options.mark })
    }

    /// Runs a frame through the program, and asks the kernel why.
    ///
    /// # Errors
    /// The frame cannot be run: it is shorter than an Ethernet header, or longer than a page.
    pub fn explain(&mut self, n: u64, frame: &[u8]) -> Result<RouteExplanation> {
        let ran = match &mut self.router {
            Router::Kernel(kernel) => kernel.run(frame, &self.link)?,
            Router::Engine(engine) => engine.run(frame, &self.link)?,
        };
        let Ran { verdict, packet, reason, port } = ran;
        let name = |port: &abi::Port| {
            let link = self.links.iter().find(|link| link.ifindex.0 == port.ifindex);
            link.map(|link| link.name.clone())
        };
        let (verdict, at) = (verdict.name(), (&self.link, self.mark));
        let explained = steps::explain((verdict, &reason), [frame, &packet], at, &self.links)?;
        Ok(RouteExplanation {
            n,
            ingress: self.link.name.clone(),
            verdict,
            port: port.as_ref().and_then(name),
            vlan: port.as_ref().and_then(vlan_of),
            next_hop: explained.next_hop,
            reason,
            steps: explained.steps,
        })
    }
}

impl KernelRouter {
    fn new(control: &Control, link: &Link) -> Result<Self> {
        let mut routers = routers(control)?.into_iter();
        let router = routers.find(|(other, _)| other.ifindex == link.ifindex);
        let no_router = || FunctionError::NoRouter { interface: link.name.clone() };
        let (_, router) = router.ok_or_else(no_router)?;
        let (twin, labels) = twin(&router)?;
        Ok(Self { twin, labels, seen: Stats::default() })
    }

    fn run(&mut self, frame: &[u8], link: &Link) -> Result<Ran> {
        let (packet, ingress_ifindex) = (frame.to_vec(), link.ifindex.0);
        let input = Input { packet, ingress_ifindex, ..Input::default() };
        let run = TestRun { input, repeat: 1, cpu: None };
        let sent_before = self.sent()?;
        let outcome = self.twin.program(route::PROGRAM)?.run(&run)?;
        let now = Stats::read(self.twin.map(stats::MAP)?, &self.labels)?;
        let moved = now.since(&self.seen);
        self.seen = now;
        let reason = moved.rows.first().map(|row| row.reason.clone()).unwrap_or_default();
        let mut sent = self.sent()?.into_iter();
        let hop = sent.find(|hop| !sent_before.contains(hop)).and_then(|sent| sent.hop);
        let port = hop.map_or(Ok(None), |(port, ..)| self.port(port))?;
        Ok(Ran { verdict: outcome.verdict(), packet: outcome.packet, reason, port })
    }

    fn sent(&self) -> Result<Vec<route::SentTo>> {
        Ok(route::sent(self.twin.map(route::HOPS)?, self.twin.map(route::HOP_COUNTS)?)?)
    }

    fn port(&self, number: u32) -> Result<Option<abi::Port>> {
        let bytes = self.twin.map(route::PORTS)?.lookup(&number.to_ne_bytes())?;
        let port = bytes.as_deref().and_then(|bytes| bytes.first_chunk());
        Ok(port.map(abi::Port::from_bytes))
    }
}

/// Whether this process lacks privileges for the kernel's copy.
fn is_denied(error: &Error) -> bool {
    let denied = matches!(error, Error::UnreadableState { .. } | Error::MissingCapabilities { .. });
    denied || matches!(error.errno(), Some(EPERM | EACCES))
}

/// Maps that the copy of a program has in common with it, because it only reads them.
const SHARED: [&str; 9] = [
    route::NAT4,
    route::NAT6,
    route::TRANSLATES,
    route::TX,
    route::INDEX,
    route::TAGGED,
    route::OWN,
    route::CONTROL,
    route::EXTENSIONS,
];

/// Makes a copy remember nothing, and know its port by the interface of each run.
fn set_apart(spec: &mut Spec) -> Result<()> {
    spec.set_global("route_remembers", &0_u32.to_le_bytes())?;
    Ok(spec.set_global(route::INGRESS, &route::MOST_PORTS.to_le_bytes())?)
}

/// A copy of a router's program, with its constants and tables; and the names of its reasons.
fn twin(router: &Generation) -> Result<(Object, Vec<String>)> {
    let record = Record::read(router)?.unwrap_or_default();
    let mut spec = link::router(router, &record)?;
    set_apart(&mut spec)?;
    let of_memory = |name: &str| name == route::PROCESSORS || route::SETS.contains(&name);
    let unused = spec.maps.iter_mut().filter(|def| of_memory(&def.name));
    unused.for_each(|def| def.max_entries = 1);
    let labels = spec.btf.as_ref().and_then(stats::labels).unwrap_or_default();
    let mut reuse = Vec::new();
    for name in SHARED {
        reuse.push((name.to_owned(), router.map(name)?));
    }
    let programs = Some(vec![route::PROGRAM.to_owned()]);
    let twin = Object::load(&spec, &LoadOptions { programs, reuse, ..LoadOptions::default() })?;
    // The program writes its ports' addresses, so the copy has ports of its own.
    let ports = router.map(route::PORTS)?.array()?;
    for (number, port) in (0_u32..).zip(ports) {
        twin.map(route::PORTS)?.update(&number.to_ne_bytes(), &port, Expect::Any)?;
    }
    if labels.is_empty() {
        return Err(Malformed::NoGlobal { object: NAME, name: "xway_last_reason" }.into());
    }
    Ok((twin, labels))
}

//! A service with its clients and its attacker, and the CPUs on which they run.
//!
//! On veth the sender's processor does the receiver's work, so a flood would slow only itself.
//! Therefore the server's receive side polls in a kernel thread of its own, which shares one
//! processor with the service and its clients; the attacker has another one to itself. Not here:
//! what floods, and what defends.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use packet::Mac;
use sys::priority::{self, Priority};

use crate::error::{Error, Result};
use crate::frame::{Flow, Side};
use crate::host::{Host, Setting};
use crate::link::LinkOptions;
use crate::topology;
use crate::transactions::{Client, ConnectionMode, FAVOURED, Service};

/// Field order is drop order: the service ends before its namespace is removed.
#[derive(Debug)]
pub struct Stage {
    _service: Service,
    /// The hosts and their links.
    pub net: topology::Service,
    /// CPU on which the service runs.
    pub service_cpu: usize,
    /// CPU on which the attacker runs.
    pub attacker_cpu: usize,
    /// The server's receive threads.
    receivers: Vec<u32>,
    _onlooker: ThreadPlacement,
}

/// Clients that send requests until this is dropped.
///
/// Fields are dropped in the order of their declaration.
#[derive(Debug)]
pub struct Clients {
    all: Vec<Client>,
    /// Service of clients that open connections.
    _service: Option<Service>,
    _ports: Option<Setting>,
}

/// The calling thread, kept away from the service's processor and favoured as service and clients
/// are, which threads that it starts inherit; dropped, it is as it was.
#[derive(Debug)]
struct ThreadPlacement {
    cpus: Vec<usize>,
    nice: i32,
}

impl Stage {
    /// Returns when the service runs, without clients. The calling thread is kept on the
    /// attacker's processor as long as this lives, since it only looks on: the attacker's side
    /// can spare that. It and what it starts, as the attacker, are favoured as the service is.
    pub fn build() -> Result<Self> {
        let onlooker = ThreadPlacement { cpus: sys::cpu::affinity()?, nice: priority::nice() };
        // The kernel lends every thread one processor at least.
        let service_cpu = onlooker.cpus.first().copied().unwrap_or_default();
        let attacker_cpu = onlooker.cpus.last().copied().unwrap_or_default();
        let net = topology::Service::build(&LinkOptions::default())?;
        net.server.pin_napi(SERVER_LINK, service_cpu)?;
        net.server.raise_napi(SERVER_LINK)?;
        let receivers = net.server.threaded_napi(SERVER_LINK)?;
        let _service = serve(&net.server, SERVICE, service_cpu)?;
        sys::cpu::set_affinity(&[attacker_cpu])?;
        // Refused, it works as well, only less steadily on a busy machine.
        let _unsteady = Priority::Nice(FAVOURED).give(0);
        Ok(Self { _service, net, service_cpu, attacker_cpu, receivers, _onlooker: onlooker })
    }

    /// Who shares a processor with whom, and what the clients do, for the reader to judge.
    pub fn placement(&self) -> String {
        let Self { service_cpu, attacker_cpu, .. } = self;
        let caveat = if service_cpu == attacker_cpu {
            " This machine lends only one processor, so the attacker also takes the service's time."
        } else {
            ""
        };
        format!(
            "{CLIENTS} clients, the service and the server's receive thread (threaded NAPI, at \
             real-time priority as a soft interrupt would be) share CPU {service_cpu}; the \
             attacker alone has CPU {attacker_cpu}. Both reach the server through its one veth \
             link and one receive queue. Each client has one TCP connection and asks {} ms after \
             each answer, so that the service has a load and not all of the processor. \
             All of them are favoured (nice {FAVOURED}), so that what else the machine does \
             disturbs less.{caveat}",
            THINK.as_millis(),
        )
    }

    /// Opens new connections, which send requests from now on.
    pub fn clients(&self) -> Result<Clients> {
        Ok(Clients {
            all: self.asking(SERVICE, ConnectionMode::Persistent)?,
            _service: None,
            _ports: None,
        })
    }

    /// Clients that open a connection for each transaction, and close it, of a service of their
    /// own at [`OPENING`]: a listener remembers unanswered requests, and that there were
    /// too many, for minutes. There can be one set of them at a time.
    pub fn newcomers(&self) -> Result<Clients> {
        // Who closes first keeps the port for a minute, and ports would soon be out.
        let ports = self.net.client.hold_sysctl("ipv4/tcp_max_tw_buckets", "0")?;
        let service = serve(&self.net.server, OPENING, self.service_cpu)?;
        let all = self.asking(OPENING, ConnectionMode::PerTransaction)?;
        Ok(Clients { all, _service: Some(service), _ports: Some(ports) })
    }

    fn asking(&self, service: SocketAddr, mode: ConnectionMode) -> Result<Vec<Client>> {
        let think = if mode == ConnectionMode::PerTransaction { THINK_OF_NEW } else { THINK };
        let connect = move || TcpStream::connect_timeout(&service, CONNECT);
        let start = |_| Client::start(connect, mode, self.service_cpu, think);
        // Threads inherit the namespace of the thread that starts them.
        self.net.client.run(|| (0..CLIENTS).map(start).collect::<Result<_>>())?
    }

    /// The attacker's frame, sent from [`ATTACKER_LINK`]: UDP to [`FLOOD_PORT`] of the server, 60
    /// bytes long, from an unused address.
    pub fn attack(&self) -> Result<Vec<u8>> {
        let attacker = Side { mac: ATTACKER_MAC, ip: ATTACKER.into(), port: FLOOD_PORT };
        let mac = self.net.server.mac(SERVER_LINK)?;
        let victim = Side { mac, ip: SERVICE.ip(), port: FLOOD_PORT };
        Flow::new(attacker, victim).udp_of_length(FRAME_LEN)
    }

    /// Processor time of the server's receive threads, in nanoseconds.
    pub fn receive_ns(&self) -> Result<u64> {
        self.receivers.iter().map(|pid| Ok(sys::proc::run_ns(*pid)?)).sum()
    }
}

/// Number of frames per burst at a rate in packets per second, as a network card with interrupt
/// moderation would deliver them.
pub fn batch(rate_pps: u64) -> u32 {
    (rate_pps / BATCHES).clamp(1, BATCH) as u32
}

impl Clients {
    /// Number of replies so far.
    pub fn answers(&self) -> u64 {
        self.all.iter().map(Client::answers).sum()
    }

    /// Number of connections that were opened again.
    pub fn reconnects(&self) -> u64 {
        self.all.iter().map(Client::reconnects).sum()
    }
}

impl Drop for Clients {
    /// All are signaled before the first is joined.
    fn drop(&mut self) {
        self.all.iter().for_each(Client::end);
    }
}

impl Drop for ThreadPlacement {
    fn drop(&mut self) {
        // A destructor cannot report, and the thread works as well where it is.
        let _stays = sys::cpu::set_affinity(&self.cpus);
        let _stays = Priority::Nice(self.nice).give(0);
    }
}

/// A service from now on.
fn serve(server: &Host, address: SocketAddr, cpu: usize) -> Result<Service> {
    let listener = server.run(|| TcpListener::bind(address))?;
    Service::start(listener.map_err(fail("the service's listener"))?, cpu)
}

fn fail(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Socket { what, source }
}

/// Interface of the server, shared by client and attacker.
pub const SERVER_LINK: &str = "eth0";
/// Interface of the attacker.
pub const ATTACKER_LINK: &str = "up0";
/// Destination port of the flood.
pub const FLOOD_PORT: u16 = 1234;
/// Where the server listens.
pub const SERVICE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 7);
/// And where it does for those who open a connection for each transaction.
pub const OPENING: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 8);
/// The server's setting of what its stack does with too many connection requests.
pub const COOKIES: &str = "ipv4/tcp_syncookies";
/// Number of concurrent clients.
pub const CLIENTS: usize = 16;
/// Pause of a client after each reply.
pub const THINK: Duration = Duration::from_millis(2);
/// Pause of a client that opens connections, which cost more.
pub const THINK_OF_NEW: Duration = Duration::from_millis(10);
/// An unused address: the flood is spoofed.
const ATTACKER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 66);
/// MAC address of the unused address.
pub const ATTACKER_MAC: Mac = Mac([0x02, 0, 0, 0, 0, 0x66]);
const FRAME_LEN: usize = 60;
/// Frames in a batch at most.
const BATCH: u64 = 128;
/// Batches a second at least, so that no frame waits long for the rest of its batch.
const BATCHES: u64 = 4_000;
const CONNECT: Duration = Duration::from_millis(250);

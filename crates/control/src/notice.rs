//! Events that are not errors but that an operator may want to know about.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use kernel::Mode;

/// An event during a call; [`fmt::Display`] prints one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Programs were loaded for an interface.
    Loaded {
        /// Names of the programs.
        programs: Vec<String>,
        /// Name of the interface.
        interface: String,
        /// Time that loading took, most of it in the verifier.
        took: Duration,
    },
    /// A program was attached.
    Attached {
        /// Name of the program.
        program: String,
        /// Number of the program in the kernel.
        id: u32,
        /// Name of the interface.
        interface: String,
        /// Mode of the program.
        mode: Mode,
    },
    /// A program was detached.
    Detached {
        /// Name of the program.
        program: String,
        /// Name of the interface.
        interface: String,
    },
    /// A remark of the loader about an object.
    Loader(String),
    /// The next hop to a backend of a balancer does not answer, so its packets are dropped.
    Unresolved(IpAddr),
    /// A socket uses an address that a balancer translates to.
    SourceInUse {
        /// Address of `source`.
        address: IpAddr,
        /// Protocol of the socket.
        protocol: &'static str,
        /// Its port.
        port: u16,
    },
    /// The stack drops answers of a balancer that it is to send, because the next hop is not known.
    NotForwarded {
        /// Interface that answers come in by.
        interface: String,
        /// The setting by which the stack sends them.
        sysctl: String,
    },
    /// No balancer sent its state in this time, so connections that others remember may move.
    NotSynchronized(Duration),
    /// The routes of `announce` are not as they should be, with the reason.
    NotAnnounced(String),
    /// The MSS that is announced to clients was not lowered.
    NoMss {
        /// Name of the interface.
        interface: String,
        /// Largest MSS over IPv4.
        mss: u16,
        /// Why not.
        reason: String,
    },
    /// The kernel finds no way to another backend.
    NoSecondWay {
        /// The setting that is off.
        sysctl: String,
    },
    /// The interface is down, so the program that was attached to it sees no packets.
    InterfaceDown(String),
    /// A program was attached without its verdicts being counted, with the reason.
    NotCounted(String),
    /// An interrupted change could not be undone, with the reason. It remains on record.
    NotUndone(String),
    /// An interrupted change was completed, because the kernel refused the program that ran before.
    Completed {
        /// Number of the interface.
        ifindex: u32,
    },
    /// A change cuts off traffic that most hosts need.
    CutOff(String),
    /// A rule or setting of the kernel that the router cannot follow.
    NotFollowed(String),
    /// The kernel did not run a copy of a router, so the engine decides; with the reason.
    EngineDecides(String),
    /// The programs of an interface cannot be composed, so they are chained by tail calls.
    TailCalls {
        /// Name of the interface.
        interface: String,
        /// Why they cannot be composed.
        reason: String,
    },
    /// Programs of libxdp's dispatcher are members of a chain now; its pins could not be removed.
    PinsRemain {
        /// Path of the directory.
        path: String,
        /// Why it remains.
        reason: String,
    },
    /// A service of a balancer has the packets of a socket of this host.
    TakenOver {
        /// Name of the service.
        service: String,
        /// Address and port of the socket.
        socket: SocketAddr,
    },
    /// A change was not confirmed in time, and the previous state of the interface is restored.
    Unconfirmed {
        /// Name of the interface.
        interface: String,
        /// Name of what was attached.
        program: String,
    },
}

impl Notice {
    /// Whether it reports a step that succeeded, which only matters to who follows each of them.
    pub fn is_detail(&self) -> bool {
        matches!(self, Self::Loaded { .. } | Self::Attached { .. } | Self::Detached { .. })
    }
}

impl Notice {
    /// The text of a notice about balancers and their backends; empty for others.
    fn of_balancer(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unresolved(backend) => write!(
                f,
                "the next hop to backend {backend} does not answer; packets for it are dropped \
                 until it does"
            ),
            Self::TakenOver { service, socket } => f.write_str(&taken_over(service, *socket)),
            Self::NotSynchronized(wait) => write!(
                f,
                "no peer sent all of its state in {} s: connections that began before may move",
                wait.as_secs_f64()
            ),
            Self::NotAnnounced(why) => write!(f, "warning: services are not announced: {why}"),
            Self::NoMss { interface, mss, reason } => write!(
                f,
                "{interface}: the MSS of connections is not lowered ({reason}); set it for the \
                 routes to clients instead: `ip route change default … advmss {mss}`"
            ),
            Self::NoSecondWay { sysctl } => write!(
                f,
                "segments without a socket are not sent to their other backend, because the \
                 kernel does not forward: `sysctl -w net.{sysctl}=1`"
            ),
            Self::SourceInUse { address, protocol, port } => write!(
                f,
                "{protocol} port {port} of {address} is used by a socket of this host: packets to \
                 it from a backend are translated if a flow has this port; give `source` of `nat` \
                 addresses that nothing else uses"
            ),
            Self::NotForwarded { interface, sysctl } => write!(
                f,
                "{interface}: the stack drops answers to clients whose next hop is not known: \
                 `sysctl -w {sysctl}`"
            ),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loaded { programs, interface, took } => write!(
                f,
                "loaded {} for {interface} in {:.1} ms",
                programs.join(", "),
                took.as_secs_f64() * 1e3
            ),
            Self::Attached { program, id, interface, mode } => {
                write!(f, "attached {program} (id {id}) to {interface} in {} mode", mode.name())
            }
            Self::Detached { program, interface } => {
                write!(f, "detached {program} from {interface}")
            }
            Self::Loader(remark) => f.write_str(remark),
            Self::InterfaceDown(name) => {
                write!(f, "{name} is down, so no packet arrives; `ip link set {name} up`")
            }
            Self::NotCounted(reason) => {
                write!(f, "verdicts are not counted for this program: {reason}")
            }
            Self::NotUndone(why) => write!(f, "an interrupted change was not undone: {why}"),
            Self::Completed { ifindex } => write!(
                f,
                "interface {ifindex}: the interrupted change was completed, because the kernel \
                 refused the previous program"
            ),
            Self::CutOff(text) => write!(f, "warning: {text}"),
            Self::EngineDecides(reason) => write!(
                f,
                "the engine decides, as a router without options on all interfaces, unless what \
                 runs can be read: {reason}"
            ),
            Self::NotFollowed(what) => write!(f, "warning: the router does not follow {what}"),
            Self::TailCalls { interface, reason } => {
                write!(f, "{interface}: chained by tail calls, not composed: {reason}")
            }
            Self::PinsRemain { path, reason } => write!(
                f,
                "the programs run in the chain; pins of libxdp remain in {path}: {reason}; \
                 `xdp-loader clean` removes them"
            ),
            Self::Unconfirmed { interface, program } => write!(
                f,
                "{interface}: the change to `{program}` was not confirmed in time: what ran before \
                 runs again"
            ),
            Self::Unresolved(_)
            | Self::TakenOver { .. }
            | Self::NotSynchronized(_)
            | Self::NotAnnounced(_)
            | Self::NoMss { .. }
            | Self::NoSecondWay { .. }
            | Self::SourceInUse { .. }
            | Self::NotForwarded { .. } => self.of_balancer(f),
        }
    }
}

fn taken_over(service: &str, socket: SocketAddr) -> String {
    format!(
        "service `{service}` takes the packets of {socket}, where a process of this host listens: \
         give the service another address or port unless that is intended"
    )
}

/// A function that receives notices.
#[derive(Clone)]
pub(crate) struct Observer(Arc<dyn Fn(&Notice) + Send + Sync>);

impl Observer {
    pub(crate) fn new(observe: impl Fn(&Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(crate) fn notify(&self, notice: &Notice) {
        (self.0)(notice);
    }
}

impl Default for Observer {
    fn default() -> Self {
        Self::new(|_notice| {})
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

//! `Steering`: decides which packets of an interface go to sockets.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use kernel::{Ifindex, Map};
use packet::ParseError;
use spec::MapKind;

use super::attachment::{Attachment, Mode, Options, Wanted, holders};
use super::entry::Entry;
use super::group::{Group, put};
use super::redirect::{Form, RULES, Work};
use super::rule::Rule;
use super::shared::{Access, Shared};
use crate::error::{ConfigError, Error, InterfaceReason, Result};

/// Which packets go to sockets; the others go to the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Steer {
    /// All packets of each queue with a socket. Costs one lookup per packet.
    #[default]
    All,
    /// Packets that match any of these rules, at most [`RULES`](super::RULES).
    Rules(Vec<Rule>),
}

/// The source of the metadata before packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// There is no metadata.
    None,
    /// The device; software provides the attributes that it does not report.
    Device,
    /// Software only.
    Software,
}

/// A share of the program on an interface; cheap to clone. The program remains as long as any
/// process holds a share or an [`Entry`].
#[derive(Clone, Debug)]
pub struct Steering {
    shared: Arc<Shared>,
}

impl Steering {
    /// Steers an interface of the calling thread's network namespace: attaches the program, or
    /// joins the program that sockets of any process already use there. Joining requires
    /// `CAP_SYS_ADMIN`, attaching `CAP_NET_ADMIN`, `CAP_BPF` and, with rules, `CAP_PERFMON`.
    ///
    /// Owners with rules are tried in the order in which they joined. The first one whose rules
    /// match, and which has a socket for the queue, gets the packet.
    ///
    /// # Errors
    /// [`kernel::Error::Occupied`] names a foreign program; [`Error::Interface`] describes how the
    /// attached redirect program differs from the request; [`kernel::Error::Denied`] names the
    /// missing capability.
    pub fn attach(ifindex: Ifindex, mode: Mode, steer: &Steer, options: Options) -> Result<Self> {
        steer.check()?;
        let rules = matches!(steer, Steer::Rules(_));
        let work = Work::new(rules, options.rx_metadata);
        let at = Box::new(Wanted { ifindex, mode, work, replace: options.replace }.attach()?);
        let mut group = None;
        if let Steer::Rules(rules) = steer {
            let compiled: Vec<_> = rules.iter().map(Rule::compiled).collect();
            let claimed = group.insert(Group::claim(&at)?);
            claimed.write(&at.state, &compiled);
        }
        Ok(Self::new(Access::Attached { at, group }))
    }

    /// Uses the map of another process, for a process that may not attach programs. The other
    /// process passes the [`map`](Self::map) and [`first_slot`](Self::first_slot) of its
    /// [`Steering`], which it must keep.
    ///
    /// # Errors
    /// [`Error::Config`] when it is not a map of sockets, or does not have the slot.
    pub fn from_map(map: OwnedFd, first_slot: u32) -> Result<Self> {
        Self::given(Map::from_fd(map)?, first_slot)
    }

    /// As [`from_map`](Self::from_map), with a map that is pinned at a path.
    ///
    /// # Errors
    /// As [`from_map`](Self::from_map).
    pub fn from_pin(path: &Path, first_slot: u32) -> Result<Self> {
        Self::given(Map::from_pin(path)?, first_slot)
    }

    /// Sends the packets of a queue to a socket that is bound to this queue of this interface; the
    /// kernel drops packets for any other socket. If a socket is inserted twice, the first entry
    /// that is dropped removes it.
    ///
    /// # Errors
    /// [`Error::Interface`] when the queue already goes to another socket, with its possible
    /// holders; [`Error::Config`] for a queue that does not exist, or a descriptor that is not an
    /// AF_XDP socket.
    pub fn insert(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<Entry> {
        if queue >= self.queues() {
            let (interface, count) = (self.interface().to_owned(), self.queues());
            return Err(ConfigError::NoQueue { queue, interface, count }.into());
        }
        let duplicate = socket
            .try_clone_to_owned()
            .map_err(|error| sys::Error::from_io("fcntl(F_DUPFD_CLOEXEC)", "socket", &error))?;
        let slot = self.first_slot() + queue;
        match put(self.shared.xsks(), slot, socket) {
            Ok(true) => {
                let shared = Arc::clone(&self.shared);
                Ok(Entry { shared, slot, queue, socket: duplicate })
            }
            Ok(false) => Err(self.taken(queue)),
            Err(error) if error.errno().is_some_and(|errno| NO_SOCKET.contains(&errno)) => {
                Err(ConfigError::NotASocket.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Number of receive queues for which sockets can be inserted.
    pub fn queues(&self) -> u32 {
        match &self.shared.access {
            Access::Attached { at, .. } => at.queues,
            Access::Given { xsks, first } => xsks.max_entries() - first,
        }
    }

    /// Where the program runs; `None` for the map of another process.
    pub fn mode(&self) -> Option<kernel::Mode> {
        self.attachment().map(|at| at.mode)
    }

    /// Why it does not run in the driver, if that was tried and failed.
    pub fn not_native(&self) -> Option<&str> {
        self.attachment()?.not_native.as_deref()
    }

    /// Whether the program was attached by another process, or another call in this one.
    pub fn has_joined(&self) -> bool {
        self.attachment().is_some_and(|at| at.joined)
    }

    /// Whether the program still runs. If the interface was removed, or the program was detached by
    /// force, all packets go to the stack until a new [`attach`](Self::attach). `None` for the map
    /// of another process.
    ///
    /// # Errors
    /// When the link cannot be read.
    pub fn is_attached(&self) -> Result<Option<bool>> {
        self.attachment().map(Attachment::is_attached).transpose()
    }

    /// The source of metadata before packets; `None` for the map of another process.
    pub fn metadata(&self) -> Option<Metadata> {
        self.attachment().map(|at| match (at.work.has_metadata(), at.form) {
            (false, _) => Metadata::None,
            (true, Form::Device) => Metadata::Device,
            (true, _) => Metadata::Software,
        })
    }

    /// The map of sockets, to be passed to a process that may not attach programs.
    pub fn map(&self) -> BorrowedFd<'_> {
        self.shared.xsks().as_fd()
    }

    /// The first slot of this share, which has one for each queue.
    pub fn first_slot(&self) -> u32 {
        match &self.shared.access {
            Access::Attached { at, group } => {
                group.as_ref().map_or(0, |group| group.first_slot(at))
            }
            Access::Given { first, .. } => *first,
        }
    }

    fn given(xsks: Map, first: u32) -> Result<Self> {
        let (kind, slots) = (xsks.kind(), xsks.max_entries());
        if kind != MapKind::XSKMAP {
            let kind = kind.name().unwrap_or("map of another type").to_owned();
            return Err(ConfigError::NotASocketMap { map: xsks.name().to_owned(), kind }.into());
        }
        if first >= slots {
            let map = xsks.name().to_owned();
            return Err(ConfigError::NoSlot { slot: first, map, slots }.into());
        }
        Ok(Self::new(Access::Given { xsks, first }))
    }

    fn new(access: Access) -> Self {
        Self { shared: Arc::new(Shared { access }) }
    }

    fn attachment(&self) -> Option<&Attachment> {
        match &self.shared.access {
            Access::Attached { at, .. } => Some(at),
            Access::Given { .. } => None,
        }
    }

    fn interface(&self) -> &str {
        self.attachment().map_or("the interface", |at| &at.interface)
    }

    fn taken(&self, queue: u32) -> Error {
        let holders = holders(self.shared.xsks().id());
        let reason = InterfaceReason::QueueTaken { queue, holders: holders.to_string() };
        Error::interface(self.interface(), reason)
    }
}

impl fmt::Display for Steer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Rules(rules) = self else { return f.write_str("all") };
        f.write_str(&rules.iter().map(Rule::to_string).collect::<Vec<_>>().join("; "))
    }
}

impl FromStr for Steer {
    type Err = ParseError;

    /// Parses `all`, or rules separated by `;`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        text.split(';').map(str::parse).collect::<Result<_, _>>().map(Self::Rules)
    }
}

impl Steer {
    fn check(&self) -> Result<(), ConfigError> {
        let Self::Rules(rules) = self else { return Ok(()) };
        if rules.is_empty() {
            return Err(ConfigError::NoRules);
        }
        if rules.len() > RULES {
            return Err(ConfigError::TooManyRules { count: rules.len(), max: RULES });
        }
        Ok(rules.iter().try_for_each(Rule::check)?)
    }
}

/// Errors for a descriptor that is not an AF_XDP socket: `EBADF`, `ENOTSOCK`, `EOPNOTSUPP`.
const NO_SOCKET: [i32; 3] = [9, 88, 95];

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn shares_can_be_used_by_any_thread() {
        fn anywhere<T: Send + Sync + std::fmt::Debug>() {}
        anywhere::<Steering>();
        anywhere::<Entry>();
    }

    #[test]
    fn all_or_rules_as_text() {
        assert_eq!("all".parse(), Ok(Steer::All));
        let rules = Steer::Rules(vec!["any udp 53".parse().unwrap(), "10.1.0.2".parse().unwrap()]);
        assert_eq!(rules.to_string(), "any udp 53; 10.1.0.2");
        assert_eq!(rules.to_string().parse(), Ok(rules));
        for (text, reason) in [("", "empty"), ("any;", "empty"), ("all; any", "no IPv4")] {
            let error = text.parse::<Steer>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}

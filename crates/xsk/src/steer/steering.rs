//! `Steering`: what decides which packets of an interface go to sockets.

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
use super::shared::{At, Shared};
use crate::error::{Error, Result};

/// Which packets go to sockets; the rest goes to the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Steer {
    /// All that a queue with a socket receives. Costs one lookup a packet.
    #[default]
    All,
    /// What any of these matches, at most [`RULES`](super::RULES).
    Rules(Vec<Rule>),
}

/// Where the metadata in front of packets comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// There is none.
    None,
    /// The device is asked, and software says what it does not tell.
    Device,
    Software,
}

/// A share in the program on an interface; cheap to clone. The program stays as long as anybody,
/// in this process or another, holds a share or an [`Entry`].
#[derive(Clone, Debug)]
pub struct Steering {
    shared: Arc<Shared>,
}

impl Steering {
    /// Steers an interface of the calling thread's network namespace: attaches the program, or
    /// joins the one that other sockets, of whatever process, already have there. Joining needs
    /// `CAP_SYS_ADMIN`, attaching `CAP_NET_ADMIN`, `CAP_BPF` and, with rules, `CAP_PERFMON`.
    ///
    /// Owners with rules are asked in the order that they came; the first one whose rules match
    /// and who has a socket for the packet's queue gets it.
    ///
    /// # Errors
    /// [`kernel::Error::Occupied`] names a program of somebody else's;
    /// [`Error::Interface`] says how a program of ours differs from what was asked;
    /// [`kernel::Error::Denied`] names the capability that is missing.
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
        Ok(Self::new(At::Attached { at, group }))
    }

    /// For a process that may not attach: one that may has made the [`Steering`] and handed over
    /// its [`map`](Self::map) and [`first_slot`](Self::first_slot). It must go on holding it.
    ///
    /// # Errors
    /// [`Error::Config`] when it is no map of sockets, or the slot is not in it.
    pub fn from_map(map: OwnedFd, first_slot: u32) -> Result<Self> {
        Self::given(Map::from_fd(map)?, first_slot)
    }

    /// The same with a map that was pinned under a path.
    pub fn from_pin(path: &Path, first_slot: u32) -> Result<Self> {
        Self::given(Map::from_pin(path)?, first_slot)
    }

    /// Sends a queue's packets to a socket that is bound to that queue of this interface; the
    /// kernel drops what it would send to any other. A socket that is put in twice is one all the
    /// same: the first entry that is dropped takes it out.
    ///
    /// # Errors
    /// [`Error::Interface`] when the queue goes to another socket already, and says whose it may
    /// be; [`Error::Config`] for a queue that is not there, or what is no such socket.
    pub fn insert(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<Entry> {
        if queue >= self.queues() {
            return Err(Error::Config(format!(
                "queue {queue} of {}: it has {} receive queues, from 0 on",
                self.interface(),
                self.queues()
            )));
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
                Err(Error::Config("only AF_XDP sockets can be steered to".to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Receive queues that sockets can be put in for.
    pub fn queues(&self) -> u32 {
        match &self.shared.at {
            At::Attached { at, .. } => at.queues,
            At::Given { xsks, first } => xsks.max_entries() - first,
        }
    }

    /// Where the program runs; not known of a map that was given.
    pub fn mode(&self) -> Option<kernel::Mode> {
        self.attachment().map(|at| at.mode)
    }

    /// Why it does not run in the driver, when that was tried first and refused.
    pub fn not_native(&self) -> Option<&str> {
        self.attachment()?.not_native.as_deref()
    }

    /// Whether another process, or another call in this one, had attached the program.
    pub fn has_joined(&self) -> bool {
        self.attachment().is_some_and(|at| at.joined)
    }

    /// Whether the program still runs: no more when the interface is gone, or when somebody has
    /// taken the program off by force. All packets go to the stack then, and only a new
    /// [`attach`](Self::attach) helps. Not known of a map that was given.
    pub fn is_attached(&self) -> Result<Option<bool>> {
        self.attachment().map(Attachment::is_there).transpose()
    }

    /// What stands in front of packets; not known of a map that was given.
    pub fn metadata(&self) -> Option<Metadata> {
        self.attachment().map(|at| match (at.work.has_metadata(), at.form) {
            (false, _) => Metadata::None,
            (true, Form::Device) => Metadata::Device,
            (true, _) => Metadata::Software,
        })
    }

    /// The map of sockets, to hand over to a process that may not attach.
    pub fn map(&self) -> BorrowedFd<'_> {
        self.shared.xsks().as_fd()
    }

    /// Where the slots of this share begin, one for each queue.
    pub fn first_slot(&self) -> u32 {
        match &self.shared.at {
            At::Attached { at, group } => group.as_ref().map_or(0, |group| group.first_slot(at)),
            At::Given { first, .. } => *first,
        }
    }

    fn given(xsks: Map, first: u32) -> Result<Self> {
        let (kind, slots) = (xsks.kind(), xsks.max_entries());
        if kind != MapKind::XSKMAP {
            let name = kind.name().unwrap_or("map of another type");
            return Err(Error::Config(format!("map `{}` is a {name}, no xskmap", xsks.name())));
        }
        if first >= slots {
            let why = format!("slot {first} is not in map `{}`: it has {slots}", xsks.name());
            return Err(Error::Config(why));
        }
        Ok(Self::new(At::Given { xsks, first }))
    }

    fn new(at: At) -> Self {
        Self { shared: Arc::new(Shared { at }) }
    }

    fn attachment(&self) -> Option<&Attachment> {
        match &self.shared.at {
            At::Attached { at, .. } => Some(at),
            At::Given { .. } => None,
        }
    }

    fn interface(&self) -> &str {
        self.attachment().map_or("the interface", |at| &at.interface)
    }

    fn taken(&self, queue: u32) -> Error {
        let holders = holders(self.shared.xsks().id());
        let why = format!(
            "queue {queue} goes to another socket already, of {holders}; close that one or take \
             another queue"
        );
        Error::Interface { interface: self.interface().to_owned(), why }
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

    /// `all`, or rules with `;` between them.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        text.split(';').map(str::parse).collect::<Result<_, _>>().map(Self::Rules)
    }
}

impl Steer {
    fn check(&self) -> Result<()> {
        let Self::Rules(rules) = self else { return Ok(()) };
        if rules.is_empty() {
            let why = "no rules: nothing would go to a socket; give one, or steer all";
            return Err(Error::Config(why.to_owned()));
        }
        if rules.len() > RULES {
            let given = rules.len();
            return Err(Error::Config(format!(
                "{given} rules, and {RULES} fit: join them by wider prefixes and port ranges"
            )));
        }
        for rule in rules {
            rule.check().map_err(|error| Error::Config(error.to_string()))?;
        }
        Ok(())
    }
}

/// `EBADF`, `ENOTSOCK`, `EOPNOTSUPP`.
const NO_SOCKET: [i32; 3] = [9, 88, 95];

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn shares_go_to_any_thread() {
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

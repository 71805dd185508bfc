//! The redirect program (`bpf/redirect`): prepared for any runtime, loaded for one interface.
//!
//! [`Steering`](super::Steering) does all of this; it is open for whoever runs the program
//! elsewhere, on a capture or in the engine. Not here: attaching it (`attachment`).

pub mod abi;

use kernel::{Binding, Ifindex, LoadOptions, Map, Object, Program};
use spec::Spec;
use sys::mmap::Mapping;

use crate::error::Result;
pub use abi::Work;

/// A loaded program and its maps.
#[derive(Debug)]
pub(super) struct Loaded {
    pub program: Program,
    pub xsks: Map,
    pub state: Mapping,
}

/// How much a kernel and a device must know to take the program, most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Asks the device for metadata. Linux 6.8, native mode, a driver that answers.
    Device,
    /// Takes packets in several buffers. Linux 5.18.
    Frags,
    Plain,
}

/// What the program is loaded for.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// Receive queues of the interface.
    pub queues: u32,
    pub work: Work,
}

impl Form {
    /// As the kernel has its first 15 bytes.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Device => "xway_redirect_device",
            Self::Frags => "xway_redirect_frags",
            Self::Plain => "xway_redirect",
        }
    }

    /// Which of them a program is, by the kernel's name for it.
    pub(super) fn of(kernel_name: &str) -> Option<Self> {
        [Self::Device, Self::Frags, Self::Plain]
            .into_iter()
            .find(|form| kernel::name::sanitized(form.program()) == kernel_name)
    }
}

impl Purpose {
    /// The object with its globals and map sizes set. The state is to be written by whoever
    /// loads it.
    pub fn prepare(&self) -> Result<Spec> {
        let mut spec = Spec::parse("redirect", OBJECT)?;
        spec.set_global("redirect_work", &(self.work as u32).to_ne_bytes())?;
        spec.set_global("redirect_queues", &self.queues.to_ne_bytes())?;
        if let Some(xsks) = spec.maps.iter_mut().find(|map| map.name == XSKS) {
            xsks.max_entries = self.slots();
        }
        Ok(spec)
    }

    pub(super) fn load(&self, form: Form, ifindex: Ifindex) -> Result<Loaded> {
        let binding = match form {
            Form::Device => Binding::Device(ifindex),
            Form::Frags | Form::Plain => Binding::Any,
        };
        let programs = Some(vec![form.program().to_owned()]);
        let options = LoadOptions { programs, binding, ..LoadOptions::default() };
        let object = Object::load(&self.prepare()?, &options)?;
        let state = object.map(STATE)?.mapping(true)?;
        for (at, word) in [(0, VERSION), (8, self.work as u64), (16, self.queues.into())] {
            state.store_u64(at, word);
        }
        Ok(Loaded {
            program: object.program(form.program())?.duplicate()?,
            xsks: object.map(XSKS)?.duplicate()?,
            state,
        })
    }

    /// Entries of the map of sockets.
    fn slots(&self) -> u32 {
        if self.work.has_rules() { GROUPS * self.queues + GROUPS } else { self.queues }
    }
}

impl Work {
    pub fn new(rules: bool, metadata: bool) -> Self {
        match (rules, metadata) {
            (false, false) => Self::None,
            (true, false) => Self::Rules,
            (false, true) => Self::Metadata,
            (true, true) => Self::Both,
        }
    }

    pub(super) fn from_number(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|work| *work as u64 == number)
    }

    pub fn has_rules(self) -> bool {
        matches!(self, Self::Rules | Self::Both)
    }

    pub fn has_metadata(self) -> bool {
        matches!(self, Self::Metadata | Self::Both)
    }
}

/// The object, as it was built from `bpf/redirect`.
pub const OBJECT: &[u8] = include_bytes!("../../../../../bpf/prebuilt/redirect.o");

/// Sockets: see the map's layout in `redirect.abi.h`.
pub const XSKS: &str = "redirect_xsks";
/// One element: [`abi::State`].
pub const STATE: &str = "redirect_state";

/// `REDIRECT_VERSION`.
pub(super) const VERSION: u64 = 1;
/// Owners of rules that an interface has room for: `REDIRECT_GROUPS`.
pub const GROUPS: u32 = 16;
/// Rules that one owner has room for: `REDIRECT_RULES`.
pub const RULES: usize = 16;
/// `REDIRECT_KNOWN_*`.
pub(super) const KNOWN_IP: u8 = 1;
pub(super) const KNOWN_PORTS: u8 = 2;

//! The redirect program (`bpf/redirect`): prepared for any runtime, or loaded for one interface.
//!
//! [`Steering`](super::Steering) uses it; it is public for running the program elsewhere, on a
//! capture or in the engine. `attachment` attaches it.

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

/// Forms of the program by the features that they require, most features first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Reads metadata from the device: requires Linux 6.8, native mode, and support by the driver.
    Device,
    /// Accepts packets in several buffers: requires Linux 5.18.
    Frags,
    /// Accepts packets in one buffer.
    Plain,
}

/// The configuration of the program.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// Receive queues of the interface.
    pub queues: u32,
    /// What it does with packets.
    pub work: Work,
}

impl Form {
    /// Name of the program, of which the kernel keeps the first 15 bytes.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Device => "xway_redirect_device",
            Self::Frags => "xway_redirect_frags",
            Self::Plain => "xway_redirect",
        }
    }

    /// The form of a program with this name in the kernel.
    pub(super) fn of(kernel_name: &str) -> Option<Self> {
        [Self::Device, Self::Frags, Self::Plain]
            .into_iter()
            .find(|form| kernel::name::sanitized(form.program()) == kernel_name)
    }
}

impl Purpose {
    /// The object with its globals and map sizes set. The caller must write the state after loading
    /// it.
    ///
    /// # Errors
    /// When the built-in object cannot be read.
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

    /// Number of slots of the map of sockets.
    fn slots(&self) -> u32 {
        if self.work.has_rules() { GROUPS * self.queues + GROUPS } else { self.queues }
    }
}

impl Work {
    /// The work with or without rules and metadata.
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

    /// Packets are compared with rules.
    pub fn has_rules(self) -> bool {
        matches!(self, Self::Rules | Self::Both)
    }

    /// Metadata is written before packets.
    pub fn has_metadata(self) -> bool {
        matches!(self, Self::Metadata | Self::Both)
    }
}

/// The object file built from `bpf/redirect`.
pub static OBJECT: &[u8] = include_bytes!("../../../../../bpf/prebuilt/redirect.o");

/// Name of the map of sockets, whose layout is in `redirect.abi.h`.
pub const XSKS: &str = "redirect_xsks";
/// Name of the map with one element of type [`abi::State`].
pub const STATE: &str = "redirect_state";

/// Version of the layouts, `REDIRECT_VERSION`.
pub(super) const VERSION: u64 = 1;
/// Most owners of rules on one interface, `REDIRECT_GROUPS`.
pub const GROUPS: u32 = 16;
/// Most rules of one owner, `REDIRECT_RULES`.
pub const RULES: usize = 16;
/// The packet has an IP header: `REDIRECT_KNOWN_IP`.
pub(super) const KNOWN_IP: u8 = 1;
/// The packet has ports: `REDIRECT_KNOWN_PORTS`.
pub(super) const KNOWN_PORTS: u8 = 2;

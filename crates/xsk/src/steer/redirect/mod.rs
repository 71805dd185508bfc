//! The redirect program (`bpf/redirect`): loaded for one interface, in the best form it takes.
//!
//! Not here: attaching it (`attachment`), what rules say (`rule`).

#[allow(dead_code, reason = "generated, with what only the other side needs, too")]
pub mod abi;

use kernel::{Binding, Ifindex, LoadOptions, Map, Object, Program};
use spec::Spec;

use crate::error::Result;
pub use abi::Work;

/// A loaded program and its maps.
#[derive(Debug)]
pub struct Loaded {
    pub program: Program,
    pub xsks: Map,
    pub state: Map,
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
    pub ifindex: Ifindex,
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
    pub fn of(kernel_name: &str) -> Option<Self> {
        [Self::Device, Self::Frags, Self::Plain]
            .into_iter()
            .find(|form| kernel::name::sanitised(form.program()) == kernel_name)
    }
}

impl Purpose {
    pub fn load(&self, form: Form) -> Result<Loaded> {
        let mut spec = Spec::parse("redirect", OBJECT)?;
        spec.set_global("redirect_work", &(self.work as u32).to_ne_bytes())?;
        spec.set_global("redirect_queues", &self.queues.to_ne_bytes())?;
        if let Some(xsks) = spec.maps.iter_mut().find(|map| map.name == XSKS) {
            xsks.max_entries = self.slots();
        }
        let binding = match form {
            Form::Device => Binding::Device(self.ifindex),
            Form::Frags | Form::Plain => Binding::Any,
        };
        let programs = Some(vec![form.program().to_owned()]);
        let object =
            Object::load(&spec, &LoadOptions { programs, binding, ..LoadOptions::default() })?;
        Ok(Loaded {
            program: object.program(form.program())?.duplicate()?,
            xsks: object.map(XSKS)?.duplicate()?,
            state: object.map(STATE)?.duplicate()?,
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

    pub fn from_number(number: u64) -> Option<Self> {
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

pub const XSKS: &str = "redirect_xsks";
pub const STATE: &str = "redirect_state";

/// `REDIRECT_VERSION`.
pub const VERSION: u64 = 1;
/// `REDIRECT_GROUPS`.
pub const GROUPS: u32 = 16;
/// `REDIRECT_RULES`.
pub const RULES: usize = 16;
/// `REDIRECT_KNOWN_*`.
pub const KNOWN_IP: u8 = 1;
pub const KNOWN_PORTS: u8 = 2;

//! `Target`: an interface whose program is to change, while no other process changes the state.
//!
//! Rule: programs are attached by [`Target::install`] and [`Target::try_out`] alone, so a program
//! is always pinned before it runs. Not here: the choice of the program, and its maps' contents.

use kernel::{Attach, Binding, LoadOptions, Map, Mode, Object, Program, Replace};
use packet::Mac;
use spec::Spec;
use sys::net::{Ifindex, Link, Netlink};
use sys::netns::NetNs;

use crate::Control;
use crate::counters;
use crate::error::{Context as _, Error, Result};
use crate::notice::Notice;
use crate::state::{Scope, Slot, Transaction, Trial, Writer};

/// How a program is attached.
#[derive(Clone, Debug)]
pub struct Placement {
    pub mode: Mode,
    /// Replace a program that another owner attached.
    pub replace: bool,
    /// Values of global variables, by name, as text.
    pub set: Vec<(String, String)>,
}

impl Default for Placement {
    fn default() -> Self {
        Self { mode: Mode::Native, replace: false, set: Vec::new() }
    }
}

/// An interface of this namespace that may be changed under the writers' lock.
#[derive(Debug)]
pub struct Target {
    pub interface: String,
    pub ifindex: Ifindex,
    pub slot: Slot,
    /// Largest packet, in bytes.
    pub mtu: u32,
    /// `None` for an interface without a six-byte address.
    pub mac: Option<Mac>,
    /// Whether other interfaces change together with this one.
    pub scope: Scope,
    up: bool,
    _writer: Option<Writer>,
}

impl Target {
    /// Takes the writers' lock and finds the interface.
    ///
    /// # Errors
    /// There is no such interface, or the state directory cannot be used.
    pub fn open(control: &Control, interface: &str) -> Result<Self> {
        let writer = Writer::open(control)?;
        let mut target = Self::with(&writer, interface)?;
        target._writer = Some(writer);
        Ok(target)
    }

    /// Finds one of several interfaces that are changed under the same lock.
    pub fn with(writer: &Writer, interface: &str) -> Result<Self> {
        let mut netlink = Netlink::open()?;
        let links = netlink.links()?;
        let Some(link) = links.iter().find(|link| link.name == interface) else {
            return Err(no_interface(interface, &links));
        };
        let slot = writer.slot(NetNs::current()?.id()?, link.ifindex);
        Ok(Self {
            interface: interface.to_owned(),
            ifindex: link.ifindex,
            slot,
            mtu: link.mtu,
            mac: link.mac,
            scope: Scope::One,
            up: link.up,
            _writer: None,
        })
    }

    /// Attaches `program` of `object`; it is kept under `name` once the change is committed.
    pub fn install(
        &self,
        name: &str,
        object: &Object,
        program: &str,
        placement: &Placement,
    ) -> Result<Transaction> {
        let attach = self.attach(object, program, placement)?;
        let transaction = self.slot.change(name, object, &attach, self.scope)?;
        self.notify_if_down();
        Ok(transaction)
    }

    /// Attaches `program` of `object` for the duration of a trial, above the program `before` that
    /// runs now, if any. Other processes may change the state meanwhile.
    pub fn try_out(
        &self,
        name: &str,
        (object, program): (&Object, &str),
        placement: &Placement,
        before: Option<&Program>,
    ) -> Result<Trial> {
        let attach = self.attach(object, program, placement)?;
        let trial = self.slot.try_out(name, object, &attach, before)?;
        self.notify_if_down();
        Ok(trial)
    }

    fn attach<'o>(
        &self,
        object: &'o Object,
        program: &str,
        placement: &Placement,
    ) -> Result<Attach<'o>> {
        for warning in object.warnings() {
            self.slot.notify(&Notice::Loader(warning.to_string()));
        }
        Ok(Attach {
            ifindex: self.ifindex,
            program: object.program(program)?,
            mode: placement.mode,
            replace: if placement.replace { Replace::Yes } else { Replace::No },
        })
    }

    fn notify_if_down(&self) {
        if !self.up {
            self.slot.notify(&Notice::InterfaceDown(self.interface.clone()));
        }
    }

    /// Id of the program that runs in this mode.
    pub fn running(&self, mode: Mode) -> Result<Option<u32>> {
        Ok(Netlink::open()?.link_by_index(self.ifindex)?.xdp.id(mode))
    }

    /// Whether frames may be larger than one buffer of a driver.
    pub fn has_large_frames(&self) -> bool {
        self.mtu > ETHERNET_MTU
    }

    /// Loads programs, bound to this device if the mode or the programs require it.
    pub fn load(&self, spec: &Spec, programs: Vec<String>, mode: Mode) -> Result<Object> {
        self.load_sharing(spec, programs, mode, Vec::new())
    }

    /// Loads programs that reuse existing maps, each named as in the object.
    pub fn load_sharing(
        &self,
        spec: &Spec,
        programs: Vec<String>,
        mode: Mode,
        reuse: Vec<(String, Map)>,
    ) -> Result<Object> {
        let binding = match mode {
            Mode::Offload => Binding::Offload(self.ifindex),
            Mode::Native if spec.asks_device(&programs) => Binding::Device(self.ifindex),
            Mode::Native | Mode::Generic => Binding::Any,
        };
        let programs = Some(programs);
        let options = LoadOptions { programs, binding, reuse, ..LoadOptions::default() };
        let labels = counters::missing_labels(spec).filter(|_| mode != Mode::Offload);
        let object = match labels {
            Some(labels) => {
                let mut spec = spec.clone();
                spec.maps.push(labels);
                Object::load(&spec, &options)
            }
            None => Object::load(spec, &options),
        };
        if mode == Mode::Offload {
            return object
                .with_context(|| format!("not loaded onto the card of {}", self.interface));
        }
        Ok(object?)
    }
}

/// Attaches the program for frames of one buffer. If `large` frames are possible and the kernel
/// refuses it, attaches the program for frames of several buffers (Linux 5.18). If both are
/// refused, the first error is returned.
pub fn by_frame_size<T>(
    large: bool,
    [one, several]: [&str; 2],
    attach: impl Fn(&str) -> Result<T>,
) -> Result<T> {
    attach(one).or_else(|refused| {
        let by_kernel = refused.kernel().and_then(kernel::Error::errno);
        if large && by_kernel.is_some() {
            attach(several).map_err(|_| refused)
        } else {
            Err(refused)
        }
    })
}

const ETHERNET_MTU: u32 = 1500;

/// The error for an interface that is not among `links`.
pub(crate) fn no_interface(name: &str, links: &[Link]) -> Error {
    let known = links.iter().map(|link| link.name.clone()).collect();
    Error::NoInterface { name: name.to_owned(), known }
}

//! `Target`: an interface whose program is to change, while no other process changes anything.
//!
//! Rule: a program is attached through [`Target::install`] or [`Target::try_out`] alone, so it is
//! always pinned before it runs. Not here: which program, and with which contents of its maps.

use kernel::{Attach, Binding, LoadOptions, Map, Mode, Object, Program, Replace};
use spec::Spec;
use sys::net::{Ifindex, Link, Mac, Netlink};
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

/// An interface of this namespace, and the right to change what is kept of it.
#[derive(Debug)]
pub struct Target {
    pub interface: String,
    pub ifindex: Ifindex,
    pub slot: Slot,
    /// Bytes.
    pub mtu: u32,
    /// `None` for one that has no address of six bytes.
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

    /// One of several interfaces that are changed under one lock.
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

    /// Attaches `program` of `object`, to be kept under `name` once the change is committed.
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

    /// The same for a time, upon the program that runs now, if any; others may write meanwhile.
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

    /// The program that runs in this mode now.
    pub fn running(&self, mode: Mode) -> Result<Option<u32>> {
        Ok(Netlink::open()?.link_by_index(self.ifindex)?.xdp.id(mode))
    }

    /// Frames may be larger than one buffer of a driver.
    pub fn has_large_frames(&self) -> bool {
        self.mtu > ETHERNET_MTU
    }

    /// Loads programs: for this device alone when they go onto the card.
    pub fn load(&self, spec: &Spec, programs: Vec<String>, mode: Mode) -> Result<Object> {
        self.load_sharing(spec, programs, mode, Vec::new())
    }

    /// The same with maps that are there already, by the object's name for them.
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

/// Puts on the program for frames of one buffer; where the driver has larger ones and refuses it,
/// that for several (Linux 5.18). Were both refused, the first refusal is the one to tell.
pub fn by_frame_size<T>(
    large: bool,
    [one, several]: [&str; 2],
    put: impl Fn(&str) -> Result<T>,
) -> Result<T> {
    put(one).or_else(|refused| {
        let by_kernel = refused.kernel().and_then(kernel::Error::errno);
        if large && by_kernel.is_some() { put(several).map_err(|_| refused) } else { Err(refused) }
    })
}

const ETHERNET_MTU: u32 = 1500;

/// The error for an interface that is not among `links`.
pub(crate) fn no_interface(name: &str, links: &[Link]) -> Error {
    let known = links.iter().map(|link| link.name.clone()).collect();
    Error::NoInterface { name: name.to_owned(), known }
}

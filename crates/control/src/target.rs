//! `Target`: an interface whose program is to change, while no other process changes the state.
//!
//! Rule: programs are attached by [`Target::install`] and [`Target::try_out`] alone, so a program
//! is always pinned before it runs. Not here: the choice of the program, and its maps' contents.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use kernel::{Attach, Binding, LoadOptions, Map, Mode, Object, Program, Replace};
use packet::Mac;
use spec::Spec;
use spec::compose::VerdictSet;
use sys::net::{Ifindex, Link, Netlink};
use sys::netns::NetNs;

use crate::Control;
use crate::counters;
use crate::deadline;
use crate::dispatcher;
use crate::error::{ConfirmationError, Context as _, Error, Result};
use crate::lockout::{self, Lockout};
use crate::member::{self, Member};
use crate::notice::Notice;
use crate::state::{Companions, Scope, Slot, Transaction, Trial, Writer};

/// How a program is attached.
#[derive(Clone, Debug)]
pub struct Placement {
    pub mode: Mode,
    /// Replace a program that another owner attached.
    pub replace: bool,
    /// Values of global variables, by name, as text.
    pub set: Vec<(String, String)>,
    /// What ran before runs again after this time, unless the change is confirmed
    /// ([`crate::confirmation`]).
    pub confirm: Option<Duration>,
    /// Whether the change may end the SSH session of this process.
    pub lockout: Lockout,
    /// The declaration that the change comes from.
    pub declaration: Option<PathBuf>,
    /// The place in a chain, which the program joins or begins; `replace` then concerns the
    /// programs of other owners only. Without a place, a program that joins others has that of its
    /// kind, and one that runs alone has none.
    pub place: Option<Place>,
}

/// The place of a program in a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Name of the member; `None`: that of its program.
    pub name: Option<String>,
    /// `None`: the default of its kind, see [`default_priority`](crate::chain::default_priority).
    pub priority: Option<u32>,
    /// Verdicts after which the next member runs; `None`: pass.
    pub continue_on: Option<VerdictSet>,
    /// Replace the member that has the name.
    pub renew: bool,
}

impl Place {
    /// The member with this name and program, in this place.
    pub(crate) fn member(&self, name: &str, program: &str) -> Member {
        let default = Member::new(name, program);
        Member {
            name: self.name.clone().unwrap_or(default.name),
            priority: self.priority.unwrap_or(default.priority),
            continue_on: self.continue_on.map_or(default.continue_on, member::names),
            ..default
        }
    }
}

impl Placement {
    /// The member with this name and program, where it is placed.
    pub(crate) fn member(&self, name: &str, program: &str) -> Member {
        self.place
            .as_ref()
            .map_or_else(|| Member::new(name, program), |one| one.member(name, program))
    }

    /// Whether the program replaces a member of its name.
    pub(crate) fn renews(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.renew)
    }

    /// Whether a lockout is refused: not if the change is undone without a confirmation.
    pub(crate) fn lockout(&self) -> Lockout {
        if self.confirm.is_some() { Lockout::Allow } else { self.lockout }
    }
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            mode: Mode::Native,
            replace: false,
            set: Vec::new(),
            confirm: None,
            lockout: Lockout::Refuse,
            declaration: None,
            place: None,
        }
    }
}

/// How programs are loaded.
#[derive(Clone, Copy, Debug)]
pub struct Loading {
    /// The mode in which they will run.
    pub mode: Mode,
    /// Whether another form is loaded if they are refused ([`LoadOptions::tentative`]).
    pub tentative: bool,
}

impl From<Mode> for Loading {
    fn from(mode: Mode) -> Self {
        Self { mode, tentative: false }
    }
}

/// An object that was loaded for an interface.
#[derive(Debug)]
pub struct Loaded {
    object: Object,
    /// The programs without a deadline, if the change must be confirmed; they share all maps
    /// that change.
    confirmed: Option<Object>,
}

impl Loaded {
    /// A program without a deadline; `None` if the change need not be confirmed.
    pub fn confirmed(&self, program: &str) -> kernel::Result<Option<&Program>> {
        self.confirmed.as_ref().map(|one| one.program(program)).transpose()
    }
}

impl std::ops::Deref for Loaded {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.object
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
    /// The lock, if it was taken for this interface alone.
    writer: Option<Writer>,
}

impl Target {
    /// Takes the writers' lock and finds the interface.
    ///
    /// # Errors
    /// There is no such interface, or the state directory cannot be used.
    pub fn open(control: &Control, interface: &str) -> Result<Self> {
        let writer = Writer::open(control)?;
        let mut target = Self::with(&writer, interface)?;
        target.writer = Some(writer);
        if let Some((_, running)) = target.running_mode()? {
            dispatcher::replaced::remove_pins(&target.slot, target.ifindex, running)?;
        }
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
            writer: None,
        })
    }

    /// Finds other interfaces that change together with this one, under the lock that was taken for
    /// it.
    ///
    /// # Errors
    /// One of them does not exist.
    pub fn with_others(&mut self, interfaces: &[String]) -> Result<Vec<Self>> {
        let Some(writer) = self.writer.as_ref().filter(|_| !interfaces.is_empty()) else {
            return Ok(Vec::new());
        };
        let others = interfaces
            .iter()
            .map(|name| Ok(Self { scope: Scope::Several, ..Self::with(writer, name)? }));
        let others = others.collect::<Result<_>>()?;
        self.scope = Scope::Several;
        Ok(others)
    }

    /// Attaches `program` of `object`; it is kept under `name` once the change is committed.
    ///
    /// # Errors
    /// An unconfirmed change is active, another owner's program runs, or the kernel refuses it.
    pub fn install(
        &self,
        name: &str,
        loaded: &Loaded,
        program: &str,
        placement: &Placement,
    ) -> Result<Transaction> {
        self.require_confirmed()?;
        let attach = self.attach(&loaded.object, program, placement)?;
        let before = self.limit(&loaded.object, placement.mode, placement.confirm)?;
        let confirmed = loaded.confirmed(program)?;
        let companions = Companions { before: before.as_ref(), confirmed };
        let scope = (companions, self.scope);
        let transaction = self.slot.change(name, &loaded.object, &attach, scope)?;
        self.slot.notify(&Notice::Attached {
            program: program.to_owned(),
            id: loaded.object.program(program)?.id(),
            interface: self.interface.clone(),
            mode: placement.mode,
        });
        self.notify_if_down();
        Ok(transaction)
    }

    /// Starts the time of a program that must be confirmed. Returns the program that runs
    /// afterwards; `None` if the interface has none.
    pub fn limit(
        &self,
        object: &Object,
        mode: Mode,
        confirm: Option<Duration>,
    ) -> Result<Option<Program>> {
        let Some(time) = confirm else { return Ok(None) };
        let interface = || self.interface.clone();
        let before = match self.running_mode()? {
            Some((running, _)) if running != mode => {
                let (running, asked) = (running.name(), mode.name());
                let interface = interface();
                return Err(ConfirmationError::Mode { interface, running, asked }.into());
            }
            Some((_, program)) => Some(self.slot.open(program)?),
            None => None,
        };
        if let Some(before) = &before {
            let interface = interface();
            deadline::set_fallback(object, before).map_err(|reason| {
                let reason = Box::new(reason);
                ConfirmationError::NoReturn { interface, program: before.id(), reason }
            })?;
        }
        deadline::start(object, time)?;
        Ok(before)
    }

    /// The interface, for questions about lockouts.
    pub fn place(&self) -> lockout::Place<'_> {
        lockout::Place { interface: &self.interface, ifindex: self.ifindex, mac: self.mac }
    }

    /// # Errors
    /// The running program belongs to a change that is not confirmed yet, or is the dispatcher of
    /// libxdp, whose programs would end with it.
    pub fn require_confirmed(&self) -> Result<()> {
        let running = Netlink::open()?.link_by_index(self.ifindex)?.xdp;
        for (_, program) in running.programs() {
            if let Some((_, left)) = self.slot.unconfirmed(program)? {
                let interface = self.interface.clone();
                return Err(ConfirmationError::Pending { interface, left }.into());
            }
        }
        self.require_no_dispatcher()
    }

    /// # Errors
    /// The dispatcher of libxdp runs, whose programs would end with it.
    pub fn require_no_dispatcher(&self) -> Result<()> {
        for (_, program) in Netlink::open()?.link_by_index(self.ifindex)?.xdp.programs() {
            if self.slot.generations_of(program)?.is_empty() {
                dispatcher::refuse(&self.interface, self.ifindex, program)?;
            }
        }
        Ok(())
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
        self.require_confirmed()?;
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

    /// The program that runs, in any mode.
    pub fn running_mode(&self) -> Result<Option<(Mode, u32)>> {
        Ok(Netlink::open()?.link_by_index(self.ifindex)?.xdp.programs().next())
    }

    /// Whether frames may be larger than one buffer of a driver.
    pub fn has_large_frames(&self) -> bool {
        self.mtu > ETHERNET_MTU
    }

    /// Loads `program`, and those that it calls, to attach it. It reuses existing maps, each named
    /// as in the object.
    pub fn load(
        &self,
        spec: &Spec,
        (program, called): (&str, &[String]),
        placement: &Placement,
        reuse: Vec<(String, Map)>,
    ) -> Result<Loaded> {
        let (mode, programs) = (placement.mode, [&[program.to_owned()], called].concat());
        self.load_twice(spec, programs, (mode.into(), placement.confirm.is_some()), reuse)
    }

    /// Loads programs, of which the first is to be attached: with `waits`, with a deadline and
    /// without.
    pub fn load_twice(
        &self,
        spec: &Spec,
        programs: Vec<String>,
        (loading, waits): (Loading, bool),
        reuse: Vec<(String, Map)>,
    ) -> Result<Loaded> {
        if !waits {
            let object = self.load_sharing(spec, programs, loading, reuse)?;
            return Ok(Loaded { object, confirmed: None });
        }
        let binding = self.binding(spec, &programs, loading.mode);
        let runs = self.running_mode()?.is_some();
        let limited = deadline::limited(spec, &programs[0], binding, runs)?;
        let object = self
            .load_sharing(&limited, programs.clone(), loading, reuse)
            .map_err(|error| deadline::explained(error, binding, runs))?;
        let varying = spec.maps.iter().filter(|map| !map.frozen);
        let shared = varying.map(|map| Ok((map.name.clone(), object.map(&map.name)?.duplicate()?)));
        let shared = shared.collect::<Result<_>>()?;
        let confirmed = Some(self.load_sharing(spec, programs, loading, shared)?);
        Ok(Loaded { object, confirmed })
    }

    fn binding(&self, spec: &Spec, programs: &[String], mode: Mode) -> Binding {
        match mode {
            Mode::Offload => Binding::Offload(self.ifindex),
            Mode::Native if spec.asks_device(programs) => Binding::Device(self.ifindex),
            Mode::Native | Mode::Generic => Binding::Any,
        }
    }

    /// Loads programs, bound to this device if the mode or the programs require it. They reuse
    /// existing maps, each named as in the object.
    pub fn load_sharing(
        &self,
        spec: &Spec,
        programs: Vec<String>,
        loading: Loading,
        reuse: Vec<(String, Map)>,
    ) -> Result<Object> {
        let Loading { mode, tentative } = loading;
        let binding = self.binding(spec, &programs, mode);
        let begin = Instant::now();
        let names = programs.clone();
        let programs = Some(programs);
        let options = LoadOptions { programs, binding, tentative, reuse, ..LoadOptions::default() };
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
        let object = object?;
        self.slot.notify(&Notice::Loaded {
            programs: names,
            interface: self.interface.clone(),
            took: begin.elapsed(),
        });
        Ok(object)
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

/// An interface of this namespace.
///
/// # Errors
/// There is no such interface.
pub(crate) fn find_link(interface: &str) -> Result<Link> {
    let links = Netlink::open()?.links()?;
    let link = links.iter().find(|link| link.name == interface).cloned();
    link.ok_or_else(|| no_interface(interface, &links))
}

/// The error for an interface that is not among `links`.
pub(crate) fn no_interface(name: &str, links: &[Link]) -> Error {
    let known = links.iter().map(|link| link.name.clone()).collect();
    Error::NoInterface { name: name.to_owned(), known }
}

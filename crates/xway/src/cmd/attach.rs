//! `attach`: a program onto an interface, kept there by its pins.

use anyhow::{Context as _, Result, bail};
use kernel::{Attach, Binding, LoadOptions, Map, Mode, Object, Program, Replace};
use packet::Mac;
use spec::{Spec, compose};
use sys::errno::E2BIG;
use sys::net::{Ifindex, Netlink};
use sys::netns::NetNs;

use super::{Context, Exit};
use crate::args::{AttachArgs, ModeArg, Placement};
use crate::counters;
use crate::object::{self, Opened};
use crate::state::{Change, Scope, Slot, Trial, Writer};
use crate::view::attach::Attached;
use crate::view::say;

pub fn run(args: &AttachArgs, context: &Context) -> Result<Exit> {
    let mut opened = object::open(&args.object)?;
    opened.set_kind(args.program.as_deref(), args.kind.as_deref())?;
    opened.set(&args.placement.set)?;
    opened.complete(&args.open)?;
    let program = opened.choose(args.program.as_deref())?.name.clone();
    let target = Target::open(context, &args.iface)?;
    let loaded = load(&opened, &program, &target, args)?;
    target.install(&opened.name, &loaded.object, &program, &args.placement)?.commit()?;
    context.show(&Attached {
        interface: target.interface,
        object: opened.name,
        program_id: loaded.object.program(&program)?.id(),
        program,
        mode: mode(args.placement.mode).name(),
        counted: loaded.counted,
    })?;
    Ok(Exit::Done)
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
    pub fn open(context: &Context, interface: &str) -> Result<Self> {
        let writer = Writer::open(&context.state)?;
        let mut target = Self::with(&writer, interface)?;
        target._writer = Some(writer);
        Ok(target)
    }

    /// One of several interfaces that are changed under one lock.
    pub fn with(writer: &Writer, interface: &str) -> Result<Self> {
        let mut netlink = Netlink::open()?;
        let links = netlink.links()?;
        let Some(link) = links.iter().find(|link| link.name == interface) else {
            let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
            bail!("there is no interface `{interface}` here; there are {}", names.join(", "));
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
    ) -> Result<Change> {
        let attach = self.attach(object, program, placement)?;
        let change = self.slot.change(name, object, &attach, self.scope)?;
        self.say_if_down();
        Ok(change)
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
        self.say_if_down();
        Ok(trial)
    }

    fn attach<'o>(
        &self,
        object: &'o Object,
        program: &str,
        placement: &Placement,
    ) -> Result<Attach<'o>> {
        object.warnings().iter().for_each(|warning| say(&format!("xway: {warning}")));
        Ok(Attach {
            ifindex: self.ifindex,
            program: object.program(program)?,
            mode: mode(placement.mode),
            replace: if placement.replace { Replace::Yes } else { Replace::No },
        })
    }

    fn say_if_down(&self) {
        if !self.up {
            let name = &self.interface;
            say(&format!("xway: {name} is down, so no packet arrives; `ip link set {name} up`"));
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
    pub fn load(&self, spec: &Spec, programs: Vec<String>, mode: ModeArg) -> Result<Object> {
        self.load_sharing(spec, programs, mode, Vec::new())
    }

    /// The same with maps that are there already, by the object's name for them.
    pub fn load_sharing(
        &self,
        spec: &Spec,
        programs: Vec<String>,
        mode: ModeArg,
        reuse: Vec<(String, Map)>,
    ) -> Result<Object> {
        let binding = match mode {
            ModeArg::Offload => Binding::Offload(self.ifindex),
            ModeArg::Native if spec.asks_device(&programs) => Binding::Device(self.ifindex),
            ModeArg::Native | ModeArg::Generic => Binding::Any,
        };
        let programs = Some(programs);
        let options = LoadOptions { programs, binding, reuse, ..LoadOptions::default() };
        let labels = counters::missing_labels(spec).filter(|_| mode != ModeArg::Offload);
        let object = match labels {
            Some(labels) => {
                let mut spec = spec.clone();
                spec.maps.push(labels);
                Object::load(&spec, &options)
            }
            None => Object::load(spec, &options),
        };
        if mode == ModeArg::Offload {
            return object
                .with_context(|| format!("not loaded onto the card of {}", self.interface));
        }
        Ok(object?)
    }
}

/// Puts on the program for frames of one buffer; where the driver has larger ones and refuses it,
/// that for several (Linux 5.18). Were both refused, the first refusal is the one to tell.
pub fn by_size<T>(
    large: bool,
    [one, several]: [&str; 2],
    put: impl Fn(&str) -> Result<T>,
) -> Result<T> {
    put(one).or_else(|refused| {
        let by_kernel = refused.downcast_ref::<kernel::Error>().and_then(kernel::Error::errno);
        if large && by_kernel.is_some() { put(several).map_err(|_| refused) } else { Err(refused) }
    })
}

const ETHERNET_MTU: u32 = 1500;

#[derive(Debug)]
struct Loaded {
    object: Object,
    counted: bool,
}

/// Loads the program composed with its counters, or as it is where that cannot be.
fn load(opened: &Opened, program: &str, target: &Target, args: &AttachArgs) -> Result<Loaded> {
    let mode = args.placement.mode;
    let load = |spec: &Spec| target.load(spec, wanted(&opened.spec, program), mode);
    let own = compose::counts_itself(&opened.spec, program);
    let plain = own || args.no_count || mode == ModeArg::Offload;
    if plain {
        let object = load(&opened.spec)?;
        return Ok(Loaded { object, counted: own });
    }
    let composed = compose::counted(&opened.spec, program).map_err(anyhow::Error::new);
    match composed.and_then(|spec| load(&spec)) {
        Ok(object) => Ok(Loaded { object, counted: true }),
        Err(refused) if is_about_program(&refused) => {
            // If the program alone is refused too, that is the error to tell.
            let object = load(&opened.spec)?;
            say(&format!("xway: verdicts are not counted for this program: {refused:#}"));
            Ok(Loaded { object, counted: false })
        }
        Err(failed) => Err(failed),
    }
}

/// Whether the composed program is refused, by us or by the verifier, for what it is. Other
/// failures, such as a lack of memory, say nothing about it.
fn is_about_program(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<kernel::Error>() {
        Some(kernel::Error::Verifier { .. }) => true,
        Some(other) => other.errno() == Some(E2BIG),
        None => error.downcast_ref::<sys::Error>().is_none(),
    }
}

/// The program, and those that program arrays of the object hold.
fn wanted(spec: &Spec, program: &str) -> Vec<String> {
    let initial = spec.maps.iter().flat_map(|map| &map.initial);
    let held = initial.filter_map(|one| match one {
        spec::Initial::Program { program, .. } => spec.programs.get(*program),
        spec::Initial::Map { .. } => None,
    });
    let mut names: Vec<_> = held.map(|one| one.name.clone()).collect();
    names.push(program.to_owned());
    names.sort();
    names.dedup();
    names
}

pub fn mode(mode: ModeArg) -> Mode {
    match mode {
        ModeArg::Native => Mode::Native,
        ModeArg::Generic => Mode::Generic,
        ModeArg::Offload => Mode::Offload,
    }
}

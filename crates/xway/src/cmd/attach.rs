//! `attach`: a program onto an interface, kept there by its pins.

use anyhow::Result;
use kernel::{Attach, Binding, LoadOptions, Mode, Object, Replace};
use spec::{Spec, compose};
use sys::net::{Ifindex, Netlink};
use sys::netns::NetNs;

use super::{Context, Exit};
use crate::args::{AttachArgs, ModeArg, Placement};
use crate::object::{self, Opened};
use crate::state::{Change, Slot, Writer};
use crate::view::attach::Attached;
use crate::view::say;

pub fn run(args: &AttachArgs, context: &Context) -> Result<Exit> {
    let mut opened = object::open(&args.object)?;
    opened.set_kind(args.program.as_deref(), args.kind.as_deref())?;
    opened.set(&args.placement.set)?;
    let program = opened.choose(args.program.as_deref())?.name.clone();
    let target = Target::open(context, &args.iface)?;
    let loaded = load(&opened, &program, &target, args)?;
    target.install(&opened.name, &loaded.object, &program, &args.placement)?.commit()?;
    context.show(&Attached {
        interface: target.interface,
        object: opened.name,
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
        let link = netlink.link(interface).map_err(|error| {
            let names = netlink.links().unwrap_or_default();
            let names: Vec<_> = names.into_iter().map(|link| link.name).collect();
            anyhow::Error::new(error).context(format!("interfaces here are {}", names.join(", ")))
        })?;
        let slot = writer.slot(NetNs::current()?.id()?, link.ifindex);
        let running: Vec<u32> = link.xdp.programs().map(|(_mode, id)| id).collect();
        slot.sweep_here(&running)?;
        let (ifindex, up) = (link.ifindex, link.up);
        Ok(Self { interface: link.name, ifindex, slot, up, _writer: None })
    }

    /// Attaches `program` of `object`, to be kept under `name` once the change is committed.
    pub fn install(
        &self,
        name: &str,
        object: &Object,
        program: &str,
        placement: &Placement,
    ) -> Result<Change> {
        object.warnings().iter().for_each(|warning| say(&format!("xway: {warning}")));
        if !self.up {
            say(&format!(
                "xway: {} is down, so no packet arrives; `ip link set {} up`",
                self.interface, self.interface
            ));
        }
        let attach = Attach {
            ifindex: self.ifindex,
            program: object.program(program)?,
            mode: mode(placement.mode),
            replace: if placement.replace { Replace::Yes } else { Replace::No },
        };
        self.slot.change(name, object, &attach)
    }

    /// The program that runs in this mode now.
    pub fn running(&self, mode: Mode) -> Result<Option<u32>> {
        Ok(Netlink::open()?.link_by_index(self.ifindex)?.xdp.id(mode))
    }

    /// Where programs are loaded for: this device when they go onto the card.
    pub fn binding(&self, placement: &Placement) -> Binding {
        match placement.mode {
            ModeArg::Offload => Binding::Offload(self.ifindex),
            ModeArg::Native | ModeArg::Generic => Binding::Any,
        }
    }
}

#[derive(Debug)]
struct Loaded {
    object: Object,
    counted: bool,
}

/// Loads the program composed with its counters, or as it is where that cannot be.
fn load(opened: &Opened, program: &str, target: &Target, args: &AttachArgs) -> Result<Loaded> {
    let options = || LoadOptions {
        programs: Some(wanted(&opened.spec, program)),
        binding: target.binding(&args.placement),
        ..LoadOptions::default()
    };
    let own = compose::counts_itself(&opened.spec, program);
    let plain = own || args.no_count || args.placement.mode == ModeArg::Offload;
    if plain {
        let object = Object::load(&opened.spec, &options())?;
        return Ok(Loaded { object, counted: own });
    }
    let composed = compose::counted(&opened.spec, program).map_err(anyhow::Error::new);
    match composed.and_then(|spec| Ok(Object::load(&spec, &options())?)) {
        Ok(object) => Ok(Loaded { object, counted: true }),
        Err(refused) => {
            // If the program alone is refused too, that is the error to tell.
            let object = Object::load(&opened.spec, &options())?;
            say(&format!("xway: verdicts are not counted for this program: {refused:#}"));
            Ok(Loaded { object, counted: false })
        }
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

//! What routes: Linux, this project's program, a program that only redirects, and xdp-forward of
//! xdp-tools.
//!
//! Rule: xdp-forward is unchanged and loaded here. Its tool installs no object, so the user names
//! the one that its build leaves.

use std::path::Path;

use anyhow::{Context, Result};
use functions::route::abi::{Control, Fields};
use functions::route::{self, Config, Maps, Nat, Port, Tags};
use functions::stats::{self, Stats};
use kernel::{LoadOptions, Map, Object, Program};
use spec::asm::Reg::{R1, R2, R3, R4};
use spec::asm::{self, Assembler, Helper};
use spec::{Expect, Map as _, ProgramKind, Spec, Verdict};

use super::net::Net;
use crate::path::{one_port, port};

/// A router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Linux,
    Ours(Memory),
    /// Redirects every frame to the sink and reads none: the limit of a router.
    Redirect,
    /// xdp-forward with its program of this name.
    XdpForward(&'static str),
}

/// What this project's program remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Routes, while a process follows the kernel's changes.
    Followed,
    /// Routes, until the next tick of the kernel's clock.
    Unfollowed,
    /// Nothing.
    Off,
}

/// What this project's program does besides routing; the others do not know it.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// The fields that decide where packets go in the lab.
    pub fields: Fields,
    pub config: Config,
    /// Ports besides the two interfaces.
    pub ports: Vec<Port>,
    /// The tags of frames to the sink.
    pub sent: Tags,
}

/// A program that routes between the interfaces of a lab.
#[derive(Debug)]
pub struct Loaded {
    object: Object,
    name: &'static str,
}

impl Way {
    pub const ALL: [Self; 7] = [
        Self::Linux,
        Self::Ours(Memory::Followed),
        Self::Ours(Memory::Unfollowed),
        Self::Ours(Memory::Off),
        Self::Redirect,
        Self::XdpForward("xdp_fwd_fib_full"),
        Self::XdpForward("xdp_fwd_fib_direct"),
    ];

    /// Its name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Ours(Memory::Followed) => "ours",
            Self::Ours(Memory::Unfollowed) => "ours-unfollowed",
            Self::Ours(Memory::Off) => "ours-no-memory",
            Self::Redirect => "redirect",
            Self::XdpForward("xdp_fwd_fib_full") => "xdp-forward-full",
            Self::XdpForward(_) => "xdp-forward-direct",
        }
    }

    /// Its program for the lab; `None` for Linux. `fields` decide where packets go in the lab.
    ///
    /// # Errors
    /// The program is not there, or the kernel refuses it.
    pub fn load(self, net: &Net, fields: Fields) -> Result<Option<Loaded>> {
        let setup = Setup { fields, ..Setup::default() };
        let Some((spec, name)) = self.spec(net, &setup)? else { return Ok(None) };
        self.start(net, &setup, &spec, name).map(Some)
    }

    /// Its object and the name of its program; `None` for Linux.
    pub(super) fn spec(self, net: &Net, setup: &Setup) -> Result<Option<(Spec, &'static str)>> {
        Ok(match self {
            Self::Linux => None,
            Self::Ours(memory) => Some((ours(net, setup, memory)?, route::PROGRAM)),
            Self::Redirect => Some((redirect(net)?, REDIRECT)),
            Self::XdpForward(name) => Some((xdp_forward()?, name)),
        })
    }

    /// Loads the program and fills its maps.
    pub(super) fn start(
        self,
        net: &Net,
        setup: &Setup,
        spec: &Spec,
        name: &'static str,
    ) -> Result<Loaded> {
        let programs = Some(vec![name.to_owned()]);
        let object = Object::load(spec, &LoadOptions { programs, ..LoadOptions::default() })?;
        match self {
            Self::Linux => {}
            Self::Ours(memory) => prepare(net, &object, setup, memory)?,
            Self::Redirect => admit(net, &object, (PORTS, 0))?,
            Self::XdpForward(_) => admit(net, &object, ("xdp_tx_ports", net.far.ifindex()?.0))?,
        }
        Ok(Loaded { object, name })
    }
}

impl Setup {
    fn config(&self, memory: Memory) -> Config {
        let mut config = self.config.clone();
        if memory == Memory::Off {
            config.memory = 0;
        }
        config
    }

    fn ports(&self, net: &Net) -> Result<Vec<Port>> {
        let far = Port { tags: self.sent, ..port(&net.far)? };
        Ok([&[port(&net.near)?, far], &*self.ports].concat())
    }
}

impl Default for Setup {
    /// Translates nothing and routes between the lab's two interfaces.
    fn default() -> Self {
        let config = Config { nat: Nat::Off, ..Config::default() };
        Self { fields: Fields::default(), config, ports: Vec::new(), sent: Tags::NONE }
    }
}

impl Loaded {
    /// # Errors
    /// The object has no such map.
    pub(super) fn map(&self, name: &str) -> Result<&Map> {
        Ok(self.object.map(name)?)
    }

    /// # Errors
    /// The object has no such program.
    pub fn program(&self) -> Result<&Program> {
        Ok(self.object.program(self.name)?)
    }

    /// Packets that this project's program counted since it was loaded.
    ///
    /// # Errors
    /// It is another one.
    pub fn statistics(&self) -> Result<Stats> {
        let labels: Vec<_> =
            route::Reason::ALL.iter().map(|reason| reason.label().to_owned()).collect();
        Ok(Stats::read(self.object.map(stats::MAP)?, &labels)?)
    }
}

fn ours(net: &Net, setup: &Setup, memory: Memory) -> Result<Spec> {
    let config = setup.config(memory);
    let mut spec = Spec::parse("route", config.object())?;
    config.apply(&mut spec)?;
    config.size_memory(&mut spec, sys::cpu::possible()?)?;
    route::size_vlans(&mut spec, &setup.ports(net)?);
    // As `xway route start` does: each interface has a program that knows its port's number.
    spec.set_global(route::INGRESS, &0_u32.to_le_bytes())?;
    Ok(spec)
}

fn prepare(net: &Net, object: &Object, setup: &Setup, memory: Memory) -> Result<()> {
    let maps = Maps::find(|name| object.map(name))?;
    let ports = setup.ports(net)?;
    net.far.run(|| route::update(&setup.config, &ports, &maps).map(drop))??;
    if memory == Memory::Followed {
        // As a follower does; rules and routes do not change during a run.
        let (generation, valid_until, fields) = (1, u64::MAX, setup.fields);
        let control = Control { generation, valid_until, fields, ..Control::default() };
        object.map(route::CONTROL)?.update(&[0; 4], &control.to_bytes(), Expect::Any)?;
    }
    Ok(())
}

/// Writes the sink's and its own interface's address, which the driver's MAC filter would need,
/// and redirects.
fn redirect(net: &Net) -> Result<Spec> {
    let addresses: Vec<u8> = [net.sink.mac()?.0, net.far.mac()?.0].concat();
    let word = |place: usize| {
        addresses[place..].first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes))
    };
    let mut a = Assembler::new(REDIRECT, ProgramKind::XDP);
    let pass = a.label();
    a.packet(R2, R3, R1).need(R2, R3, ADDRESSES, R4, pass);
    for place in [0, 4, 8] {
        a.store32(R2.at(place), word(place as usize));
    }
    a.load_map(R1, PORTS).mov(R2, 0).mov(R3, Verdict::Aborted as i32);
    a.call(Helper::REDIRECT_MAP).exit();
    a.bind(pass).verdict(Verdict::Pass);
    let mut object = asm::Object::new(REDIRECT, "Dual MIT/GPL");
    object.map(one_port(PORTS));
    object.program(a);
    Ok(object.finish()?)
}

fn xdp_forward() -> Result<Spec> {
    let path = std::env::var_os(XDP_FORWARD)
        .with_context(|| format!("not here: {XDP_FORWARD} does not name xdp_forward.bpf.o"))?;
    let bytes = std::fs::read(&path).with_context(|| Path::new(&path).display().to_string())?;
    Ok(Spec::parse("xdp-forward", &bytes)?)
}

/// Lets packets leave by the far interface, which the map has under this key.
fn admit(net: &Net, object: &Object, (map, key): (&str, u32)) -> Result<()> {
    let port = net.far.ifindex()?.0.to_ne_bytes();
    // The kernel resolves the number in the namespace of the writing thread.
    Ok(net.far.run(|| object.map(map)?.update(&key.to_ne_bytes(), &port, Expect::Any))??)
}

const REDIRECT: &str = "redirect";
const PORTS: &str = "ports";
/// Bytes of both hardware addresses.
const ADDRESSES: i32 = 12;
/// Environment variable with the path of xdp-forward's object.
pub const XDP_FORWARD: &str = "XDP_FORWARD_OBJECT";

//! From a `Spec` to programs and maps in the kernel.
//!
//! Order: target types, kernel configuration, BTF, maps with their contents, programs, then slots
//! of maps that hold programs. Rule: on a failure everything created so far is closed; pins are
//! created last. What the kernel lacks and the object can do without is a warning, not an error.

mod btf;
mod config;
mod fixup;
mod info;
mod maps;
mod memory;
mod module;
pub(crate) mod program;
pub(crate) mod slack;
mod slots;
mod symbols;
mod target;

use std::path::PathBuf;

use spec::btf::Btf;
use spec::{Plan, ProgramKind, Spec, UnknownProgram};
use sys::net::Ifindex;

use crate::error::{Error, Result};
use crate::map::Map;
use crate::program::Program;

use btf::LoadedBtf;
pub use config::fill_configuration;
pub use memory::memory;
pub use module::open_module_types;
pub(crate) use symbols::Host;

/// How an object is loaded. The default loads all programs that need no reference by another one,
/// shares nothing and pins nothing.
#[derive(Debug, Default)]
pub struct LoadOptions {
    /// Names of programs to load; `None` for all but those of `SEC("?…")`.
    pub programs: Option<Vec<String>>,
    /// Type of every program, regardless of its section.
    pub kind: Option<ProgramKind>,
    /// Further `BPF_F_*` load flags.
    pub flags: u32,
    /// Binding of the programs to a device.
    pub binding: Binding,
    /// Another form of the programs is loaded if they are refused. What the verifier finds only
    /// after it followed the program, which takes seconds, is not verified again for a log that
    /// explains it: `E2BIG` for too many paths, and `EACCES`, for example for a stack that is too
    /// large.
    pub tentative: bool,
    /// Where maps declared "pin by name" are pinned, and found again.
    pub pin_root: Option<PathBuf>,
    /// Maps to use instead of making new ones, by the object's name for them.
    pub reuse: Vec<(String, Map)>,
    /// Types that field relocations are resolved against; `None` for the running kernel's.
    pub target: Option<Btf>,
}

/// Which device the programs are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    #[default]
    Any,
    /// Runs on the host, for this device only, and may call its metadata functions. Linux 6.3.
    /// Refused while `net.core.bpf_jit_harden` is 2, with which the kernel crashes later.
    Device(Ifindex),
    /// Runs on the device, and so do the maps.
    Offload(Ifindex),
}

/// A loaded object. Its parts outlive it if they are attached, pinned or duplicated.
#[derive(Debug)]
pub struct Object {
    name: String,
    programs: Vec<Program>,
    maps: Vec<Map>,
    warnings: Vec<String>,
}

impl Object {
    /// Loads the programs and maps of an object.
    ///
    /// # Errors
    /// [`Error::Verifier`] with the log of the first program that was rejected;
    /// [`Error::Denied`] with the missing capability; [`Error::Unresolved`] for what the kernel
    /// does not have.
    pub fn load(spec: &Spec, options: &LoadOptions) -> Result<Self> {
        Self::load_on(&mut Host::new(), spec, options)
    }

    /// Loads with what an earlier load has read about the kernel.
    pub(crate) fn load_on(host: &mut Host, spec: &Spec, options: &LoadOptions) -> Result<Self> {
        let mut warnings = Vec::new();
        let relocated = target::relocated(spec, options, host)?;
        let mut spec = relocated.unwrap_or_else(|| spec.clone());
        config::fill(&mut spec, host)?;
        let plan = Plan::new(&spec, options.programs.as_deref()).map_err(|unknown| {
            let UnknownProgram { name, known } = unknown;
            Error::UnknownProgram { object: spec.name.clone(), name, known }
        })?;
        let btf = btf::load(&spec, options, &mut warnings);
        let made = maps::make(&spec, options, &plan, btf.as_ref(), &mut warnings)?;
        let loader = program::Loader { spec: &spec, options, btf: btf.as_ref(), maps: &made };
        let mut programs = Vec::new();
        for number in plan.programs() {
            programs.push((number, loader.load(number, host)?));
        }
        slots::fill_programs(&spec, &made, &programs)?;
        maps::pin(&spec, options, &made)?;
        Ok(Self {
            name: spec.name.clone(),
            programs: programs.into_iter().map(|(_, program)| program).collect(),
            maps: made.into_iter().flatten().map(|made| made.map).collect(),
            warnings,
        })
    }

    /// Name of the object.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The loaded programs.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// The maps, in the order of their definitions.
    pub fn maps(&self) -> &[Map] {
        &self.maps
    }

    /// What was left out, and why it does no harm.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Finds a program by its name.
    ///
    /// # Errors
    /// [`Error::UnknownProgram`] lists those that are loaded.
    pub fn program(&self, name: &str) -> Result<&Program> {
        self.programs.iter().find(|program| program.name() == name).ok_or_else(|| {
            let known = self.programs.iter().map(|program| program.name().to_owned()).collect();
            Error::UnknownProgram { object: self.name.clone(), name: name.to_owned(), known }
        })
    }

    /// Finds a map by its name.
    ///
    /// # Errors
    /// [`Error::UnknownMap`] with the names of the existing ones.
    pub fn map(&self, name: &str) -> Result<&Map> {
        self.maps.iter().find(|map| map.name() == name).ok_or_else(|| {
            let known = self.maps.iter().map(|map| map.name().to_owned()).collect();
            Error::UnknownMap { object: self.name.clone(), name: name.to_owned(), known }
        })
    }

    /// Programs and maps, to be kept one by one.
    pub fn into_parts(self) -> (Vec<Program>, Vec<Map>) {
        (self.programs, self.maps)
    }
}

/// The device that holds the maps.
fn map_device(options: &LoadOptions) -> u32 {
    match options.binding {
        Binding::Offload(ifindex) => ifindex.0,
        Binding::Any | Binding::Device(_) => 0,
    }
}

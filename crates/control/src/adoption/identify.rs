//! Which program of which object a member runs, and which map of the object each of its maps is.
//!
//! The kernel hashes the instructions of a program to its tag when it loads it, without the numbers
//! of maps. So a program of an object is loaded, not attached, and has the tag of the member if it
//! has the same instructions. Both then list their maps in the same order.

use kernel::{Map, MapInfo, Mode, Object, ProgInfo, tag_text};
use spec::{Map as _, ProgramKind, Spec};

use crate::dispatcher::config::Slot;
use crate::dispatcher::{Dispatcher, DispatcherMember};
use crate::error::{DispatcherError, MissingMember, Result, full};
use crate::object::{Opened, called};
use crate::target::Target;

/// A member with its code and maps.
#[derive(Debug)]
pub struct Identified {
    /// The object, with the constants and the map sizes of the running program.
    pub opened: Opened,
    /// Name of the program in the object.
    pub program: String,
    pub slot: Slot,
    /// The running maps, by their names in the object; without those of constants.
    pub shared: Vec<(String, Map)>,
}

/// A program of an object, loaded to know its tag.
#[derive(Debug)]
struct Candidate<'o> {
    opened: &'o Opened,
    program: String,
    /// The error, if the kernel refused it.
    loaded: Result<(Object, ProgInfo), String>,
}

/// Finds the code of all members.
///
/// # Errors
/// The code of a member is in no object, or an object is not of a member.
pub fn identify(
    target: &Target,
    mode: Mode,
    dispatcher: &Dispatcher,
    objects: &[Opened],
) -> Result<Vec<Identified>> {
    let attached = |one| DispatcherMember::running(one);
    let running: Vec<_> = dispatcher.members.iter().filter_map(attached).collect();
    let candidates: Vec<_> =
        objects.iter().flat_map(|opened| candidates(target, mode, opened, &running)).collect();
    let find = |info: &ProgInfo| candidates.iter().find(|one| one.has_tag(info));
    let missing: Vec<_> = running.iter().filter(|(_, info)| find(info).is_none()).collect();
    if !missing.is_empty() {
        let missing = missing.iter().map(|(_, info)| missing_member(info, &candidates));
        let (interface, missing) = (target.interface.clone(), missing.collect());
        return Err(DispatcherError::Missing { interface, missing }.into());
    }
    let is_used = |object: &Opened| {
        let mut own = candidates.iter().filter(|one| std::ptr::eq(one.opened, object));
        own.any(|one| running.iter().any(|(_, info)| one.has_tag(info)))
    };
    if let Some(unused) = objects.iter().find(|object| !is_used(object)) {
        let (object, known) = (unused.name.clone(), dispatcher.names());
        return Err(DispatcherError::Unused { object, known }.into());
    }
    let found = running.iter().filter_map(|(slot, info)| Some((slot, info, find(info)?)));
    found.map(|(slot, info, candidate)| candidate.identified(**slot, info)).collect()
}

impl DispatcherMember {
    /// Its place and its program, if it has one.
    fn running(&self) -> Option<(&Slot, &ProgInfo)> {
        Some((&self.slot, self.program.as_ref()?))
    }
}

/// The programs of an object that have the name of a member.
fn candidates<'o>(
    target: &Target,
    mode: Mode,
    opened: &'o Opened,
    running: &[(&Slot, &ProgInfo)],
) -> Vec<Candidate<'o>> {
    let is_xdp = |kind: ProgramKind| kind.is_xdp() || kind.is_unknown();
    let names = opened.spec.programs.iter().filter(|one| is_xdp(one.kind)).map(|one| &one.name);
    let named = names.filter(|name| running.iter().any(|(_, info)| has_name(name, info)));
    named.map(|program| Candidate::load(target, mode, opened, program)).collect()
}

fn missing_member(info: &ProgInfo, candidates: &[Candidate<'_>]) -> MissingMember {
    let named = candidates.iter().filter(|one| has_name(&one.program, info));
    let found = named.map(|one| match &one.loaded {
        Ok((_, loaded)) => format!("{} has the tag {}", one.opened.name, tag_text(&loaded.tag)),
        Err(error) => format!("{} cannot be loaded: {error}", one.opened.name),
    });
    MissingMember { name: info.name.clone(), tag: tag_text(&info.tag), found: found.collect() }
}

impl<'o> Candidate<'o> {
    fn load(target: &Target, mode: Mode, opened: &'o Opened, program: &str) -> Self {
        let programs = [&[program.to_owned()][..], &called(&opened.spec, program)].concat();
        let loaded = target.load_sharing(&opened.spec, programs, mode.into(), Vec::new());
        let loaded = loaded.and_then(|object| {
            let info = object.program(program)?.info()?;
            Ok((object, info))
        });
        let loaded = loaded.map_err(|error| full(&error));
        Self { opened, program: program.to_owned(), loaded }
    }

    fn has_tag(&self, info: &ProgInfo) -> bool {
        let loaded = self.loaded.as_ref();
        has_name(&self.program, info) && loaded.is_ok_and(|(_, loaded)| loaded.tag == info.tag)
    }

    /// The member with the code of this program.
    fn identified(&self, slot: Slot, running: &ProgInfo) -> Result<Identified> {
        let (mut opened, program) = (self.opened.clone(), self.program.clone());
        let mut shared = Vec::new();
        if slot.has_frags {
            opened.set_kind(Some(&program), Some("xdp.frags"))?;
        }
        if let Ok((object, loaded)) = &self.loaded {
            let (own, other) = (&loaded.map_ids, &running.map_ids);
            if own.len() != other.len() {
                let (running, object) = (other.len(), own.len());
                let name = program.clone();
                return Err(DispatcherError::Maps { name, running, object }.into());
            }
            for (own, other) in own.iter().zip(other) {
                let Some(own) = object.maps().iter().find(|map| map.id() == *own) else { continue };
                let other = Map::from_id(*other)?;
                resize(&mut opened, own, other.info())?;
                if !take_constants(&mut opened.spec, own.name(), &other)? {
                    shared.push((own.name().to_owned(), other));
                }
            }
        }
        Ok(Identified { opened, program, slot, shared })
    }
}

/// Gives a map of the object the size that the running map was created with.
fn resize(opened: &mut Opened, own: &Map, running: &MapInfo) -> Result<()> {
    if own.max_entries() == running.max_entries {
        return Ok(());
    }
    let mut sizes = opened.source.map_sizes.clone();
    sizes.push((own.name().to_owned(), running.max_entries));
    let kconfig = opened.source.kconfig.clone();
    opened.complete(&sizes, &kconfig)
}

/// Sets the constants of the object to those of the running map. Returns whether it is a map of
/// constants.
fn take_constants(spec: &mut Spec, name: &str, running: &Map) -> Result<bool> {
    let Some(def) = spec.maps.iter_mut().find(|map| map.name == name && map.frozen) else {
        return Ok(false);
    };
    if def.value_size == running.info().value_size {
        def.contents = running.lookup(&[0; 4])?;
    }
    Ok(true)
}

/// Whether the kernel would give a program this name; it keeps 15 characters.
fn has_name(program: &str, info: &ProgInfo) -> bool {
    program.bytes().take(NAME_LEN).eq(info.name.bytes())
}

/// Bytes of a program's name in the kernel.
const NAME_LEN: usize = 15;

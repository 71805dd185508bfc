//! `ActiveFilter`: the filter that an interface runs, found through its pins.
//!
//! Rule: what is told of it is read from the kernel alone: the file of rules is kept in a map
//! beside the program, so program, rules and counters cannot disagree. Looking takes no lock.

use std::time::Duration;

use filter::maps::{self, BANS, CARRIED};
use filter::runtime::{actions, parts};
use filter::{Action, Carried, File, Rule, Ruleset, abi};
use functions::stats;
use kernel::{Map, Mode, Program};
use spec::{Map as _, MapDef, Spec};
use sys::net::{Ifindex, Link, Netlink};
use sys::netns::NetNs;
use sys::thread::monotonic_ns;

use super::globals::Globals;
use super::report::{Bans, Reading};
use super::ruleset;
use crate::Control;
use crate::counters::{self, Counters, labels_map, text, text_map};
use crate::error::{Error, Result};
use crate::state::{Generation, Slot, State};
use crate::target::no_interface;

/// A filter that runs.
#[derive(Debug)]
pub struct ActiveFilter {
    pub mode: Mode,
    pub program: Program,
    generation: Generation,
    slot: Slot,
}

impl ActiveFilter {
    /// In whatever mode; `None` when something else runs there, or nothing.
    pub fn find(slot: &Slot, ifindex: Ifindex) -> Result<Option<Self>> {
        let running = Netlink::open()?.link_by_index(ifindex)?.xdp;
        for (mode, id) in running.programs() {
            let generation = slot.generation_of(id)?.filter(|one| one.name() == NAME);
            let Some(generation) = generation else { continue };
            let Some(program) = generation.program()? else { continue };
            return Ok(Some(Self { mode, program, generation, slot: slot.clone() }));
        }
        Ok(None)
    }

    /// That of an interface of this namespace, to be looked at.
    ///
    /// # Errors
    /// There is no such interface, or it runs no filter.
    pub fn open(control: &Control, interface: &str) -> Result<Self> {
        let links = Netlink::open()?.links()?;
        let Some(link) = links.iter().find(|link| link.name == interface) else {
            return Err(no_interface(interface, &links));
        };
        let state = match State::look(control) {
            // Where nothing runs, no filter does, whoever asks.
            Err(_) if link.xdp.is_empty() => {
                return Err(Error::NoFilter { interface: interface.to_owned() });
            }
            other => other?,
        };
        let slot = state.slot(NetNs::current()?.id()?, link.ifindex);
        state.heal(&slot, link.xdp.programs().map(|(_, id)| id));
        if let Some(active) = Self::find(&slot, link.ifindex)? {
            return Ok(active);
        }
        let interface = interface.to_owned();
        Err(match came_with(&state, link)? {
            true => Error::MovedFilter { interface },
            false => Error::NoFilter { interface },
        })
    }

    /// What `ask` is told of the filter there. Looking takes no lock: one that makes room for
    /// another meanwhile, pins and all, is forgotten and the other one asked.
    ///
    /// # Errors
    /// Those of looking and of asking.
    pub fn read_consistent<T>(
        control: &Control,
        interface: &str,
        ask: impl Fn(&Self) -> Result<T>,
    ) -> Result<(Self, T)> {
        let mut active = Self::open(control, interface)?;
        for _ in 0..ATTEMPTS {
            let told = ask(&active);
            let error = match told {
                Ok(told) => return Ok((active, told)),
                Err(error) => error,
            };
            let now = Self::open(control, interface)?;
            if now.program.id() == active.program.id() {
                return Err(error);
            }
            active = now;
        }
        Err(Error::Unstable { interface: interface.to_owned() })
    }

    /// The rules in force as they are kept.
    pub fn text(&self) -> Result<String> {
        let bytes = self.map(FILE)?.lookup(&[0; 4])?.unwrap_or_default();
        text(bytes, "the stored rules are not text")
    }

    pub fn file(&self) -> Result<File> {
        ruleset::kept(&self.text()?)
    }

    /// The rules in force without those whose time is over: what a change begins with.
    pub fn standing(&self) -> Result<File> {
        let mut file = self.file()?;
        let mut left = self.left(&file.ruleset)?.into_iter();
        file.ruleset.rules.retain(|_| left.next().flatten() != Some(Duration::ZERO));
        Ok(file)
    }

    /// How long each of its rules still holds; `None` for those without a time.
    pub fn left(&self, rules: &Ruleset) -> Result<Vec<Option<Duration>>> {
        let (map, now) = (self.map(maps::RULES)?, monotonic_ns());
        let timed = |rule: &Rule| matches!(rule.action, Action::DropFor(_));
        let all = rules.rules.iter().zip(0_u32..);
        all.map(|(rule, number)| match timed(rule) {
            true => Ok(actions::left(&map, number, now)?),
            false => Ok(None),
        })
        .collect()
    }

    pub fn rules(&self) -> Result<Ruleset> {
        Ok(self.file()?.ruleset)
    }

    /// Its counters at one moment.
    pub fn read(&self) -> Result<Reading> {
        // Not by the program's maps: in a trial it has two of this kind.
        let labels = self.labels()?;
        let counts = Counters::Reasons { map: self.map(stats::MAP)?, labels }.read()?;
        let events = actions::events(&self.map(maps::EVENTS)?)?;
        Ok(Reading { rules: self.slot.rule_counts(&self.generation)?, counts, events })
    }

    /// How many sources are banned, and how many can be.
    pub fn bans(&self) -> Result<Bans> {
        let (map, now) = (self.map(BANS)?, sys::thread::monotonic_ns());
        let in_force = |value: &[u8]| {
            let ban = <[u8; abi::Ban::SIZE]>::try_from(value);
            ban.is_ok_and(|ban| abi::Ban::from_bytes(&ban).until > now)
        };
        let number = map.entries()?.iter().filter(|(_, value)| in_force(value)).count();
        Ok(Bans { number, most: map.max_entries() })
    }

    /// Whether its program looks for bans at all: else the map of bans has room for one.
    pub fn may_ban(&self) -> Result<bool> {
        Ok(self.map(BANS)?.max_entries() > 1)
    }

    pub fn map(&self, name: &str) -> Result<Map> {
        self.generation.map(name)
    }

    /// What an object that decides by the same rules uses again: all but constants, and what a
    /// trial or watching has for itself.
    pub fn kept(&self, spec: &Spec) -> Result<Vec<(String, Map)>> {
        let varies =
            |def: &&MapDef| (!def.frozen || def.name == FILE) && !parts::is_temporary(&def.name);
        self.alike(spec, spec.maps.iter().filter(varies).map(|def| def.name.as_str()))
    }

    /// What a generation keeps besides the program's own maps, to be added to another program of
    /// the same rules.
    pub fn keeping(&self) -> Result<[MapDef; 4]> {
        let carried = Carried::read(&self.map(CARRIED)?)?.unwrap_or_default();
        let size = self.map(CARRIED)?.value_size() as u32;
        let carried = MapDef { value_size: size, ..carried.map() };
        let labels = labels_map(&self.labels()?);
        Ok([keeping(&self.text()?), labels, carried, Globals::of(self)?.keeping()])
    }

    /// Those of an object's maps that are here in the same shape.
    pub fn alike<'n>(
        &self,
        spec: &Spec,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Vec<(String, Map)>> {
        let mut alike = Vec::new();
        for name in names {
            if let (Some(def), Ok(map)) = (spec.map(name), self.map(name))
                && is_alike(def, &map)
            {
                alike.push((name.to_owned(), map));
            }
        }
        Ok(alike)
    }

    /// Reasons have the numbers that they have in another program.
    pub fn has_reasons_of(&self, spec: &Spec) -> bool {
        let own = self.labels().unwrap_or_default();
        !own.is_empty() && Some(own) == spec.btf.as_ref().and_then(stats::labels)
    }

    /// Names of the reasons, by number.
    fn labels(&self) -> Result<Vec<String>> {
        counters::labels(&self.generation, &self.program)
    }
}

/// Whether it runs a filter that was put on it in another namespace, from which it was moved here.
fn came_with(state: &State, link: &Link) -> Result<bool> {
    for slot in state.slots()? {
        for (_, id) in link.xdp.programs() {
            if slot.generation_of(id)?.is_some_and(is_one) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn is_one(generation: Generation) -> bool {
    generation.name() == NAME
}

/// The map that keeps a text of rules with the program made of it.
pub fn keeping(text: &str) -> MapDef {
    text_map(FILE, text)
}

/// What to tell where there is no filter.
pub fn no_filter(interface: &str) -> String {
    format!("no filter runs on {interface}: `xway filter load {interface} FILE` loads one")
}

fn is_alike(def: &MapDef, map: &Map) -> bool {
    let info = map.info();
    // The kernel itself marks device maps as read-only for programs.
    let flags = |flags: u32| flags & !RDONLY_PROG;
    (def.kind.0, def.key_size, def.value_size, def.max_entries, flags(def.flags))
        == (info.kind, info.key_size, info.value_size, info.max_entries, flags(info.flags))
}

/// How generations of filters are called.
pub const NAME: &str = "filter";
const FILE: &str = "filter_file";
/// Filters that may make room for another while they are looked at.
const ATTEMPTS: usize = 8;
/// `BPF_F_RDONLY_PROG`.
const RDONLY_PROG: u32 = 1 << 7;

//! `ActiveFilter`: the filter that an interface runs, found through its pins.
//!
//! Rule: everything is read from the kernel: the rule file is stored in a map beside the program,
//! so program, rules and counters cannot disagree. Reading takes no lock.

use std::time::Duration;

use filter::maps::{self, BANS, CARRIED};
use filter::runtime::{actions, parts};
use filter::{Carried, Compiled, File, Form, Rule, Ruleset, abi};
use functions::stats;
use kernel::{Map, Mode, Program};
use spec::{Map as _, MapDef, Spec};
use sys::net::{Ifindex, Link, Netlink};
use sys::netns::NetNs;
use sys::thread::monotonic_ns;

use super::globals::Globals;
use super::ruleset;
use crate::Control;
use crate::counters::{self, Counters, labels_map};
use crate::error::{Error, Result};
use crate::map_names::{FILTER_FILE, FILTER_GLOBALS};
use crate::member::Member;
use crate::record::Record;
use crate::state::{Generation, Slot, State};
use crate::target::{Target, no_interface};
use crate::text_map::{text, text_map};

/// A filter that runs on an interface.
#[derive(Debug)]
pub struct ActiveFilter {
    pub mode: Mode,
    /// Id of the program that runs.
    pub program_id: u32,
    generation: Generation,
    slot: Slot,
}

impl ActiveFilter {
    /// Finds the filter of an interface, in any mode; `None` if it runs none.
    pub fn find(slot: &Slot, ifindex: Ifindex) -> Result<Option<Self>> {
        let programs = || -> Result<Vec<_>> {
            Ok(Netlink::open()?.link_by_index(ifindex)?.xdp.programs().collect())
        };
        let mut running = programs()?;
        loop {
            for (mode, program_id) in running.iter().copied() {
                let mut generations = slot.generations_of(program_id)?.into_iter();
                let Some(generation) = generations.find(|one| one.name() == NAME) else { continue };
                return Ok(Some(Self { mode, program_id, generation, slot: slot.clone() }));
            }
            // Another process may have replaced the program meanwhile, and removed its pins.
            let now = programs()?;
            if now == running {
                return Ok(None);
            }
            running = now;
        }
    }

    /// Compiles the loaded rules to a program that decides like the loaded one.
    pub fn compiled(&self, target: &Target, form: Form) -> Result<Compiled> {
        let mut made = ruleset::compiled(&self.rules()?, self.may_ban()?, target, form)?;
        self.globals()?.set(&mut made.spec)?;
        Ok(made)
    }

    /// Whether it is a member of a chain with others.
    pub fn is_chained(&self) -> Result<bool> {
        Ok(Member::read(&self.generation)?.is_some_and(|member| member.members > 1))
    }

    /// Opens the filter of an interface of this namespace, for reading.
    ///
    /// # Errors
    /// There is no such interface, or it runs no filter.
    pub fn open(control: &Control, interface: &str) -> Result<Self> {
        let links = Netlink::open()?.links()?;
        let Some(link) = links.iter().find(|link| link.name == interface) else {
            return Err(no_interface(interface, &links));
        };
        let state = match State::read(control) {
            // An interface without programs has no filter, even if the state cannot be read.
            Err(_) if link.xdp.is_empty() => {
                return Err(Error::NoFilter { interface: interface.to_owned() });
            }
            other => other?,
        };
        let slot = state.slot(NetNs::current()?.id()?, link.ifindex);
        state.restore_abandoned(&slot, link.xdp.programs().map(|(_, id)| id));
        if let Some(active) = Self::find(&slot, link.ifindex)? {
            return Ok(active);
        }
        let interface = interface.to_owned();
        Err(match runs_moved_filter(&state, link)? {
            true => Error::MovedFilter { interface },
            false => Error::NoFilter { interface },
        })
    }

    /// Opens the only filter of this namespace.
    ///
    /// # Errors
    /// No interface runs a filter, or several do.
    pub fn open_only(control: &Control) -> Result<Self> {
        let links = Netlink::open()?.links()?.into_iter();
        let found = links.filter_map(|link| Some((Self::open(control, &link.name).ok()?, link)));
        let mut found: Vec<_> = found.collect();
        match found.len() {
            0 => Err(Error::NoFilters),
            1 => Ok(found.remove(0).0),
            _ => {
                let interfaces = found.into_iter().map(|(_, link)| link.name).collect();
                Err(Error::SeveralFilters { interfaces })
            }
        }
    }

    /// Reads the filter of an interface by `read`. No lock is taken: if the filter is replaced, and
    /// its pins are removed, during the call, the new filter is read instead.
    ///
    /// # Errors
    /// The filter cannot be opened, `read` fails, or the filter is replaced too often.
    pub fn read_consistent<T>(
        control: &Control,
        interface: &str,
        read: impl Fn(&Self) -> Result<T>,
    ) -> Result<(Self, T)> {
        let mut active = Self::open(control, interface)?;
        for _ in 0..ATTEMPTS {
            let error = match read(&active) {
                Ok(result) => return Ok((active, result)),
                Err(error) => error,
            };
            let now = Self::open(control, interface)?;
            if now.program_id == active.program_id {
                return Err(error);
            }
            active = now;
        }
        Err(Error::Unstable { interface: interface.to_owned() })
    }

    /// The program that runs, opened for a process that may change it.
    pub fn program(&self) -> Result<Program> {
        self.slot.open(self.program_id)
    }

    /// The text of the loaded rule file.
    pub fn text(&self) -> Result<String> {
        let bytes = self.map(FILTER_FILE)?.lookup(&[0; 4])?.unwrap_or_default();
        Ok(text(bytes, "the stored rules")?)
    }

    /// The loaded rule file.
    pub fn file(&self) -> Result<File> {
        ruleset::parse_stored(&self.text()?)
    }

    /// The loaded rule file without expired rules.
    pub fn unexpired(&self) -> Result<File> {
        self.without_expired(|_| true)
    }

    /// The loaded rule file with which a change begins: expired rules are left out, except declared
    /// ones, without which the filter would not be as declared.
    pub fn editable(&self) -> Result<File> {
        let Record { declaration, temporary, .. } = self.record()?;
        self.without_expired(|rule| declaration.is_none() || temporary.contains(&rule.name))
    }

    fn without_expired(&self, is_left_out: impl Fn(&Rule) -> bool) -> Result<File> {
        let mut file = self.file()?;
        let left = actions::times_left(&self.map(maps::RULES)?, &file.ruleset, monotonic_ns())?;
        let mut left = left.into_iter();
        let is_over = |left: Option<Duration>| left == Some(Duration::ZERO);
        file.ruleset.rules.retain(|rule| {
            let is_expired = is_over(left.next().flatten());
            !(is_expired && is_left_out(rule))
        });
        Ok(file)
    }

    /// The loaded rule file without the rules that a detection added for a time.
    pub fn permanent(&self) -> Result<File> {
        let (mut file, temporary) = (self.file()?, self.record()?.temporary);
        file.ruleset.rules.retain(|rule| !temporary.contains(&rule.name));
        Ok(file)
    }

    /// The text of [`permanent`](Self::permanent).
    pub fn permanent_text(&self) -> Result<String> {
        match self.record()?.temporary.is_empty() {
            true => self.text(),
            false => Ok(ruleset::stored_text(&self.permanent()?)),
        }
    }

    /// The loaded rules.
    pub fn rules(&self) -> Result<Ruleset> {
        Ok(self.file()?.ruleset)
    }

    /// The counters of verdicts by reason, to be read repeatedly.
    pub fn counters(&self) -> Result<Counters> {
        // By pins, not by the program's maps: in a trial it has two maps of this name.
        Ok(Counters::Reasons { map: self.map(stats::MAP)?, labels: self.labels()? })
    }

    /// Counts of each rule since it was first loaded; the last is for rules that are no longer
    /// loaded.
    pub fn rule_counts(&self) -> Result<Vec<abi::Count>> {
        self.slot.rule_counts(&self.generation)
    }

    /// Whether the program looks up bans; if not, its map of bans has one entry.
    pub fn may_ban(&self) -> Result<bool> {
        Ok(self.map(BANS)?.max_entries() > 1)
    }

    /// A map of the filter.
    ///
    /// # Errors
    /// The filter has no such map, or it cannot be opened.
    pub fn map(&self, name: &str) -> Result<Map> {
        self.generation.map(name)
    }

    /// Global variables that were set when the filter was loaded; none for a filter that an earlier
    /// version loaded.
    pub fn globals(&self) -> Result<Globals> {
        self.map(FILTER_GLOBALS).map_or_else(|_| Ok(Globals::default()), |map| Globals::read(&map))
    }

    /// How it was attached.
    pub fn record(&self) -> Result<Record> {
        Ok(Record::read(&self.generation)?.unwrap_or_default())
    }

    /// Maps that an object with the same rules reuses: all except constants, and those that belong
    /// to a trial or a sampler.
    pub fn reusable(&self, spec: &Spec) -> Result<Vec<(String, Map)>> {
        let varies = |def: &&MapDef| {
            (!def.frozen || def.name == FILTER_FILE) && !parts::is_temporary(&def.name)
        };
        self.compatible(spec, spec.maps.iter().filter(varies).map(|def| def.name.as_str()))
    }

    /// Maps that store rules, labels, counts, globals and record of the filter, to be added to
    /// another program of the same rules.
    pub fn stored_maps(&self) -> Result<[MapDef; 5]> {
        let carried = Carried::read(&self.map(CARRIED)?)?.unwrap_or_default();
        let size = self.map(CARRIED)?.value_size() as u32;
        let carried = MapDef { value_size: size, ..carried.map() };
        let labels = labels_map(&self.labels()?);
        let (file, globals) = (file_map(&self.text()?), self.globals()?.map());
        Ok([file, labels, carried, globals, self.record()?.map()])
    }

    /// The filter's maps of these names, if they have the shape of an object's map.
    pub fn compatible<'n>(
        &self,
        spec: &Spec,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Vec<(String, Map)>> {
        let mut compatible = Vec::new();
        for name in names {
            if let (Some(def), Ok(map)) = (spec.map(name), self.map(name))
                && has_shape(&map, def)
            {
                compatible.push((name.to_owned(), map));
            }
        }
        Ok(compatible)
    }

    /// Whether reasons have the same numbers in another program.
    pub fn has_reasons_of(&self, spec: &Spec) -> bool {
        let own = self.labels().unwrap_or_default();
        !own.is_empty() && Some(own) == spec.btf.as_ref().and_then(stats::labels)
    }

    /// Names of the reasons, by number.
    fn labels(&self) -> Result<Vec<String>> {
        counters::labels(&self.generation)
    }
}

/// Whether the interface was moved from another namespace together with its filter.
fn runs_moved_filter(state: &State, link: &Link) -> Result<bool> {
    for slot in state.slots()? {
        for (_, id) in link.xdp.programs() {
            if slot.generations_of(id)?.into_iter().any(is_one) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn is_one(generation: Generation) -> bool {
    generation.name() == NAME
}

/// The map that stores the text of the rules with their program.
pub fn file_map(text: &str) -> MapDef {
    text_map(FILTER_FILE, text)
}

fn has_shape(map: &Map, def: &MapDef) -> bool {
    let info = map.info();
    // The kernel marks device maps as read-only for programs.
    let flags = |flags: u32| flags & !RDONLY_PROG;
    (def.kind.0, def.key_size, def.value_size, def.max_entries, flags(def.flags))
        == (info.kind, info.key_size, info.value_size, info.max_entries, flags(info.flags))
}

/// Name of a filter's generations.
pub const NAME: &str = "filter";
/// Number of times that a filter may be replaced while it is read.
const ATTEMPTS: usize = 8;
/// `BPF_F_RDONLY_PROG`.
const RDONLY_PROG: u32 = 1 << 7;

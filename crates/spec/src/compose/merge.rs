//! Several objects into one: maps, programs, types and everything that refers to them by number.
//!
//! Rule: numbers of the first object do not change; those of the others follow after them.

use super::main::Code;
use super::types::Types;
use super::verdicts::{VERDICTS_MAP, value_size};
use super::{Error, Link, MAIN};
use crate::btf::Appended;
use crate::model::{
    Fixup, Function, Initial, KconfigVar, Line, MapDef, MapKind, Program, Spec, Target, Unresolved,
};

/// Licenses that the kernel counts as GPL-compatible.
const GPL: [&str; 6] =
    ["GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"];

/// The object under construction.
pub struct Merge<'a> {
    spec: Spec,
    types: Types,
    sources: Vec<Source<'a>>,
    /// The source of each link.
    of_link: Vec<usize>,
}

/// Where an object's numbers went. Several links may share one.
struct Source<'a> {
    spec: &'a Spec,
    types: Appended,
    maps: Vec<usize>,
    first_program: usize,
}

impl<'a> Merge<'a> {
    /// All maps, programs and types of the links' objects.
    pub fn new(links: &[Link<'a>]) -> Result<Self, Error> {
        let first = links[0].spec;
        let [name, license] = [&first.name, &first.license].map(String::clone);
        let mut merge = Self {
            spec: Spec { name, license, ..Spec::default() },
            types: Types::new(MAIN, links.iter().any(|link| link.spec.btf.is_some())),
            sources: Vec::new(),
            of_link: Vec::new(),
        };
        for (link, number) in links.iter().zip(1..) {
            let known = merge.sources.iter().position(|known| std::ptr::eq(known.spec, link.spec));
            let source = match known {
                Some(source) => source,
                None => merge.add(link.spec, number)?,
            };
            merge.of_link.push(source);
            merge.part_of_chain(source, link.program);
        }
        Ok(merge)
    }

    /// Names of each link's maps, in its own object and in this one.
    pub fn names(&self) -> Vec<Vec<(String, String)>> {
        let of_source = |source: &usize| {
            let Source { spec, maps, .. } = &self.sources[*source];
            let pairs = spec.maps.iter().zip(maps);
            pairs.map(|(own, map)| (own.name.clone(), self.spec.maps[*map].name.clone())).collect()
        };
        self.of_link.iter().map(of_source).collect()
    }

    /// Declares the verdict map and returns its number.
    pub fn counters(&mut self, slots: u32) -> usize {
        let [key_type, value_type] = self.types.counters(slots);
        self.spec.maps.push(MapDef {
            name: VERDICTS_MAP.to_owned(),
            kind: MapKind::PERCPU_ARRAY,
            key_size: 4,
            value_size: value_size(slots) as u32,
            max_entries: 1,
            key_type,
            value_type,
            ..MapDef::default()
        });
        self.spec.maps.len() - 1
    }

    /// Puts the composed program in the place of the first link's.
    pub fn finish(mut self, code: Code, programs: &[&Program]) -> Result<Spec, Error> {
        let Code { mut program, places, notes } = code;
        let first = &self.sources[self.of_link[0]];
        program.functions = vec![self.types.main(first.spec, programs[0], first.types)];
        program.lines = self.types.lines(&notes);
        for ((part, source), place) in programs.iter().zip(&self.of_link).zip(places) {
            let source = &self.sources[*source];
            let mut moved = source.moved(part, |slot| place.of(slot));
            if place.inlined {
                moved.functions.remove(0);
            } else {
                let type_id = self.types.entry(source.spec, part, source.types, place.global);
                moved.functions[0].type_id = type_id;
                moved.functions[0].global = place.global;
            }
            program.fixups.extend(moved.fixups);
            program.functions.extend(moved.functions);
            program.lines.extend(moved.lines);
            program.unresolved.extend(moved.unresolved);
        }
        program.fixups.sort_by_key(|fixup| fixup.slot);
        program.functions.sort_by_key(|function| function.slot);
        program.lines.sort_by_key(|line| line.slot);
        program.unresolved.sort_by_key(|unresolved| unresolved.slot);
        self.types.complete(&mut program);
        if let Some(place) = self.spec.programs.iter_mut().find(|old| old.name == program.name) {
            *place = program;
        }
        self.spec.btf = self.types.build().map_err(|error| Error::Types(Box::new(error)))?;
        Ok(self.spec)
    }

    /// Adds an object; `number` is that of its first link, counted from 1.
    fn add(&mut self, spec: &'a Spec, number: usize) -> Result<usize, Error> {
        self.spec.license = common_license(&self.spec.license, &spec.license)?;
        if !self.spec.kconfig.is_empty() && !spec.kconfig.is_empty() {
            let [first, second] = [&self.spec.name, &spec.name].map(String::clone);
            return Err(Error::TwoKconfigs { first, second });
        }
        let types = self.types.append(spec.btf.as_ref());
        let first_program = self.spec.programs.len();
        let mut source = Source { spec, types, maps: Vec::new(), first_program };
        for map in &spec.maps {
            source.maps.push(self.add_map(map, types, number)?);
        }
        for (map, place) in spec.maps.iter().zip(&source.maps) {
            let initial = map.initial.iter().map(|initial| source.initial(initial));
            self.spec.maps[*place].initial = initial.collect();
        }
        for program in &spec.programs {
            let mut moved = source.moved(program, |slot| slot);
            moved.name = free_name(&program.name, number, |name| self.spec.program(name).is_some());
            self.spec.programs.push(moved);
        }
        self.spec.kconfig.extend(
            spec.kconfig
                .iter()
                .map(|var| KconfigVar { type_id: types.type_id(var.type_id), ..var.clone() }),
        );
        self.sources.push(source);
        Ok(self.sources.len() - 1)
    }

    /// A new map, or the existing one with the same pin name.
    fn add_map(&mut self, map: &MapDef, types: Appended, number: usize) -> Result<usize, Error> {
        let known = self.spec.map_index(&map.name);
        if let Some(place) = known.filter(|place| self.spec.maps[*place].pin_by_name)
            && map.pin_by_name
        {
            let same = shape(&self.spec.maps[place]) == shape(map);
            let differ = || Error::PinnedDiffer { map: map.name.clone() };
            return same.then_some(place).ok_or_else(differ);
        }
        let name = free_name(&map.name, number, |name| self.spec.map(name).is_some());
        self.spec.maps.push(MapDef { name, ..with_types(map, types) });
        Ok(self.spec.maps.len() - 1)
    }

    /// A link's own program is loaded separately only if something else refers to it.
    fn part_of_chain(&mut self, source: usize, name: &str) {
        let Source { spec, first_program, .. } = &self.sources[source];
        if let Some(place) = spec.programs.iter().position(|program| program.name == name) {
            self.spec.programs[first_program + place].autoload = false;
        }
    }
}

impl Source<'_> {
    /// A program as it reads in the merged object, each old slot at its new `place`. Its first
    /// function is its entry.
    fn moved(&self, program: &Program, place: impl Fn(usize) -> usize) -> Program {
        let mut moved = program.clone();
        if moved.functions.first().is_none_or(|first| first.slot != 0) {
            let name = program.name.clone();
            moved.functions.insert(0, Function { name, ..Function::default() });
        }
        for Fixup { slot, target } in &mut moved.fixups {
            *slot = place(*slot);
            self.move_target(target);
        }
        for Function { slot, type_id, .. } in &mut moved.functions {
            *slot = place(*slot);
            *type_id = self.types.type_id(*type_id);
        }
        for Line { slot, file, text, .. } in &mut moved.lines {
            *slot = place(*slot);
            *file = self.types.string(*file);
            *text = self.types.string(*text);
        }
        for Unresolved { slot, .. } in &mut moved.unresolved {
            *slot = place(*slot);
        }
        moved
    }

    fn move_target(&self, target: &mut Target) {
        match target {
            Target::Map { map } | Target::MapValue { map, .. } => *map = self.maps[*map],
            Target::Ksym { type_id, .. }
            | Target::Kfunc { type_id, .. }
            | Target::KfuncAddress { type_id, .. } => *type_id = self.types.type_id(*type_id),
            Target::Field(field) => field.type_id = self.types.type_id(field.type_id),
        }
    }

    fn initial(&self, initial: &Initial) -> Initial {
        match *initial {
            Initial::Map { index, map } => Initial::Map { index, map: self.maps[map] },
            Initial::Program { index, program } => {
                Initial::Program { index, program: self.first_program + program }
            }
        }
    }
}

fn with_types(map: &MapDef, types: Appended) -> MapDef {
    MapDef {
        key_type: types.type_id(map.key_type),
        value_type: types.type_id(map.value_type),
        inner: map.inner.as_ref().map(|inner| Box::new(with_types(inner, types))),
        ..map.clone()
    }
}

/// What two maps must agree on to be one.
fn shape(map: &MapDef) -> (MapKind, u32, u32, u32, u32) {
    (map.kind, map.key_size, map.value_size, map.max_entries, map.flags)
}

/// `name`, or `name.2` for the second link when it is taken.
fn free_name(name: &str, number: usize, taken: impl Fn(&str) -> bool) -> String {
    let mut free = name.to_owned();
    while taken(&free) {
        free = format!("{free}.{number}");
    }
    free
}

fn common_license(first: &str, second: &str) -> Result<String, Error> {
    if first == second {
        return Ok(first.to_owned());
    }
    if GPL.contains(&first) && GPL.contains(&second) {
        return Ok("GPL".to_owned());
    }
    Err(Error::LicensesDiffer { first: first.to_owned(), second: second.to_owned() })
}

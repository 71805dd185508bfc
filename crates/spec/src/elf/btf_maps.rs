//! Map definitions of the new style: a struct in `.maps` whose member *types* contain all
//! properties.
//!
//! `__uint(name, n)` is a pointer to an array of n, `__type(name, T)` a pointer to T,
//! `__ulong(name, n)` an enum of one value, `__array(values, T)` an array of pointers to T.
//! Rule: an unknown member is an error, for it would be silently lost.

use super::file::File;
use super::maps::{Maps, Slots};
use crate::btf::{Array, Btf, Kind, Member, Type, VarPlace};
use crate::error::{Error, Place};
use crate::limits::MAX_MAP_DEPTH;
use crate::model::{MapDef, MapKind};

const NAME: &str = ".maps";

pub(super) fn read(file: &File<'_>, btf: Option<&Btf>, maps: &mut Maps) -> Result<(), Error> {
    let Some(section) = file.find(NAME) else { return Ok(()) };
    let vars = btf.and_then(|btf| Some((btf, btf.datasec(NAME)?)));
    let Some((btf, vars)) = vars else {
        let at = Place::new(file.name).section(NAME);
        return Err(Error::map(at, "its BTF is missing: compile with -g and do not strip .BTF"));
    };
    let mut vars: Vec<_> = vars;
    vars.sort_by_key(|(_, place)| place.offset);
    for (var, place) in vars {
        let at = file.at(section, u64::from(place.offset)).symbol(var.name());
        read_one(btf, section, (var, place), maps, &at)?;
    }
    Ok(())
}

fn read_one(
    btf: &Btf,
    section: usize,
    (var, place): (Type<'_>, VarPlace),
    maps: &mut Maps,
    at: &Place,
) -> Result<(), Error> {
    let ty = btf.resolve(var.target()).filter(|ty| ty.kind() == Kind::Struct);
    let ty = ty.ok_or_else(|| Error::map(at.clone(), "is not a struct"))?;
    let mut definition = Definition::new(btf, at);
    definition.read(ty, MAX_MAP_DEPTH)?;
    let Definition { mut def, values, .. } = definition;
    def.name = var.name().to_owned();
    let map = maps.defs.len();
    maps.define(section, place.offset, def);
    if let Some(start) = values {
        // The array has no length in its type: what the object initialises ends the variable.
        let (start, end) =
            (place.offset.saturating_add(start), place.offset.saturating_add(place.size));
        maps.slots.push(Slots { map, section, start, end });
    }
    Ok(())
}

struct Definition<'a> {
    btf: &'a Btf,
    at: &'a Place,
    def: MapDef,
    /// Offset of `values` in the struct.
    values: Option<u32>,
}

impl<'a> Definition<'a> {
    fn new(btf: &'a Btf, at: &'a Place) -> Self {
        Self { btf, at, def: MapDef::default(), values: None }
    }

    fn read(&mut self, ty: Type<'_>, depth: usize) -> Result<(), Error> {
        for member in ty.members() {
            self.member(member, depth)?;
        }
        if self.def.kind == MapKind(0) {
            return Err(self.wrong("no `type`"));
        }
        Ok(())
    }

    fn member(&mut self, member: Member<'_>, depth: usize) -> Result<(), Error> {
        match member.name {
            "type" => self.def.kind = MapKind(self.uint(member)?),
            "max_entries" => self.def.max_entries = self.uint(member)?,
            "map_flags" => self.def.flags = self.uint(member)?,
            "numa_node" => self.def.numa_node = Some(self.uint(member)?),
            "map_extra" => self.def.extra = self.ulong(member)?,
            "pinning" => self.pinning(member)?,
            "key_size" => {
                self.def.key_size = self.size(self.uint(member)?, self.def.key_size, member)?
            }
            "value_size" => {
                self.def.value_size = self.size(self.uint(member)?, self.def.value_size, member)?;
            }
            "key" => {
                let (id, size) = self.pointee(member)?;
                self.def.key_size = self.size(size, self.def.key_size, member)?;
                self.def.key_type = id;
            }
            "value" => {
                let (id, size) = self.pointee(member)?;
                self.def.value_size = self.size(size, self.def.value_size, member)?;
                self.def.value_type = id;
            }
            "values" => self.values(member, depth)?,
            other => return Err(self.wrong(&format!("member `{other}` is unknown"))),
        }
        Ok(())
    }

    /// `__uint`: pointer to an array, its length the value.
    fn uint(&self, member: Member<'_>) -> Result<u32, Error> {
        let array = self.pointed(member).and_then(|id| self.btf.resolve(id)).and_then(Type::array);
        let array =
            array.ok_or_else(|| self.wrong(&format!("`{}` is not a __uint", member.name)))?;
        Ok(array.count)
    }

    /// `__ulong`: an enum of one value; `__uint` serves for small ones.
    fn ulong(&self, member: Member<'_>) -> Result<u64, Error> {
        match self.btf.resolve(member.type_id) {
            Some(ty) if ty.kind().is_enum() && ty.vlen() == 1 => {
                Ok(ty.values().next().map_or(0, |entry| entry.value as u64))
            }
            _ => self.uint(member).map(u64::from),
        }
    }

    fn pinning(&mut self, member: Member<'_>) -> Result<(), Error> {
        self.def.pin_by_name = match self.uint(member)? {
            0 => false,
            1 => true,
            other => return Err(self.wrong(&format!("`pinning` is {other}: 0 (none), 1 (name)"))),
        };
        Ok(())
    }

    /// `__type`: the type pointed to, and its size.
    fn pointee(&self, member: Member<'_>) -> Result<(u32, u32), Error> {
        let id = self.pointed(member);
        let size = id.and_then(|id| self.btf.size_of(id)).and_then(|size| size.try_into().ok());
        id.zip(size)
            .ok_or_else(|| self.wrong(&format!("the type of `{}` has no size", member.name)))
    }

    fn pointed(&self, member: Member<'_>) -> Option<u32> {
        let ty = self.btf.resolve(member.type_id)?;
        (ty.kind() == Kind::Ptr).then(|| ty.target())
    }

    /// Size and type may both be given, but must agree.
    fn size(&self, new: u32, old: u32, member: Member<'_>) -> Result<u32, Error> {
        if old != 0 && old != new {
            let what = format!("`{}` specifies {new} bytes, another member {old}", member.name);
            return Err(self.wrong(&what));
        }
        Ok(new)
    }

    /// `__array(values, …)`: pointers to programs or to inner maps.
    fn values(&mut self, member: Member<'_>, depth: usize) -> Result<(), Error> {
        let array = self.btf.resolve(member.type_id).and_then(Type::array);
        let element = array.and_then(|Array { element, .. }| self.btf.resolve(element));
        let target = element.filter(|ty| ty.kind() == Kind::Ptr).map(Type::target);
        let target = target.and_then(|id| self.btf.resolve(id));
        let Some(target) = target else {
            return Err(self.wrong("`values` is not an array of pointers"));
        };
        self.def.value_size = self.size(4, self.def.value_size, member)?;
        self.values = Some(member.bit_offset / 8);
        match target.kind() {
            Kind::FuncProto if self.def.kind == MapKind::PROG_ARRAY => Ok(()),
            Kind::Struct if self.def.kind.is_map_of_maps() => self.inner(target, depth),
            _ => Err(self.wrong("`values` fit neither a program array nor a map of maps")),
        }
    }

    fn inner(&mut self, ty: Type<'_>, depth: usize) -> Result<(), Error> {
        let Some(depth) = depth.checked_sub(1).filter(|depth| *depth > 0) else {
            return Err(self.wrong("a map of maps of maps: the kernel has one level"));
        };
        let mut inner = Definition::new(self.btf, self.at);
        inner.read(ty, depth)?;
        // The kernel needs no name for a template; one helps to recognise it.
        inner.def.name = format!("{}.inner", self.at.symbol);
        self.def.inner = Some(Box::new(inner.def));
        Ok(())
    }

    fn wrong(&self, what: &str) -> Error {
        Error::map(self.at.clone(), what)
    }
}

//! What an object leaves for the running system to supply: kernel functions, kernel variables
//! and kernel configuration.
//!
//! The symbol table only states that a name is undefined; BTF's `.ksyms` and `.kconfig` sections
//! describe it. Rule: kconfig variables are laid out by falling alignment, then rising size,
//! then name, so that the layout never depends on the order of symbols.

use std::collections::HashMap;

use super::file::{File, Symbol};
use crate::btf::{Btf, Kind, Type};
use crate::error::{Error, Place};
use crate::model::KconfigVar;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extern {
    /// Offset in the `.kconfig` map.
    Kconfig(u32),
    /// BTF `VAR`; 0 when the type is `void`.
    Variable(u32),
    /// BTF `FUNC`.
    Function(u32),
}

#[derive(Default)]
pub(super) struct Externs {
    known: HashMap<String, Extern>,
    /// Variables of the kernel's configuration.
    pub kconfig: Vec<KconfigVar>,
    /// Bytes of the `.kconfig` map.
    pub kconfig_size: u32,
}

impl Externs {
    /// Reads the declarations, and adds the section of configuration variables to the types.
    pub fn read(file: &File<'_>, btf: &mut Option<Btf>) -> Result<Self, Error> {
        let mut externs = Self::default();
        let Some(types) = btf else { return Ok(externs) };
        let undefined: HashMap<&str, &Symbol> = file
            .symbols
            .iter()
            .filter(|symbol| symbol.undefined && !symbol.local)
            .map(|symbol| (symbol.name.as_str(), symbol))
            .collect();
        externs.read_ksyms(types, &undefined);
        externs.read_kconfig(file.name, types, &undefined)?;
        externs.place_kconfig(types);
        Ok(externs)
    }

    /// Finds an extern symbol by its name.
    pub fn find(&self, name: &str) -> Option<Extern> {
        self.known.get(name).copied()
    }

    fn read_ksyms(&mut self, btf: &Btf, undefined: &HashMap<&str, &Symbol>) {
        for (ty, _) in btf.datasec(".ksyms").unwrap_or_default() {
            if !undefined.contains_key(ty.name()) {
                continue;
            }
            let found = match ty.kind() {
                Kind::Func => Extern::Function(ty.id()),
                _ if is_typeless(btf, ty) => Extern::Variable(0),
                _ => Extern::Variable(ty.id()),
            };
            self.known.insert(ty.name().to_owned(), found);
        }
    }

    fn read_kconfig(
        &mut self,
        file: &str,
        btf: &Btf,
        undefined: &HashMap<&str, &Symbol>,
    ) -> Result<(), Error> {
        for (ty, _) in btf.datasec(".kconfig").unwrap_or_default() {
            let Some(symbol) = undefined.get(ty.name()) else { continue };
            let size = btf.size_of(ty.id()).and_then(|size| u32::try_from(size).ok());
            let Some(size) = size.filter(|size| (1..=MAX_KCONFIG).contains(size)) else {
                let at = Place::new(file).section(".kconfig").symbol(ty.name());
                return Err(Error::unsupported(at, "declare it with a type of 1 to 4096 bytes"));
            };
            let name = ty.name().to_owned();
            let weak = symbol.weak;
            self.kconfig.push(KconfigVar { name, offset: 0, size, type_id: ty.id(), weak });
        }
        Ok(())
    }

    fn place_kconfig(&mut self, btf: &mut Btf) {
        let align = |var: &KconfigVar| btf.align_of(var.type_id) as u32;
        self.kconfig.sort_by(|a, b| {
            align(b).cmp(&align(a)).then(a.size.cmp(&b.size)).then(a.name.cmp(&b.name))
        });
        let mut end = 0u32;
        for var in &mut self.kconfig {
            var.offset = end.next_multiple_of(align(var));
            end = var.offset + var.size;
            self.known.insert(var.name.clone(), Extern::Kconfig(var.offset));
        }
        self.kconfig_size = end;
        self.fill_datasec(btf);
    }

    fn fill_datasec(&self, btf: &mut Btf) {
        let Some(id) = btf.find(Kind::Datasec, ".kconfig") else { return };
        let Some(datasec) = btf.ty(id) else { return };
        let places = self.kconfig.iter().map(|var| (var.type_id, (var.offset, var.size)));
        let places: HashMap<u32, (u32, u32)> = places.collect();
        let place = |type_id| places.get(&type_id).copied().unwrap_or_default();
        let places: Vec<_> = datasec.vars().map(|var| place(var.type_id)).collect();
        btf.set_datasec(id, self.kconfig_size, &places);
    }
}

/// The longest kernel configuration string.
const MAX_KCONFIG: u32 = 4096;

fn is_typeless(btf: &Btf, var: Type<'_>) -> bool {
    btf.resolve(var.id()).is_none()
}

//! Reading a BPF object: an ELF file in, a [`Spec`] out.
//!
//! Order matters: types first, since externs and maps are described by them; then maps, since
//! code refers to them; then code; then what maps hold of it. Rule: total on any bytes, and no
//! allocation that the file does not pay for (`limits`).

mod btf_maps;
mod code;
mod data_types;
mod ext;
mod externs;
mod file;
mod link;
mod map_sections;
mod map_values;
mod maps;
mod old_maps;

use crate::btf::Btf;
use crate::error::Error;
use crate::model::Spec;

pub(crate) use self::map_sections::has_data_name;

use self::code::Code;
use self::externs::Externs;
use self::file::File;
use self::maps::Maps;

impl Spec {
    /// Reads an object as clang writes it with `--target=bpf`; `name` is what errors call it.
    ///
    /// Field relocations remain as [`crate::Target::Field`] until [`Spec::relocate`].
    ///
    /// ```no_run
    /// let bytes = std::fs::read("filter.o")?;
    /// let mut filter = spec::Spec::parse("filter.o", &bytes)?;
    /// filter.set_global_text("limit", "1000")?;
    /// for program in &filter.programs {
    ///     println!("{} in section {}", program.name, program.section);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file is not a BPF object, is damaged, or refers to an undefined symbol.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, Error> {
        let file = File::parse(name, bytes)?;
        let mut btf = read_btf(&file)?;
        if let Some(btf) = &mut btf {
            data_types::place(&file, btf);
        }
        let info = btf.as_ref().map(|btf| ext::read(&file, btf)).transpose()?.unwrap_or_default();
        let externs = Externs::read(&file, &mut btf)?;
        let maps = Maps::read(&file, btf.as_ref(), &externs)?;
        let code = Code::read(&file, &info, &maps, &externs)?;
        if let Some(btf) = &mut btf {
            let hidden = code.functions.iter().filter(|function| function.hidden);
            hidden.for_each(|function| btf.set_static(function.type_id));
        }
        let programs = link::programs(&file, &code)?;
        let maps = maps.fill(&file, &code, &programs)?;
        let mut spec = Self {
            name: name.to_owned(),
            license: license(&file),
            programs,
            maps,
            btf,
            kconfig: externs.kconfig,
            variables: data_types::variables(&file),
        };
        spec.resolve_local()?;
        Ok(spec)
    }
}

fn read_btf(file: &File<'_>) -> Result<Option<Btf>, Error> {
    let Some(section) = file.find(".BTF") else { return Ok(None) };
    let btf = Btf::parse(file.sections[section].data);
    btf.map(Some).map_err(|error| error.in_section(file.name, ".BTF"))
}

/// Text up to the first NUL of section `license`; empty without one.
fn license(file: &File<'_>) -> String {
    let bytes = file.find("license").map_or(&[][..], |section| file.sections[section].data);
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

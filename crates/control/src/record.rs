//! `Record`: how a program was attached, stored with it in the kernel.
//!
//! Rule: a record is a map that is pinned beside the program, so it cannot disagree with what runs.
//! It has what cannot be read back from the program's other maps: the object, its options, and the
//! declaration that the program comes from. Programs on a network card have none.

use std::path::{Path, PathBuf};

use functions::{backend, balancer, route};
use kernel::Mode;
use serde::{Deserialize, Serialize};
use spec::{Map as _, MapDef, Spec};

use crate::declaration::table::{ForwardTable, ProgramTable, table_of};
use crate::error::Result;
use crate::map_names::RECORD;
use crate::object::Source;
use crate::state::{Generation, StagedMap};
use crate::target::Placement;
use crate::text_map::{create_text_map, text_map};

/// How a program was attached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The declaration that it comes from; `None` if a command attached it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declaration: Option<PathBuf>,
    /// Number by which a changed object file is recognized, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Names of the filter's rules that a detection added for a time. They do not belong to the
    /// declaration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub temporary: Vec<String>,
    /// The services of a balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<balancer::Config>,
    /// The tunnels that a backend opens, which are not in a declaration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<backend::Config>,
    /// The program and its options.
    pub program: ProgramTable,
}

impl Record {
    /// The record of a filter, whose rules and globals are stored elsewhere.
    pub fn of_filter(declaration: Option<&Path>) -> Self {
        Self { declaration: declaration.map(Path::to_owned), ..Self::default() }
    }

    /// The record of `drop`, whose rules are read from its maps.
    pub fn of_drop(placement: &Placement) -> Self {
        let program = ProgramTable { set: table_of(&placement.set), ..ProgramTable::default() };
        Self { program, ..Self::base(placement) }
    }

    /// The record of `forward` on these interfaces.
    pub fn of_forward(
        config: &route::Config,
        interfaces: &[String],
        ignore_stripped_tags: bool,
        placement: &Placement,
    ) -> Self {
        let mut interfaces = interfaces.to_vec();
        interfaces.sort();
        let forward = ForwardTable::new(config, interfaces);
        let program = ProgramTable {
            forward: Some(forward),
            ignore_stripped_tags,
            set: table_of(&placement.set),
            ..ProgramTable::default()
        };
        Self { program, ..Self::base(placement) }
    }

    /// The record of a balancer.
    pub fn of_balancer(config: &balancer::Config, out: &[String], placement: &Placement) -> Self {
        let mut out = out.to_vec();
        out.sort();
        let program =
            ProgramTable { out, set: table_of(&placement.set), ..ProgramTable::default() };
        Self { balance: Some(config.clone()), program, ..Self::base(placement) }
    }

    /// The record of a backend.
    pub fn of_backend(config: &backend::Config, placement: &Placement) -> Self {
        let program = ProgramTable { set: table_of(&placement.set), ..ProgramTable::default() };
        Self { backend: Some(config.clone()), program, ..Self::base(placement) }
    }

    /// The record of an object's program.
    pub fn of_object(
        source: &Source,
        program: Option<&str>,
        count: bool,
        placement: &Placement,
    ) -> Self {
        let program = ProgramTable {
            object: Some(source.path.clone()),
            program: program.map(str::to_owned),
            kind: source.kind.clone(),
            count: (!count).then_some(false),
            set: table_of(&placement.set),
            map_size: source.map_sizes.iter().cloned().collect(),
            kconfig: table_of(&source.kconfig),
            ..ProgramTable::default()
        };
        let digest = source.digest.map(|digest| format!("{digest:016x}"));
        Self { digest, program, ..Self::base(placement) }
    }

    /// This record as that of a declaration.
    pub fn declared_by(self, declaration: &Path) -> Self {
        Self { declaration: Some(declaration.to_owned()), ..self }
    }

    fn base(placement: &Placement) -> Self {
        Self { declaration: placement.declaration.clone(), ..Self::default() }
    }

    /// Reads the record of a generation; `None` for one that an earlier version attached.
    pub fn read(generation: &Generation) -> Result<Option<Self>> {
        let Some(map) = generation.map_if_kept(RECORD)? else { return Ok(None) };
        let bytes = map.lookup(&[0; 4])?.unwrap_or_default();
        Ok(std::str::from_utf8(&bytes).ok().and_then(|text| toml::from_str(text).ok()))
    }

    /// Adds the map of the record to an object that will run in this mode.
    pub fn add_to(&self, spec: &mut Spec, mode: Mode) {
        if mode != Mode::Offload {
            spec.maps.push(self.map());
        }
    }

    /// The map of the record.
    pub fn map(&self) -> MapDef {
        text_map(RECORD, &self.text())
    }

    /// Replaces the record of a generation whose program continues to run.
    pub fn replace(&self, generation: &Generation) -> Result<()> {
        let map = create_text_map(RECORD, &self.text())?;
        generation.replace_map(RECORD, &map)
    }

    /// Makes the record ready that will replace that of a generation.
    pub fn stage(&self, generation: &Generation) -> Result<StagedMap> {
        generation.stage_map(RECORD, &create_text_map(RECORD, &self.text())?)
    }

    /// The line break keeps the map from being empty, which the kernel refuses.
    pub(crate) fn text(&self) -> String {
        toml::to_string(self).unwrap_or_default() + "\n"
    }
}

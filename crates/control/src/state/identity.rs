//! `Identity`: what the kernel calls the programs of a generation.
//!
//! It is stored beside them, because a process that may only read the state cannot open them.

use kernel::{Map, Program};
use serde::{Deserialize, Serialize};
use spec::Map as _;

use crate::error::Result;
use crate::text_map::create_text_map;

/// The programs of a generation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The program that runs first.
    pub program: ProgramIdentity,
    /// The program that replaces it once the change is confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<ProgramIdentity>,
}

/// One program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramIdentity {
    /// Number by which the kernel knows it.
    pub id: u32,
    /// Name, at most 15 characters.
    pub name: String,
    /// Hash of the instructions, in hexadecimal digits.
    pub tag: String,
}

impl Identity {
    pub fn of(program: &Program, confirmed: Option<&Program>) -> Result<Self> {
        let one = |program: &Program| -> Result<ProgramIdentity> {
            let info = program.info()?;
            let tag = kernel::tag_text(&info.tag);
            Ok(ProgramIdentity { id: program.id(), name: info.name, tag })
        };
        Ok(Self { program: one(program)?, confirmed: confirmed.map(one).transpose()? })
    }

    /// The program with this id.
    pub fn find(&self, id: u32) -> Option<&ProgramIdentity> {
        [Some(&self.program), self.confirmed.as_ref()]
            .into_iter()
            .flatten()
            .find(|one| one.id == id)
    }

    /// Reads the map that stores it; `None` if another version wrote it.
    pub fn read(map: &Map) -> Result<Option<Self>> {
        let bytes = map.lookup(&[0; 4])?.unwrap_or_default();
        Ok(std::str::from_utf8(&bytes).ok().and_then(|text| toml::from_str(text).ok()))
    }

    /// A map that stores it.
    pub fn map(&self) -> Result<Map> {
        create_text_map(MAP, &toml::to_string(self).unwrap_or_default())
    }
}

/// Name of the map.
const MAP: &str = "xway_identity";

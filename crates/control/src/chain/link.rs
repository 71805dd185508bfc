//! `ChainLink`: a member with its object, so that it can be composed.

use kernel::Map;
use spec::compose;
use spec::{Map as _, Spec};

use crate::error::{ChainError, Context as _, Result};
use crate::map_names::{MEMBER, OBJECT};
use crate::member::Member;
use crate::object::{self, Opened};
use crate::record::Record;
use crate::state::Generation;

/// A member of a chain, or of what is to become one.
#[derive(Debug)]
pub struct ChainLink {
    pub member: Member,
    pub record: Record,
    pub opened: Opened,
    /// `None` for a member that is added.
    pub generation: Option<Generation>,
}

impl ChainLink {
    /// Opens a member of the running program. `member` is `None` if it was attached alone.
    ///
    /// # Errors
    /// Its object is not kept, and its file was changed; or it is not an object.
    pub fn open(member: Option<Member>, generation: &Generation) -> Result<Self> {
        let name = generation.name().to_owned();
        let record = Record::read(generation)?.unwrap_or_default();
        let opened = reopen(&name, &record, generation)
            .with_context(|| format!("`{name}` cannot be part of a chain"))?;
        let member = match member {
            Some(member) => member,
            None => {
                let program = opened.choose(record.program.program.as_deref())?.name.clone();
                Member {
                    priority: super::default_priority(&name),
                    counter: is_counted(&opened.spec, &program, &record).then_some(0),
                    continue_on: crate::member::names(compose::VerdictSet::default()),
                    members: 1,
                    program,
                    name,
                }
            }
        };
        Ok(Self { member, record, opened, generation: Some(generation.clone()) })
    }

    /// The link of a composition.
    pub fn part(&self) -> compose::Link<'_> {
        compose::Link {
            spec: &self.opened.spec,
            program: &self.member.program,
            go_on: self.member.verdicts(),
        }
    }

    /// A map of the member, if it has one with the shape that the object declares.
    pub fn map(&self, own: &str) -> Result<Option<Map>> {
        let (Some(generation), Some(def)) = (&self.generation, self.opened.spec.map(own)) else {
            return Ok(None);
        };
        let map = generation.map_if_kept(own)?;
        Ok(map.filter(|map| {
            let info = map.info();
            !def.frozen
                && (def.kind.0, def.key_size, def.max_entries)
                    == (info.kind, info.key_size, info.max_entries)
        }))
    }
}

/// Whether the chain counts the verdicts of a program.
pub fn is_counted(spec: &Spec, program: &str, record: &Record) -> bool {
    !compose::counts_itself(spec, program) && record.program.count != Some(false)
}

/// Reads an object again, as it was attached.
fn reopen(name: &str, record: &Record, generation: &Generation) -> Result<Opened> {
    let table = &record.program;
    let path = match (&table.object, name) {
        (Some(path), _) => path.clone(),
        (None, "drop") => name.to_owned(),
        (None, _) => return Err(ChainError::NotAnObject { program: name.to_owned() }.into()),
    };
    let mut opened = match generation.map_if_kept(OBJECT)? {
        Some(kept) => object::parse(&path, kept.lookup(&[0; 4])?.unwrap_or_default())?,
        None => object::open(&path)?,
    };
    let digest = opened.source.digest.map(|digest| format!("{digest:016x}"));
    if digest != record.digest {
        return Err(ChainError::Changed { path }.into());
    }
    opened.set_kind(table.program.as_deref(), table.kind.as_deref())?;
    let sizes: Vec<_> = table.map_size.clone().into_iter().collect();
    opened.complete(&sizes, &crate::declaration::table::pairs(&table.kconfig))?;
    opened.set(&crate::declaration::table::pairs(&table.set))?;
    Ok(opened)
}

/// Maps that are written anew for each generation of a member.
pub const OWN: [&str; 2] = [MEMBER, compose::VERDICTS_MAP];

//! `ChainLink`: a member with its code, so that it can be composed.

use functions::{backend, balancer, route};
use kernel::{Map, Mode};
use spec::compose;
use spec::{Map as _, MapDef, Spec};

use crate::declaration::table::pairs;
use crate::error::{ChainError, Context as _, Result};
use crate::map_names::{OBJECT, RECORD};
use crate::member::Member;
use crate::object::{self, Opened};
use crate::record::Record;
use crate::state::Generation;
use crate::tags::Tagging;
use crate::target::Target;
use crate::text_map::text_map;

/// A member of a chain, or of what is to become one.
#[derive(Debug)]
pub struct ChainLink {
    pub member: Member,
    pub spec: Spec,
    /// The member as it runs, whose maps continue; `None` for one that is added or replaced.
    pub generation: Option<Generation>,
    /// Maps to create beside those of the object, for a member that is added.
    pub beside: Vec<MapDef>,
    /// Existing maps that a replaced member uses, by their names in its object.
    pub shared: Vec<(String, Map)>,
    /// Names of maps of a member that runs which do not continue.
    pub renewed: Vec<String>,
    /// Program arrays of a member that runs, instead of which a trial has its own.
    pub apart: Vec<(String, Map)>,
}

/// The code of a program that runs, read again.
#[derive(Debug)]
pub struct Code {
    pub spec: Spec,
    /// Name of the program.
    pub program: String,
    /// Whether the chain may count its verdicts.
    pub may_count: bool,
}

impl ChainLink {
    /// A member that runs. `member` is `None` if it was attached alone.
    pub fn running(member: Option<Member>, generation: &Generation, code: Code) -> Self {
        let name = generation.name();
        let counts = code.may_count && !compose::counts_itself(&code.spec, &code.program);
        let slot = counts.then_some(0);
        let alone = || Member { slot, counted: counts, ..Member::new(name, &code.program) };
        let member = member.unwrap_or_else(alone);
        Self { generation: Some(generation.clone()), ..Self::new(member, code.spec) }
    }

    /// A member whose maps are all in its object.
    pub fn new(member: Member, spec: Spec) -> Self {
        let (beside, shared, renewed) = (Vec::new(), Vec::new(), Vec::new());
        Self { member, spec, generation: None, beside, shared, renewed, apart: Vec::new() }
    }

    /// A member that is added, from an object. The chain counts it if the program does not count
    /// itself and the record does not forbid it.
    pub fn added(member: Member, opened: Opened, record: &Record) -> Self {
        let may_count = record.program.count != Some(false);
        let counted = may_count && !compose::counts_itself(&opened.spec, &member.program);
        let member = Member { counted, ..member };
        let mut beside = vec![text_map(RECORD, &record.text())];
        beside.extend(crate::counters::missing_labels(&opened.spec));
        beside.extend(opened.kept_map());
        Self { beside, ..Self::new(member, opened.spec) }
    }

    /// The link of a composition.
    pub fn part(&self) -> compose::Link<'_> {
        let (program, go_on) = (self.member.program.as_str(), self.member.verdicts());
        compose::Link { spec: &self.spec, program, go_on }
    }

    /// An existing map that the member continues to use.
    pub fn map(&self, own: &str) -> Result<Option<Map>> {
        if let Some((_, map)) = self.shared.iter().find(|(name, _)| name == own) {
            return Ok(Some(map.duplicate()?));
        }
        let (Some(generation), Some(def)) = (&self.generation, self.spec.map(own)) else {
            return Ok(None);
        };
        let is_apart = self.apart.iter().any(|(name, _)| name == own);
        if is_apart || self.renewed.iter().any(|name| name == own) {
            return Ok(None);
        }
        let map = generation.map_if_kept(own)?;
        Ok(map.filter(|map| {
            let info = map.info();
            !def.frozen
                && (def.kind.0, def.key_size, def.max_entries)
                    == (info.kind, info.key_size, info.max_entries)
        }))
    }
}

/// Reads the code of a generation again, as it was attached: of an object, or of `forward`.
///
/// # Errors
/// Its file was changed and not kept, or the program is of another kind.
pub fn code(target: &Target, generation: &Generation) -> Result<Code> {
    let name = generation.name();
    let record = Record::read(generation)?.unwrap_or_default();
    if record.program.forward.is_some() {
        let mut spec = router(generation, &record)?;
        let programs = [route::PROGRAM, route::PROGRAM_FRAGS];
        let program = program_of(generation, programs)?.to_owned();
        ask_for_tags(target, &mut spec, &program)?;
        return Ok(Code { spec, program, may_count: false });
    }
    if let Some(config) = &record.balance {
        let mut spec = Spec::parse(name, config.object())?;
        config.apply(&mut spec)?;
        for (global, value) in pairs(&record.program.set) {
            spec.set_global_text(&global, &value)?;
        }
        restore_constants(&mut spec, generation)?;
        let programs = [balancer::PROGRAM, balancer::PROGRAM_FRAGS];
        let program = program_of(generation, programs)?.to_owned();
        return Ok(Code { spec, program, may_count: false });
    }
    if let Some(config) = &record.backend {
        let mut spec = Spec::parse(name, backend::OBJECT)?;
        config.apply(&mut spec);
        for (global, value) in pairs(&record.program.set) {
            spec.set_global_text(&global, &value)?;
        }
        restore_constants(&mut spec, generation)?;
        let program = program_of(generation, [backend::PROGRAM, backend::PROGRAM_FRAGS])?;
        return Ok(Code { spec, program: program.to_owned(), may_count: false });
    }
    let opened = reopened(name, &record, generation);
    let mut opened = opened.with_context(|| format!("`{name}` cannot be part of a chain"))?;
    restore_constants(&mut opened.spec, generation)?;
    let program = opened.choose(record.program.program.as_deref())?.name.clone();
    let may_count = record.program.count != Some(false);
    Ok(Code { spec: opened.spec, program, may_count })
}

/// The object of a router that runs, with its constants.
///
/// # Errors
/// It is of an earlier version, or its record does not fit the object.
pub fn router(generation: &Generation, record: &Record) -> Result<Spec> {
    let name = generation.name();
    if generation.map_if_kept(route::NEWEST)?.is_none() {
        return Err(ChainError::OlderVersion { program: name.to_owned() }.into());
    }
    let config = record.program.forward.as_ref().map(|table| table.config()).unwrap_or_default();
    let mut spec = Spec::parse(name, config.object())?;
    if record.program.forward.is_some() {
        config.apply(&mut spec)?;
        config.size_memory(&mut spec, sys::cpu::possible()?)?;
    }
    for (global, value) in pairs(&record.program.set) {
        spec.set_global_text(&global, &value)?;
    }
    restore_constants(&mut spec, generation)?;
    Ok(spec)
}

/// Which of two programs runs: the one for packets of one buffer, or of several.
pub fn program_of<'p>(generation: &Generation, [one, several]: [&'p str; 2]) -> Result<&'p str> {
    let identity = generation.identity()?;
    // The kernel cuts names; in a chain, the name is that of the first member.
    Ok(match Member::read(generation)? {
        Some(member) if member.program == several => several,
        Some(_) => one,
        None if identity.is_none_or(|known| known.program.name == one) => one,
        None => several,
    })
}

/// Makes a program that depends on VLAN tags query the device, where it did when it was loaded.
pub fn ask_for_tags(target: &Target, spec: &mut Spec, program: &str) -> Result<()> {
    let mode = target.running_mode()?.map_or(Mode::Native, |(mode, _)| mode);
    Tagging::prepare(target, mode, true)?.apply(spec, &[program])
}

/// Sets the constants of an object to those that run: another loader may have set them.
fn restore_constants(spec: &mut Spec, generation: &Generation) -> Result<()> {
    for def in spec.maps.iter_mut().filter(|map| map.frozen && map.contents.is_some()) {
        let map = generation.map_if_kept(&def.name)?;
        if let Some(map) = map.filter(|map| map.info().value_size == def.value_size) {
            def.contents = map.lookup(&[0; 4])?;
        }
    }
    Ok(())
}

fn reopened(name: &str, record: &Record, generation: &Generation) -> Result<Opened> {
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
    opened.complete(&sizes, &pairs(&table.kconfig))?;
    opened.set(&pairs(&table.set))?;
    Ok(opened)
}
